"""Connections: kept alive, broken, and used by those who do not speak HTTP."""

from __future__ import annotations

import http.client
import json
import socket

import pytest

from tests.unit.servers.http.site import ACCEPT, called, mirrored, request, running, stamped

KEPT = {name: value for name, value in ACCEPT.items() if name != "Connection"}


def test_one_connection_serves_many_requests_refusals_and_streams_included() -> None:
    message = stamped(called("known_total", steps=2, interval_s=0))
    headers = {n.replace("_", "-"): v or "" for n, v in mirrored(message, "known_total").items()}
    body = json.dumps(message).encode()
    with running() as client:
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
        ports, statuses = set(), []
        for path, more in [
            ("/mcp", headers),
            ("/nowhere", headers),
            ("/mcp", {**headers, "Origin": "http://evil.example"}),
            ("/mcp", {**headers, "Mcp-Name": "other"}),
            ("/mcp", headers),
        ]:
            connection.request("POST", path, body, {**KEPT, **more})
            ports.add(connection.sock.getsockname())
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
        connection.close()
    assert statuses == [200, 404, 403, 400, 200]
    assert len(ports) == 1


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"hello\r\n\r\n", b"400"),
        (b"POST /mcp HTTP/9.9\r\n\r\n", b"505"),
        (b"POST /mcp HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"411"),
        (b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"411"),
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET /mcp HTTP/1.1\r\n" + b"X: y\r\n" * 500 + b"\r\n", b"431"),
    ],
)
def test_odd_requests_are_refused_and_harm_nobody(sent: bytes, status: bytes) -> None:
    with running() as client:
        with socket.create_connection(("127.0.0.1", client.port), 10) as raw:
            raw.sendall(sent)
            answer = raw.recv(65_536)
        assert status in answer.split(b"\n")[0] or b"Error code: " + status in answer
        assert client.post(request("ping")).status == 400


def test_many_clients_are_served_at_the_same_time_as_many_half_open_ones() -> None:
    with running() as client:
        address = ("127.0.0.1", client.port)
        half_open = [socket.create_connection(address, 10) for _ in range(100)]
        for raw in half_open:
            raw.sendall(b"POST /mcp HT")
        listeners = []
        for _ in range(100):
            client.session = {}
            client.open()
            listeners.append(client.begin("GET"))
        assert client.call_alone("known_total", steps=2, interval_s=0).ticks == [1, 2]
        for raw in half_open:
            raw.close()
        for listener in listeners:
            listener.close()
