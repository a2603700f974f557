"""Slow servers and hung ones."""

import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine

import anyio
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.protocol.facts import ConnectionNegotiated
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.messages import LISTEN, VERSION_KEY
from mcp_progress_monitor.protocol.peer import TokenSource
from mcp_progress_monitor.sessions.connection import session as pulse_module
from mcp_progress_monitor.sessions.connection.connection import Connection
from mcp_progress_monitor.sessions.connection.outbox import PendingRequest
from mcp_progress_monitor.sessions.connection.session import Keepalive
from mcp_progress_monitor.snapshots.limits import Limits
from tests.patience import until
from tests.unit.sessions.playbook import Log, PlayedServer, by_method, no_wait

INTERVAL_S = 30.0


class Asked:
    """A pulse over a connection to a played server; time passes as a test says."""

    def __init__(
        self, server: PlayedServer, era: Era, interval_s: float, *, may_be_sequential: bool
    ) -> None:
        self.server = server
        self.now = 0.0
        clock = Clock(lambda: self.now, lambda: 0.0)
        framer = Framer("played#1", FrameNumbers())
        server.use(framer)
        self.log = Log()
        self.connection = Connection(
            "played#1", server, framer, TokenSource(1), clock, self.log.take, no_wait
        )
        self.changes = 0
        self.tasks: anyio.abc.TaskGroup | None = None
        self.keepalive = Keepalive(
            self.connection,
            era,
            interval_s,
            self._note,
            self._spawn,
            may_be_sequential=may_be_sequential,
        )

    def _note(self) -> None:
        self.changes += 1

    def _spawn(self, work: Callable[[], Coroutine[object, object, None]], _name: str) -> None:
        assert self.tasks is not None
        self.tasks.start_soon(work)

    async def look(self, after_s: float = 1.0) -> None:
        """Let time pass, and the pulse look, and what comes of that come."""
        await anyio.wait_all_tasks_blocked()
        self.now += after_s
        self.keepalive.poll(self.now)
        await anyio.wait_all_tasks_blocked()

    def call(self) -> PendingRequest:
        """A call that waits."""
        return self.connection.outbox.ask("tools/call", {"name": "t"})

    def say_something(self) -> None:
        """Have the server send what is no answer."""
        self.server.say({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})

    @property
    def count(self) -> int:
        """How often it was asked for a sign of life."""
        return len([m for m in self.server.methods if m in {"ping", "server/discover"}])


@contextlib.asynccontextmanager
async def asked(
    server: PlayedServer,
    era: Era = Era.HANDSHAKE,
    interval_s: float = INTERVAL_S,
    *,
    may_be_sequential: bool = False,
) -> AsyncIterator[Asked]:
    made = Asked(server, era, interval_s, may_be_sequential=may_be_sequential)
    async with anyio.create_task_group() as tasks:
        made.tasks = tasks
        tasks.start_soon(made.connection.run)
        await made.connection.opened()
        yield made
        made.connection.end("over")
        await made.connection.over()
        tasks.cancel_scope.cancel()


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse_module, "_PATIENCE_S", 0.02)


@pytest.mark.parametrize(
    ("era", "method"), [(Era.HANDSHAKE, "ping"), (Era.PER_REQUEST, "server/discover")]
)
async def test_a_server_that_answers_in_the_silence_is_slow(era: Era, method: str) -> None:
    async with asked(PlayedServer(by_method(ping={}, discover={})), era) as made:
        made.call()
        await made.look()
        assert made.count == 0
        await made.look(INTERVAL_S + 1)
        assert made.server.methods == ["tools/call", method]
        await until(lambda: made.keepalive.health is not None)
        assert made.keepalive.health is not None
        assert not made.keepalive.health.is_hung
        assert made.keepalive.health.answered_s is not None


@pytest.mark.usefixtures("_impatient")
async def test_a_server_that_does_not_answer_is_hung_and_asked_with_each_interval() -> None:
    async with asked(PlayedServer(by_method())) as made:
        made.call()
        await made.look()
        await made.look(INTERVAL_S + 1)
        await until(lambda: made.keepalive.health is not None)
        assert made.keepalive.health is not None
        assert made.keepalive.health.is_hung
        assert made.keepalive.health.answered_s is None
        await made.look()
        assert made.count == 1
        assert made.keepalive.health.is_hung
        await made.look(INTERVAL_S + 1)
        assert made.count == 2


@pytest.mark.usefixtures("_impatient")
async def test_a_program_that_was_stopped_meanwhile_calls_nobody_hung(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pulse_module, "_SUSPENDED_S", -1)  # each wait counts as too long so
    async with asked(PlayedServer(by_method())) as made:
        made.call()
        await made.look()
        await made.look(INTERVAL_S + 1)
        await anyio.sleep(0.1)
        assert made.changes == 0
        ping = made.server.sent[-1]
        made.server.say({"jsonrpc": "2.0", "id": ping["id"], "result": {}})
        await until(lambda: made.keepalive.health is not None)
        assert made.keepalive.health is not None
        assert not made.keepalive.health.is_hung


@pytest.mark.usefixtures("_impatient")
async def test_anything_that_comes_clears_it() -> None:
    async with asked(PlayedServer(by_method())) as made:
        made.call()
        await made.look()
        await made.look(INTERVAL_S + 1)
        await until(lambda: made.keepalive.health is not None)
        made.say_something()
        await made.look()
        assert made.keepalive.health is None


async def test_a_call_that_ended_leaves_nothing_to_tell() -> None:
    async with asked(PlayedServer(by_method(ping={}))) as made:
        exchange = made.call()
        await made.look()
        await made.look(INTERVAL_S + 1)
        await until(lambda: made.keepalive.health is not None)
        made.server.say({"jsonrpc": "2.0", "id": exchange.outgoing.id, "result": {}})
        await exchange.over(5)
        await made.look()
        assert made.keepalive.health is None
        assert made.changes == 2


async def test_bytes_of_a_long_message_begin_the_silence_again() -> None:
    async with asked(PlayedServer(by_method(ping={}))) as made:
        made.call()
        await made.look()
        await made.look(INTERVAL_S - 5)
        made.server.last_byte_at = made.now
        await made.look()
        await made.look(INTERVAL_S - 5)
        assert made.count == 0


async def test_without_calls_nobody_is_asked() -> None:
    async with asked(PlayedServer(by_method(ping={}))) as made:
        await made.look()
        await made.look(INTERVAL_S + 1)
        made.connection.outbox.ask(LISTEN, {})
        await made.look(INTERVAL_S + 1)
        await made.look(INTERVAL_S + 1)
        assert made.count == 0


async def test_a_server_that_may_be_sequential_is_asked_once_it_is_known_to_be_concurrent() -> None:
    async with asked(PlayedServer(by_method(ping={})), may_be_sequential=True) as made:
        first, second = made.call(), made.call()
        await made.look()
        await made.look(INTERVAL_S + 1)
        assert made.count == 0  # it would stand between the call and the answer to a question
        made.server.say({"jsonrpc": "2.0", "id": second.outgoing.id, "result": {}})
        await second.over(5)
        await made.look()
        await made.look(INTERVAL_S + 1)
        assert made.count == 1
        assert first.end is None


async def test_answers_in_order_prove_nothing() -> None:
    async with asked(PlayedServer(by_method(ping={})), may_be_sequential=True) as made:
        first, _second = made.call(), made.call()
        await made.look()
        made.server.say({"jsonrpc": "2.0", "id": first.outgoing.id, "result": {}})
        await first.over(5)
        await made.look()
        await made.look(INTERVAL_S + 1)
        assert made.count == 0


async def test_while_the_user_is_asked_the_server_is_not() -> None:
    async with asked(PlayedServer(by_method(ping={}))) as made:
        exchange = made.call()
        exchange.clock.hold(made.connection.now())
        await made.look()
        await made.look(INTERVAL_S + 1)
        assert made.count == 0
        exchange.clock.release(made.connection.now())
        await made.look()
        await made.look(INTERVAL_S + 1)
        assert made.count == 1


async def test_what_comes_meanwhile_begins_the_silence_again() -> None:
    async with asked(PlayedServer(by_method(ping={}))) as made:
        made.call()
        await made.look()
        made.say_something()
        await made.look(INTERVAL_S - 5)
        assert made.count == 0
        assert made.keepalive.health is None
        await made.look(10)
        assert made.count == 1


async def test_zero_never_asks() -> None:
    async with asked(PlayedServer(by_method(ping={})), interval_s=0) as made:
        made.call()
        await made.look()
        await made.look(10_000)
        assert made.count == 0


async def test_asking_moves_no_clock_of_the_call() -> None:
    async with asked(PlayedServer(by_method(ping={}))) as made:
        exchange = made.call()
        exchange.clock.set_limits(Limits(100, 1000))
        await made.look()
        await made.look(INTERVAL_S + 1)
        await until(lambda: made.keepalive.health is not None)
        assert exchange.clock.read(made.now).idle_left_s == 100 - INTERVAL_S - 2


async def test_after_the_end_nothing_is_asked() -> None:
    async with asked(PlayedServer(by_method(ping={}))) as made:
        made.call()
        await made.look()
        made.connection.end("over")
        await made.connection.over()
        await made.look(INTERVAL_S + 1)
        assert made.count == 0


async def test_a_keep_alive_discover_does_not_reopen_the_session() -> None:
    discovered = {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {},
        "serverInfo": {"name": "played", "version": "1"},
    }
    stamps = {"_meta": {VERSION_KEY: "2026-07-28"}}
    async with asked(PlayedServer(by_method(discover=discovered)), Era.PER_REQUEST) as made:
        made.connection.outbox.peer.stamps = stamps["_meta"]
        await made.connection.outbox.ask("server/discover", {}).over(5)
        made.call()
        await made.look()
        await made.look(INTERVAL_S + 1)
        await until(lambda: made.keepalive.health is not None)
        assert made.count == 2
        reported = [fact for fact in made.log.facts if isinstance(fact, ConnectionNegotiated)]
        assert len(reported) == 1
