"""The transport from its opening to its close."""

import anyio
import pytest

from mcp_progress_monitor.engine import requests
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.jsonrpc import encode
from mcp_progress_monitor.protocol.messages import INITIALIZED
from mcp_progress_monitor.sessions.connection.connection import silence_error
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd
from mcp_progress_monitor.sessions.transport.http import transport
from mcp_progress_monitor.sessions.transport.http.transport import HttpTransport
from mcp_progress_monitor.snapshots.limits import Limits
from tests.patience import until
from tests.unit.sessions.http.scripted import (
    Asked,
    Out,
    connected,
    event,
    progress,
    reply,
    transport_to,
)


async def in_session(asked: Asked, out: Out) -> None:
    if asked.method == "POST" and "id" in asked.message:
        await out.json(reply(asked), Mcp_Session_Id="s1")
    else:
        await out.nothing("202 Accepted" if asked.method == "POST" else "405 No")


async def test_opening_tells_where_and_how_but_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "s3cret")
    headers = {"X-Key": "${env:KEY}", "A": "b"}
    async with connected(in_session, headers=headers) as line:
        await line.over(line.ask())
    (opened,) = line.events("opened")
    assert opened["headers"] == ["A", "X-Key"]
    assert (opened["transport"], opened["auth"]) == ("http", "headers")
    assert line.web.asked[0].headers["x-key"] == "s3cret"
    assert not any(b"s3cret" in frame.raw for frame in line.log.frames)


async def test_a_reference_to_nothing_keeps_it_from_opening() -> None:
    web, _ = transport_to("http://127.0.0.1:9/", headers={"X": "${env:NO_SUCH_VARIABLE}"})
    web.attach(None)  # type: ignore[arg-type]  # never asked
    with pytest.raises(UserError, match="NO_SUCH_VARIABLE"):
        await web.open()


async def test_a_session_is_named_with_each_message_and_ended_politely() -> None:
    async with connected(in_session) as line:
        await line.over(line.ask("initialize"))
        line.connection.agreed("2025-11-25")
        line.connection.outbox.post(encode({"jsonrpc": "2.0", "method": INITIALIZED}))
        await line.over(line.ask())
    first, *rest = line.web.asked
    assert "mcp-session-id" not in first.headers
    assert "mcp-protocol-version" not in first.headers
    assert {asked.headers["mcp-session-id"] for asked in rest} == {"s1"}
    assert {asked.headers["mcp-protocol-version"] for asked in rest} == {"2025-11-25"}
    assert {asked.method for asked in rest} == {"POST", "GET", "DELETE"}
    assert rest[-1].method == "DELETE"
    purposes = [reported["purpose"] for reported in line.events("http_request")]
    assert purposes[-1] == "end"


async def test_closing_waits_for_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_FAREWELL_S", 0.1)

    async def script(asked: Asked, out: Out) -> None:
        if asked.method == "DELETE":
            await out.until_closed()
        else:
            await in_session(asked, out)

    async with connected(script) as line:
        await line.over(line.ask("initialize"))
        line.connection.end("enough")
        with anyio.fail_after(2):
            await line.connection.over()
    assert line.connection.reason == "enough"


async def test_what_comes_after_the_reply_is_seen_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "_LINGER_S", 0.2)
    monkeypatch.setattr(transport, "_LOOK_S", 0.05)

    async def script(asked: Asked, out: Out) -> None:
        await out.events(event(reply(asked)), event(progress("t", 1)))
        await out.until_closed()

    async with connected(script) as line:
        exchange = await line.over(line.ask())
        await line.until_reported("http_ended")
    assert exchange.end is ExchangeEnd.ANSWERED
    assert any(b'"progress"' in frame.raw and b"params" in frame.raw for frame in line.log.frames)
    assert line.events("http_ended")[0]["reason"] == "closed by this client"


async def test_a_transport_that_is_closed_takes_no_messages() -> None:
    async with connected(in_session) as line:
        pass
    with pytest.raises(anyio.ClosedResourceError):
        line.ask()


async def test_the_last_exchanges_are_noted_for_who_looks_for_causes() -> None:
    async def script(_asked: Asked, out: Out) -> None:
        await out.body("418 Teapot", "text/plain", b"short and stout", {"Server": "pot"})

    async with connected(script) as line:
        for _ in range(25):
            await line.over(line.ask())
        notes = line.connection.http_notes
    assert len(notes) == 20
    assert (notes[0].status, notes[0].body) == (418, "short and stout")
    assert ("Server", "pot") in notes[0].headers
    assert notes[0].request.startswith("POST http://127.0.0.1:")


async def test_the_first_bytes_are_kept() -> None:
    async with connected(in_session) as line:
        await line.over(line.ask())
        assert line.connection.first_bytes.startswith(b'{"jsonrpc"')
        assert line.connection.last_received_at is not None


def test_it_has_no_process() -> None:
    web, _ = transport_to("http://127.0.0.1:9/")
    assert isinstance(web, HttpTransport)
    assert (web.pid, web.exit_code, web.failure, list(web.notes)) == (None, None, None, [])


async def test_a_call_that_runs_out_of_time_is_reported_without_a_process() -> None:
    async def script(_asked: Asked, out: Out) -> None:
        await out.events(": still here\n\n")
        await out.until_closed()

    async with connected(script) as line:
        exchange = line.ask()
        await line.until_reported("http_events")
        exchange.stop(ExchangeEnd.IDLE_TIMEOUT)
        exchange.clock.set_limits(Limits(idle_s=5))
        text = requests.timeout_report(exchange, line.connection, None)
    assert "HTTP connection is still open" in text
    assert "process" not in text
    assert "Last requests:" in text


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_bytes_of_a_message_that_is_not_whole_are_a_sign_of_life(kind: str) -> None:
    go_on = anyio.Event()

    async def script(_asked: Asked, out: Out) -> None:
        await out.head("200 OK", {"Content-Type": kind})
        await go_on.wait()
        await out.raw(b'data: {"jsonrpc":')
        await out.until_closed()

    async with connected(script) as line:
        line.ask()
        await line.until_reported("http_response")
        before = line.connection.last_received_at
        assert before is not None
        go_on.set()
        await until(lambda: line.connection.last_received_at != before)


async def test_a_server_that_is_silent_gets_a_hint_about_its_url() -> None:
    async with connected(in_session) as line:
        error = silence_error("http://x/", 3, ["initialize"], line.connection)
    assert "Check the URL" in error.hint
    assert "stdio" not in error.hint


async def test_a_notification_that_is_not_answered_keeps_up_calls_for_a_while_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "_IN_TURN_S", 0.05)
    heard = anyio.Event()

    async def script(asked: Asked, out: Out) -> None:
        if "id" in asked.message:
            await out.json(reply(asked))
        else:
            heard.set()
            await out.until_closed()

    async with connected(script) as line:
        line.connection.outbox.post(encode({"jsonrpc": "2.0", "method": INITIALIZED}))
        exchange = await line.over(line.ask())
        assert exchange.end is ExchangeEnd.ANSWERED
        assert heard.is_set()
    # Its response was waited for on, and closed with the connection.
    reasons = {reported["exchange"]: reported["reason"] for reported in line.events("http_ended")}
    assert reasons == {1: "closed by this client", 2: "complete"}


async def test_credentials_are_never_recorded_even_if_the_server_repeats_them() -> None:
    async def script(asked: Asked, out: Out) -> None:
        if asked.path.endswith("again=1"):
            said = f"no: {asked.headers['x-tenant']}, {asked.path}".encode()
            await out.body("403 Forbidden", "text/plain", said, {"X-Said": asked.path})
        else:
            await out.head("307 Go", {"Location": f"{asked.path}&again=1", "Content-Length": "0"})

    headers = {"X-Tenant": "${env:HTTP_TEST_TENANT}"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTTP_TEST_TENANT", "tenant-zero-seven")
        async with connected(script, "?api_key=key-in-the-url", headers=headers) as line:
            exchange = await line.over(line.ask())
            notes = line.connection.http_notes
    assert "api_key=key-in-the-url&again=1" in line.web.asked[-1].path
    assert "403 Forbidden" in exchange.reason
    assert "no: ***, /mcp?api_key=***&again=1" in exchange.reason
    reported = [exchange.reason, str(notes), *(str(frame.raw) for frame in line.log.frames)]
    for secret in ("key-in-the-url", "tenant-zero-seven"):
        assert not any(secret in message for message in reported)
