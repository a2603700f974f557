"""Questions of tasks are kept apart by what they ask."""

from typing import Any

from mcp_progress_monitor.tracker.job_parts import digest, digests


def test_questions_that_differ_differ_whatever_the_order_of_members() -> None:
    first = {"method": "elicitation/create", "params": {"message": "a", "mode": "form"}}
    same = {"params": {"mode": "form", "message": "a"}, "method": "elicitation/create"}
    other = {"method": "elicitation/create", "params": {"message": "b", "mode": "form"}}
    assert digest(first) == digest(same) != digest(other)
    assert digests({"k": first, "l": other}) == {"k": digest(first), "l": digest(other)}


def test_any_json_has_a_digest() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    values: tuple[Any, ...] = (None, "\ud800", float("nan"), 10**5000, [], {}, deep)
    for value in values:
        assert len(digest(value)) == 16
