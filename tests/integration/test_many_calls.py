"""Very many calls through reader and tracker: every table is empty in the end, memory is flat."""

import gc
import sys
from typing import Any

import pytest

from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.frames import Frame
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.jsonrpc import encode
from mcp_progress_monitor.protocol.ledger import MOST_REMEMBERED
from mcp_progress_monitor.tracker.rows import RowLimits
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.unit.protocol.wire import call, error, notification, progress, request, result

_KEPT = 100
_AT_ONCE = 100
_SLACK = 200
"""Live blocks of memory that may come and go with the moment, whatever the count of calls."""


class _Traffic:
    """One connection on which calls are made, a hundred at once, and end in every way there is."""

    def __init__(self) -> None:
        self.conversation = Conversation("s#1")
        self.tracker = Tracker(RowLimits(ended=_KEPT))
        self._framer = Framer("s#1", FrameNumbers())
        self._now = 0.0
        self._calls = 0

    def run(self, calls: int) -> None:
        for _ in range(calls // _AT_ONCE):
            numbers = range(self._calls, self._calls + _AT_ONCE)
            self._calls += _AT_ONCE
            self._read([self._sent(_call(n)) for n in numbers])
            self._read(self._received(*[progress(f"t{n}", 1, total=2) for n in numbers]))
            self._read([self._sent(_cancel(n)) for n in numbers if n % 10 == 1])
            self._read(self._received(*[_reply(n) for n in numbers]))
            self._read(self._received(*[progress(f"t{n}", 2) for n in numbers if n % 10 == 2]))
            self._read(self._received(*[request(f"p{n}", "ping") for n in numbers]))
            self._read([self._sent(result(f"p{n}")) for n in numbers])
            self._read(self._received(progress("unknown", 1)))

    def close(self) -> None:
        self._now += 1
        self._read([self._framer.event("closed", self._now, self._now, reason="the end")])

    def _sent(self, message: dict[str, Any]) -> Frame:
        return self._framer.sent(encode(message), self._now, self._now)

    def _received(self, *messages: dict[str, Any]) -> list[Frame]:
        return self._framer.received([encode(m) for m in messages], self._now, self._now)

    def _read(self, frames: list[Frame]) -> None:
        self._now += 0.1
        self.tracker.apply(self.conversation.read(frames), self._now)
        self.tracker.tick(self._now)


def _call(number: int) -> dict[str, Any]:
    if number % 10 == 3:
        return request(number, "tools/list")
    return call(number, f"t{number}")


def _cancel(number: int) -> dict[str, Any]:
    return notification("notifications/cancelled", requestId=number)


def _reply(number: int) -> dict[str, Any]:
    return error(number) if number % 10 == 4 else result(number, content=[])


def _leaves_nothing(calls: int) -> None:
    traffic = _Traffic()
    traffic.run(3 * MOST_REMEMBERED)  # until what is remembered on purpose is full
    before = _live_blocks()
    traffic.run(calls)
    assert _live_blocks() - before < _SLACK
    assert traffic.conversation.open_requests == traffic.conversation.open_tokens == 0
    assert traffic.tracker.open_count == 0
    assert len(traffic.tracker.jobs()) == _KEPT
    traffic.tracker.remove(traffic.tracker.jobs())
    traffic.close()
    assert traffic.conversation.remembered == 0
    assert traffic.tracker.jobs() == ()


def _live_blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()


@pytest.mark.requirement("FR-5")
def test_hundreds_of_calls_leave_nothing_behind() -> None:
    _leaves_nothing(200)


@pytest.mark.campaign
@pytest.mark.timeout(600)
def test_a_million_calls_leave_nothing_behind() -> None:
    _leaves_nothing(1_000_000)
