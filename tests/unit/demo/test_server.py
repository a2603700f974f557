"""The server answers what it should, refuses the rest politely, and honours cancellations."""

import json
from typing import Any

import pytest

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.tool import NO_ARGUMENTS, Tool
from mcp_progress_monitor.demo.tools import TOOLS
from mcp_progress_monitor.demo.wire import JsonObject
from tests.unit.demo.client import PATIENCE_S, PER_REQUEST, Client


def stumble(_call: Call) -> JsonObject:
    raise LookupError("a slip of the programmer's")


def test_all_tools_are_listed_at_once_by_default() -> None:
    listed = Client().request("tools/list").result
    assert [tool["name"] for tool in listed["tools"]] == [tool.name for tool in TOOLS]
    assert "nextCursor" not in listed


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"rubbish\n", -32700),
        (b"\n", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"p\xff"}\n', -32700),
        (b"[" * 100_000 + b"\n", -32700),
        (b"42\n", -32600),
        (b"[]\n", -32600),
        (b'{"id":1,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}\n', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}\n', -32600),
    ],
)
def test_an_unreadable_line_is_refused_without_an_id(line: bytes, code: int) -> None:
    client = Client()
    reply = client.line(line).reply
    assert reply["id"] is None
    assert reply["error"]["code"] == code
    assert client.request("ping").result == {}


def test_a_batch_is_taken_where_the_revision_has_batches() -> None:
    batch = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in (11, 12)]
    assert {reply["id"] for reply in Client("2025-03-26").send(batch).replies} == {11, 12}
    assert Client("2025-06-18").send(batch).error["code"] == -32600


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("demo/no_such_method", {}, -32601),
        ("logging/setLevel", {"level": "loud"}, -32602),
        ("tools/call", {"name": "no_such_tool"}, -32602),
        ("tools/call", {}, -32602),
        ("tools/call", {"name": "fraction", "arguments": {"steps": "five"}}, -32602),
        ("tools/call", {"name": "fraction", "arguments": []}, -32602),
        ("resources/read", {}, -32602),
        ("prompts/get", {"name": "no_such_prompt"}, -32602),
        ("prompts/get", {"name": "greet"}, -32602),
        ("prompts/get", {"name": "greet", "arguments": {"name": 5}}, -32602),
    ],
)
def test_a_request_that_cannot_be_served_is_refused(
    method: str, params: JsonObject, code: int
) -> None:
    assert Client().request(method, params).error["code"] == code


@pytest.mark.parametrize("token", [1.5, True, [], {}])
def test_a_token_of_a_wrong_type_is_refused(token: object) -> None:
    assert Client().call("fraction", token).error["code"] == -32602


@pytest.mark.parametrize("token", ["a", "", "7", 7, 0, -1, 2**70, "\ud800", "ä\n"])
def test_a_token_comes_back_with_its_type_and_value(token: str | int) -> None:
    (tick,) = Client().call("known_total", token, steps=1, interval_s=0).ticks
    assert tick["progressToken"] == token
    assert type(tick["progressToken"]) is type(token)


ENDLESS = {"never_answers", "crash"}


@pytest.mark.parametrize("name", [tool.name for tool in TOOLS if tool.name not in ENDLESS])
def test_without_a_token_there_is_no_progress(name: str) -> None:
    (tool,) = [tool for tool in TOOLS if tool.name == name]
    quick = {"interval_s": 0, "silence_s": 0}
    properties = tool.schema["properties"]
    arguments = {name: value for name, value in quick.items() if name in properties}
    fast: dict[str, dict[str, Any]] = {
        "download": {"megabytes": 0.1},
        "worker": {"items": 1, "items_per_s": 1_000_000},
    }
    played = Client().call(name, None, **arguments, **fast.get(name, {}))
    assert b"notifications/progress" not in played.raw
    assert played.raw


def test_a_mistake_in_a_tool_ends_only_its_call() -> None:
    tool = Tool(stumble, "", "", NO_ARGUMENTS)
    client = Client(tools=[tool])
    error = client.call("stumble").error
    assert error["code"] == -32603
    assert "LookupError" in error["message"]
    assert client.request("ping").result == {}


def test_an_id_that_is_still_open_is_refused() -> None:
    client = Client()
    request_id = client.begin_call("never_answers", steps=1, interval_s=0)
    again = {**client.message("tools/call", {"name": "fraction"}), "id": request_id}
    client.server.receive(json.dumps(again).encode())
    client.sink.wait_for(lambda written: b"still pending" in written)
    client.cancel(request_id)


def test_calls_run_side_by_side() -> None:
    client = Client()
    slow = client.begin_call("never_answers", steps=1, interval_s=0)
    client.begin("tools/call", {"name": "fraction", "arguments": {"interval_s": 0}}, "b")
    client.sink.wait_for(lambda written: b"Reached 1.0" in written)
    client.cancel(slow)


@pytest.mark.parametrize("version", ["2025-11-25", PER_REQUEST])
def test_a_cancelled_call_says_nothing_more(version: str) -> None:
    client = Client(version)
    request_id = client.begin_call("known_total", steps=1_000, interval_s=0.01)
    client.cancel(request_id)
    written = client.sink.written
    assert b'"result":{"content"' not in written
    assert client.request("tools/list").reply
    assert client.sink.written[len(written) :].count(b"notifications/progress") == 0


@pytest.mark.parametrize("params", [{}, {"requestId": 999}, {"requestId": []}])
def test_a_cancellation_of_nothing_is_of_no_concern(params: JsonObject) -> None:
    client = Client()
    client.notify("notifications/cancelled", params)
    assert client.request("ping").result == {}


def test_closing_cancels_what_is_running() -> None:
    client = Client()
    client.begin_call("never_answers", steps=1, interval_s=0)
    client.server.close()
    client.server.join(PATIENCE_S)
    assert b'"result":{"content"' not in client.sink.written


def test_a_slow_resource_reports_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.demo.resources._SECTION_S", 0)
    played = Client().request("resources/read", {"uri": "demo://report"}, "r")
    assert played.values == list(range(1, 21))
    assert "Section 20" in played.result["contents"][0]["text"]


def test_a_slow_prompt_reports_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.demo.resources._EXAMPLE_S", 0)
    params = {"name": "explain", "arguments": {"topic": "rain"}}
    played = Client().request("prompts/get", params, "p")
    assert played.values == list(range(1, 9))
    assert "rain" in played.result["messages"][0]["content"]["text"]


def test_an_optional_prompt_argument_may_be_left_out() -> None:
    result = Client().request("prompts/get", {"name": "greet", "arguments": {"name": "Ann"}}).result
    assert result["messages"][0]["content"]["text"] == "Greet Ann in English."
