"""Tools that ask tell what the client answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.demo.client import PER_REQUEST, Client


def _asked(client: Client, number: int) -> dict[str, Any]:
    """Wait for our client to be asked, and return the question."""
    mark = f'"id":"demo-{number}"'.encode()
    client.sink.wait_for(lambda written: mark in written and written.endswith(b"\n"))
    (line,) = [line for line in client.sink.written.splitlines() if mark in line]
    question: dict[str, Any] = json.loads(line)
    return question


@pytest.mark.parametrize("method", ["ping", "roots/list", "demo/no_such_method"])
def test_the_answer_is_reported_in_the_result(method: str) -> None:
    client = Client()
    client.begin("tools/call", {"name": "ask_client", "arguments": {"method": method}})
    assert _asked(client, 1)["method"] == method
    reply = {"jsonrpc": "2.0", "id": "demo-1", "error": {"code": -32601, "message": "No"}}
    assert json.loads(client.send(reply).result["content"][0]["text"]) == reply


def test_each_question_has_an_id_of_its_own() -> None:
    client = Client()
    client.begin("tools/call", {"name": "ask_client", "arguments": {"count": 2}}, "a")
    for number in (1, 2):
        _asked(client, number)
        client.server.receive(b'{"jsonrpc":"2.0","id":"demo-%d","result":{}}' % number)
    client.sink.wait_for(lambda written: written.count(b'\\"result\\"') == 2)


def test_no_answer_in_time_is_null() -> None:
    played = Client().call("ask_client", timeout_s=0)
    assert [block["text"] for block in played.replies[0]["result"]["content"]] == ["null"]


@pytest.mark.parametrize("reply_id", ["demo-99", None, [], 1])
def test_an_answer_to_nothing_is_dropped(reply_id: object) -> None:
    assert Client().send({"jsonrpc": "2.0", "id": reply_id, "result": {}}).raw == b""


def test_nothing_is_asked_where_servers_must_not_ask() -> None:
    played = Client(PER_REQUEST).call("ask_client")
    assert played.result["isError"] is True
    assert len(played.messages) == 1


def test_it_can_be_made_to_ask_all_the_same() -> None:
    played = Client(PER_REQUEST).call("ask_client", timeout_s=0, even_if_forbidden=True)
    assert played.messages[0]["method"] == "ping"
