"""One server's life: its states, and the report of each way it can end."""

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.eras import ClientIdentity, Era
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.protocol.offers import Tool
from mcp_progress_monitor.sessions.connection import outbox
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd
from mcp_progress_monitor.sessions.connection.session import Session
from mcp_progress_monitor.snapshots.definitions import Era as EraChoice
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.unit.sessions.playbook import (
    INITIALIZED,
    Log,
    Message,
    PlayedServer,
    by_method,
    connection_to,
    result,
)
from tests.unit.sessions.questioned import broker

CLIENT = ClientIdentity({"name": "us", "version": "1"}, {})
TOOL = {"name": "t", "inputSchema": {"type": "object"}}


def well_behaved() -> PlayedServer:
    return PlayedServer(by_method(discover=-32601, initialize=INITIALIZED, list={"tools": [TOOL]}))


class Life:
    """A session with servers that are played, one for each connection, and its states."""

    def __init__(
        self,
        servers: Sequence[PlayedServer],
        *,
        limit_s: float = 5.0,
        era: EraChoice = "auto",
        note_tools: Callable[[Sequence[Tool]], list[dict[str, Any]]] | None = None,
    ) -> None:
        self._servers = iter(servers)
        self.states: list[ServerState] = []
        self._changed = anyio.Event()
        definition = StdioDefinition(name="s", command="c", connect_timeout_s=limit_s)
        self.session = Session(
            definition,
            era,
            lambda upkeep: connection_to(next(self._servers), upkeep=upkeep),
            CLIENT,
            self._note,
            broker().context(definition, Clock()),
            note_tools=note_tools,
        )

    def _note(self) -> None:
        state = self.session.snapshot().state
        if self.states[-1:] != [state]:
            self.states.append(state)
        self._changed.set()

    async def error_that_comes(self) -> ErrorDetails:
        """The first error of the snapshot after this."""
        with anyio.fail_after(10):
            while (error := self.session.snapshot().error) is None:
                self._changed = anyio.Event()
                await self._changed.wait()
        return error

    async def error_has_gone(self) -> None:
        with anyio.fail_after(10):
            while self.session.snapshot().error is not None:
                self._changed = anyio.Event()
                await self._changed.wait()


@contextlib.asynccontextmanager
async def lived(life: Life) -> AsyncIterator[Session]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(life.session.run)
        yield life.session
        life.session.close()


async def test_a_session_goes_through_its_states_in_order() -> None:
    life = Life([well_behaved()])
    async with lived(life) as session:
        await session.ready()
        assert session.snapshot().state is ServerState.CONNECTED
    assert life.states == [
        ServerState.CONNECTING,
        ServerState.CONNECTED,
        ServerState.CLOSING,
        ServerState.CLOSED,
    ]


async def test_a_server_that_is_ready_has_its_tools() -> None:
    async with lived(Life([well_behaved()])) as session:
        await session.ready()
        server = session.snapshot()
        assert [tool.name for tool in server.tools] == ["t"]
        assert server.era is Era.HANDSHAKE
        assert server.server_info["name"] == "played"
        assert server.connection == "played#1"
        assert server.pid == 4711


async def test_before_and_after_its_life_nothing_can_be_called() -> None:
    life = Life([well_behaved()])
    with pytest.raises(UserError, match="not connected"):
        _ = life.session.connection
    async with lived(life) as session:
        await session.ready()
        assert session.connection.is_open
        session.close()
        with pytest.raises(UserError, match="not connected"):
            _ = session.connection


async def test_a_server_that_ends_by_itself_has_failed_and_tells_how() -> None:
    server = well_behaved()
    server.complain(b"last words")
    life = Life([server])
    async with lived(life) as session:
        await session.ready()
        server.end(exit_code=4)
        await session.over()
        found = session.snapshot()
    assert found.state is ServerState.FAILED
    assert found.error is not None
    assert found.error.what == "The server exited with exit code 4"
    assert "last words" in found.error.detail
    assert found.stderr_tail == ("last words",)


async def test_a_connection_that_comes_to_nothing_ends_for_the_reason_that_is_reported() -> None:
    life = Life([PlayedServer(by_method(discover=-32601, initialize={"protocolVersion": 7}))])
    async with lived(life) as session:
        await session.over()
        error, connection = session.snapshot().error, session.current
    assert error is not None
    assert connection is not None
    assert connection.reason == error.what


async def test_a_server_we_close_has_not_failed() -> None:
    life = Life([well_behaved()])
    async with lived(life) as session:
        await session.ready()
        session.close()
        await session.over()
    assert session.snapshot().state is ServerState.CLOSED
    assert session.snapshot().error is None


async def test_closing_while_connecting_ends_it_for_those_who_wait() -> None:
    life = Life([PlayedServer(by_method())])
    async with lived(life) as session, anyio.create_task_group() as tasks:
        tasks.start_soon(refused, session)
        await anyio.lowlevel.checkpoint()
        session.close()


async def refused(session: Session) -> None:
    with pytest.raises(UserError, match="not connected"):
        await session.ready()


async def test_a_server_that_ends_at_the_first_question_gets_a_second_start() -> None:
    servers: list[PlayedServer] = []

    def end_at_once(_message: Message) -> list[Message]:
        servers[0].end(1)
        return []

    second = well_behaved()
    servers += [PlayedServer(end_at_once), second]
    async with lived(Life(servers)) as session:
        await session.ready()
    assert servers[0].methods == ["server/discover"]
    assert second.methods[0] == "initialize"


async def test_the_limit_counts_for_both_starts_together() -> None:
    async with lived(Life([PlayedServer(by_method())], limit_s=0.05)) as session:
        with pytest.raises(UserError, match=r"within 0\.05 s"):
            await session.ready()
        assert session.snapshot().state is ServerState.FAILED


async def test_what_a_server_printed_instead_is_quoted_when_the_limit_is_reached() -> None:
    server = PlayedServer(lambda _message: [b"Hello! Type 'help'."])
    async with lived(Life([server], limit_s=0.05)) as session:
        with pytest.raises(UserError) as caught:
            await session.ready()
    assert "Type 'help'" in caught.value.details.detail


async def test_a_server_that_cannot_be_started_tells_why() -> None:
    server = PlayedServer(by_method(), error=ErrorDetails("No such command", "c", "Install it."))
    async with lived(Life([server])) as session:
        with pytest.raises(UserError) as caught:
            await session.ready()
        await session.over()
    assert caught.value.details == ErrorDetails("No such command", "c", "Install it.")
    assert session.snapshot().state is ServerState.FAILED


@pytest.mark.announces_log("met a defect")
async def test_a_defect_of_ours_fails_the_session_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_self: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(
        "mcp_progress_monitor.sessions.connection.negotiation.Negotiation.run", broken
    )
    async with lived(Life([well_behaved()])) as session:
        with pytest.raises(UserError, match="internal error"):
            await session.ready()


async def test_a_server_that_does_not_read_is_reported_until_it_reads_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "_PATIENCE_S", 0.01)
    server = well_behaved()
    life = Life([server])
    async with lived(life) as session:
        await session.ready()
        server.stop_reading()
        for number in range(3000):
            server.say({"jsonrpc": "2.0", "id": number, "method": "ping"})
        error = await life.error_that_comes()
        assert error.what.startswith("The server is not reading its input: 1,00")
        assert error.what.endswith(" messages wait")
        assert error.where == "c"
        assert session.snapshot().state is ServerState.CONNECTED
        server.read_on()
        await life.error_has_gone()


async def test_a_moment_of_not_reading_is_not_reported_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_MOMENT_S", 0.0)
    server = well_behaved()
    life = Life([server])
    errors = []
    async with lived(life) as session:
        await session.ready()
        session.connection.outbox.hold_watchers.append(
            lambda: errors.append(session.snapshot().error)
        )
        server.stop_reading()
        for number in range(3000):
            server.say({"jsonrpc": "2.0", "id": number, "method": "ping"})
        for _turn in range(2000):
            await anyio.lowlevel.checkpoint()
        assert session.connection.outbox.queued_count > 1000
        server.read_on()
        sent = len(server.sent)
        await server.until_count(sent + 2000)
        assert errors == []


@pytest.mark.announces_log("the session with s met a defect")
async def test_a_defect_beside_a_session_ends_that_session_alone() -> None:
    async def defective() -> None:
        raise RuntimeError("a mistake of ours")

    life = Life([well_behaved()])
    async with lived(life) as session:
        await session.ready()
        session.start_soon(defective, "defective")
        await session.over()
    error = session.snapshot().error
    assert error is not None
    assert error.what == "An internal error ended the session"
    assert session.snapshot().state is ServerState.FAILED


async def test_a_call_that_needs_input_while_its_server_is_ended_is_lost() -> None:
    offer = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    server = PlayedServer(by_method(discover={**offer, "serverInfo": {}}, list={"tools": [TOOL]}))
    async with lived(Life([server], era="per-request")) as session:
        await session.ready()
        connection = session.current
        assert connection is not None
        exchange = connection.outbox.ask("tools/call", {"name": "t"})
        asked = await server.until_sent("tools/call")
        server.last_output = [result(asked, {"resultType": "input_required", "requestState": "s"})]
    assert exchange.end is ExchangeEnd.LOST
    assert connection.error is None


async def test_while_the_user_signs_in_the_time_for_connecting_stands_still() -> None:
    life = Life([PlayedServer(by_method())], limit_s=1, era="handshake")
    async with lived(life) as session:
        await anyio.wait_all_tasks_blocked()
        session.note_sign_in(is_open=True)
        await anyio.sleep(1.2)
        assert session.snapshot().state is ServerState.CONNECTING
        session.note_sign_in(is_open=False)
        with anyio.fail_after(5):
            await session.over()
    error = session.snapshot().error
    assert error is not None
    assert "within 1 s" in error.what


async def test_a_sign_in_that_never_ends_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.sessions.connection.clocks.SIGN_IN_S", 0.05)
    monkeypatch.setattr("mcp_progress_monitor.sessions.connection.clocks._AFTER_SIGN_IN_S", 0.0)
    life = Life([PlayedServer(by_method())], era="handshake")
    async with lived(life) as session:
        await anyio.wait_all_tasks_blocked()
        session.note_sign_in(is_open=True)
        with anyio.fail_after(5):
            await session.over()
    error = session.snapshot().error
    assert error is not None
    assert error.what.startswith("Sign-in was not completed within")


async def test_tools_that_changed_since_the_last_session_are_on_record() -> None:
    log, change = Log(), {"tool": "t", "parts": ["title"], "diff": "title:\n+ T"}
    life = Life([], note_tools=lambda _tools: [change])
    connection = connection_to(well_behaved(), log)
    life.session._make_connection = lambda _upkeep: connection  # noqa: SLF001  # a log that is ours
    async with lived(life) as session:
        await session.ready()
        assert session.snapshot().tool_changes == (("t", "title:\n+ T"),)
        await session._relist()  # noqa: SLF001  # as after an announced change
    raws = [frame.raw for frame in log.frames if frame.raw.startswith(b'{"event":"definitions')]
    assert [json.loads(raw)["tools"] for raw in raws] == [[change]]


async def test_why_it_was_begun_is_on_record_before_it_opens() -> None:
    log = Log()
    server = well_behaved()
    life = Life([])
    connection = connection_to(server, log)
    life.session._make_connection = lambda _upkeep: connection  # noqa: SLF001  # a log that is ours
    life.session.cause = {"reason": "files changed", "files": ["a.py"]}
    async with lived(life) as session:
        await session.ready()
    events = [frame.raw for frame in log.frames if frame.channel is Channel.EVENT]
    assert events[0] == b'{"event":"restarting","reason":"files changed","files":["a.py"]}'
    assert events[1].startswith(b'{"event":"opened"')
