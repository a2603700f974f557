"""All messages of a session as JSON Lines."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.exports.frames import JobNumbers, frames_at
from mcp_progress_monitor.formatting import iso
from mcp_progress_monitor.protocol.frames import Frame, FrameKind, server_name
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, decode
from mcp_progress_monitor.protocol.lenient_json import Elided

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.exports.options import ExportSource, FindingTexts
    from mcp_progress_monitor.exports.redaction import Redaction

_WITH_ID: Final = frozenset({FrameKind.REQUEST, FrameKind.REPLY, FrameKind.ERROR})


class JsonLines:
    """Makes the lines of an export, all with the same members.

    `number`, `time` (ISO 8601, UTC), `at` (monotonic seconds), `connection`, `server`, `channel`,
    `kind`, `method`, `token`, `id`, `request` (number of the frame that asked), `job`, `size`
    (bytes on the wire), `duration` (seconds, of replies), `mark` (text, if it violates a rule),
    `batch` (`[index, count]`), `complete` (false for a line truncated by the end of the stream),
    `redacted` (whether secrets were removed from `text`), `encoding` (`utf-8`, or `base64` for
    other bytes) and `text`. Missing values are null.
    """

    def __init__(self, source: ExportSource, redaction: Redaction, marks: FindingTexts) -> None:
        self._source = source
        self._timeline = source.timeline
        self._redaction = redaction
        self._marks = marks
        self._jobs = JobNumbers(source)
        self.count = 0

    def lines(self, slices: Iterable[Sequence[int]]) -> Iterator[bytes]:
        """The lines for the frames at the given places, in groups; empty ones are pauses."""
        for places in slices:
            for frames in frames_at(self._timeline, places):
                self.count += len(frames)
                yield b"".join(_line(self._row(place, frame)) for place, frame in frames)
            yield b""

    def _row(self, place: int, frame: Frame) -> dict[str, Any]:
        timeline = self._timeline
        kind = timeline.kind(place)
        exchange = timeline.exchange(place)
        method, token = self._names(place)
        encoding, text, is_redacted = self._text(frame.raw)
        return {
            "number": frame.number,
            "time": iso(frame.when),
            "at": round(frame.at, 6),
            "connection": frame.connection,
            "server": server_name(frame.connection),
            "channel": frame.channel.name.lower(),
            "kind": None if kind is None else kind.word,
            "method": method,
            "token": token,
            "id": _id_of(frame) if kind in _WITH_ID else None,
            "request": exchange or None,
            "job": self._jobs.of(exchange),
            "size": len(frame.raw),
            "duration": _rounded(timeline.duration_s(place)),
            "mark": self._marks.of(frame.number) if timeline.is_marked(place) else None,
            "batch": None if frame.part is None else list(frame.part),
            "complete": frame.is_complete,
            "redacted": is_redacted,
            "encoding": encoding,
            "text": text,
        }

    def _names(self, place: int) -> tuple[str | None, Any]:
        columns = self._timeline.columns
        found = columns.locate(place)
        if found is None:
            return None, None
        segment, row = found
        return columns.methods.value(segment.methods[row]), columns.tokens.value(
            segment.tokens[row]
        )

    def _text(self, raw: bytes) -> tuple[str, str, bool]:
        """Encoding, text, and whether something was removed."""
        clean = self._redaction.raw(raw)
        try:
            return "utf-8", clean.decode(), clean is not raw
        except UnicodeDecodeError:
            return "base64", base64.b64encode(clean).decode(), clean is not raw


def _line(row: dict[str, Any]) -> bytes:
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    # Writes lone surrogates as JSON escapes.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _id_of(frame: Frame) -> str | int | float | None:
    """The message's id; not read from huge ones, whose decoding takes seconds."""
    if len(frame.raw) > OVERSIZED:
        return None
    found: Any = decode(frame.raw, is_complete=frame.is_complete).id
    return None if isinstance(found, Elided) else found


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
