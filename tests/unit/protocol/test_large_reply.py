"""The content of a reply that was outlined, read from its bytes in slices."""

import json
from typing import Any

import pytest

from mcp_progress_monitor.protocol.large_reply import is_outlined, with_content
from mcp_progress_monitor.protocol.lenient_json import Elided
from mcp_progress_monitor.protocol.outline import finish, outlined

LONG = "A" * 3_000_000


def outlined_result(result: Any) -> tuple[dict[str, Any], bytes]:
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
    value = finish(outlined(raw)).value
    return value["result"], raw


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"type": "image", "data": LONG}, {"type": "text", "text": "x"}]},
        {"content": [{"type": "resource", "resource": {"uri": "a", "blob": LONG}}]},
        {"contents": [{"uri": "a", "text": LONG}]},
        {
            "messages": [
                {"role": "user", "content": {"type": "resource", "resource": {"text": LONG}}}
            ]
        },
        {"content": [], "structuredContent": {"rows": [{"n": n} for n in range(200_000)]}},
    ],
    ids=["image", "embedded", "read", "prompt", "structured"],
)
def test_all_content_is_read(result: dict[str, Any]) -> None:
    outline, raw = outlined_result(result)
    assert is_outlined(outline)
    slices = with_content(outline, raw)
    assert finish(slices) == result


def test_what_takes_long_to_decode_stays_elided() -> None:
    deep: dict[str, Any] = {"a": {"b": {"c": {"d": [0] * 600_000}}}}
    outline, raw = outlined_result({"structuredContent": deep})
    read = finish(with_content(outline, raw))["structuredContent"]["a"]["b"]["c"]["d"]
    assert isinstance(read, Elided)


@pytest.mark.campaign
def test_a_list_of_numbers_that_takes_long_stays_elided() -> None:
    outline, raw = outlined_result({"content": [0] * 600_000})
    assert isinstance(finish(with_content(outline, raw))["content"], Elided)


def test_broken_bytes_leave_the_outline() -> None:
    outline = {"content": Elided(9)}
    for raw in (b"", b"[]", b'{"result": 5}', b'{"result": {"content": [1, {]}}'):
        assert finish(with_content(outline, raw)) == outline
    assert not is_outlined({"content": []})


def test_reading_pauses_again_and_again() -> None:
    outline, raw = outlined_result({"content": [{"type": "text", "text": "x" * 999}] * 5_000})
    assert sum(1 for _ in with_content(outline, raw)) > 50
