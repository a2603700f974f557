"""How much of a run is handled at once follows the time that it takes."""

import json

import pytest

from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.frames import FrameRun
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.progress import PartSize

_QUICK_S, _SLOW_S = 0.001, 0.005


def test_parts_become_smaller_while_they_take_long_and_larger_again() -> None:
    size = PartSize()
    largest = size.weight
    found = [largest]
    for _ in range(8):
        size.note(_SLOW_S, is_cut=False)
        found.append(size.weight)
    assert found == sorted(found, reverse=True)
    assert 0 < found[-1] < largest / 4
    for _ in range(8):
        size.note(_QUICK_S, is_cut=True)
    assert size.weight == largest


def test_a_part_that_a_run_ended_says_nothing_about_larger_ones() -> None:
    size = PartSize()
    size.note(_SLOW_S, is_cut=True)
    smaller = size.weight
    size.note(_QUICK_S, is_cut=False)
    assert size.weight == smaller


def test_a_part_between_the_two_limits_changes_nothing() -> None:
    size = PartSize()
    size.note(_SLOW_S, is_cut=True)
    smaller = size.weight
    for _ in range(4):
        size.note(0.0025, is_cut=True)
    assert size.weight == smaller


@pytest.mark.parametrize("slow", [0, 1, 2, 9])
def test_parts_of_any_size_make_up_the_run(slow: int) -> None:
    conversation = Conversation("s#1")
    framer = Framer("s#1", FrameNumbers())
    call = {"name": "x", "_meta": {"progressToken": "t"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    conversation.read([framer.sent(json.dumps(request).encode(), 1.0, 1.0)])
    lines = [
        b'{"jsonrpc":"2.0","method":"notifications/progress",'
        b'"params":{"progressToken":"t","progress":%d}}' % number
        for number in range(1, 1001)
    ]
    run = framer.run(lines, 1.0, 1.0)
    assert isinstance(run, FrameRun)
    for _ in range(slow):
        conversation.part_size.note(_SLOW_S, is_cut=True)
    parts = list(conversation.read_parts(run))
    assert [frame for frames, _ in parts for frame in frames] == list(run)
    assert [fact.number for _, facts in parts for fact in facts] == [frame.number for frame in run]
    longest = max(len(frames) for frames, _ in parts)
    assert longest <= max(conversation.part_size.weight, 1000 * (slow == 0))
