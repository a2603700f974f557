"""Tasks as messages state them, in both shapes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import Task

from mcp_progress_monitor.protocol.facts import (
    _TASK_MESSAGE_LIMIT,
    TaskView,
    parsed_moment,
    read_task,
)
from mcp_progress_monitor.protocol.messages import TaskStatus, is_terminal
from tests.unit.protocol.wire import JSON

MOMENTS = {"createdAt": "2025-11-25T10:30:00Z", "lastUpdatedAt": "2025-11-25T10:40:00.5+01:00"}
NESTED = {"taskId": "T", "status": "working", **MOMENTS, "ttl": 60_000}
FLAT = {"taskId": "T", "status": "working", **MOMENTS, "ttlMs": 60_000, "pollIntervalMs": 500}


def _read(value: object, *, flat: bool = True) -> TaskView:
    view = read_task(value, flat=flat)
    assert view is not None
    return view


def test_a_nested_task_of_2025_is_read() -> None:
    task = {**NESTED, "statusMessage": "counting", "pollInterval": 5000}
    created, updated = MOMENTS.values()
    expected = TaskView("T", "working", "counting", created, updated, 60_000, 5000)
    assert _read({"task": task}, flat=False) == expected
    assert _read(task) == expected


def test_a_flat_task_of_the_extension_is_read() -> None:
    view = _read({"resultType": "task", **FLAT})
    assert (view.ttl_ms, view.poll_ms, view.violations, view.is_flat) == (60_000, 500, (), True)


def test_what_the_official_types_write_is_sound() -> None:
    when = "2025-11-25T10:30:00Z"
    task = Task.model_validate({**NESTED, "createdAt": when, "pollInterval": 7})
    written = task.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert _read(written) == TaskView(
        "T", "working", None, when, MOMENTS["lastUpdatedAt"], 60_000, 7
    )


def test_a_task_without_limit_is_sound() -> None:
    assert _read({**NESTED, "ttl": None}).violations == ()
    assert _read({**NESTED, "ttl": None}).ttl_ms is None


@pytest.mark.parametrize(
    ("value", "flat"),
    [
        (None, True),
        ([], False),
        ({}, True),
        ({"task": 5}, False),
        ({"task": {"taskId": 5}}, False),
        (NESTED, False),
    ],
)
def test_without_an_id_that_is_a_string_there_is_no_task(value: object, flat: bool) -> None:
    assert read_task(value, flat=flat) is None


@pytest.mark.parametrize(
    ("change", "violation"),
    [
        ({"taskId": ""}, '"taskId" is empty'),
        ({"status": "done"}, '"status" is "done", not a task status'),
        ({"status": None}, '"status" is null, not a task status'),
        ({"statusMessage": 5}, '"statusMessage" is 5, not a string'),
        ({"createdAt": "today"}, '"createdAt" is "today", not an ISO 8601 time'),
        ({"lastUpdatedAt": 5}, '"lastUpdatedAt" is 5, not an ISO 8601 time'),
        ({"ttl": -1}, '"ttl" is -1, not a number of milliseconds'),
        ({"ttl": True}, '"ttl" is true, not a number of milliseconds'),
        ({"pollInterval": None}, '"pollInterval" is null, not a number of milliseconds'),
    ],
)
def test_what_is_wrong_is_reported_and_the_rest_is_read(
    change: dict[str, Any], violation: str
) -> None:
    view = _read({**NESTED, **change})
    assert view.violations == (violation,)
    assert (view.id, view.created is None) == (
        change.get("taskId", "T"),
        change.get("createdAt") == 5,
    )


@pytest.mark.parametrize("name", ["status", "createdAt", "lastUpdatedAt", "ttl"])
def test_what_is_missing_is_reported(name: str) -> None:
    rest = {key: value for key, value in NESTED.items() if key != name}
    assert _read(rest).violations == (f'"{name}" is missing',)


def test_words_are_bounded() -> None:
    view = _read({**NESTED, "statusMessage": "x" * 10_000, "status": "y" * 1000})
    assert len(view.message or "") == _TASK_MESSAGE_LIMIT
    assert len(view.status) < 100


def test_three_statuses_are_the_end() -> None:
    ends = {status for status in TaskStatus if status.is_terminal}
    assert ends == {"completed", "failed", "cancelled"}
    assert all(is_terminal(end) and _read({**NESTED, "status": end}).is_terminal for end in ends)
    assert not is_terminal("done")
    assert not is_terminal(None)


def test_moments_are_wall_seconds_where_they_can_be_reported() -> None:
    assert parsed_moment("1970-01-01T00:01:00Z") == 60.0
    assert [parsed_moment(arguments) for arguments in (None, "", "1970-01-01T00:01:00")] == [
        None
    ] * 3


@given(
    st.dictionaries(
        st.sampled_from([*NESTED, *FLAT, "statusMessage", "pollInterval", "resultType"]), JSON
    )
)
def test_no_task_however_wrong_is_too_much(task: dict[str, Any]) -> None:
    view = read_task(task, flat=True)
    assert (view is None) == (not isinstance(task.get("taskId"), str))
    assert read_task({"task": task}, flat=False) is None or view is not None
