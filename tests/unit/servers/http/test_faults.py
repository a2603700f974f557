"""What goes wrong over HTTP when it is asked to."""

from __future__ import annotations

import pytest

from tests.unit.servers.http.site import called, mirrored, request, running, stamped


def test_it_fails_so_many_times_and_says_when_to_come_back() -> None:
    options = ("--fail", "503", "--fail-times", "2", "--retry-after", "1.5")
    with running(*options) as client:
        answers = [client.call_alone("known_total", steps=1, interval_s=0) for _ in range(3)]
    assert [answer.status for answer in answers] == [503, 503, 200]
    assert answers[0].headers["Retry-After"] == "1.5"


def test_it_may_fail_for_ever_after_a_while() -> None:
    with running("--fail", "429", "--fail-times", "0", "--fail-after", "2") as client:
        answers = [client.request("PUT") for _ in range(5)]
    assert [answer.status for answer in answers] == [405, 405, 429, 429, 429]


def test_it_redirects() -> None:
    with running("--redirect", "https://example.com/mcp") as client:
        answer = client.post(request("ping"))
    assert (answer.status, answer.headers["Location"]) == (307, "https://example.com/mcp")


@pytest.mark.parametrize("options", [("--no-mcp",), ("--profile", "rubbish")])
def test_it_may_be_a_web_site(options: tuple[str, ...]) -> None:
    with running(*options) as client:
        answers = [client.post(request("ping")), client.request("GET", "/any/where")]
    assert [answer.status for answer in answers] == [200, 200]
    assert all(answer.body.startswith(b"<!DOCTYPE html>") for answer in answers)


@pytest.mark.parametrize(("kind", "start"), [("comments", b"\n: ..."), ("event", b"data: ...")])
def test_an_answer_may_have_no_end(kind: str, start: bytes) -> None:
    message = stamped(called("known_total"))
    with running("--endless", kind) as client:
        body = repr(message).replace("'", '"').encode()
        response = client.begin("POST", "/mcp", body, **mirrored(message, "known_total"))
        data = response.read(5_000_000)
        response.close()
    assert len(data) == 5_000_000
    assert data.startswith(start)
    assert data.count(b"data:") == (kind == "event")


@pytest.mark.parametrize("reply", ["sse", "json"])
def test_an_answer_may_be_huge(reply: str) -> None:
    with running("--huge", "3000000", "--reply", reply) as client:
        answer = client.call_alone("known_total", 4)
    (message,) = answer.messages if reply == "sse" else [answer.json]
    assert message["id"] == 4
    assert message["result"]["content"][0]["text"] == "x" * 3_000_000


def test_it_may_stay_silent_until_the_client_is_gone() -> None:
    with running("--profile", "silent") as client:
        import socket

        with socket.create_connection(("127.0.0.1", client.port), 5) as raw:
            raw.sendall(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
            raw.settimeout(0.2)
            with pytest.raises(TimeoutError):
                raw.recv(1)
