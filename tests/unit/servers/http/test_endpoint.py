"""What the MCP endpoint answers, in both eras and in each way of replying."""

from __future__ import annotations

import json
import threading

import pytest

from tests.unit.servers.http.site import NEWEST, Client, called, mirrored, request, running, stamped

QUICK = {"steps": 4, "interval_s": 0}
LONG = {"steps": 100, "interval_s": 30}


def test_a_call_is_answered_on_its_own_stream() -> None:
    with running() as client:
        client.open()
        answer = client.call("known_total", 7, **QUICK)
    assert answer.headers["Content-Type"] == "text/event-stream"
    assert answer.ticks == [1, 2, 3, 4]
    assert [m.get("id") for m in answer.messages] == [None] * 4 + [7]


def test_a_call_without_a_session_is_answered_in_the_newest_revision() -> None:
    with running() as client:
        answer = client.call_alone("known_total", **QUICK)
    assert answer.ticks == [1, 2, 3, 4]
    assert answer.messages[-1]["result"]["resultType"] == "complete"


def test_two_clients_without_sessions_may_use_the_same_id_at_the_same_time() -> None:
    with running() as client:
        answers = []
        arguments = {"steps": 3, "interval_s": 0.05}
        threads = [
            threading.Thread(
                target=lambda: answers.append(client.call_alone("known_total", **arguments))
            )
            for _ in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [answer.ticks for answer in answers] == [[1, 2, 3]] * 20
    assert all("result" in answer.messages[-1] for answer in answers)


def test_a_session_is_needed_known_and_ended() -> None:
    ping = request("ping")
    with running() as client:
        assert client.post(ping).status == 400
        client.open()
        assert client.post(ping).status == 200
        assert client.post(ping, Mcp_Session_Id="other").status == 404
        assert client.request("DELETE").status == 204
        assert client.post(ping).status == 404
        assert client.request("DELETE").status == 404


def test_a_refused_handshake_gives_no_session() -> None:
    with running() as client:
        answer = client.post(request("initialize"))
    assert answer.status == 400
    assert "Mcp-Session-Id" not in answer.headers


def test_a_handshake_is_one_whatever_revision_its_headers_name() -> None:
    with running() as client:
        for _ in range(2):
            assert client.open().status == 200
        params = {"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": {}}
        answer = client.post(request("initialize", params), MCP_Protocol_Version=NEWEST)
        assert answer.messages[-1]["result"]["protocolVersion"] == "2025-11-25"
        assert client.call_alone("known_total", **QUICK).ticks == [1, 2, 3, 4]


def test_without_handshakes_initialize_is_refused_with_what_there_is() -> None:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
    with running("--era", "per-request") as client:
        answer = client.post(request("initialize", params))
    assert (answer.status, answer.json["error"]["code"]) == (400, -32022)
    assert answer.json["error"]["data"]["supported"] == [NEWEST]


def test_notifications_and_answers_are_accepted_without_a_body() -> None:
    with running() as client:
        client.open()
        note = client.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        reply = client.post({"jsonrpc": "2.0", "id": "demo-1", "result": {}})
    assert [(a.status, a.body) for a in (note, reply)] == [(202, b""), (202, b"")]


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "PATCH", "BREW"])
def test_other_methods_are_not_allowed(method: str) -> None:
    with running() as client:
        answer = client.request(method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, POST, DELETE")


def test_without_sessions_nobody_may_listen_or_end_one() -> None:
    with running("--era", "per-request") as client:
        answers = [client.request(method) for method in ("GET", "DELETE")]
    assert [(a.status, a.headers["Allow"]) for a in answers] == [(405, "POST")] * 2


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Accept": "application/json"}, 406),
        ({"Content_Type": "text/plain"}, 415),
        ({"MCP_Protocol_Version": "1999-01-01"}, 400),
        ({"Origin": "http://evil.example"}, 403),
        ({"Host": "evil.example"}, 421),
    ],
)
def test_headers_are_checked(headers: dict[str, str | None], status: int) -> None:
    with running() as client:
        client.open()
        assert client.post(request("ping"), **headers).status == status


def test_what_is_no_json_is_refused() -> None:
    with running() as client:
        answer = client.request("POST", "/mcp", b'{"jsonrpc"')
    assert (answer.status, answer.json["error"]["code"]) == (400, -32700)


def test_a_body_that_is_too_large_is_not_read() -> None:
    with running() as client:
        answer = client.request("POST", Content_Length=str(10**9))
    assert answer.status == 413


@pytest.mark.parametrize(
    "wrong",
    [{"Mcp_Method": "tools/list"}, {"Mcp_Method": None}, {"Mcp_Name": "burst"}, {"Mcp_Name": None},
     {"MCP_Protocol_Version": "2025-11-25"}, {"MCP_Protocol_Version": None}],
)  # fmt: skip
def test_headers_must_say_what_the_body_says(wrong: dict[str, str | None]) -> None:
    message = stamped(called("known_total", **QUICK))
    with running() as client:
        answer = client.post(message, **{**mirrored(message, "known_total"), **wrong})
    assert (answer.status, answer.json["error"]["code"]) == (400, -32020)
    assert answer.json["id"] == 1


def test_a_name_may_come_in_base64() -> None:
    message = stamped(called("known_total", **QUICK))
    with running() as client:
        answer = client.post(message, **mirrored(message, "=?base64?a25vd25fdG90YWw=?="))
    assert answer.ticks == [1, 2, 3, 4]


def test_an_unknown_method_is_not_found_in_the_newest_revision() -> None:
    message = stamped(request("demo/nothing"))
    with running() as client:
        answer = client.post(message, **mirrored(message))
    assert (answer.status, answer.json["error"]["code"]) == (404, -32601)


def test_closing_the_stream_cancels_a_call_without_a_session() -> None:
    with running() as client:
        message = stamped(called("known_total", 1, steps=100, interval_s=0.01))
        body = json.dumps(message).encode()
        response = client.begin("POST", "/mcp", body, **mirrored(message, "known_total"))
        response.readline()
        names = [thread.name for thread in threading.enumerate()]
        assert "tools/call 1" in names
        response.close()
        for thread in threading.enumerate():
            if thread.name == "tools/call 1":
                thread.join(0.5)  # the whole call would take twice as long
                assert not thread.is_alive()


def test_closing_the_stream_does_not_cancel_a_call_of_a_session() -> None:
    with running("--resumable") as client:
        client.open()
        body = json.dumps(called("known_total", 1, steps=10, interval_s=0.02)).encode()
        response = client.begin("POST", "/mcp", body)
        event_id = response.readline().decode().partition(": ")[2].strip()
        response.close()
        answer = client.request("GET", Last_Event_ID=event_id)
    assert answer.ticks == list(range(1, 11))
    assert "result" in answer.messages[-1]


def test_a_call_is_cancelled_by_a_notification_of_its_session() -> None:
    with running() as client:
        client.open()
        body = json.dumps(called("known_total", 5, on_cancel="error", **LONG)).encode()
        response = client.begin("POST", "/mcp", body)
        params = {"requestId": 5}
        client.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        assert b"-32800" in response.read()


def test_what_belongs_to_no_request_waits_for_who_listens() -> None:
    with running() as client:
        client.open()
        answer = client.call("change_list", 1, list="tools")
        response = client.begin("GET")
        lines = [response.readline() for _ in range(2)]
        response.close()
    assert len(answer.messages) == 1
    assert b"notifications/tools/list_changed" in lines[1]


def test_a_listener_receives_the_updates_of_other_requests() -> None:
    listen = stamped(
        request("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, "l")
    )
    with running() as client:
        response = client.begin("POST", "/mcp", json.dumps(listen).encode(), **mirrored(listen))
        opening = [response.readline() for _ in range(3)]
        client.call_alone("change_list", list="tools")
        subscriptions = [response.readline() for _ in range(2)]
        response.close()
    assert b"subscriptions/acknowledged" in opening[1]
    assert b"notifications/tools/list_changed" in subscriptions[1]
    assert b'"io.modelcontextprotocol/subscriptionId":"l"' in subscriptions[1]


def test_a_question_comes_on_the_stream_of_its_call() -> None:
    with running() as client:
        client.open(roots={})
        body = json.dumps(called("ask_client", 1, method="roots/list")).encode()
        response = client.begin("POST", "/mcp", body)
        while not (line := response.readline()).startswith(b"data: "):
            pass
        question = json.loads(line[6:])
        client.post({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}})
        rest = response.read()
    assert question["method"] == "roots/list"
    assert b'\\"roots\\": []' in rest


def test_a_batch_of_the_revision_that_has_them_gets_one_stream() -> None:
    batch = [request("ping", request_id=1), request("ping", request_id=2)]
    with running() as client:
        client.open("2025-03-26")
        answer = client.post(batch)
    assert sorted(m["id"] for m in answer.messages) == [1, 2]


def test_json_has_the_reply_alone_and_progress_goes_to_who_listens() -> None:
    with running("--reply", "json") as client:
        client.open()
        answer = client.call("known_total", 1, **QUICK)
        response = client.begin("GET")
        heard = [response.readline() for _ in range(12)]
        response.close()
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json["result"]["content"][0]["text"] == "Finished all 4 steps."
    assert sum(b"notifications/progress" in line for line in heard) == 4


def test_a_batch_reply_has_all_progress_and_the_result() -> None:
    with running("--reply", "batch") as client:
        answers = [client.call_alone("known_total", **QUICK)]
        client.open()
        answers.append(client.call("known_total", 1, **QUICK))
    for answer in answers:
        assert [m["params"]["progress"] for m in answer.json[:-1]] == [1, 2, 3, 4]
        assert "result" in answer.json[-1]


def test_late_progress_comes_with_the_reply_to_another_request() -> None:
    with running("--late-batch") as client:
        client.open()
        first = client.call("known_total", 1, **QUICK)
        second = client.post(request("ping", request_id=2))
    assert [m["params"]["progress"] for m in first.json[:-1]] == [1, 2, 3]
    assert [m["params"]["progress"] for m in second.json[:-1]] == [4]
    assert second.json[-1] == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_a_cut_call_is_gone_on_with_where_it_was_cut() -> None:
    with running("--resumable", "--break-after", "3", "--retry", "40") as client:
        client.open()
        first = client.call("known_total", 1, steps=6, interval_s=0)
        second = client.request("GET", Last_Event_ID=first.events[-1]["id"])
        again = client.request("GET", Last_Event_ID=first.events[-1]["id"])
    assert first.events[0] == {"id": first.events[0]["id"], "retry": "40", "data": ""}
    assert first.ticks == [1, 2, 3]
    assert second.ticks == [4, 5, 6]
    assert "result" in second.messages[-1]
    assert again.messages == second.messages


def test_a_call_that_is_cut_without_a_session_is_lost() -> None:
    with running("--resumable", "--break-after", "2") as client:
        answer = client.call_alone("known_total", **QUICK)
    assert answer.ticks == [1, 2]
    assert "result" not in answer.messages[-1]


@pytest.mark.parametrize("event_id", ["nonsense", "s9-1", "general-99", "-1"])
def test_an_unknown_event_id_is_refused(event_id: str) -> None:
    with running("--resumable") as client:
        client.open()
        assert client.request("GET", Last_Event_ID=event_id).status == 400


def test_a_newer_listener_takes_the_place_of_an_older_one() -> None:
    with running() as client:
        client.open()
        older = client.begin("GET")
        newer = client.begin("GET")
        assert older.read() == b""
        client.call("change_list", 1, list="tools")
        assert newer.readline() == b"event: message\n"
        newer.close()


def test_a_flood_comes_whole_and_in_order() -> None:
    with running() as client:
        answer = client.call_alone("burst", count=50_000)
    assert answer.ticks == list(range(1, 50_001))
    assert answer.headers["Transfer-Encoding"] == "chunked"


def test_an_older_client_of_http_gets_a_stream_too(client_of_http_1_0: bytes) -> None:
    assert b"Transfer-Encoding" not in client_of_http_1_0
    assert client_of_http_1_0.count(b"data: ") == 5


@pytest.fixture
def client_of_http_1_0() -> bytes:
    import socket

    message = stamped(called("known_total", **QUICK))
    body = json.dumps(message)
    head = (
        "POST /mcp HTTP/1.0\r\nHost: localhost\r\nAccept: */*\r\nContent-Type: application/json\r\n"
        f"MCP-Protocol-Version: {NEWEST}\r\nMcp-Method: tools/call\r\nMcp-Name: known_total\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with running() as client, socket.create_connection(("127.0.0.1", client.port), 10) as raw:
        raw.sendall((head + body).encode())
        received = b""
        while data := raw.recv(65_536):
            received += data
    return received


def test_a_slow_reader_holds_up_the_flood_and_nobody_else() -> None:
    message = stamped(called("burst", count=1_000_000))
    body = json.dumps(message).encode()
    with running() as client:
        slow = client.begin("POST", "/mcp", body, **mirrored(message, "burst"))
        other = Client(client.port).call_alone("known_total", 1, **QUICK)
        slow.close()
    assert other.ticks == [1, 2, 3, 4]
