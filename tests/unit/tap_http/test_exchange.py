"""Whatever a server answers costs its own recording at most, never the tap."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcp_progress_monitor.tap_http import recorder
from tests.unit.tap_http.tapped import Peer, client, reply, request, response, rpc, server, tapped

if TYPE_CHECKING:
    from pathlib import Path

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
