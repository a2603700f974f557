"""What a job is called in its row."""

from typing import Any

import pytest

from mcp_progress_monitor.protocol.facts import RequestMade, Side
from mcp_progress_monitor.tracker import titles


def _request(method: str, params: dict[str, Any]) -> RequestMade:
    return RequestMade(1, "s#1", 0.0, 0.0, Side.CLIENT, 1, method, params, None, None, ())


@pytest.mark.parametrize(
    ("method", "params", "name", "summary"),
    [
        ("tools/call", {"name": "add", "arguments": {"a": 1, "b": "x"}}, "add", 'a=1 b="x"'),
        ("tools/call", {"name": "add", "_meta": {"progressToken": 1}}, "add", ""),
        ("tools/call", {"name": 5, "arguments": [1]}, "tools/call", ""),
        ("tools/call", {}, "tools/call", ""),
        ("prompts/get", {"name": "greet", "arguments": {"who": "you"}}, "greet", 'who="you"'),
        ("resources/read", {"uri": "file:///a"}, "file:///a", ""),
        ("sampling/createMessage", {"maxTokens": 5}, "sampling/createMessage", "maxTokens=5"),
        ("tools/call", {"name": "a\u202eb\nc"}, r"a\u202eb\nc", ""),
    ],
)
def test_a_job_is_named_by_what_it_asks_for(
    method: str, params: dict[str, Any], name: str, summary: str
) -> None:
    request = _request(method, params)
    assert (titles.name(request), titles.summary(request)) == (name, summary)


def test_a_name_is_bounded() -> None:
    name = titles.name(_request("tools/call", {"name": "x" * 100_000}))
    assert len(name) == titles.NAME_LIMIT
