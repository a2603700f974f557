"""The transport of 2024-11-05."""

from __future__ import annotations

import json
import threading

from tests.unit.servers.http.site import request, running


def test_everything_comes_on_the_one_stream() -> None:
    with running("--sse") as client:
        stream = client.begin("GET", "/sse")
        assert stream.readline() == b"event: endpoint\n"
        address = stream.readline().decode().removeprefix("data: ").strip()
        params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {}}
        sent = request("initialize", params)
        answer = client.request("POST", address, json.dumps(sent).encode())
        lines = [stream.readline() for _ in range(3)]
        stream.close()
    assert answer.status == 202
    assert json.loads(lines[2].removeprefix(b"data: "))["result"]["protocolVersion"] == "2024-11-05"


def test_a_session_ends_with_its_stream() -> None:
    with running("--sse") as client:
        stream = client.begin("GET", "/sse")
        stream.readline()
        address = stream.readline().decode().removeprefix("data: ").strip()
        names = {t for t in threading.enumerate() if "process_request_thread" in t.name}
        stream.close()
        for thread in names:
            thread.join(5)
        assert client.request("POST", address, b"{}").status == 404


def test_a_newer_client_is_reported_that_this_is_the_older_transport() -> None:
    with running("--sse") as client:
        answers = [client.request("POST", "/sse", b"{}"), client.request("GET", "/messages")]
        assert client.request("GET", "/mcp").status == 404
    assert [(a.status, a.headers["Allow"]) for a in answers] == [(405, "GET"), (405, "POST")]
