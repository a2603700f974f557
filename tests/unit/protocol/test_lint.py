"""Checking messages against the schemas of revisions."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from app.protocol.facts import Side
from app.protocol.jsonrpc import decode
from app.protocol.lint import check
from tests.unit.protocol.wire import as_bytes, call, error, notification, progress, request, result


def _check(
    message: dict[str, Any],
    sender: Side = Side.SERVER,
    revision: str = "2025-11-25",
    method: str | None = None,
) -> tuple[str, ...]:
    return check(decode(as_bytes(message)), sender, revision, method)


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25", "2026-07-28"])
def test_sound_messages_pass(revision: str) -> None:
    assert _check(progress("a", 1.5, total=2), revision=revision) == ()
    content = {"content": [{"type": "text", "text": "x"}], "resultType": "complete"}
    assert _check(result(1, **content), revision=revision, method="tools/call") == ()


def test_wrong_members_are_named() -> None:
    (problem,) = _check(progress("a", "5"))
    assert problem.startswith("params.progress: ")
    assert _check(result(1, content=5), method="tools/call")[0].startswith("content")


def test_a_method_the_side_may_not_send_is_told() -> None:
    assert _check(progress("a", 1), Side.CLIENT, "2026-07-28") == (
        "notifications/progress from this side is not defined in 2026-07-28",
    )
    assert _check(call(1, "a"), Side.SERVER) != ()
    assert _check(call(1, "a"), Side.CLIENT) == ()


@pytest.mark.parametrize(
    "message",
    [
        request(1, "tasks/get", taskId="T"),
        notification("notifications/tasks/status", taskId="T"),
        error(1),
        result(1, anything=1),
    ],
)
def test_what_the_schemas_do_not_cover_is_left_alone(message: dict[str, Any]) -> None:
    assert _check(message) == ()


def test_a_task_as_a_result_is_left_alone() -> None:
    task = {"taskId": "T", "status": "working"}
    assert _check(result(1, task=task), method="tools/call") == ()
    assert _check(result(1, resultType="task", **task), method="tools/call") == ()


def test_what_is_not_decoded_is_not_checked() -> None:
    assert _check(result(1, content="x" * 2_000_000), method="tools/call") == ()
    assert _check(result(1, content="x"), method="tools/call") != ()


def test_an_unknown_revision_has_no_schema() -> None:
    assert _check(progress("a", "5"), revision="2099-01-01") == ()


def test_very_many_problems_are_counted() -> None:
    problems = _check(result(1, tools=[5] * 50), method="tools/list")
    assert len(problems) == 21
    assert problems[-1] == "and 30 more"


def test_the_schemas_are_not_imported_before_they_are_needed() -> None:
    code = "import sys, app.protocol.lint; sys.exit('mcp_types' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
