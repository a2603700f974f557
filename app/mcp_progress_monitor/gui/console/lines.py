"""The newest lines of each server's standard error, interleaved with connection events."""

from __future__ import annotations

import collections
import heapq
import itertools
import json
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.formatting import clock, one_line
from mcp_progress_monitor.protocol.frames import Channel, server_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.protocol.frames import Frame

LINES: Final = 10_000  # newest lines that are kept of one server, and shown of all
ALL_LINES: Final = 100_000
"""Lines kept of all servers together; beyond that, the server with the most drops its oldest."""
KEPT_BYTES: Final = 8 * 1024
"""Of a longer line the end is kept: it has a progress bar's last state."""
_CONNECTION: Final = attrgetter("connection")
_NUMBER: Final = attrgetter("number")


class LifeLine(NamedTuple):
    """A line of our own between the server's: the connection was opened or closed."""

    text: str
    is_bad: bool


class StderrLines:
    """Lines of standard error by server in order of arrival, with connection events.

    Only servers that run as processes have any. Dropped lines are counted.
    """

    def __init__(self) -> None:
        self._kept: dict[str, collections.deque[Frame]] = {}
        self._gone: collections.Counter[str] = collections.Counter()
        self._processes: set[str] = set()
        self._total = 0

    @property
    def servers(self) -> list[str]:
        return sorted(self._kept)

    def gone(self, server: str | None) -> int:
        """The number of dropped lines of a server, or of all."""
        return self._gone.total() if server is None else self._gone[server]

    def add(self, frames: Sequence[Frame]) -> list[Frame]:
        """Add frames; returns those that are shown as lines, in order."""
        added: list[Frame] = []
        for connection, group in itertools.groupby(frames, _CONNECTION):
            lines = list(self._lines_of(connection, group))
            if lines:
                self._keep(server_name(connection), lines)
                added += lines
        while self._total > ALL_LINES:
            self._give_up()
        return added

    def lines(self, server: str | None, after: int = -1) -> list[Frame]:
        """The newest lines of a server, or of all, whose frames have higher numbers than `after`.

        Those of all are in the order of their frames, at most `LINES`.
        """
        if server is not None:
            found: Iterable[Frame] = self._kept.get(server, ())
        else:
            found = heapq.merge(*self._kept.values(), key=_NUMBER)
        return list(collections.deque((f for f in found if f.number > after), maxlen=LINES))

    def newest(self) -> int:
        return max((kept[-1].number for kept in self._kept.values() if kept), default=-1)

    def clear(self) -> None:
        self._kept.clear()
        self._gone.clear()
        self._processes.clear()
        self._total = 0

    def _lines_of(self, connection: str, frames: Iterable[Frame]) -> Iterator[Frame]:
        for frame in frames:
            if frame.channel is Channel.STDERR:
                yield frame if len(frame.raw) <= KEPT_BYTES else _shortened(frame)
            elif self._is_process(connection, frame):
                yield frame

    def _is_process(self, connection: str, frame: Frame) -> bool:
        """True if an event belongs to a server that runs as a process: its `opened` event tells."""
        if event_of(frame).get("command") is not None:
            self._processes.add(connection)
        return connection in self._processes

    def _keep(self, server: str, lines: Sequence[Frame]) -> None:
        kept = self._kept.setdefault(server, collections.deque(maxlen=LINES))
        before = len(kept)
        kept.extend(lines)
        self._total += len(kept) - before
        self._gone[server] += before + len(lines) - len(kept)

    def _give_up(self) -> None:
        server = max(self._kept, key=self._length)
        kept = self._kept[server]
        surplus = min(self._total - ALL_LINES, len(kept))
        for _ in range(surplus):
            kept.popleft()
        self._total -= surplus
        self._gone[server] += surplus

    def _length(self, server: str) -> int:
        return len(self._kept[server])


def event_of(frame: Frame) -> dict[str, Any]:
    """The members of a connection's event; empty if it cannot be read."""
    try:
        fields = json.loads(frame.raw)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def life_line(frame: Frame) -> LifeLine:
    """`— connected again at 12:03:10, connection 3 —`, or how the connection ended."""
    fields, time = event_of(frame), clock(frame.when)[:8]
    ordinal = frame.connection.rpartition("#")[2]
    if fields.get("event") == "opened":
        again = ordinal not in {"1", ""}
        text = "restarted at {time}" if again else "started at {time}"
        which = f"connection {one_line(ordinal, 20)}"
        process = f", pid {fields['pid']}" if isinstance(fields.get("pid"), int) else ""
        return LifeLine(f"— {text.format(time=time)}, {which}{process} —", is_bad=False)
    code, reason = fields.get("exit_code"), one_line(str(fields.get("reason") or ""), 200)
    text = f"ended at {time}"
    if isinstance(code, int):
        text = f"{text}, {_code_text(code)}"
    is_wanted = fields.get("wanted") is True
    tail = f": {reason}" if reason else ""
    return LifeLine(f"— {text}{tail} —", is_bad=not is_wanted and code != 0)


def _code_text(code: int) -> str:
    if code < 0:
        return f"signal {-code}"
    return f"exit code {code}"


def _shortened(frame: Frame) -> Frame:
    """The frame cut to what follows its last carriage return, within limits."""
    line = frame.raw.rstrip(b"\r")
    last = line[line.rfind(b"\r") + 1 :]
    return frame._replace(raw=last[:KEPT_BYTES])
