"""What passes a tap, byte by byte: nothing is changed but what would lead elsewhere."""

import json
from pathlib import Path

import anyio
import pytest

from tests.patience import PATIENCE_S, until
from tests.unit.tap_http.tapped import (
    END,
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

CALL = rpc("tools/call", 7, name="work", _meta={"progressToken": 7})
TICK = (
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}'
)


async def nothing(_: Peer) -> None:
    """What a server does that nobody asks."""


async def test_headers_keep_their_names_case_and_order(tmp_path: Path) -> None:
    seen: list[bytes] = []

    async def serve(peer: Peer) -> None:
        seen.append(await peer.message())
        await peer.write(
            response(reply(7), "X-One: 1", "x-TWO: 2", "Set-Cookie: a", "Set-Cookie: b")
        )

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        headers = ("X-Tenant: ACME", "accept-ENCODING: gzip, br", "x-tenant: other", "aCCept: */*")
        await peer.write(request(tap.port, CALL, *headers))
        answer = await peer.message()
    authority = url.removeprefix("http://").removesuffix("/mcp")
    assert seen[0].split(b"\r\n") == [
        b"POST /mcp HTTP/1.1",
        f"Host: {authority}".encode(),
        b"X-Tenant: ACME",
        b"accept-ENCODING: identity",
        b"x-tenant: other",
        b"aCCept: */*",
        b"Content-Type: application/json",
        f"Content-Length: {len(CALL)}".encode(),
        b"",
        CALL,
    ]
    assert answer.split(b"\r\n")[1:6] == [
        b"Content-Type: application/json",
        b"X-One: 1",
        b"x-TWO: 2",
        b"Set-Cookie: a",
        b"Set-Cookie: b",
    ]


async def test_an_event_is_passed_on_before_the_next_one_is_sent(tmp_path: Path) -> None:
    was_seen = anyio.Event()

    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(STREAM + chunk(event(TICK)))
        await was_seen.wait()
        await peer.write(chunk(event(reply(7))) + END)

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, CALL))
        await peer.until(event(TICK))
        was_seen.set()
        await peer.until(event(reply(7)))
        await peer.until(END)
    assert [mark for _, mark, _ in tap.messages] == [">", "<", "<"]
    assert tap.event("http_ended")["reason"] == "complete"


async def test_half_an_event_is_passed_on_at_once(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(STREAM + chunk(b"data: half"))
        await anyio.sleep_forever()

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, CALL))
        await peer.until(b"data: half")


async def test_the_servers_connection_is_closed_as_soon_as_the_client_goes(tmp_path: Path) -> None:
    was_closed = anyio.Event()

    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(STREAM + chunk(event(TICK)))
        assert await peer.is_closed()
        was_closed.set()

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        async with client(tap.port) as peer:
            await peer.write(request(tap.port, CALL))
            await peer.until(event(TICK))
        with anyio.fail_after(PATIENCE_S):
            await was_closed.wait()
    assert tap.event("http_ended")["reason"] == "closed by the client"
    assert tap.event("call_ended")["outcome"] == "lost"


async def test_a_client_that_goes_before_any_response_ends_the_request(tmp_path: Path) -> None:
    has_begun, was_closed = anyio.Event(), anyio.Event()

    async def serve(peer: Peer) -> None:
        await peer.message()
        has_begun.set()
        assert await peer.is_closed()
        was_closed.set()

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        async with client(tap.port) as peer:
            await peer.write(request(tap.port, CALL))
            await has_begun.wait()
        with anyio.fail_after(PATIENCE_S):
            await was_closed.wait()
    assert tap.event("http_ended")["reason"] == "closed by the client"


async def test_a_client_that_goes_within_its_request_ends_it(tmp_path: Path) -> None:
    has_begun, was_closed = anyio.Event(), anyio.Event()

    async def serve(peer: Peer) -> None:
        await peer.until(b"tools")
        has_begun.set()
        await peer.rest()
        was_closed.set()

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        async with client(tap.port) as peer:
            await peer.write(request(tap.port, CALL)[:-20])
            await has_begun.wait()
        with anyio.fail_after(PATIENCE_S):
            await was_closed.wait()
    assert tap.event("http_ended")["reason"] == "closed by the client"
    gap = tap.event("not_recorded")
    assert (gap["bytes"], gap["messages"]) == (len(CALL) - 20, 1)
    assert tap.messages == []


async def test_a_tunnel_is_not_made(tmp_path: Path) -> None:
    async with server(nothing) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, line=f"CONNECT 127.0.0.1:{tap.port} HTTP/1.1"))
        assert (await peer.message()).startswith(b"HTTP/1.1 403 Forbidden")


async def test_a_response_that_breaks_off_breaks_off_for_the_client(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(STREAM + chunk(event(TICK)))

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, CALL))
        everything = await peer.rest()
    assert event(TICK) in everything
    assert not everything.endswith(END)
    reason = "broken: the connection ended in the middle of the response"
    assert tap.event("http_ended")["reason"] == reason
    assert tap.event("closed")["ended_by"] == "tap"


async def test_a_server_that_closes_without_a_response_closes_the_client(tmp_path: Path) -> None:
    asked = 0

    async def serve(peer: Peer) -> None:
        nonlocal asked
        await peer.message()
        asked += 1

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, CALL))
        assert await peer.is_closed()
    assert asked == 1, "nothing is asked again"
    reason = "broken: the server closed the connection without a response"
    assert tap.event("http_ended")["reason"] == reason


@pytest.mark.parametrize("body", [CALL, b""])
async def test_a_server_that_is_not_there_is_the_one_thing_answered_here(
    body: bytes, tmp_path: Path
) -> None:
    async with server(nothing) as url:
        pass
    async with tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, body))
        answer = await peer.message()
        assert await peer.is_closed()
    assert answer.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert b"mcp-progress-monitor tap: " in answer
    assert url.encode() in answer
    assert tap.event("http_ended")["reason"].startswith("not sent: ")
    assert [mark for _, mark, _ in tap.messages] == ([">"] if body else [])


async def test_one_connection_of_a_client_is_one_connection_to_the_server(tmp_path: Path) -> None:
    connections = 0

    async def serve(peer: Peer) -> None:
        nonlocal connections
        connections += 1
        while True:
            await peer.message()
            await peer.write(response(reply(7)))

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        for _ in range(2):
            async with client(tap.port) as peer:
                for _ in range(3):
                    await peer.write(request(tap.port, CALL))
                    await peer.message()
    assert connections == 2


async def test_requests_sent_at_once_are_passed_on_in_turn(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        while True:
            asked = await peer.message()
            await peer.write(
                response(asked.rpartition(b"\r\n\r\n")[2].replace(b"method", b"result"))
            )

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(b"".join(request(tap.port, rpc("ping", n)) for n in range(3)))
        answers = [await peer.message() for _ in range(3)]
    assert [f'"id": {n}'.encode() in answer for n, answer in enumerate(answers)] == [True] * 3


@pytest.mark.parametrize(
    ("reported", "led"),
    [
        ("{origin}/mcp/", "{own}/mcp/"),
        ("/mcp/?a=b#c", "/mcp/?a=b#c"),
        ("https://elsewhere.example/mcp", "https://elsewhere.example/mcp"),
    ],
)
async def test_redirections_to_the_server_lead_back_through_the_tap(
    reported: str, led: str, tmp_path: Path
) -> None:
    location = ""

    async def serve(peer: Peer) -> None:
        await peer.message()
        moved = "307 Temporary Redirect"
        await peer.write(response(b"", f"Location: {location}", status=moved))

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        origin = url.removesuffix("/mcp")
        location = reported.format(origin=origin)
        await peer.write(request(tap.port, CALL))
        answer = await peer.message()
    assert f"\r\nLocation: {led.format(own=tap.tap.addresses.origin)}\r\n".encode() in answer
    assert ["Location", location] in tap.event("http_response")["headers"]


@pytest.mark.parametrize(
    ("line", "header"),
    [
        ("Host: evil.example", ""),
        ("Host: 127.0.0.1:1", ""),
        ("Host: 127.0.0.1:{port}", "Origin: https://evil.example"),
        ("Host: 127.0.0.1:{port}", "Origin: null"),
        ("Host: 127.0.0.1.evil.example:{port}", ""),
    ],
)
async def test_pages_of_the_web_get_nothing_through(line: str, header: str, tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        await peer.message()
        raise AssertionError("it was passed on")

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        lines = ["GET /mcp HTTP/1.1", line.format(port=tap.port), *filter(None, [header]), "", ""]
        await peer.write("\r\n".join(lines).encode())
        answer = await peer.message()
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert tap.events == []


async def test_pages_of_this_machine_may_ask(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(response(reply(7)))

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, CALL, "Origin: http://localhost:6274"))
        assert (await peer.message()).startswith(b"HTTP/1.1 200 ")


async def test_a_credential_passes_and_is_not_recorded(tmp_path: Path) -> None:
    secret = "s3cr3t-t0k3n-of-mine"
    seen: list[bytes] = []

    async def serve(peer: Peer) -> None:
        seen.append(await peer.message())
        body = f"no such user for {secret}".encode()
        await peer.write(response(body, status="403 Forbidden", kind="text/plain"))

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, CALL, f"Authorization: Bearer {secret}"))
        assert secret.encode() in await peer.message()
    assert f"Authorization: Bearer {secret}".encode() in seen[0]
    assert secret.encode() not in tap.recording.read_bytes()
    shown = dict(tap.event("http_request")["headers"])["Authorization"]
    assert shown == f"Bearer (hidden, {len(secret)} characters)"


async def test_large_bodies_pass_both_ways_and_are_recorded(tmp_path: Path) -> None:
    large = rpc("tools/call", 7, name="x" * 3_000_000)
    back = reply(7, text="y" * 3_000_000)
    seen: list[bytes] = []

    async def serve(peer: Peer) -> None:
        seen.append((await peer.message()).partition(b"\r\n\r\n")[2])
        await peer.write(response(back))

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, large))
        answer = await peer.message()
    assert seen == [large]
    assert answer.endswith(b"\r\n\r\n" + back)
    raws = [frame.raw for frame in tap.frames if len(frame.raw) > 1_000_000]
    assert raws == [large, back]


async def test_a_chunked_request_is_passed_on_chunked(tmp_path: Path) -> None:
    seen: list[bytes] = []

    async def serve(peer: Peer) -> None:
        seen.append(await peer.until(END))
        await peer.write(response(reply(7)))

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(
            request(tap.port, b"", "Transfer-Encoding: chunked", line="POST /mcp HTTP/1.1")
        )
        await peer.write(chunk(CALL[:10]) + chunk(CALL[10:]) + END)
        await peer.message()
    assert chunk(CALL[:10]) in seen[0]
    assert tap.messages[0][2]["id"] == 7


async def test_a_client_that_waits_for_permission_to_send_gets_it(tmp_path: Path) -> None:
    seen: list[bytes] = []

    async def serve(peer: Peer) -> None:
        seen.append(await peer.message())
        await peer.write(response(reply(7)))

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        head, _, body = request(tap.port, CALL, "Expect: 100-continue").partition(b"\r\n\r\n")
        await peer.write(head + b"\r\n\r\n")
        assert await peer.until(b"\r\n\r\n") == b"HTTP/1.1 100 \r\n\r\n"
        await peer.write(body)
        assert (await peer.message()).startswith(b"HTTP/1.1 200 ")
    assert b"Expect" not in seen[0]


async def test_a_body_that_only_the_end_of_the_connection_ends_comes_whole(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + reply(7))

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, CALL))
        everything = await peer.until(END)
    assert everything.endswith(chunk(reply(7)) + END)
    assert [mark for _, mark, _ in tap.messages] == [">", "<"]


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\x02\x00", b"GET / HTTP/1.1\r\nbad\r\n\r\n", b""]
)
async def test_what_is_no_http_ends_that_connection_alone(garbage: bytes, tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(response(reply(7)))

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        async with client(tap.port) as peer:
            await peer.write(garbage or b"\r\n")
            await peer.stream.send_eof()
            await peer.rest()
        async with client(tap.port) as peer:
            await peer.write(request(tap.port, CALL))
            assert (await peer.message()).startswith(b"HTTP/1.1 200 ")
    assert tap.lines == []


async def test_parameters_given_to_the_tap_are_not_needed_by_the_client(tmp_path: Path) -> None:
    seen: list[bytes] = []

    async def serve(peer: Peer) -> None:
        seen.append((await peer.message()).partition(b"\r\n")[0])
        await peer.write(response(reply(7)))

    async with server(serve) as url, tapped(f"{url}?api_key=k3y", tmp_path) as tap:
        assert tap.url.endswith("/mcp")
        for line in ("POST /mcp HTTP/1.1", "POST /mcp?mine=1 HTTP/1.1", "POST /other HTTP/1.1"):
            async with client(tap.port) as peer:
                await peer.write(request(tap.port, CALL, line=line))
                await peer.message()
    asked = [line.split()[1] for line in seen]
    assert asked == [b"/mcp?api_key=k3y", b"/mcp?mine=1", b"/other"]
    assert b"k3y" not in tap.recording.read_bytes()


async def test_a_length_beside_a_transfer_coding_is_not_passed_on(tmp_path: Path) -> None:
    seen: list[bytes] = []

    async def serve(peer: Peer) -> None:
        seen.append(await peer.until(END))
        await peer.write(STREAM.replace(b"\r\n\r\n", b"\r\nContent-Length: 3\r\n\r\n") + END)

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        head = request(tap.port, b"", "Content-Length: 4", "Transfer-Encoding: chunked")
        head = head.replace(b"GET", b"POST", 1)
        await peer.write(head + chunk(CALL) + END)
        answer = await peer.until(END)
    assert CALL in seen[0]
    assert b"content-length" not in seen[0].lower()
    assert b"content-length" not in answer.lower()


@pytest.mark.parametrize("target", ["mcp", "http://[::1/mcp", "http:///mcp", "ftp://a/b", "?a=b"])
async def test_a_broken_target_is_refused(tmp_path: Path, target: str) -> None:
    async with server(nothing) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, CALL, line=f"POST {target} HTTP/1.1"))
        assert (await peer.message()).startswith(b"HTTP/1.1 400 ")
    assert tap.lines == []


async def test_a_page_of_another_site_is_refused_without_an_origin(tmp_path: Path) -> None:
    async with server(nothing) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, b"", "Sec-Fetch-Site: cross-site"))
        assert (await peer.message()).startswith(b"HTTP/1.1 403 ")


async def test_keys_in_headers_and_paths_are_not_recorded(tmp_path: Path) -> None:
    keys = ["0123456789abcdef0123", "AbCdEfGh12345678IjKl", "X9q8W7e6R5t4Y3u2"]

    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(response(reply(7)))

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        headers = (f"X-Session: {keys[0]}", f"CF-Access-Client-Id: {keys[1]}.access")
        line = f"POST /s/{keys[2]}/mcp?a=b HTTP/1.1"
        await peer.write(request(tap.port, CALL, *headers, line=line))
        await peer.message()
    recorded = tap.recording.read_text("utf-8")
    assert [key for key in keys if key in recorded] == []
    assert "/s/***/mcp?a=b" in recorded


async def test_a_client_that_only_stops_sending_gets_its_reply(tmp_path: Path) -> None:
    ended: list[bool] = []

    async def serve(peer: Peer) -> None:
        await peer.message()
        ended.append(await peer.is_closed())  # as without the tap, the server sees it
        await peer.write(response(reply(7)))

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, CALL))
        await peer.stream.send_eof()
        assert (await peer.message()).endswith(reply(7))
        assert await peer.is_closed()
    assert ended == [True]
    assert tap.messages[-1][2] == json.loads(reply(7))
    assert tap.event("http_ended")["reason"] == "complete"


async def test_a_client_that_stops_sending_while_a_stream_runs_gets_all_of_it(
    tmp_path: Path,
) -> None:
    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(STREAM)
        await peer.is_closed()
        await peer.write(chunk(event(reply(7))) + END)

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, CALL))
        await peer.until(b"\r\n\r\n")
        await peer.stream.send_eof()
        assert reply(7) in await peer.rest()
    assert tap.event("http_ended")["reason"] == "complete"


async def test_a_server_that_gives_up_when_its_client_left_ends_no_stream_itself(
    tmp_path: Path,
) -> None:
    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(STREAM)
        await peer.is_closed()

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        async with client(tap.port) as peer:
            await peer.write(request(tap.port, CALL))
            await peer.until(b"\r\n\r\n")
        await until(lambda: tap.has_recorded(b"http_ended"))
    assert tap.event("http_ended")["reason"] == "closed by the client"
