"""What is known of a message besides its content, as one line of words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from mcp_progress_monitor.protocol.frame import Channel, server_name
from mcp_progress_monitor.text import clock, duration, number, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.recording.timeline import Timeline

_WAYS = {
    Channel.SENT: QT_TRANSLATE_NOOP("LogFacts", "sent to {server}"),
    Channel.RECEIVED: QT_TRANSLATE_NOOP("LogFacts", "received from {server}"),
    Channel.STDERR: QT_TRANSLATE_NOOP("LogFacts", "standard error of {server}"),
    Channel.EVENT: QT_TRANSLATE_NOOP("LogFacts", "connection of {server}"),
}


def facts_of(timeline: Timeline, place: int, frame: Frame, delta: str = "") -> str:
    """Time, time since the row before (`delta`, in words), direction, size, duration, number."""
    return ", ".join(_facts(timeline, place, frame, delta))


def _facts(timeline: Timeline, place: int, frame: Frame, delta: str) -> Iterator[str]:
    yield clock(frame.when)
    if delta:
        yield f"Δ {delta}\u00a0s"
    server = one_line(server_name(frame.connection), 80)
    yield _tr(str(_WAYS[frame.channel])).format(server=server)
    yield _tr("{size} bytes").format(size=number(timeline.size(place)))
    took = timeline.duration_s(place)
    if took is not None:
        yield _tr("took {duration}").format(duration=duration(took))
    yield _tr("no. {number}").format(number=number(frame.number))
    if frame.part is not None:
        yield _tr("part {index} of a batch of {count}").format(
            index=number(frame.part.index), count=number(frame.part.count)
        )


def _tr(words: str) -> str:
    return QCoreApplication.translate("LogFacts", words)
