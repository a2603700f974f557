"""When a pipe is read again: a busy one after a pause, any other at once."""

import pytest

from mcp_progress_monitor.sessions.transport.stdio import ReadCoalescing

_LINE = 130
_PIPE = 64 * 1024


def _after(chunks: int, lines: int, apart_s: float, size: int = 0) -> tuple[ReadCoalescing, float]:
    """After so many chunks of `lines` each, `apart_s` from each other; and the time of the last."""
    coalescing, now = ReadCoalescing(), 100.0
    for _ in range(chunks):
        now += apart_s
        coalescing.note(now, lines, size or lines * _LINE)
    return coalescing, now


def test_many_messages_hundreds_of_times_a_second_gather_for_15_ms() -> None:
    coalescing, now = _after(chunks=60, lines=50, apart_s=0.005)
    assert coalescing.pause_s(now) == pytest.approx(0.015)
    assert coalescing.pause_s(now + 0.010) == pytest.approx(0.005), "what has passed counts"
    assert coalescing.pause_s(now + 0.020) == 0


@pytest.mark.parametrize("chunks", [0, 1, 8])
def test_the_first_chunks_are_read_at_once_however_large(chunks: int) -> None:
    coalescing, now = _after(chunks=chunks, lines=400, apart_s=0.005)
    assert coalescing.pause_s(now) == 0


def test_chunks_that_come_now_and_then_are_read_at_once() -> None:
    coalescing, now = _after(chunks=500, lines=400, apart_s=0.1)
    assert coalescing.pause_s(now) == 0


@pytest.mark.parametrize("lines", [1, 5])
def test_messages_that_come_alone_are_read_at_once_since_somebody_may_wait(lines: int) -> None:
    coalescing, now = _after(chunks=500, lines=lines, apart_s=0.0005)
    assert coalescing.pause_s(now) == 0


def test_a_flood_is_read_as_fast_as_it_comes() -> None:
    coalescing, now = _after(chunks=500, lines=500, apart_s=0.0015, size=_PIPE)
    assert coalescing.pause_s(now) == 0


@pytest.mark.parametrize("size", [4_000, 16_000, 40_000])
def test_the_server_has_room_for_as_much_again_while_its_pipe_fills(size: int) -> None:
    apart_s = 0.008
    coalescing, now = _after(chunks=200, lines=40, apart_s=apart_s, size=size)
    filled = size * coalescing.pause_s(now) / apart_s
    assert filled <= _PIPE / 2


def test_a_server_that_becomes_quiet_is_read_at_once_again() -> None:
    coalescing, now = _after(chunks=100, lines=50, apart_s=0.005)
    for _ in range(40):
        now += 0.1
        coalescing.note(now, 1, _LINE)
    assert coalescing.pause_s(now) == 0
