"""The newest frames are kept; places never change."""

from __future__ import annotations

from app.models.log_store import LogStore
from tests.unit.models.log_frames import ticks


def test_frames_keep_their_place_while_older_ones_go() -> None:
    store = LogStore(capacity=32)
    for first in range(0, 200, 10):
        store.append(ticks(first, 10))
    assert store.end == 200
    assert store.dropped == store.first > 0
    newest = store.frame(199)
    assert newest is not None
    assert newest.number == 199


def test_at_least_the_capacity_is_kept_and_not_much_more() -> None:
    store = LogStore(capacity=320)
    for first in range(0, 5_000, 7):
        store.append(ticks(first, 7))
    assert 320 <= len(store) <= 320 + 20 + 7


def test_a_batch_larger_than_the_capacity_leaves_its_newest() -> None:
    store = LogStore(capacity=16)
    store.append(ticks(0, 100))
    assert [each.number for each in store.frames(store.first, store.end)] == [*range(84, 100)]


def test_a_frame_that_is_gone_or_has_not_come_is_none() -> None:
    store = LogStore(capacity=16)
    store.append(ticks(0, 100))
    assert store.frame(0) is None
    assert store.frame(100) is None


def test_a_frozen_store_stays_while_the_store_goes_on() -> None:
    store = LogStore(capacity=16)
    store.append(ticks(0, 16))
    frozen = store.frozen()
    store.append(ticks(16, 100))
    assert (frozen.first, frozen.end) == (0, 16)
    oldest = frozen.frame(0)
    assert oldest is not None
    assert oldest.number == 0


def test_dropped_frames_are_freed_bit_by_bit() -> None:
    store = LogStore(capacity=16)
    store.append(ticks(0, 116))
    calls = 0
    while store.release(10):
        calls += 1
    assert calls == 9
