"""One server from its start to its end: connect, negotiate, know its lists, call, close."""

from __future__ import annotations

import dataclasses
import logging
from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol.eras import SEQUENTIAL, Era
from mcp_progress_monitor.sessions import connect_failure
from mcp_progress_monitor.sessions.connect_failure import not_connected
from mcp_progress_monitor.sessions.connect_limit import ConnectLimit, Waiting, not_signed_in
from mcp_progress_monitor.sessions.era_memory import Verdict, said_by
from mcp_progress_monitor.sessions.incoming import Incoming
from mcp_progress_monitor.sessions.lists import ServerLists
from mcp_progress_monitor.sessions.mending import Mending
from mcp_progress_monitor.sessions.negotiation import Negotiation, ReopenError, opening_of
from mcp_progress_monitor.sessions.news import News
from mcp_progress_monitor.sessions.pulse import Pulse
from mcp_progress_monitor.sessions.reaching import prepare
from mcp_progress_monitor.sessions.rounds import Rounds
from mcp_progress_monitor.sessions.snapshot import ServerSnapshot, ServerState

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.protocol.eras import Agreement, ClientIdentity
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.opening import Opening
    from mcp_progress_monitor.sessions.connection import Connection
    from mcp_progress_monitor.sessions.definitions import Era as EraChoice
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.incoming import Context
    from mcp_progress_monitor.sessions.negotiation import Question
    from mcp_progress_monitor.sessions.snapshot import Health

_log = logging.getLogger(__name__)

_LEVEL_LIMIT_S: Final = 5.0
"""How long a server may take to set its log level before it is used all the same."""
_LISTED_S: Final = 3.0
"""How long calls wait for lists that the server is slow to give."""
_DISCONNECTED: Final = "You disconnected the server"


class Session:
    """A server's connection and what was agreed over it. Used once.

    `run` is the owner task; `on_change` is called whenever `snapshot` has changed.
    """

    def __init__(
        self,
        definition: ServerDefinition,
        era: EraChoice,
        make_connection: Callable[[], Connection],
        identity: ClientIdentity,
        on_change: Callable[[], None],
        context: Context,
        mending: Mending | None = None,
        remembered: Era | None = None,
    ) -> None:
        """A session that `run` will begin; `era` is what to try, `remembered` what held before.

        What the server asks is answered by `context`. How it ends is told to `mending`.
        """
        self.definition = definition
        """What the server was when this began; it may be edited meanwhile."""
        self.cause: JsonObject | None = None
        """Why it was begun without the user's asking, for the record."""
        self.agreement: Agreement | None = None
        """What was agreed with the server, None before."""
        self.opening: Opening | None = None
        """How it is opened; None before the first connection."""
        self.current: Connection | None = None
        """The newest connection, None before the first; it may be over."""
        self.incoming: Incoming | None = None
        """Who answers what the server asks over that connection."""
        self.rounds: Rounds | None = None
        """Who goes on with calls whose results require input over that connection."""
        self.news: News | None = None
        """What the server is asked to tell of; None unless it is connected."""
        self.pulse: Pulse | None = None
        """Who asks it for signs of life; None unless it is or was connected."""
        self._context = context
        self._mending = mending or Mending(definition.name)
        self._limit: ConnectLimit | None = None
        self._is_end_wanted = False
        self._definition = definition
        self._era = era
        self._remembered = remembered
        self._said = ""
        self._earlier: tuple[Question, ...] = ()
        self._make_connection = make_connection
        self._identity = identity
        self._on_change = on_change
        self._state = ServerState.CONNECTING
        self._lists: ServerLists | None = None
        self._problem: Problem | None = None
        self._negotiation: Negotiation | None = None
        self._scope = anyio.CancelScope()
        self._group: TaskGroup | None = None
        self._ready = anyio.Event()
        self._over = anyio.Event()

    @property
    def connection(self) -> Connection:
        """The connection for calls; `ProblemError` unless the session is connected."""
        if self._state is not ServerState.CONNECTED or self.current is None:
            raise ProblemError(not_connected(self._definition.name))
        return self.current

    @property
    def lists(self) -> ServerLists:
        """What the server offers; `ProblemError` unless the session is connected."""
        if self._state is not ServerState.CONNECTED or self._lists is None:
            raise ProblemError(not_connected(self._definition.name))
        return self._lists

    @property
    def verdict(self) -> Verdict | None:
        """What is known of how to open the server the next time; None before it is opened."""
        if self.agreement is None or self._negotiation is None or self.opening is None:
            return None
        is_newer = self._negotiation.is_newer_after_all
        era = Era.PER_REQUEST if is_newer else self.agreement.era
        return Verdict(era, self._said, self.opening.was_discover_asked)

    @property
    def has_misremembered(self) -> bool:
        """Whether it could not be opened in the era that was remembered, or in any."""
        is_over = self._state is ServerState.FAILED and self.agreement is None
        return is_over and self._remembered is not None

    @property
    def questions(self) -> tuple[Question, ...]:
        """What was asked to open it, why, and what came."""
        newest = () if self._negotiation is None else self._negotiation.questions
        return (*self._earlier, *newest)

    @property
    def is_usable(self) -> bool:
        """Whether it is connected or on the way there."""
        return self._state in {ServerState.CONNECTING, ServerState.CONNECTED}

    @property
    def is_over(self) -> bool:
        """Whether the server's process is gone and all is told."""
        return self._over.is_set()

    def snapshot(self) -> ServerSnapshot:
        """A picture of the server now."""
        bare = ServerSnapshot(
            self._definition.name,
            self._definition,
            state=self._state,
            waiting=self._waiting(),
            settings=self._context.settings(),
        )
        return self._with_lists(self._with_agreement(self._with_connection(bare)))

    async def ready(self) -> None:
        """Wait until the server can be called; `ProblemError` when it never can."""
        await self._ready.wait()
        if self._state is not ServerState.CONNECTED:
            raise ProblemError(self._problem or not_connected(self._definition.name))

    async def listed(self) -> None:
        """Wait until what the server offers was read, for a moment at most.

        So no list of ours goes out behind a call, and none waits until a long one has ended.
        """
        if self._lists is not None and self._state is ServerState.CONNECTED:
            with anyio.move_on_after(_LISTED_S):
                await self._lists.finished()

    def look(self, now: float) -> None:
        """Let time pass: one that is starting may take longer, a silent one is asked how it is."""
        if self._state is ServerState.CONNECTING and self._limit is not None:
            stderr_at = None if self.current is None else self.current.stderr_at
            if stderr_at is not None:
                self._limit.note_sign(now - stderr_at)
            self._on_change()
        if self.pulse is not None and self._state is ServerState.CONNECTED:
            self.pulse.look(now)

    def note_sign_in(self, *, is_open: bool) -> None:
        """The user is to sign in, or is done with it: the limit of connecting stands still."""
        if self._limit is not None:
            self._limit.hold() if is_open else self._limit.release()

    def close(self, reason: str = _DISCONNECTED) -> None:
        """Ask for the polite end; `over` tells when it is reached."""
        self._is_end_wanted = True
        if self.current is not None:
            self.current.end(reason)
        if self._state.is_up:
            self._become(ServerState.CLOSING)
        self._scope.cancel()

    async def over(self) -> None:
        """Wait until the server's process is gone and all is told."""
        await self._over.wait()

    def start_soon(self, work: Callable[[], Coroutine[object, object, None]], name: str) -> None:
        """Have `work` done while the session lives; at the end it is cancelled, and waited for.

        `ProblemError` when the session is over.
        """
        if self._group is None:
            raise ProblemError(not_connected(self._definition.name))
        self._group.start_soon(self._beside, work, name=name)

    async def run(self) -> None:
        """Live the session from start to end; never raises for what a server does."""
        try:
            with self._scope:
                async with anyio.create_task_group() as tasks:
                    self._group = tasks
                    await self._guarded(tasks)
                    tasks.cancel_scope.cancel()
        finally:
            self._group = None
            self._become(ServerState.FAILED if self._problem else ServerState.CLOSED)
            self._ready.set()
            self._over.set()

    async def _guarded(self, tasks: TaskGroup) -> None:
        try:
            await self._serve(tasks)
        except ProblemError as error:
            self._fail(error.problem)
        except Exception:  # noqa: BLE001  # see _fail_by_defect
            self._fail_by_defect()

    async def _beside(self, work: Callable[[], Coroutine[object, object, None]]) -> None:
        """Do what goes on beside the session; a defect in it ends this one, and no other."""
        try:
            await work()
        except Exception:  # noqa: BLE001  # see _fail_by_defect
            self._fail_by_defect()
            self._scope.cancel()

    def _fail_by_defect(self) -> None:
        """End with our own error, logged in this one place: the other sessions go on."""
        _log.exception("the session with %s met a defect", self._definition.name)
        what = "A defect of this program ended the session"
        self._fail(Problem(what, self._definition.name, connect_failure.DEFECT_HINT))

    async def _serve(self, tasks: TaskGroup) -> None:
        connection, agreement = await self._establish(tasks)
        self._said = said_by(agreement)
        self.agreement = agreement
        self._attend(connection, agreement)
        context = self._context
        self.news = News(
            connection,
            agreement,
            context.settings,
            self._on_change,
            follows_lists=context.follows_lists,
        )
        self._lists = ServerLists(
            connection,
            agreement.capabilities,
            self._on_change,
            context.lists,
            follows=context.follows_lists,
        )
        connection.schema_of = self._lists.schema_of
        connection.relist = self._lists.reload_tools
        self._become(ServerState.CONNECTED)
        tasks.start_soon(self._keep, self._lists)
        tasks.start_soon(self._beside, self.news.run)
        await connection.ended()
        self._become(ServerState.CLOSING)
        await connection.over()
        lost = connect_failure.lost(self._definition.address, connection)
        raise ProblemError(self._located(lost))

    def _attend(self, connection: Connection, agreement: Agreement) -> None:
        """Know how the server is, and what is to be done should it end by itself."""
        connection.outlook = self._outlook
        interval_s = self._definition.ping_interval_s
        self.pulse = Pulse(
            connection,
            agreement.era,
            interval_s,
            self._on_change,
            self.start_soon,
            may_be_sequential=not connection.is_http and agreement.revision == SEQUENTIAL,
        )
        self._mending.connected(self._context.clock.monotonic())

    def _outlook(self) -> str:
        """What those are told who waited for a server that was connected and has ended."""
        now = self._context.clock.monotonic()
        if not self._is_end_wanted:
            self._mending.ended(self._definition.restart, now)
        return self._mending.outlook(now)

    async def _keep(self, lists: ServerLists) -> None:
        await lists.load_tools()
        await self._heard()
        if self._state is ServerState.CONNECTED:
            self._ready.set()
        await lists.keep()

    async def _heard(self) -> None:
        """Wait a moment for the server to take the log level: the first call is to be logged so."""
        if self.news is not None and self._context.settings().log_level is not None:
            with anyio.move_on_after(_LEVEL_LIMIT_S):
                await self.news.begun.wait()

    async def _establish(self, tasks: TaskGroup) -> tuple[Connection, Agreement]:
        """Connect within the definition's limit, over a second connection if the first asks."""
        definition = self._definition
        has_process = definition.transport == "stdio"
        limit = self._limit = ConnectLimit(definition.connect_timeout_s, has_process=has_process)
        scope: anyio.CancelScope | None = limit.scope
        while scope is not None:
            with scope:
                return await self._attempts(tasks, limit)
            again = None if self.opening is None else self.opening.out_of_time()
            scope = None if again is None else limit.renew()
            if again is not None and scope is not None:
                await self._begin_again(again.why)
        address = self._definition.address
        problem = not_signed_in(address) if limit.is_held else self._silence()
        if self.current is not None:
            self.current.end(problem.what)
        raise ProblemError(problem)

    async def _attempts(
        self, tasks: TaskGroup, limit: ConnectLimit
    ) -> tuple[Connection, Agreement]:
        """Connect, over as many connections as the opening wants."""
        while True:
            limit.note_start()
            try:
                return await self._attempt(tasks)
            except ReopenError as again:
                await self._begin_again(again.why)

    async def _begin_again(self, why: str) -> None:
        """End the connection that proved nothing, for another one."""
        self._earlier, self._negotiation = self.questions, None
        self.cause = {"reason": why}
        if self.current is not None:
            self.current.end(why)
            await self.current.over()

    async def _attempt(self, tasks: TaskGroup) -> tuple[Connection, Agreement]:
        await prepare(self._definition)
        connection = self.current = self._make_connection()
        connection.mail.on_hold = self._on_change
        if self.opening is None:
            self.opening = opening_of(connection, self._identity, self._era, self._remembered)
        negotiation = self._negotiation = Negotiation(connection, self._identity, self.opening)
        tasks.start_soon(connection.run)
        self.incoming = incoming = Incoming(connection, self._context, self._identity)
        self.rounds = Rounds(connection, incoming)
        tasks.start_soon(self._beside, incoming.run)
        tasks.start_soon(self._beside, self.rounds.run)
        cause, self.cause = self.cause, None
        if cause is not None:
            await connection.tell("restarting", **cause)
        await connection.opened()
        self._on_change()
        agreement = await self._negotiated(connection, negotiation)
        incoming.begin(agreement.era)
        return connection, agreement

    async def _negotiated(self, connection: Connection, negotiation: Negotiation) -> Agreement:
        """What is agreed over `connection`, which is over if nothing is."""
        try:
            return await negotiation.run()
        except ProblemError as error:
            connection.end(error.problem.what)
            raise ProblemError(self._located(error.problem)) from error
        except anyio.ClosedResourceError:
            await connection.over()
            ended = connect_failure.ended(self._definition.address, connection)
            raise ProblemError(self._located(ended)) from None

    def _located(self, problem: Problem) -> Problem:
        return problem if problem.where else problem._replace(where=self._definition.address)

    def _silence(self) -> Problem:
        """Why nothing was agreed in time."""
        command, chosen_s = self._definition.address, self._definition.connect_timeout_s
        limit_s = chosen_s or (0.0 if self._limit is None else round(self._limit.waited_s))
        if self.current is None:
            return Problem(f"The server could not be started within {limit_s:g} s", command)
        asked = () if self._negotiation is None else self._negotiation.asked
        return connect_failure.silent(command, limit_s, asked, self.current)

    def _fail(self, problem: Problem) -> None:
        self._problem = problem
        if not self._is_end_wanted:
            self._mending.ended(self._definition.restart, self._context.clock.monotonic())
        self._become(ServerState.FAILED)
        self._ready.set()

    def _become(self, state: ServerState) -> None:
        if state is not self._state:
            self._state = state
            self._on_change()

    def _with_connection(self, bare: ServerSnapshot) -> ServerSnapshot:
        if self.current is None:
            return dataclasses.replace(bare, problem=self._problem)
        return dataclasses.replace(
            bare,
            connection=self.current.id,
            pid=self.current.pid,
            stderr_tail=tuple(self.current.stderr_tail),
            health=self._health(),
            problem=self._problem or self._unread(self.current),
        )

    def _waiting(self) -> Waiting | None:
        """What connecting waits for, on the clock of snapshots."""
        limit = self._limit
        if limit is None or limit.is_held or self._state is not ServerState.CONNECTING:
            return None
        now = self._context.clock.monotonic()
        asked = () if self._negotiation is None else self._negotiation.asked
        stderr_at = None if self.current is None else self.current.stderr_at
        return Waiting(
            " and ".join(asked), now - limit.waited_s, now + max(limit.left_s, 0.0), stderr_at
        )

    def _health(self) -> Health | None:
        is_known = self.pulse is not None and self._state is ServerState.CONNECTED
        return self.pulse.health if self.pulse is not None and is_known else None

    def _unread(self, connection: Connection) -> Problem | None:
        return connect_failure.unread(self._definition.address, connection.mail)

    def _with_agreement(self, bare: ServerSnapshot) -> ServerSnapshot:
        if self.agreement is None:
            return bare
        return dataclasses.replace(
            bare,
            revision=self.agreement.revision,
            era=self.agreement.era,
            server_info=self.agreement.server_info,
            capabilities=self.agreement.capabilities,
            instructions=self.agreement.instructions,
        )

    def _with_lists(self, bare: ServerSnapshot) -> ServerSnapshot:
        if self._lists is None:
            return bare
        news = self.news
        return dataclasses.replace(
            bare,
            subscriptions=() if news is None else news.subscriptions,
            resource_updates=() if news is None else news.updates,
            tools=self._lists.tools,
            resources=self._lists.resources,
            prompts=self._lists.prompts,
            problem=bare.problem or self._lists.problem or (None if news is None else news.problem),
        )
