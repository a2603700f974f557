"""Sessions over HTTP as HAR 1.2: one entry for each exchange, put together from what was recorded.

Bodies of streams are those that came, byte for byte, as far as no secret was taken out. Entries
stand in the order in which their exchanges ended, so that none is held longer than it lasts;
those that never ended stand last.
"""

from __future__ import annotations

import base64
import json
import uuid
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import __version__
from mcp_progress_monitor.exports.evidence import event_fields
from mcp_progress_monitor.exports.har_entry import entry_of, is_text
from mcp_progress_monitor.exports.har_exchange import Exchange, body_of
from mcp_progress_monitor.exports.places import frames_at, of_kind
from mcp_progress_monitor.exports.redaction import NOTE
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.protocol.frame_kind import FrameKind
from mcp_progress_monitor.protocol.http_events import Bodies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.exports.redaction import Redaction
    from mcp_progress_monitor.exports.source import Source
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.recording.timeline import Timeline

NO_HTTP: Final = Problem(
    "Only sessions over HTTP can be exported as HAR, and this recording has none",
    hint="JSON Lines has all messages (--to jsonl), a table the ticks (csv), HTML a report.",
)
OPEN_KEPT: Final = 2000
"""Exchanges that go on at a time; beyond, the oldest is written as one that never ended."""
_BEGIN: Final = b'{"event":"http_request"'
_AT_ONCE: Final = 256


def check_http(timeline: Timeline) -> None:
    """`ProblemError` when nothing of HTTP is in a session."""
    for places in of_kind(timeline, FrameKind.EVENT, timeline.first, timeline.end):
        for place in places:
            frame = timeline.frame(place, len(_BEGIN))
            if frame is not None and frame.raw == _BEGIN:
                return
    raise ProblemError(NO_HTTP)


class Har:
    """Makes the file. `wanted` chooses frames: an exchange is exported when it has any of them."""

    def __init__(self, source: Source, redaction: Redaction) -> None:
        self._timeline = source.timeline
        self._redaction = redaction
        self._open: dict[tuple[str, int], Exchange] = {}
        self._bodies: dict[str, Bodies] = {}
        self._sent: dict[str, set[int]] = {}
        """Chosen messages by connection whose request over HTTP has not come."""
        self._piped: set[str] = set()
        """Connections that go on to servers on stdio: nothing they sent is waited for."""
        self._is_first = True

    def pieces(self, wanted: Iterable[Sequence[int]] | None) -> Iterator[bytes]:
        """The file in pieces; empty ones are pauses. None wants all."""
        yield self._head()
        end = self._timeline.end
        chosen = None if wanted is None else _Chosen(wanted)
        for segment, rows in self._timeline.stretches(self._timeline.first, end):
            first, stop = segment.first + rows.start, segment.first + rows.stop
            for start in range(first, stop, _AT_ONCE):
                places = range(start, min(start + _AT_ONCE, stop))
                for frames in frames_at(self._timeline, places):
                    for place, frame in frames:
                        is_chosen = chosen is None or chosen.has(place)
                        yield from self._take(frame, is_chosen=is_chosen)
                yield b""
        for key in list(self._open):
            yield from self._close(key)
        yield b"]}}\n"

    def _head(self) -> bytes:
        log: dict[str, object] = {
            "version": "1.2",
            "creator": {"name": "MCP Progress Monitor", "version": __version__},
        }
        if not self._redaction.with_secrets:
            log["comment"] = NOTE
        return json.dumps({"log": log}, ensure_ascii=False).encode()[:-2] + b', "entries": ['

    def _take(self, frame: Frame, *, is_chosen: bool) -> Iterator[bytes]:
        if frame.channel is Channel.EVENT:
            yield from self._event(frame, is_chosen=is_chosen)
        elif frame.channel is Channel.SENT:
            if is_chosen and frame.connection not in self._piped:
                self._sent.setdefault(frame.connection, set()).add(frame.number)
        elif frame.channel is Channel.RECEIVED:
            self._received(frame, is_chosen=is_chosen)

    def _received(self, frame: Frame, *, is_chosen: bool) -> None:
        """Put a message in the body that it came in; an element of a batch stands there already."""
        bodies = self._bodies.get(frame.connection)
        if bodies is None or bodies.exchange is None:
            return
        exchange = self._open.get((frame.connection, bodies.exchange))
        if exchange is not None and is_chosen:
            exchange.is_chosen = True
        if frame.part is None:
            clean = self._redaction.raw(frame.raw)
            self._add(frame, bodies.message(clean), clean)

    def _add(self, frame: Frame, parts: list[tuple[int, bytes]], clean: bytes = b"") -> None:
        """Add parts of bodies; `clean` is what of them has no secrets already."""
        for number, part in parts:
            exchange = self._open.get((frame.connection, number))
            if exchange is not None:
                is_clean = bool(clean) and clean in part
                exchange.add(part if is_clean else self._redaction.raw(part), frame.at)

    def _event(self, frame: Frame, *, is_chosen: bool) -> Iterator[bytes]:
        fields = event_fields(frame)
        name, number = fields.get("event"), fields.get("exchange")
        if name in {"closed", "failed"}:
            yield from self._close_all(frame.connection)
            self._sent.pop(frame.connection, None)
            self._piped.discard(frame.connection)
        elif name == "opened" and "command" in fields:
            self._piped.add(frame.connection)
        if type(number) is not int:
            return
        key = (frame.connection, number)
        if name == "http_request":
            yield from self._begin(key, frame, fields)
        if (exchange := self._open.get(key)) is None:
            return
        exchange.is_chosen = exchange.is_chosen or is_chosen
        if name == "http_ended":
            exchange.end(frame, fields)
            yield from self._close(key)
        else:
            self._note(exchange, frame, fields)

    def _note(self, exchange: Exchange, frame: Frame, fields: JsonObject) -> None:
        """Take what an event tells of an exchange that goes on."""
        match fields.get("event"):
            case "http_response":
                exchange.answer(frame, fields)
            case "http_events":
                bodies = self._bodies.setdefault(frame.connection, Bodies())
                self._add(frame, bodies.told(fields))
            case "http_body":
                exchange.add_body(frame, fields, self._redaction.raw(body_of(fields)))
            case _:
                pass

    def _begin(self, key: tuple[str, int], frame: Frame, fields: JsonObject) -> Iterator[bytes]:
        yield from self._close(key)
        if len(self._open) >= OPEN_KEPT:
            yield from self._close(next(iter(self._open)))
        number = fields.get("message")
        place = self._timeline.place_of(number) if type(number) is int else None
        message = None if place is None else self._timeline.frame(place)
        if message is not None and message.channel is not Channel.SENT:
            message = None
        self._open[key] = exchange = Exchange(frame, fields, message)
        sent = self._sent.get(frame.connection, set())
        if message is not None and message.number in sent:
            sent.discard(message.number)
            exchange.is_chosen = True

    def _close_all(self, connection: str) -> Iterator[bytes]:
        for key in [key for key in self._open if key[0] == connection]:
            yield from self._close(key)

    def _close(self, key: tuple[str, int]) -> Iterator[bytes]:
        """Write an entry, its body piece by piece."""
        exchange = self._open.pop(key, None)
        if exchange is None or not exchange.is_chosen:
            return
        mark = uuid.uuid4().hex
        entry = json.dumps(entry_of(exchange, self._redaction, mark), ensure_ascii=False)
        before, _, after = entry.partition(mark)
        yield (b"\n" if self._is_first else b",\n") + _encoded(before)
        self._is_first = False
        yield from _body(exchange.parts)
        yield _encoded(after)


class _Chosen:
    """Places that rise, asked for in rising order."""

    def __init__(self, slices: Iterable[Sequence[int]]) -> None:
        self._places = (place for places in slices for place in places)
        self._next: int | None = next(self._places, None)

    def has(self, place: int) -> bool:
        """Whether `place` is one of them."""
        while self._next is not None and self._next < place:
            self._next = next(self._places, None)
        return self._next == place


def _body(parts: list[bytes]) -> Iterator[bytes]:
    """A body as the inside of a JSON string: as text, or in base64 where it is none."""
    if not is_text(parts):
        yield base64.b64encode(b"".join(parts))
        return
    for part in parts:
        yield _encoded(json.dumps(part.decode(), ensure_ascii=False)[1:-1])


def _encoded(words: str) -> bytes:
    """UTF-8; half characters, which a recording may name, become question marks."""
    return words.encode(errors="replace")
