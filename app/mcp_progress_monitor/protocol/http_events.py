"""How a recording describes an HTTP body, so that its exact bytes can be restored."""

from __future__ import annotations

import base64
import binascii
import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.sse import SseEvent, SseRun

_Around = tuple[bytes, bytes]
_MOST_JOINED: Final = 64 * 1024
"""Largest entry of combined events; a longer event is a separate one."""


class BodyNotes:
    """Describes the events of one connection, across all its exchanges."""

    def __init__(self) -> None:
        self._exchange: int | None = None
        self._around: _Around | None = None

    def report_events(self, exchange: int, events: Sequence[SseEvent]) -> list[JsonObject]:
        """The member `events` for the events of a chunk; empty if nothing must be described.

        Publish it, with `exchange`, before the frames of the chunk's messages. A batch counts as
        one message: the frames of its elements are not counted.
        """
        if exchange == self._exchange and all(
            event[:3:2] == self._around and event.is_message and event.whole is None
            for event in events
        ):
            return []
        if exchange != self._exchange:
            self._exchange, self._around = exchange, None
        entries: list[JsonObject] = []
        others = _Others(entries)
        run: JsonObject | None = None
        for event in events:
            if event.is_message and event.whole is None:
                others.flush()
                run = self._message(entries, run, event)
            else:
                others.add(event)
                run = None
        others.flush()
        return entries

    def report_run(self, exchange: int, run: SseRun) -> list[JsonObject]:
        """Like `report_events`, for similar events: at most one entry, which lists their ids."""
        around, is_known = run.around_last, exchange == self._exchange
        if run.ids is None and is_known and around == self._around:
            return []
        self._exchange, self._around = exchange, around
        entry: JsonObject = {"before": run.opening.decode(), "after": run.blank.decode()}
        if run.ids is not None:
            entry |= {"between": run.middle.decode(), "ids": run.ids}
        return [{**entry, "count": len(run.datas)}]

    def report_body(self, exchange: int) -> list[JsonObject]:
        """The member `events` for a body that is one message rather than a stream."""
        self._exchange, self._around = exchange, (b"", b"")
        return [{"before": "", "after": "", "count": 1}]

    def _message(
        self, entries: list[JsonObject], run: JsonObject | None, event: SseEvent
    ) -> JsonObject | None:
        around = (event.before, event.after)
        if run is not None and around == self._around:
            run["count"] += 1
            return run
        self._around = around
        try:
            texts = [part.decode() for part in around]
        except UnicodeDecodeError:
            # The whole event is in base64.
            self._around = None
            entries.append(_marked(_of_raw(event.raw), event, 1))
            return None
        run = _marked({"before": texts[0], "after": texts[1]}, event, 1)
        entries.append(run)
        return run


class _Others:
    """Adds events that are not messages, or have several lines of data.

    A server may send only comments or ids: consecutive events with the same description that are
    not messages become one entry, with the newest id or wait.
    """

    def __init__(self, entries: list[JsonObject]) -> None:
        self._entries = entries
        self._raws: list[bytes] = []
        self._size = 0
        self._marks: JsonObject = {}

    def add(self, event: SseEvent) -> None:
        raw = event.raw
        marks = _marked({}, event, 1 if event.is_message else 0)
        is_alike = marks.keys() == self._marks.keys() and marks["count"] == 0
        if not is_alike or self._marks["count"] or self._size + len(raw) > _MOST_JOINED:
            self.flush()
        self._marks = marks
        self._raws.append(raw)
        self._size += len(raw)

    def flush(self) -> None:
        if self._raws:
            self._entries.append(_of_raw(b"".join(self._raws)) | self._marks)
        self._raws.clear()
        self._size = 0
        self._marks = {}


def _of_raw(raw: bytes) -> JsonObject:
    try:
        return {"raw": raw.decode()}
    except UnicodeDecodeError:
        # Anything but UTF-8 cannot be in JSON.
        return {"base64": base64.b64encode(raw).decode()}


def _marked(entry: JsonObject, event: SseEvent, count: int) -> JsonObject:
    if event.id is not None:
        entry["id"] = event.id
    if event.retry_ms is not None:
        entry["retry_ms"] = event.retry_ms
    if not event.is_complete:
        entry["is_complete"] = False
    entry["count"] = count
    return entry


class _Step(NamedTuple):
    """The next part of a body: a message with its surroundings, or something else."""

    is_message: bool
    whole: bytes | None
    around: _Around = (b"", b"")


class BodyRebuilder:
    """Restores the bodies of one connection from `http_events` and the messages.

    Robust against invalid recordings: what cannot be read is ignored.
    """

    def __init__(self) -> None:
        self.exchange: int | None = None  # the exchange of the messages that follow, if stated
        self._around: _Around = (b"", b"")
        self._steps: Iterator[_Step] = iter(())
        self._next: _Step | None = None

    def bodies_of(self, fields: JsonObject) -> list[tuple[int, bytes]]:
        """Add the members of an event; return, by exchange, the parts of bodies it completes."""
        exchange, events = fields.get("exchange"), fields.get("events")
        if type(exchange) is not int:
            return []
        if exchange != self.exchange:
            self.exchange, self._around = exchange, (b"", b"")
        self._steps = _steps(events if isinstance(events, list) else [])
        self._next = next(self._steps, None)
        return self._by_itself(exchange)

    def message(self, raw: bytes) -> list[tuple[int, bytes]]:
        """Add a message's bytes; return, by exchange, the parts of bodies it completes.

        Do not pass elements of a batch: pass the batch's own bytes.
        """
        if self.exchange is None:
            return []
        step = self._next
        if step is not None:
            self._next = next(self._steps, None)
            self._around = step.around if step.whole is None else self._around
        if step is not None and step.whole is not None:
            whole = step.whole
        else:
            whole = self._around[0] + raw + self._around[1]
        return [(self.exchange, whole), *self._by_itself(self.exchange)]

    def _by_itself(self, exchange: int) -> list[tuple[int, bytes]]:
        found = []
        while self._next is not None and not self._next.is_message:
            found.append((exchange, self._next.whole or b""))
            self._next = next(self._steps, None)
        return found


def _steps(events: list[Any]) -> Iterator[_Step]:
    for entry in events:
        if not isinstance(entry, dict):
            continue
        count = entry.get("count")
        times = count if type(count) is int and count > 0 else 0
        whole = _whole(entry)
        before, after = entry.get("before"), entry.get("after")
        if whole is not None:
            yield _Step(times > 0, whole)
        elif not (isinstance(before, str) and isinstance(after, str)):
            continue
        elif isinstance(ids := entry.get("ids"), list):
            yield from _with_ids(before, ids, entry.get("between"), after)
        else:
            step = _Step(True, None, (_bytes_of(before), _bytes_of(after)))
            yield from itertools.repeat(step, times)


def _with_ids(before: str, ids: list[Any], between: Any, after: str) -> Iterator[_Step]:
    for id_ in ids:
        if isinstance(id_, str) and isinstance(between, str):
            yield _Step(True, None, (_bytes_of(before + id_ + between), _bytes_of(after)))


def _whole(entry: JsonObject) -> bytes | None:
    raw, coded = entry.get("raw"), entry.get("base64")
    if isinstance(raw, str):
        return _bytes_of(raw)
    if isinstance(coded, str):
        try:
            return base64.b64decode(coded, validate=True)
        except (binascii.Error, ValueError):
            return None
    return None


def _bytes_of(text: str) -> bytes:
    return text.encode(errors="replace")
