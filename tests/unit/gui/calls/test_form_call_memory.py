"""Arguments are remembered per tool."""

from __future__ import annotations

import json

from mcp_progress_monitor.gui.calls.form import CallMemory


def test_the_last_arguments_come_back_after_saving() -> None:
    memory = CallMemory()
    memory.remember("db", "tools/call", "export", {"a": 1})
    memory.remember("db", "tools/call", "export", {"a": 2})
    other = CallMemory()
    other.restore(json.loads(json.dumps(memory.state())))
    assert other.recall("db", "tools/call", "export") == {"a": 2}
    assert other.recall("db", "tools/call", "crawl") is None


def test_the_longest_unused_are_forgotten() -> None:
    memory = CallMemory()
    for number in range(300):
        memory.remember("db", "tools/call", f"tool {number}", {})
    assert memory.recall("db", "tools/call", "tool 0") is None
    assert memory.recall("db", "tools/call", "tool 299") == {}


def test_what_makes_no_sense_is_left_out() -> None:
    memory = CallMemory()
    memory.restore([["db", "m", "t", {"a": 1}], ["db"], 7, ["db", "m", "u", "x"]])
    assert memory.state() == [["db", "m", "t", {"a": 1}]]
    memory.restore("x")
    assert memory.state() == []
