"""The direct way to a server: what is at hand goes in one piece, what is not is not waited for."""

from pathlib import Path

import anyio

from tests.patience import PATIENCE_S
from tests.unit.tap_http.tapped import (
    STREAM,
    Peer,
    chunk,
    client,
    event,
    reply,
    request,
    response,
    rpc,
    server,
    tapped,
)

PING = rpc("ping", 7)


async def test_a_small_request_and_its_response_go_in_one_piece_each(tmp_path: Path) -> None:
    pieces: list[bytes] = []

    async def serve(peer: Peer) -> None:
        pieces.append(await peer.stream.receive())
        await peer.write(response(reply(7)))

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, PING))
        with anyio.fail_after(PATIENCE_S):
            pieces.append(await peer.stream.receive())
    assert [piece.rpartition(b"\r\n\r\n")[2] for piece in pieces] == [PING, reply(7)]


async def test_the_head_of_a_stream_passes_before_its_first_event(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(STREAM)
        await anyio.sleep_forever()

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, PING))
        assert await peer.until(b"\r\n\r\n") == STREAM


async def test_a_chunk_passes_although_the_next_one_is_cut(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(STREAM + chunk(event(reply(7))) + b"5")
        await anyio.sleep_forever()

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, PING))
        await peer.until(event(reply(7)))


async def test_what_came_before_a_break_passes(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(STREAM + chunk(event(reply(7))) + b"no chunk\r\n")
        await anyio.sleep_forever()

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, PING))
        await peer.until(event(reply(7)))
        await peer.rest()
    assert "not valid HTTP" in tap.event("http_ended")["reason"]


async def test_half_a_request_is_passed_on_at_once(tmp_path: Path) -> None:
    has_half = anyio.Event()

    async def serve(peer: Peer) -> None:
        await peer.until(b"\r\n\r\n" + PING[:9])
        has_half.set()
        await peer.until(PING[9:])
        await peer.write(response(reply(7)))

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        whole = request(tap.port, PING)
        cut = len(whole) - len(PING) + 9
        await peer.write(whole[:cut])
        with anyio.fail_after(PATIENCE_S):
            await has_half.wait()
        await peer.write(whole[cut:])
        await peer.message()


async def test_a_connection_that_the_server_closed_is_replaced(tmp_path: Path) -> None:
    """It may close between requests, as servers do with connections that are idle for long."""
    closed = anyio.Event()

    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(response(reply(7)))
        await peer.stream.aclose()
        closed.set()

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        for _ in range(2):
            await peer.write(request(tap.port, PING))
            assert (await peer.message()).endswith(reply(7))
            with anyio.fail_after(PATIENCE_S):
                await closed.wait()
            closed = anyio.Event()
