"""Sessions begun and ended, by wish and by themselves, with servers that are played."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.eras import ClientIdentity
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.peer import TokenSource
from mcp_progress_monitor.sessions.connection.asking import SecretsAtConnect
from mcp_progress_monitor.sessions.connection.connector import Connector
from mcp_progress_monitor.sessions.connection.manager import SessionManager
from mcp_progress_monitor.snapshots.definitions import FileWatch, RestartPolicy, StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.many_servers import connect_all
from tests.unit.sessions.playbook import INITIALIZED, Log, PlayedServer, by_method
from tests.unit.sessions.questioned import broker

SOON = RestartPolicy(first_delay_s=0.01, longest_delay_s=0.01, limit=2)
LATE = RestartPolicy(first_delay_s=600, longest_delay_s=600)


def definition(name: str = "s", policy: RestartPolicy = SOON, **fields: Any) -> StdioDefinition:
    return StdioDefinition(name=name, command="c", era="handshake", restart=policy, **fields)


class Stage:
    """A connector whose servers are played: each connection meets the next one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, reconnects: bool = True) -> None:
        monkeypatch.setattr(
            "mcp_progress_monitor.sessions.connection.manager.transport_for", self._next
        )
        self.log = Log()
        self.servers: list[PlayedServer] = []
        self.is_broken = False
        self.entered: list[dict[str, str]] = []
        self.prompts: list[tuple[str, tuple[str, ...]]] = []
        self.ready: list[str] = []
        self._changed = anyio.Event()
        clock = Clock()
        self.manager = SessionManager(
            ClientIdentity({"name": "us", "version": "1"}, {}),
            FrameNumbers(),
            TokenSource(0),
            clock,
            self.log.take,
            self._note,
            broker(),
            reconnects=reconnects,
        )
        self.gate: Callable[[object], None] = lambda _definition: None
        self.connector = Connector(
            self.manager,
            clock,
            self._note,
            self._note_ready,
            lambda definition: self.gate(definition),
            SecretsAtConnect(self._ask),
            reconnects=reconnects,
        )

    async def _ask(self, server: str, names: Sequence[str]) -> dict[str, str] | None:
        """Answer each prompt with the next of `entered`; cancel when there is none."""
        self.prompts.append((server, tuple(names)))
        await anyio.lowlevel.checkpoint()
        return self.entered.pop(0) if self.entered else None

    def _next(self, _definition: object, framer: Framer, *_means: object) -> PlayedServer:
        answers: dict[str, Any] = {"initialize": INITIALIZED, "list": {"tools": []}}
        server = PlayedServer(by_method(**({} if self.is_broken else answers)))
        server.use(framer)
        if self.is_broken:
            server.end(exit_code=9)
        self.servers.append(server)
        return server

    def _note(self, _name: str) -> None:
        self._changed.set()

    def _note_ready(self, name: str) -> None:
        self.ready.append(name)
        self._changed.set()

    def state(self, name: str = "s") -> ServerState:
        return self.manager.snapshot(name).state

    async def until(self, condition: Callable[[], object]) -> None:
        with anyio.fail_after(10):
            while not condition():
                self._changed = anyio.Event()
                await self._changed.wait()

    async def until_state(self, state: ServerState) -> None:
        await self.until(lambda: self.state() is state)

    async def until_back(self, restarts: int) -> None:
        await self.until(
            lambda: (
                self.manager.snapshot("s").restarts == restarts
                and self.state() is ServerState.CONNECTED
            )
        )


@contextlib.asynccontextmanager
async def playing(stage: Stage, policy: RestartPolicy = SOON) -> AsyncIterator[Stage]:
    async with anyio.create_task_group() as tasks:
        stage.connector.open(tasks)
        stage.manager.add(definition(policy=policy))
        await stage.connector.connect("s")
        yield stage
        await stage.connector.aclose()
        tasks.cancel_scope.cancel()


async def test_a_server_that_ends_by_itself_is_connected_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with playing(Stage(monkeypatch)) as stage:
        stage.servers[0].end(exit_code=1)
        await stage.until_back(1)
        assert len(stage.servers) == 2
        await stage.until(lambda: stage.ready == ["s", "s"])
        assert any(b'"outlook":"Reconnecting in' in frame.raw for frame in stage.log.frames)


async def test_attempts_that_fail_are_counted_up_to_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with playing(Stage(monkeypatch)) as stage:
        stage.is_broken = True
        stage.servers[0].end(exit_code=1)
        await stage.until_state(ServerState.FAILED)
        assert len(stage.servers) == 3
        error = stage.manager.snapshot("s").error
        assert error is not None
        assert "2 times in a row" in error.what
        assert "exit code 9" in error.detail
        stage.is_broken = False
        await stage.connector.connect("s")
        assert stage.state() is ServerState.CONNECTED


async def test_connecting_now_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing(Stage(monkeypatch), LATE) as stage:
        stage.servers[0].end()
        await stage.until_state(ServerState.WAITING)
        with anyio.fail_after(10):
            await stage.connector.connect("s")
        assert stage.manager.snapshot("s").restarts == 1


async def test_an_attempt_made_now_that_fails_goes_on_in_the_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with playing(Stage(monkeypatch), LATE) as stage:
        stage.is_broken = True
        stage.servers[0].end()
        await stage.until_state(ServerState.WAITING)
        with pytest.raises(UserError, match="exit code 9"):
            await stage.connector.connect("s")
        await stage.until_state(ServerState.WAITING)
        retry = stage.manager.snapshot("s").retry
        assert retry is not None
        assert retry.number == 2


async def test_disconnecting_what_waits_ends_the_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing(Stage(monkeypatch), LATE) as stage:
        stage.servers[0].end()
        await stage.until_state(ServerState.WAITING)
        await stage.connector.disconnect("s")
        found = stage.manager.snapshot("s")
        assert (found.state, found.retry, found.error) == (ServerState.CLOSED, None, None)


async def test_a_server_that_is_renamed_while_it_waits_comes_back_under_its_new_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policy = RestartPolicy(first_delay_s=0.2)
    async with playing(Stage(monkeypatch), policy) as stage:
        stage.servers[0].end()
        await stage.until_state(ServerState.WAITING)
        stage.manager.set_definition("s", definition("new", policy))
        await stage.until(lambda: stage.state("new") is ServerState.CONNECTED)


async def test_waiting_for_a_reconnect_ends_when_it_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with playing(Stage(monkeypatch), LATE) as stage:
        stage.servers[0].end()
        await stage.until_state(ServerState.WAITING)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.connector.reconnected, "s")
            await anyio.wait_all_tasks_blocked()
            stage.connector.stop_reconnecting("s")
        assert stage.state() is ServerState.CLOSED


async def test_a_restart_ends_one_connection_and_makes_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with playing(Stage(monkeypatch)) as stage:
        await stage.connector.restart("s")
        assert stage.servers[0].is_closed
        assert len(stage.servers) == 2
        assert stage.manager.snapshot("s").restarts == 1
        closed = [frame.raw for frame in stage.log.frames if b'"closed"' in frame.raw]
        assert b'"wanted":true' in closed[0]
        assert b"You restarted the server" in closed[0]


async def test_a_restart_that_fails_is_reported_and_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with playing(Stage(monkeypatch)) as stage:
        stage.is_broken = True
        with pytest.raises(UserError, match="exit code 9"):
            await stage.connector.restart("s")
        assert stage.state() is ServerState.FAILED
        assert not stage.manager.reconnecting("s").is_reconnecting


async def test_restarting_what_was_never_connected_connects_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with playing(Stage(monkeypatch)) as stage:
        stage.manager.add(definition("other"))
        await stage.connector.restart("other")
        assert stage.state("other") is ServerState.CONNECTED
        assert stage.manager.snapshot("other").restarts == 0


async def test_two_restarts_at_the_same_time_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing(Stage(monkeypatch)) as stage:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.connector.restart, "s")
            tasks.start_soon(stage.connector.restart, "s")
        assert stage.state() is ServerState.CONNECTED
        assert len(stage.servers) == 2


async def test_closing_ends_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing(Stage(monkeypatch), LATE) as stage:
        stage.servers[0].end()
        await stage.until_state(ServerState.WAITING)
        await stage.connector.aclose()
        assert stage.state() is ServerState.CLOSED
        stage.connector.open(None)
        with pytest.raises(UserError, match="closing"):
            await stage.connector.connect("s")


async def test_after_the_end_nothing_is_begun_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    errors: dict[str, ErrorDetails] = {}

    async def connect() -> None:
        errors.update(await connect_all(stage.connector.connect, names))

    async with playing(Stage(monkeypatch)) as stage:
        names = [stage.manager.add(definition("n")) for _ in range(40)]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connect)
            await anyio.lowlevel.checkpoint()  # the first of them are on their way
            await stage.connector.aclose()
        count = len(stage.servers)
        assert count < len(names)
        assert all(server.is_released for server in stage.servers)
        with pytest.raises(UserError, match="is closing"):
            await stage.connector.connect(names[-1])
        assert len(stage.servers) == count
    assert errors[names[-1]].what == "The program is closing"


@pytest.mark.announces_log("the watch of s's files met a defect")
async def test_a_defect_in_watching_files_ends_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(*_given: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("mcp_progress_monitor.sessions.connection.connector.FileWatcher.run", fail)
    async with playing(Stage(monkeypatch)) as stage:
        watched = definition(watch=FileWatch(is_on=True))
        await stage.connector.disconnect("s")
        stage.manager.set_definition("s", watched)
        await stage.connector.connect("s")
        await anyio.wait_all_tasks_blocked()
        assert stage.state() is ServerState.CONNECTED


async def test_without_reconnecting_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing(Stage(monkeypatch, reconnects=False)) as stage:
        stage.servers[0].end(exit_code=1)
        await stage.until_state(ServerState.FAILED)
        assert stage.manager.snapshot("s").retry is None


async def test_what_the_gate_refuses_is_not_connected_by_anyone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_definition: object) -> None:
        raise UserError(ErrorDetails("not agreed to"))

    async with playing(Stage(monkeypatch)) as stage:
        stage.gate = refuse
        stage.servers[0].end(exit_code=1)
        await stage.until_state(ServerState.FAILED)
        found = stage.manager.snapshot("s").error
        assert found is not None
        assert found.what == "not agreed to"
        for request in (stage.connector.connect, stage.connector.restart):
            with pytest.raises(UserError, match="not agreed to"):
                await request("s")
        assert len(stage.servers) == 1


ASKS: dict[str, Any] = {"env": {"KEY": "${ask:KEY}"}}


@contextlib.asynccontextmanager
async def asking(stage: Stage, policy: RestartPolicy = SOON) -> AsyncIterator[Stage]:
    """A stage whose server needs a secret, not connected yet."""
    async with anyio.create_task_group() as tasks:
        stage.connector.open(tasks)
        stage.manager.add(definition(policy=policy, **ASKS))
        yield stage
        await stage.connector.aclose()
        tasks.cancel_scope.cancel()


async def test_a_secret_is_asked_for_before_anything_is_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with asking(Stage(monkeypatch)) as stage:
        with pytest.raises(UserError, match="KEY not entered"):
            await stage.connector.connect("s")
        assert stage.servers == []
        assert not stage.state().is_up
        stage.entered = [{"KEY": "k"}]
        await stage.connector.connect("s")
        assert stage.state() is ServerState.CONNECTED
        assert stage.prompts == [("s", ("KEY",))] * 2
        await stage.connector.restart("s")
        assert len(stage.prompts) == 2


async def test_a_refused_server_asks_for_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_definition: object) -> None:
        raise UserError(ErrorDetails("Not approved"))

    async with asking(Stage(monkeypatch)) as stage:
        stage.gate = refuse
        with pytest.raises(UserError, match="Not approved"):
            await stage.connector.connect("s")
        assert stage.prompts == []


async def test_a_reconnect_uses_the_entered_secret_and_a_disconnect_forgets_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with asking(Stage(monkeypatch)) as stage:
        stage.entered = [{"KEY": "k"}, {"KEY": "k2"}]
        await stage.connector.connect("s")
        stage.servers[0].end(exit_code=1)
        await stage.until_back(1)
        assert len(stage.prompts) == 1
        await stage.connector.disconnect("s")
        assert stage.manager.asked("s") == {}
        await stage.connector.connect("s")
        assert len(stage.prompts) == 2


async def test_a_connection_that_fails_forgets_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    async with asking(Stage(monkeypatch)) as stage:
        stage.is_broken, stage.entered = True, [{"KEY": "wrong"}]
        with pytest.raises(UserError, match="exit code 9"):
            await stage.connector.connect("s")
        assert stage.manager.asked("s") == {}


async def test_a_changed_command_does_not_get_the_secret_of_the_earlier_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with asking(Stage(monkeypatch)) as stage:
        stage.entered = [{"KEY": "k"}]
        await stage.connector.connect("s")
        stage.manager.set_definition("s", definition(policy=SOON, **ASKS))
        assert stage.manager.asked("s") == {"KEY": "k"}
        other = definition(policy=SOON, **ASKS).model_copy(update={"command": "other"})
        stage.manager.set_definition("s", other)
        assert stage.manager.asked("s") == {}
        stage.servers[0].end(exit_code=1)
        await stage.until_state(ServerState.FAILED)  # what is automatic asks nobody
        error = stage.manager.snapshot("s").error
        assert error is not None
        assert "KEY not entered" in error.what
        assert len(stage.prompts) == 1
