"""What HTTP has to know of our messages, and the headers that mirror them."""

import json
from typing import Any

import pytest

from mcp_progress_monitor.protocol.eras import PER_REQUEST
from mcp_progress_monitor.protocol.messages import VERSION_KEY
from mcp_progress_monitor.sessions.transport.http.endpoint import (
    encoded,
    mirrored,
    parameter_headers,
    read_http_message,
)


def letter(method: str, **params: Any) -> Any:
    raw = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return read_http_message(json.dumps(raw).encode(), 7)


STAMPED = {"_meta": {VERSION_KEY: PER_REQUEST}}


@pytest.mark.parametrize(
    ("message", "is_request", "method"),
    [
        ({"id": 1, "method": "ping"}, True, "ping"),
        ({"method": "notifications/x"}, False, "notifications/x"),
        ({"id": 1, "result": {}}, False, None),
    ],
)
def test_requests_are_reported_from_the_rest(
    message: dict[str, Any], is_request: bool, method: str | None
) -> None:
    found = read_http_message(json.dumps(message).encode(), 1)
    assert (found.is_request, found.method) == (is_request, method)


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "count"}, "count"),
        ("prompts/get", {"name": "greet"}, "greet"),
        ("resources/read", {"uri": "file:///a b"}, "file:///a b"),
        ("tools/list", {}, None),
        ("tools/call", {"name": 7}, None),
    ],
)
def test_2026_repeats_method_and_name(
    method: str, params: dict[str, Any], name: str | None
) -> None:
    headers = mirrored(letter(method, **params, **STAMPED), None, None)
    assert headers["MCP-Protocol-Version"] == PER_REQUEST
    assert headers["Mcp-Method"] == method
    assert headers.get("Mcp-Name") == name


def test_the_handshake_era_tells_its_revision_and_no_more() -> None:
    assert mirrored(letter("tools/call", name="x"), "2025-06-18", None) == {
        "MCP-Protocol-Version": "2025-06-18"
    }
    assert mirrored(letter("tools/call", name="x"), None, None) == {}


def test_a_handshake_tells_nothing_that_was_not_agreed() -> None:
    assert mirrored(letter("initialize"), "2025-06-18", None) == {}


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("two words", "two words"),
        ("", ""),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("a\x7fb", "=?base64?YX9i?="),
    ],
)
def test_values_arrive_as_they_are(value: str, header: str) -> None:
    assert encoded(value) == header


SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "is_dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "deep": {"type": "object", "properties": {"id": {"type": "string", "x-mcp-header": "Id"}}},
        "query": {"type": "string"},
    },
}


def test_marked_arguments_are_repeated() -> None:
    arguments = {"region": "é", "count": 3, "is_dry": True, "deep": {"id": "x"}, "query": "q"}
    assert parameter_headers(SCHEMA, arguments) == {
        "Mcp-Param-Region": "=?base64?w6k=?=",
        "Mcp-Param-Count": "3",
        "Mcp-Param-Dry": "true",
        "Mcp-Param-Id": "x",
    }


def test_what_is_not_given_has_no_header() -> None:
    assert parameter_headers(SCHEMA, {"region": None, "deep": 7}) == {}


@pytest.mark.parametrize(
    "marks",
    [
        {"a": {"type": "number", "x-mcp-header": "A"}},
        {"a": {"type": "string", "x-mcp-header": "A\r\nX-Evil: 1"}},
        {"a": {"type": "string", "x-mcp-header": ""}},
        {"a": {"type": ["string"], "x-mcp-header": "A"}},
        {
            "a": {"type": "string", "x-mcp-header": "A"},
            "b": {"type": "string", "x-mcp-header": "a"},
        },
    ],
)
def test_marks_that_break_the_rules_count_for_nothing(marks: dict[str, Any]) -> None:
    assert parameter_headers({"properties": marks}, {"a": "1", "b": "2"}) == {}


def test_a_call_of_2026_carries_them() -> None:
    call = letter("tools/call", name="t", arguments={"region": "north"}, **STAMPED)
    assert mirrored(call, None, SCHEMA)["Mcp-Param-Region"] == "north"
