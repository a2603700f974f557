"""Servers that went away while their responses were read."""

import anyio
import pytest

from mcp_progress_monitor.protocol.eras import PER_REQUEST
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd, PendingRequest
from mcp_progress_monitor.sessions.transport.http import transport
from tests.unit.sessions.http.scripted import Asked, Line, Out, connected, event, progress, reply


class Server:
    """Streams until it breaks off; answers a look as a test says."""

    def __init__(self, status: str = "405 Method Not Allowed") -> None:
        self.status = status
        self.breaks = anyio.Event()

    async def script(self, asked: Asked, out: Out) -> None:
        if asked.method == "OPTIONS":
            await self._looked_for(out)
        elif asked.message["params"].get("name") == "quick":
            await out.json(reply(asked))
        else:
            length = {"Content-Type": "text/event-stream", "Content-Length": "100000"}
            await out.head("200 OK", length)
            await out.say(event(progress("t", 1)))
            await self.breaks.wait()
            await out.drop()

    async def _looked_for(self, out: Out) -> None:
        if self.status == "drop":
            await out.drop()
        elif self.status == "silence":
            await out.until_closed()
        else:
            await out.nothing(self.status)


async def _streaming(line: Line, count: int) -> None:
    await line.web.until(lambda: len(line.web.asked_with("POST")) == count)
    await line.until_reported("http_events")


async def _asked_around_a_break(
    line: Line, server: Server
) -> tuple[PendingRequest, PendingRequest]:
    """A call whose response breaks off, and one that is made once the server was looked for."""
    broken = line.ask()
    await _streaming(line, 1)
    server.breaks.set()
    await line.over(broken)
    await line.web.until(lambda: line.web.asked_with("OPTIONS"))
    return broken, await line.over(line.ask(name="quick"))


@pytest.mark.parametrize("revision", [PER_REQUEST, "2025-11-25"])
async def test_a_server_that_is_gone_ends_the_connection_with_the_true_reason(
    revision: str,
) -> None:
    async with connected(Server().script) as line:
        line.connection.agreed(revision)
        exchanges = [line.ask(), line.connection.outbox.ask("tools/call", {})]
        await _streaming(line, 2)
        await line.web.stop()
        with anyio.fail_after(10):
            await line.connection.over()
        assert [exchange.end for exchange in exchanges] == [ExchangeEnd.LOST] * 2
        assert line.connection.reason.startswith("The server refused the connection")
    purposes = [reported["purpose"] for reported in line.events("http_request")]
    assert purposes.count("probe") == 1
    (closed,) = line.events("closed")
    assert "wanted" not in closed


@pytest.mark.parametrize("status", ["405 No", "503 Busy", "302 Found", "401 Who", "drop"])
async def test_a_server_that_answers_stays_connected(status: str) -> None:
    server = Server(status)
    async with connected(server.script) as line:
        line.connection.agreed(PER_REQUEST)
        exchange, after = await _asked_around_a_break(line, server)
        assert line.connection.is_open
    assert (exchange.end, after.end) == (ExchangeEnd.LOST, ExchangeEnd.ANSWERED)
    assert line.connection.reason == "enough"


async def test_a_server_that_only_listens_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "_LIMIT_S", 0.1)
    server = Server("silence")
    async with connected(server.script) as line:
        line.connection.agreed(PER_REQUEST)
        _, after = await _asked_around_a_break(line, server)
        assert line.connection.is_open
    assert after.end is ExchangeEnd.ANSWERED


async def test_nobody_is_looked_for_before_anything_was_agreed() -> None:
    server = Server()
    server.breaks.set()
    async with connected(server.script) as line:
        exchange = await line.over(line.ask("initialize"))
    assert exchange.end is ExchangeEnd.LOST
    assert not line.web.asked_with("OPTIONS")
