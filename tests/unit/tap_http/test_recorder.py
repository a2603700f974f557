"""What a tap records: one connection a client session, gaps, streams that break and are resumed."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.tap_http import recorder
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.patience import PATIENCE_S, until
from tests.unit.tap_http.tapped import (
    END,
    STREAM,
    Peer,
    Tapped,
    ask,
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
PER_REQUEST = rpc(
    "tools/call", 7, name="work", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
)


def tick(progress: int) -> bytes:
    params = {"progressToken": 7, "progress": progress}
    message = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    return json.dumps(message).encode()


def ids_of(tap: Tapped) -> list[tuple[str, Any]]:
    """Of each request: its connection, and its id."""
    return [(where, message["id"]) for where, mark, message in tap.messages if mark == ">"]


class Sessions:
    """A server that names sessions `s1`, `s2`, … if it names any."""

    def __init__(self, *, is_stateless: bool = False) -> None:
        self.count = 0
        self._is_stateless = is_stateless

    async def __call__(self, peer: Peer) -> None:
        while True:
            asked = await peer.message()
            if asked.startswith(b"DELETE"):
                await peer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
                continue
            id_ = json.loads(asked.rpartition(b"\r\n\r\n")[2])["id"]
            headers = []
            if b'"initialize"' in asked and not self._is_stateless:
                self.count += 1
                headers = [f"Mcp-Session-Id: s{self.count}"]
            await peer.write(response(reply(id_), *headers))


async def test_each_session_of_a_client_is_a_connection(tmp_path: Path) -> None:
    async with server(Sessions()) as url, tapped(url, tmp_path) as tap:
        await ask(tap, rpc("initialize", 0), "Authorization: Bearer s3cret", "X-Tenant: t")
        await ask(tap, rpc("initialize", 0))
        await ask(tap, rpc("ping", 1), "Mcp-Session-Id: s2")
        await ask(tap, rpc("ping", 2), "mcp-session-id: s1")
        await ask(tap, rpc("ping", 3), "Mcp-Session-Id: from-before")
    places = [("demo#1", 0), ("demo#2", 0), ("demo#2", 1), ("demo#1", 2), ("demo#3", 3)]
    assert ids_of(tap) == places
    opened = [e for e in tap.events if e["event"] == "opened"]
    assert [e["url"] for e in opened] == [url] * 3
    assert [e["headers"] for e in opened] == [["authorization", "x-tenant"], [], []]
    assert b"s3cret" not in tap.recording.read_bytes()
    assert [e["ended_by"] for e in tap.events if e["event"] == "closed"] == ["tap"] * 3


async def test_deleting_a_session_ends_its_connection(tmp_path: Path) -> None:
    async with server(Sessions()) as url, tapped(url, tmp_path) as tap:
        await ask(tap, rpc("initialize", 0))
        await ask(tap, b"", "Mcp-Session-Id: s1", line="DELETE /mcp HTTP/1.1")
        await ask(tap, rpc("initialize", 0))
    assert ids_of(tap) == [("demo#1", 0), ("demo#2", 0)]
    closed = [e for e in tap.events if e["event"] == "closed"]
    assert [(e["reason"], e["ended_by"], e["wanted"]) for e in closed] == [
        ("The client ended the session", "client", True),
        ("The tap was stopped", "tap", True),
    ]


async def test_clients_without_sessions_are_reported_apart_by_their_names(tmp_path: Path) -> None:
    async with server(Sessions(is_stateless=True)) as url, tapped(url, tmp_path) as tap:
        for agent in ("one/1", "two/1"):
            await ask(tap, rpc("initialize", 0), f"User-Agent: {agent}")
        for agent in ("one/1", "two/1", "one/1"):
            await ask(tap, rpc("ping", 1), f"User-Agent: {agent}")
        await ask(tap, rpc("initialize", 0), "User-Agent: one/1")
    places = [("demo#1", 0), ("demo#2", 0), ("demo#1", 1), ("demo#2", 1), ("demo#1", 1)]
    assert ids_of(tap) == [*places, ("demo#3", 0)]


async def test_an_id_that_is_in_use_is_another_clients(tmp_path: Path) -> None:
    has_first, may_answer = anyio.Event(), anyio.Event()

    async def serve(peer: Peer) -> None:
        await peer.message()
        if not has_first.is_set():
            has_first.set()
            await may_answer.wait()
        await peer.write(response(reply(7)))

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as first:
        await first.write(request(tap.port, PER_REQUEST))
        await has_first.wait()
        await ask(tap, PER_REQUEST)
        may_answer.set()
        await first.message()
        await ask(tap, PER_REQUEST)
    assert [where for where, _ in ids_of(tap)] == ["demo#1", "demo#2", "demo#2"]


async def test_a_session_that_the_server_forgot_is_over(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(response(b"", status="404 Not Found"))

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        await ask(tap, CALL, "Mcp-Session-Id: old")
    assert tap.event("closed")["reason"] == "The server no longer knows the session"
    failed = tap.event("call_ended")
    assert (failed["outcome"], failed["text"]) == ("failed", "The server answered 404 Not Found")


async def test_too_many_sessions_end_the_oldest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "SESSIONS_KEPT", 2)
    async with server(Sessions()) as url, tapped(url, tmp_path) as tap:
        for _ in range(3):
            await ask(tap, rpc("initialize", 0))
    closed = [e["reason"] for e in tap.events if e["event"] == "closed"]
    assert closed[0].startswith("Too many sessions")
    assert len(closed) == 3


async def test_a_stream_without_a_request_belongs_to_its_session(tmp_path: Path) -> None:
    notice = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'

    async def serve(peer: Peer) -> None:
        asked = await peer.message()
        if asked.startswith(b"GET"):
            await peer.write(STREAM + chunk(event(notice)) + END)
        else:
            await peer.write(response(reply(0), "Mcp-Session-Id: s1"))

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        await ask(tap, rpc("initialize", 0))
        async with client(tap.port) as peer:
            accept = "Accept: text/event-stream"
            await peer.write(request(tap.port, b"", accept, "Mcp-Session-Id: s1"))
            await peer.until(END)
    assert ("demo#1", "<", json.loads(notice)) in tap.messages
    asked = [e["purpose"] for e in tap.events if e["event"] == "http_request"]
    assert asked == ["message", "listen"]


async def test_a_stream_that_breaks_and_is_resumed_is_one_job(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        asked = await peer.message()
        if asked.startswith(b"GET"):
            assert b"\r\nLast-Event-ID: e2\r\n" in asked
            await peer.write(STREAM + chunk(event(tick(3), "e3") + event(reply(7), "e4")) + END)
        else:
            await peer.write(STREAM + chunk(event(tick(1), "e1") + event(tick(2), "e2")))

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        async with client(tap.port) as peer:
            await peer.write(request(tap.port, CALL, "Mcp-Session-Id: s1"))
            await peer.rest()
        async with client(tap.port) as peer:
            resume = ("Accept: text/event-stream", "Mcp-Session-Id: s1", "Last-Event-ID: e2")
            await peer.write(request(tap.port, b"", *resume))
            await peer.until(END)
    number = next(f.number for f in tap.frames if b"tools/call" in f.raw)
    broken, resumed = tap.event("stream_broken"), tap.event("stream_resumed")
    assert (broken["request"], broken["last_event_id"]) == (number, "e2")
    assert (resumed["request"], resumed["last_event_id"]) == (number, "e2")
    playback = tap.played()
    (job,) = [playback.jobs.snapshot(each) for each in playback.jobs.ids()]
    assert job is not None
    assert (job.state, job.tick_count) == (JobState.DONE, 3)


async def test_a_stream_that_brings_nothing_new_can_be_resumed_again(tmp_path: Path) -> None:
    count = 0

    async def serve(peer: Peer) -> None:
        nonlocal count
        count += 1
        await peer.message()
        later = {1: chunk(event(tick(1), "e1")), 2: b"", 3: chunk(event(reply(7), "e2"))}
        await peer.write(STREAM + later[count])

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        for body, header in ((CALL, "Accept: */*"), *[(b"", "Last-Event-ID: e1")] * 2):
            async with client(tap.port) as peer:
                accept = "Accept: text/event-stream"
                await peer.write(request(tap.port, body, header, accept, "Mcp-Session-Id: s1"))
                await peer.rest()
    names = [event["event"] for event in tap.events if event["event"].startswith("stream")]
    assert names == ["stream_broken", "stream_resumed", "stream_broken", "stream_resumed"]
    playback = tap.played()
    (job,) = [playback.jobs.snapshot(each) for each in playback.jobs.ids()]
    assert job is not None
    assert job.state is JobState.DONE


@pytest.mark.parametrize("who", ["client", "server"])
async def test_a_reply_whose_stream_nobody_resumes_is_lost(
    who: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "LEFT_S" if who == "client" else "RESUMED_S", 0.05)
    token = json.dumps({"jsonrpc": "2.0", "id": 7, "result": {"_meta": {"nextResumeToken": "t"}}})

    async def serve(peer: Peer) -> None:
        asked = await peer.message()
        if b'"resumeToken"' not in asked:
            await peer.write(STREAM + chunk(event(token.encode(), "e1")) + END)
            return
        await peer.write(STREAM + chunk(event(tick(1), "e2")))
        if who == "client":
            await peer.rest()

    again = rpc("tools/call", 8, name="work", _meta={"progressToken": 7, "resumeToken": "t"})
    async with server(serve) as url, tapped(url, tmp_path) as tap:
        for body, end in ((CALL, END), (again, event(tick(1), "e2"))):
            async with client(tap.port) as peer:
                await peer.write(request(tap.port, body, "Mcp-Session-Id: s1"))
                await peer.until(end)
        await until(lambda: tap.has_recorded(b"did not resume"))
    assert tap.event("call_ended")["request"] == tap.event("stream_broken")["request"]
    playback = tap.played()
    (job,) = [playback.jobs.snapshot(each) for each in playback.jobs.ids()]
    assert job is not None
    assert (job.state, job.attempt_count) == (JobState.RESUMABLE, 2)


async def test_a_client_that_leaves_a_stream_of_the_newer_era_has_cancelled(tmp_path: Path) -> None:
    was_closed = anyio.Event()

    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(STREAM + chunk(event(tick(1))))
        await peer.rest()
        was_closed.set()

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        async with client(tap.port) as peer:
            await peer.write(request(tap.port, PER_REQUEST))
            await peer.until(event(tick(1)))
        with anyio.fail_after(PATIENCE_S):
            await was_closed.wait()
    playback = tap.played()
    (job,) = [playback.jobs.snapshot(each) for each in playback.jobs.ids()]
    assert job is not None
    assert job.state is JobState.CANCELLED


@pytest.mark.parametrize(
    ("reported", "led"),
    [
        ("/messages?session_id=a%20b", "/messages?session_id=a%20b"),
        ("{origin}/messages?session_id=1", "{own}/messages?session_id=1"),
        ("messages?session_id=1", "messages?session_id=1"),
        ("https://elsewhere.example/m", "https://elsewhere.example/m"),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
async def test_the_endpoint_of_a_legacy_stream_leads_back(
    reported: str, led: str, line_end: str, tmp_path: Path
) -> None:
    is_posted, first = anyio.Event(), ""

    async def serve(peer: Peer) -> None:
        nonlocal is_posted
        asked = await peer.message()
        if asked.startswith(b"POST"):
            await peer.write(response(b"", status="202 Accepted"))
            is_posted.set()
            return
        for letter in (": hello", "", first, ""):  # in pieces, as a slow network has them
            await peer.write(
                (STREAM if letter == ": hello" else b"") + chunk((letter + line_end).encode())
            )
        await is_posted.wait()
        await peer.write(chunk(event(reply(7))) + END)

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        end = line_end
        origin = url.removesuffix("/mcp")
        first = f"event: endpoint{end}data: {reported.format(origin=origin)}"
        async with client(tap.port) as stream:
            await stream.write(request(tap.port, b"", "Accept: text/event-stream"))
            there = led.format(own=tap.tap.addresses.origin)
            await stream.until(f"event: endpoint{end}data: {there}{end}{end}".encode())
            if "elsewhere" in reported:
                is_posted.set()
            else:
                path = "/" + there.removeprefix(tap.tap.addresses.origin).lstrip("/")
                await ask(tap, CALL, line=f"POST {path} HTTP/1.1")
            await stream.until(event(reply(7)))
            await stream.until(END)
    if "elsewhere" not in reported:
        assert [(where, mark) for where, mark, _ in tap.messages] == [
            ("demo#1", ">"),
            ("demo#1", "<"),
        ]
    assert tap.event("opened")["transport"] == "sse"
    assert tap.event("closed")["reason"] == "The event stream ended: complete"
    recorded = "".join(e.get("raw", "") for e in tap.event_entries())
    assert reported.format(origin=origin) in recorded, "the server's own words are recorded"


async def test_a_server_that_asks_to_sign_in_is_reported_once(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        asked = await peer.message()
        if b"/.well-known/" in asked:
            resource = json.dumps({"resource": "https://mcp.example.com/mcp"}).encode()
            await peer.write(response(resource))
        else:
            where = (
                'resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource"'
            )
            await peer.write(
                response(b"", f"WWW-Authenticate: Bearer {where}", status="401 Unauthorized")
            )

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        answer = await ask(tap, CALL)
        metadata = "GET /.well-known/oauth-protected-resource/mcp HTTP/1.1"
        await ask(tap, b"", line=metadata)
    assert answer.startswith(b"HTTP/1.1 401 "), "the server's answer is passed on"
    (line,) = tap.lines
    assert "requires sign-in with OAuth" in line
    assert "--oauth" in line
    reported = [e for e in tap.events if e["event"] == "sign_in_required"]
    assert "resource_metadata" in reported[0]
    assert reported[1]["resource"] == "https://mcp.example.com/mcp"


async def test_what_is_posted_to_other_places_is_not_recorded(tmp_path: Path) -> None:
    secret = b"client_secret=very-s3cret&code=abcdefghijk"

    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(response(b'{"access_token": "also-s3cret"}'))

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        await ask(tap, secret, line="POST /token HTTP/1.1")
        await ask(
            tap, b'{"client_name": "x", "client_secret": "s3cret"}', line="POST /register HTTP/1.1"
        )
    assert b"s3cret" not in tap.recording.read_bytes()
    ended = [e["bytes"] for e in tap.events if e["event"] == "http_ended"]
    assert ended == [31, 31]


async def test_a_recording_that_falls_behind_loses_copies_and_no_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_WAITING", 20_000)
    was_read, may_end = anyio.Event(), anyio.Event()
    large = event(
        json.dumps(
            {"jsonrpc": "2.0", "method": "notifications/large", "params": {"text": "x" * 30_000}}
        ).encode()
    )

    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(STREAM + chunk(event(tick(1))))
        await peer.write(chunk(large) * 3)
        await was_read.wait()
        await peer.write(chunk(event(tick(2)) + event(tick(3))))
        await may_end.wait()
        await peer.write(chunk(event(reply(7))) + END)

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, CALL))
        passed = b""
        while passed.count(b"notifications/large") < 3:
            passed += await peer.until(b"\n\n")
        was_read.set()
        await peer.until(event(tick(3)))
        may_end.set()
        await peer.until(END)
    gaps = [e for e in tap.events if e["event"] == "not_recorded"]
    assert sum(e["bytes"] for e in gaps) >= 3 * 30_000
    assert all("waiting to be recorded" in e["why"] or "missing" in e["why"] for e in gaps)
    assert tap.messages[-1][2] == json.loads(reply(7)), "what comes after a gap is recorded"


async def test_a_request_that_is_too_large_for_the_recording_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_WAITING", 20_000)
    large = rpc("tools/call", 7, name="x" * 100_000)

    async def serve(peer: Peer) -> None:
        body = (await peer.message()).partition(b"\r\n\r\n")[2]
        assert body == large
        await peer.write(response(reply(7)))

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        assert (await ask(tap, large)).startswith(b"HTTP/1.1 200 ")
    gap = tap.event("not_recorded")
    assert (gap["bytes"], gap["messages"]) == (len(large), 1)


@pytest.mark.parametrize("trouble", ["no data folder", "no folder", "gone"])
async def test_what_cannot_be_recorded_passes_all_the_same(trouble: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    if trouble == "no data folder":
        data.write_text("a file where a folder should be")
    else:
        data.mkdir()
    if trouble == "no folder":
        (data / "recordings").write_text("a file where a folder should be")
    async with server(Sessions()) as url, tapped(url, data) as tap:
        assert (await ask(tap, rpc("initialize", 0))).startswith(b"HTTP/1.1 200 ")
        if trouble == "gone":
            await until(tap.recording.exists)
            tap.recording.unlink()
        assert (await ask(tap, rpc("initialize", 1))).startswith(b"HTTP/1.1 200 ")
    (line,) = tap.lines
    assert "The session continues and is not recorded" in line
