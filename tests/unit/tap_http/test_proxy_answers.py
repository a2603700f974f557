"""A tap outlives any answer, and passes on those that are valid as they came."""

import struct
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET

import h11
import pytest
from anyio.abc import SocketAttribute

from tests.unit.tap_http.odd_answers import OddAnswer, odd_answer
from tests.unit.tap_http.tapped import (
    Peer,
    Tapped,
    client,
    reply,
    request,
    response,
    rpc,
    server,
    tapped,
)

CALL = rpc("tools/call", 7, name="work")
_OF_A_CONNECTION = {b"connection", b"content-length", b"transfer-encoding", b"location"}


@pytest.mark.parametrize("first", [0, 30])
async def test_odd_answers_cost_a_tap_nothing(tmp_path: Path, first: int) -> None:
    await pass_on_odd_answers(tmp_path, range(first, first + 30))


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 1500, 100))
async def test_500_odd_answers_cost_a_tap_nothing(tmp_path: Path, first: int) -> None:
    await pass_on_odd_answers(tmp_path, range(first, first + 100))


async def pass_on_odd_answers(folder: Path, seeds: range) -> None:
    """Ask for each odd answer, and for a plain one after it; then read the recording."""
    odd: list[OddAnswer] = []

    async def serve(peer: Peer) -> None:
        await peer.message()
        if not odd:
            await peer.write(response(reply(8)))
            return
        answer = odd.pop()
        await peer.write(answer.raw)
        if answer.is_reset:
            linger = struct.pack("ii", 1, 0)
            raw_socket = peer.stream.extra(SocketAttribute.raw_socket)  # noqa: S610  # of anyio
            raw_socket.setsockopt(SOL_SOCKET, SO_LINGER, linger)

    async with server(serve) as url, tapped(url, folder) as tap:
        for seed in seeds:
            answer = odd_answer(seed)
            odd.append(answer)
            got = await asked(tap, CALL if seed % 4 else b"")
            if answer.is_valid:
                assert read(got) == read(answer.raw), f"seed {seed}"
            plain = await asked(tap, CALL.replace(b"7", b"8"))
            assert plain.endswith(reply(8)), f"after seed {seed}"
    assert not [line for line in tap.lines if "internal" in line]
    numbers = [event["exchange"] for event in tap.events if event["event"] == "http_ended"]
    assert len(numbers) == 2 * len(seeds)
    assert [frame.raw for frame in tap.frames].count(reply(8)) == len(seeds)
    assert tap.played().errors == []


async def asked(tap: Tapped, body: bytes) -> bytes:
    """The answer to a call, or without a body, to a request for the server's metadata."""
    line = "" if body else "GET /.well-known/oauth-protected-resource HTTP/1.1"
    async with client(tap.port) as peer:
        await peer.write(request(tap.port, body, "Connection: close", line=line))
        return await peer.rest()


def read(raw: bytes) -> tuple[int, bytes, list[tuple[bytes, bytes]], bytes]:
    """The status, reason, headers and body of an answer."""
    reader = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
    reader.send(h11.Request(method="GET", target="/", headers=[("Host", "a")]))
    reader.send(h11.EndOfMessage())
    reader.receive_data(raw)
    reader.receive_data(b"")
    head, body = None, b""
    while not isinstance(found := reader.next_event(), h11.EndOfMessage):
        if isinstance(found, h11.Data):
            body += bytes(found.data)
        elif isinstance(found, h11.Response):
            head = found
    assert head is not None
    headers = [each for each in head.headers.raw_items() if each[0].lower() not in _OF_A_CONNECTION]
    return head.status_code, bytes(head.reason), headers, body
