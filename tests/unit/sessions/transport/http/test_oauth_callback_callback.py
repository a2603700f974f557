"""The page that a browser comes back to: takes one answer, survives all else."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.sessions.transport.http import oauth_callback as module
from mcp_progress_monitor.sessions.transport.http.oauth_callback import (
    HOST,
    CallbackAnswer,
    OAuthCallback,
    state_in,
)

pytestmark = pytest.mark.anyio

GOOD = b"GET /callback?code=c1&state=right HTTP/1.1\r\nHost: x\r\n\r\n"


async def _send(port: int, raw: bytes) -> bytes:
    """What the page answers to some bytes."""
    found = b""
    async with await anyio.connect_tcp(HOST, port) as stream:
        await stream.send(raw)
        try:
            while True:
                found += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return found


async def _answered(steps: Callable[[OAuthCallback], Awaitable[None]]) -> CallbackAnswer:
    callback = await OAuthCallback.open()
    found: list[CallbackAnswer] = []

    async def wait() -> None:
        found.append(await callback.answer("right"))

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await steps(callback)
    finally:
        await callback.close()
    return found[0]


async def test_the_answer_is_taken_and_the_page_may_be_closed() -> None:
    async def steps(callback: OAuthCallback) -> None:
        page = await _send(callback.port, GOOD)
        assert page.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"You can close this page." in page
        assert b"no-store" in page

    assert await _answered(steps) == CallbackAnswer("c1", "right")


async def test_an_answer_that_came_before_it_is_waited_for_is_taken() -> None:
    callback = await OAuthCallback.open()
    async with await anyio.connect_tcp(HOST, callback.port) as stream:
        await stream.send(GOOD)
        assert (await callback.answer("right")).code == "c1"
    await callback.close()


async def test_issuer_and_errors_are_taken_with_bounded_words() -> None:
    async def steps(callback: OAuthCallback) -> None:
        text = "x%0a" * 3000
        query = f"error=access_denied&error_description={text}&state=right&iss=https://a"
        await _send(callback.port, f"GET /callback?{query} HTTP/1.1\r\n\r\n".encode())

    answer = await _answered(steps)
    assert (answer.error, answer.issuer) == ("access_denied", "https://a")
    assert len(answer.description) <= 500
    assert "\n" not in answer.description


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"GET /callback?code=c&state=wrong HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /callback?code=c HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /callback?state=right HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /callback?" + b"a&" * 200 + b"state=right&code=c HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /favicon.ico HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /callback?code=c&state=right HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /callback?code=c&state=\xff\xfe HTTP/1.1\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01 nonsense\r\n\r\n", b"400"),
        (b"GET /callback?code=c&state=right\r\n\r\n", b"400"),
        (b"GET /callback?" + b"x" * 40_000, b"400"),
    ],
)
async def test_what_is_no_answer_of_ours_changes_nothing(raw: bytes, status: bytes) -> None:
    async def steps(callback: OAuthCallback) -> None:
        page = await _send(callback.port, raw)
        assert page == b"" or page.startswith(b"HTTP/1.1 " + status)
        await _send(callback.port, GOOD)

    assert (await _answered(steps)).code == "c1"


async def test_a_look_ahead_without_a_body_does_not_count() -> None:
    async def steps(callback: OAuthCallback) -> None:
        page = await _send(callback.port, GOOD.replace(b"GET", b"HEAD"))
        assert page.endswith(b"\r\n\r\n")
        await _send(callback.port, GOOD.replace(b"c1", b"c2"))

    assert (await _answered(steps)).code == "c2"


async def test_who_says_nothing_or_hangs_up_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.2)

    async def steps(callback: OAuthCallback) -> None:
        silent = [await anyio.connect_tcp(HOST, callback.port) for _ in range(20)]
        await silent.pop().aclose()
        await _send(callback.port, GOOD)
        for stream in silent:
            await stream.aclose()

    assert (await _answered(steps)).code == "c1"


async def test_strangers_are_counted() -> None:
    async def steps(callback: OAuthCallback) -> None:
        await _send(callback.port, GOOD.replace(b"right", b"left"))
        assert callback.strangers == 1
        await _send(callback.port, GOOD)

    await _answered(steps)


async def test_a_port_that_is_taken_is_reported() -> None:
    callback = await OAuthCallback.open()
    with pytest.raises(UserError) as caught:
        await OAuthCallback.open(callback.port)
    await callback.close()
    assert caught.value.details.where == f"127.0.0.1:{callback.port}"
    assert "Stop the program" in caught.value.details.hint


async def test_a_closed_page_gives_its_port_back() -> None:
    callback = await OAuthCallback.open()
    await callback.close()
    again = await OAuthCallback.open(callback.port)
    await again.close()


def test_the_state_is_read_from_the_page_that_is_opened() -> None:
    assert state_in("https://a/b?x=1&state=s%20t") == "s t"
    assert state_in("https://a/b") == ""
