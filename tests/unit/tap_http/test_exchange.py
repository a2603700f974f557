"""Whatever a server answers costs its own recording at most, never the tap."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.recording.writer import Encoder, Writer
from mcp_progress_monitor.tap_http import recorder
from tests.unit.tap_http.tapped import Peer, client, reply, request, response, rpc, server, tapped

CALL = rpc("tools/call", 7, name="work")
HEADS = {
    "latin-1": b"Server: caf\xe9",
    "utf-8": "Server: café".encode(),
    "session": b"Mcp-Session-Id: s\xff",
    "challenge": b'WWW-Authenticate: Bearer resource_metadata="http://\xff\xfe/"',
    "location": b"Location: http://\xe9xample/\xff",
    "cookie": b"Set-Cookie: a=\x80\x81\x82",
    "tab": b"X-Odd: a\tb",
    "empty": b"X-Empty:",
}
BODIES = {
    "half surrogate": b'{"resource": "http://a/\\ud83d"}',
    "not UTF-8": b'{"resource": "\xff\xfe"}',
    "deep": b"[" * 100_000,
    "other type": b'{"resource": {"a": 1}}',
}


async def pass_on(folder: Path, answer: bytes, *, line: str = "") -> tuple[bytes, bytes, list[str]]:
    """What comes of an answer, and of a plain one on another connection after it."""
    answers = iter([answer])

    async def serve(peer: Peer) -> None:
        while True:
            await peer.message()
            await peer.write(next(answers, response(reply(7))))

    async with server(serve) as url, tapped(url, folder) as tap:
        async with client(tap.port) as peer:
            await peer.write(request(tap.port, b"" if line else CALL, line=line))
            first = await peer.message()
        async with client(tap.port) as peer:
            await peer.write(request(tap.port, CALL))
            second = await peer.message()
    assert tap.messages[-1][2] == json.loads(reply(7))
    return first, second, tap.lines


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("status", ["200 OK", "401 Unauthorized", "404 Nope"])
async def test_a_header_with_any_bytes_is_passed_on_and_recorded(
    tmp_path: Path, head: bytes, status: str
) -> None:
    body = reply(7)
    answer = response(body, status=status).replace(b"\r\n", b"\r\n" + head + b"\r\n", 1)
    first, second, lines = await pass_on(tmp_path, answer)
    if not head.startswith(b"Location"):
        assert head.rstrip() in first
    assert first.endswith(body)
    assert second.endswith(reply(7))
    assert not [line for line in lines if "internal" in line]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_metadata_of_any_form_does_not_end_the_tap(tmp_path: Path, body: bytes) -> None:
    line = "GET /.well-known/oauth-protected-resource HTTP/1.1"
    first, second, lines = await pass_on(tmp_path, response(body), line=line)
    assert first.endswith(body)
    assert second.endswith(reply(7))
    assert not [line for line in lines if "internal" in line]


async def test_an_error_of_the_recording_costs_its_exchange_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def fail(status: int, *_others: object) -> None:
        asked.append(status)
        if len(asked) == 1:
            raise LookupError("a fault of ours")

    monkeypatch.setattr(recorder, "sign_in_refusal", fail)
    first, second, lines = await pass_on(tmp_path, response(reply(7)))
    assert first.endswith(reply(7))
    assert second.endswith(reply(7))
    (line,) = [line for line in lines if "internal" in line]
    assert "LookupError: a fault of ours" in line


async def test_frames_that_cannot_be_written_do_not_end_the_tap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    encode = Encoder.encode

    def fail(self: Encoder, frames: Any, *others: Any) -> Any:
        asked.append(frames)
        if 2 < len(asked) < 5:  # in the first exchange, and when its failure is recorded
            raise LookupError("a fault of ours")
        return encode(self, frames, *others)

    monkeypatch.setattr(Encoder, "encode", fail)
    first, second, lines = await pass_on(tmp_path, response(reply(7)))
    assert first.endswith(reply(7))
    assert second.endswith(reply(7))
    assert len([line for line in lines if "internal" in line]) == 1


async def test_an_error_of_the_thread_that_writes_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise LookupError("a fault of ours")

    monkeypatch.setattr(Writer, "write", fail)

    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(response(reply(7)))

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as peer:
        await peer.write(request(tap.port, CALL))
        assert (await peer.message()).endswith(reply(7))
    (line,) = tap.lines
    assert "a fault of ours" in line
    assert line.endswith("The session continues and is not recorded.")


async def test_a_key_in_the_path_of_the_server_is_recorded_nowhere(tmp_path: Path) -> None:
    key = "X9q8W7e6R5t4Y3u2"

    async def serve(peer: Peer) -> None:
        await peer.message()
        challenge = 'WWW-Authenticate: Bearer resource_metadata="http://a/' + key + '"'
        await peer.write(response(reply(7), challenge, status="401 Unauthorized"))

    line = f"POST /mcp/{key}/mcp HTTP/1.1"
    async with (
        server(serve) as url,
        tapped(f"{url}/{key}/mcp", tmp_path) as tap,
        client(tap.port) as peer,
    ):
        await peer.write(request(tap.port, CALL, line=line))
        await peer.message()
    recorded = tap.recording.read_text("utf-8")
    assert "sign_in_required" in recorded
    assert key not in recorded
