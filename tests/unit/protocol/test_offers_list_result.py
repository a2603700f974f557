"""Results of lists: read whole, and of what is nested too deep all the rest."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.lenient_json import DEEPEST, Elided, NotJsonError
from mcp_progress_monitor.protocol.offers import read_list_result
from tests.unit.protocol.wire import JSON, TEXT


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"properties": schema}
    return schema


DEEP = nested(DEEPEST + 100)
SIZE = len(json.dumps(DEEP))


def read(result: Any) -> dict[str, Any]:
    reply = {"jsonrpc": "2.0", "id": 1, "result": result}
    return read_list_result(json.dumps(reply).encode(), "tools")


def test_of_an_item_too_deep_only_the_deep_member_is_left_out() -> None:
    first, last = {"name": "first", "inputSchema": nested(3)}, {"name": "last"}
    deep = {"name": "deep", "title": "D", "inputSchema": DEEP}
    result = read({"tools": [first, deep, last], "nextCursor": "more", "_meta": {"a": 1}})
    assert result == {
        "tools": [first, deep | {"inputSchema": Elided(SIZE, is_too_deep=True)}, last],
        "nextCursor": "more",
        "_meta": {"a": 1},
    }


def test_deep_values_that_are_no_item_are_left_out_whole() -> None:
    assert read({"tools": DEEP, "_meta": {"a": [DEEP]}, "nextCursor": None}) == {
        "tools": Elided(SIZE, is_too_deep=True),
        "_meta": Elided(SIZE + len('{"a": []}'), is_too_deep=True),
        "nextCursor": None,
    }
    array = [DEEP]
    assert read({"tools": [array, 5]})["tools"] == [Elided(SIZE + 2, is_too_deep=True), 5]


@pytest.mark.parametrize("result", [[DEEP], [], 5, None])
def test_a_result_that_is_no_object_is_empty(result: Any) -> None:
    assert read(result) == {}


def test_what_is_no_json_inside_is_reported() -> None:
    with pytest.raises(NotJsonError):
        read_list_result(b'{"result":{"tools":[{"name":"a"},{"name":}]}}', "tools")
    deep = json.dumps(DEEP).encode()
    with pytest.raises(NotJsonError):
        read_list_result(b'{"result":{"tools":[%b,{"name":}]}}' % deep, "tools")


@given(st.dictionaries(TEXT, JSON))
def test_a_deep_neighbour_changes_nothing_for_an_item(item: dict[str, Any]) -> None:
    assert read({"tools": [item, {"a": DEEP}]})["tools"][0] == item
