"""Arguments are remembered per tool, calls under their titles."""

import json

from mcp_progress_monitor.gui.calls.memory import CallMemory, SavedCall, SavedCalls


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
    for number in range(500):
        memory.remember("db", "tools/call", f"tool {number}", {})
    assert memory.recall("db", "tools/call", "tool 0") is None
    assert memory.recall("db", "tools/call", "tool 499") == {}


def test_what_makes_no_sense_is_left_out() -> None:
    memory = CallMemory()
    memory.restore([["db", "m", "t", {"a": 1}], ["db"], 7, ["db", "m", "u", "x"]])
    assert memory.state() == [["db", "m", "t", {"a": 1}]]
    memory.restore("x")
    assert memory.state() == []


def test_recent_arguments_of_one_tool_come_newest_first_and_once() -> None:
    memory = CallMemory()
    for rows in (1, 2, 1, 3):
        memory.remember("db", "tools/call", "export", {"rows": rows})
    memory.remember("other", "tools/call", "export", {"rows": 9})
    assert memory.recent("db", "tools/call", "export") == [{"rows": 3}, {"rows": 1}, {"rows": 2}]


def test_one_tool_fills_no_more_than_its_part() -> None:
    memory = CallMemory()
    memory.remember("db", "tools/call", "crawl", {})
    for rows in range(300):
        memory.remember("db", "tools/call", "export", {"rows": rows})
    assert len(memory.recent("db", "tools/call", "export")) == 20
    assert memory.recall("db", "tools/call", "crawl") == {}


def _saved(folder: str, title: str, rows: int = 1) -> SavedCall:
    return SavedCall(folder, title, "db", "tools/call", "export", {"rows": rows})


def test_saved_calls_come_back_by_folder_and_title() -> None:
    calls = SavedCalls()
    for folder, title in (("b", "One"), ("", "two"), ("a", "Three"), ("", "One")):
        calls.save(_saved(folder, title))
    other = SavedCalls()
    other.restore(json.loads(json.dumps(calls.state())))
    assert [(call.folder, call.title) for call in other] == [
        ("", "One"),
        ("", "two"),
        ("a", "Three"),
        ("b", "One"),
    ]
    assert other.folders == ["a", "b"]


def test_a_saved_call_is_replaced_moved_and_removed() -> None:
    calls = SavedCalls()
    calls.save(_saved("", "One", 1))
    calls.save(_saved("", "One", 2))
    (call,) = calls
    assert call.arguments == {"rows": 2}
    calls.move(call, "a", "Two")
    assert calls.get("", "One") is None
    moved = calls.get("a", "Two")
    assert moved is not None
    calls.remove(moved)
    assert list(calls) == []


def test_saved_calls_that_make_no_sense_are_left_out() -> None:
    calls = SavedCalls()
    calls.restore({"calls": [7, {"folder": "a"}, _saved("", "One")._asdict()]})
    assert [call.title for call in calls] == ["One"]
    calls.restore({"calls": "x"})
    assert list(calls) == []
