"""The texts in the cells of Traffic, made for painted rows and kept for the next paint."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from PySide6.QtCore import QObject

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.traffic.summary import LARGE, TrafficRow, describe, plain
from mcp_progress_monitor.protocol.frames import Channel, FrameKind, server_name
from mcp_progress_monitor.protocol.messages import DISCOVER
from mcp_progress_monitor.recording.index import NONE, Segment

if TYPE_CHECKING:
    from mcp_progress_monitor.gui.common.labels import ServerTitles
    from mcp_progress_monitor.recording.timeline import Timeline

_Row = TypeVar("_Row")

_REMEMBERED: Final = 2_000  # rows whose texts are kept: several screens full

# The columns' numbers are those of `TrafficColumn`.
_TIME, _SERVER, _METHOD, _KEY, _SUMMARY = 0, 3, 5, 6, 7
_REPLIES: Final = (FrameKind.REPLY, FrameKind.ERROR)


class _Known(NamedTuple):
    """What the index tells about a row; `method` and `key` are None if it does not have them."""

    kind: FrameKind
    words: tuple[str, ...]
    method: str | None
    key: str | None


class TrafficCells(QObject):
    """Texts of cells by place and column.

    Most come from the timeline's index; only the summary, ids and unusual methods need the frame's
    bytes, of which at most `LARGE` are read.
    """

    def __init__(
        self, timeline: Timeline, titles: ServerTitles, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._timeline = timeline
        self._known: dict[int, _Known] = {}
        self._read: dict[int, TrafficRow] = {}
        self._titles = titles
        self._directions = {
            Channel.SENT: "→ " + "sent",
            Channel.RECEIVED: "← " + "received",
            Channel.STDERR: "← " + "stderr",
            Channel.EVENT: "· " + "event",
        }
        self._kinds = self._kind_names()
        self._headers = self._header_texts()

    def forget(self) -> None:
        """Forget all texts: the frames have changed."""
        self._known.clear()
        self._read.clear()

    def title(self, column: int) -> str:
        return self._headers[column][0]

    def explanation(self, column: int) -> str:
        return self._headers[column][1]

    def kind(self, place: int) -> FrameKind | None:
        """Return the kind of the frame at `place`; None if it is gone."""
        known = self._index_row(place)
        return None if known is None else known.kind

    def is_expected(self, place: int) -> bool:
        """Whether it is an error that our own request provokes from servers of earlier revisions.

        They need not know `server/discover`, which only finds out their revision.
        """
        if self.kind(place) is not FrameKind.ERROR:
            return False
        request = self._timeline.request_of(place)
        found = None if request is None else self._timeline.columns.locate(request)
        if request is None or found is None:
            return False
        is_ours = self._timeline.source(*found).channel is Channel.SENT
        return is_ours and self.text(request, _METHOD) == DISCOVER

    def text(self, place: int, column: int) -> str:
        """Return the text of a cell, except the time difference; empty if the frame is gone."""
        known = self._index_row(place)
        if known is None:
            return ""
        if column == _KEY:
            return self._key(place, known)
        if column == _METHOD:
            return self._content(place, known.kind).method if known.method is None else known.method
        if column == _SERVER:
            return self._titles.text(known.words[_SERVER])
        if column == _SUMMARY:
            words = self._content(place, known.kind).summary
            if known.kind is FrameKind.ERROR and self.is_expected(place):
                return f"{words} — expected of a server before 2026-07-28"
            return words
        return known.words[column]

    def tip(self, place: int, column: int) -> str:
        if column == _TIME:
            found = self._timeline.columns.locate(place)
            if found is None:
                return ""
            when = self._timeline.columns.when(place, found[0].ats[found[1]])
            return formatting.date_and_clock(when)
        known = self._index_row(place) if column == _SERVER else None
        return "" if known is None else self._titles.tip(known.words[_SERVER])

    def delta(self, place: int, previous: int) -> str:
        """Return the seconds from the frame at `previous` to that at `place`, to the millisecond.

        Empty if one of them is gone.
        """
        one, other = (self._timeline.columns.locate(each) for each in (place, previous))
        if one is None or other is None:
            return ""
        return formatting.since(one[0].ats[one[1]] - other[0].ats[other[1]])

    def _key(self, place: int, known: _Known) -> str:
        if known.key is not None:
            return known.key
        key = self._content(place, known.kind).key
        if key or known.kind not in _REPLIES:
            return key
        # An id after a large result is that of its request.
        request = self._timeline.request_of(place)
        return "" if request is None else self._content(request, FrameKind.REQUEST).key

    def _index_row(self, place: int) -> _Known | None:
        known = self._known.get(place)
        if known is None:
            found = self._timeline.columns.locate(place)
            if found is None:
                return None
            known = self._made(place, *found)
            _remember(self._known, place, known)
        return known

    def _made(self, place: int, segment: Segment, row: int) -> _Known:
        columns = self._timeline.columns
        source = self._timeline.source(segment, row)
        kind = FrameKind(segment.kinds[row] & Segment.KIND)
        duration_s = self._timeline.duration_s(place)
        words = (
            formatting.clock(columns.when(place, segment.ats[row])),
            "",
            self._directions[source.channel],
            formatting.one_line(server_name(source.connection), 80),
            self._kinds[kind],
            "",
            "",
            "",
            f"{segment.sizes[row]:,}",
            "" if duration_s is None else _duration(duration_s),
            formatting.number(self._timeline.number(place)),
        )
        method = columns.methods.value(segment.methods[row]) or ""
        is_known = segment.methods[row] != columns.methods.many and kind is not FrameKind.EVENT
        token: Any = columns.tokens.value(segment.tokens[row])
        is_named = segment.tokens[row] not in (NONE, columns.tokens.many)
        return _Known(
            kind,
            words,
            formatting.one_line(method) if is_known else None,
            plain(token) if is_named else None,
        )

    def _content(self, place: int, kind: FrameKind) -> TrafficRow:
        row = self._read.get(place)
        if row is None:
            size = self._timeline.size(place)
            frame = self._timeline.frame(place, LARGE)
            if frame is None or (size and not frame.raw):
                return TrafficRow("", "", "(bytes no longer available)")
            row = describe(frame, kind, is_whole=size <= LARGE)
            _remember(self._read, place, row)
        return row

    def _kind_names(self) -> dict[FrameKind, str]:
        return {
            FrameKind.REQUEST: "request",
            FrameKind.REPLY: "reply",
            FrameKind.ERROR: "error",
            FrameKind.PROGRESS: "progress",
            FrameKind.NOTIFICATION: "notification",
            FrameKind.STDERR: "stderr",
            FrameKind.EVENT: "event",
            FrameKind.UNREADABLE: "unreadable",
            FrameKind.BATCH: "batch",
        }

    def _header_texts(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Time", "Local time"),
            ("Δ s", "Seconds since the row above"),
            ("⇄", "Direction: whether the message was sent or received"),
            ("Server", "Name of the server"),
            ("Kind", "Kind of message"),
            ("Method", "Method of the request or notification"),
            ("Token / id", "Progress token of the message or of its request; otherwise the id"),
            ("Summary", "Short form of the message"),
            ("Size", "Size in bytes without the line ending"),
            ("Duration", "Time from request to reply"),
            ("No.", "Number of the message in the session (Ctrl+G goes to one)"),
        )


def _remember(rows: dict[int, _Row], place: int, row: _Row) -> None:
    if len(rows) >= _REMEMBERED:
        del rows[next(iter(rows))]
    rows[place] = row


def _duration(seconds: float) -> str:
    """`0 ms` would not look like a measured time."""
    return "< 1 ms" if 0 <= seconds < 0.001 else formatting.duration(seconds)


if TYPE_CHECKING:
    from mcp_progress_monitor.recording.timeline import Timeline


class TrafficColumn(enum.IntEnum):
    """The columns, in their first order."""

    TIME = 0
    DELTA = 1
    DIRECTION = 2
    SERVER = 3
    KIND = 4
    METHOD = 5
    KEY = 6
    SUMMARY = 7
    SIZE = 8
    DURATION = 9
    NUMBER = 10


RIGHT_ALIGNED: Final = frozenset(
    {TrafficColumn.DELTA, TrafficColumn.SIZE, TrafficColumn.DURATION, TrafficColumn.NUMBER}
)
"""Columns of numbers."""
