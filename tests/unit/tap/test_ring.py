"""The queue that two processes share: in order, whole, bounded, and there after a kill."""

import os
import signal

import hypothesis
from hypothesis import strategies as st

from mcp_progress_monitor.tap.ring import LOST, Ring, weight
from tests.integration.commands import linux_only


def _taken(ring: Ring, most: int = 1 << 20) -> list[tuple[int, int, float, bytes]]:
    records = [(lane, kind, at, data) for lane, kind, at, data in ring.take(most)]
    ring.free(sum(weight(data) for _, _, _, data in records))
    return records


@hypothesis.given(st.lists(st.tuples(st.integers(0, 700_000), st.booleans()), max_size=40))
def test_entries_come_out_as_they_went_in(steps: list[tuple[int, bool]]) -> None:
    ring = Ring(1 << 20)
    put, taken = [], []
    for number, (size, is_emptied) in enumerate(steps):
        data = bytes([number]) * size
        if ring.put(number % 4, number / 7, data):
            put.append((number % 4, 0, number / 7, data))
        if is_emptied:
            taken += _taken(ring, size or 1)
    while not ring.is_empty:
        taken += _taken(ring)
    assert taken == put


def test_only_data_keeps_to_the_limit() -> None:
    ring = Ring(1000)
    assert ring.put(0, 0.0, b"x" * 700)
    assert not ring.has_room(700)
    assert not ring.put(0, 0.0, b"y" * 700)
    assert ring.put(0, 0.0, b"gap", LOST)
    assert [data for *_, data in _taken(ring)] == [b"x" * 700, b"gap"]
    assert ring.has_room(700)


def test_what_was_taken_counts_until_it_is_freed() -> None:
    ring = Ring(1000)
    ring.put(0, 0.0, b"x" * 700)
    ring.take(1 << 20)
    assert not ring.put(0, 0.0, b"y" * 700)
    ring.free(weight(b"x" * 700))
    assert ring.put(0, 0.0, b"y" * 700)


def test_a_disk_that_refuses_lowers_the_limit_until_it_accepts_again() -> None:
    ring = Ring(10_000)
    ring.set_refused(1000)
    assert (ring.is_refused, ring.has_room(2000)) == (True, False)
    ring.set_refused(None)
    assert (ring.is_refused, ring.has_room(2000)) == (False, True)
    ring.give_up()
    ring.set_refused(None)
    assert not ring.has_room(0)


@linux_only
def test_what_a_killed_process_has_put_can_be_taken() -> None:
    ring = Ring(1 << 20)
    child = os.fork()
    if not child:
        for number in range(100):
            ring.put(1, float(number), b"%d" % number)
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert [data for *_, data in _taken(ring)] == [b"%d" % number for number in range(100)]
