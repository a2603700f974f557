"""Actions of an agent: calls, resumed jobs and checks, each with an engine of its own.

Only what the user approved is started. Each action is recorded, where windows follow it as they do
a tap, and its server ends with it.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import shlex
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from mcp_progress_monitor import formatting, paths
from mcp_progress_monitor.agents.answers import quoted, quoted_json
from mcp_progress_monitor.catalogue.catalogue import FILE_NAME, Catalogue
from mcp_progress_monitor.catalogue.trust import FILE_NAME as TRUST_FILE
from mcp_progress_monitor.catalogue.trust import Trust
from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.ended_taps import save_what_ended
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.servers_here import find_server_here
from mcp_progress_monitor.engine.tour import Tour
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.messages import CALL_TOOL
from mcp_progress_monitor.recording.recorder import agent_recorder
from mcp_progress_monitor.secrets.system_keyring import SystemKeyring
from mcp_progress_monitor.sessions.settings_file import SettingsFile
from mcp_progress_monitor.snapshots.questions import Decline, refusal
from mcp_progress_monitor.snapshots.settings import QuestionRule, ServerSettings
from mcp_progress_monitor.store.resumes import ResumeStore
from mcp_progress_monitor.store.watched import split_watched_key
from mcp_progress_monitor.wording import approval, servers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.agents.saved import SavedJob
    from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.recording.recorder import Recorder
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.snapshots.questions import Answer, Question
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

_log = logging.getLogger(__name__)

MOST_AT_ONCE: Final = 8
_KEPT: Final = 100
_POLL_S: Final = 0.5
_SAVES_S: Final = 20.0
_NAMES: Final = 1_000
_CANCEL_GRACE_S: Final = 1.0
_ANSWER_S: Final = 600.0
"""How long a question may stay open: a client of 2026-07-28 may never come back."""
_NOT_FOLLOWED: Final = "declined: no client is waiting for this call"
_NOT_ANSWERED: Final = "declined: no answer within 10 minutes"


class AgentRules(SettingsFile):
    """The rules and roots of the user, without the questions that agents' clients cannot pass on.

    Servers are not told that they could ask for a model's answer, or to open a page.
    """

    def of(self, fingerprint: str) -> ServerSettings:
        found, never = super().of(fingerprint), QuestionRule(mode="undeclared")
        rules = found.rules.model_copy(update={"sampling": never, "url": never})
        return found.model_copy(update={"rules": rules})

    def put(self, fingerprint: str, settings: ServerSettings) -> None:
        """Save nothing: an agent changes no setting."""


class Action:
    """One action, from the connection of its server to its end."""

    def __init__(
        self,
        agent: str,
        work: Callable[[Engine, Action], Awaitable[None]],
        *,
        restores: bool = False,
        has_job: bool = True,
    ) -> None:
        """`work` uses the engine that is made for it; `agent` is the name of the client.

        Its engine `restores` saved jobs. Unless it `has_job`, it is many requests.
        """
        self.id: Final = secrets.token_hex(8)
        self.notes: list[str] = []
        """Notes for the agent, in our words."""
        self.remarks: list[str] = []
        """Notes that quote its server."""
        self.error: ErrorDetails | None = None
        """Why it could not be done."""
        self.path: Path | None = None
        """Its recording."""
        self.job: JobId | None = None
        """The job in its engine, once it has begun."""
        self.snapshot: JobSnapshot | None = None
        self.resume_id: int | None = None
        """The saved chain, if the job stopped resumable."""
        self.question: Question | None = None
        """The open question of its server to the user."""
        self.is_unrecorded = False
        """True if it was ended because it could not be recorded any more."""
        self.followers = 0
        """Requests of the agent that wait for it."""
        self.returning: set[str] = set()
        """States of those that ended with a question, and will come back with the answer."""
        self.over: Final = anyio.Event()
        self._agent = agent
        self._work = work
        self._restores = restores
        self.has_job = has_job
        self._engine: Engine | None = None
        self._happened = anyio.Event()
        self._to_cancel = anyio.Event()
        self._scope = anyio.CancelScope()
        self._tasks: TaskGroup | None = None

    @property
    def has_begun(self) -> bool:
        """True once its request was sent, or there will be none."""
        return self.over.is_set() or (self.snapshot is not None and self.snapshot.request > 0)

    async def happened(self, limit_s: float) -> None:
        """Wait until something happens to it, for at most `limit_s`."""
        with anyio.move_on_after(limit_s):
            await self._happened.wait()

    def cancel(self) -> None:
        """Cancel its request, or give up what comes before that."""
        self._to_cancel.set()

    def answer(self, question: Question, answer: Answer, why: str = "answered") -> None:
        """Answer its server's question; one that does not fit declines it."""
        if self._engine is None:
            return
        questions = self._engine.questions
        try:
            questions.answer(question.id, answer, why)
        except UserError as error:
            self.notes.append("The answer did not fit the question, which was declined.")
            self.remarks.append(quoted(error.details.detail or error.details.what))
            with contextlib.suppress(UserError):
                questions.answer(question.id, Decline(), "declined: the answer did not fit")

    async def run(
        self, data_dir: Path, refusal: Callable[[ServerDefinition], ErrorDetails | None]
    ) -> None:
        """Do the work; what `refusal` objects to is not connected."""
        clock = Clock()
        try:
            recorder = agent_recorder(data_dir, f"agent: {self._agent}", clock)
            engine = Engine(
                clock,
                ResumeStore(data_dir),
                restores=self._restores,
                cancel_grace_s=_CANCEL_GRACE_S,
                recorder=recorder,
                settings=AgentRules(data_dir / paths.SERVER_SETTINGS),
                keyring=SystemKeyring(),
                folder=data_dir,
                lists=frozenset({"tools"}),
                follows_lists=False,
                refusal=refusal,
            )
            async with engine:
                self.path = recorder.path
                if recorder.error is not None or self.path is None:
                    unrecorded = ErrorDetails("The agent's actions cannot be recorded")
                    raise UserError(recorder.error or unrecorded)  # noqa: TRY301  # told as others
                engine.tasks.stop_automatic()
                await self._work_in(engine)
        except UserError as error:
            self.error = error.details
        except Exception:  # noqa: BLE001
            # The one place for internal errors in an action: the server for agents continues.
            _log.exception("an action of an agent met a defect")
            self.error = ErrorDetails("Internal error: see the log of this program")
        finally:
            self._engine = None
            self.over.set()
            self._notify()

    async def _work_in(self, engine: Engine) -> None:
        self._engine = engine
        stop = engine.subscribe(self._on_update)
        try:
            async with anyio.create_task_group() as self._tasks:
                self._tasks.start_soon(self._cancel_when_asked, engine)
                self._tasks.start_soon(self._end_when_unrecorded, engine.recording)
                with self._scope:
                    try:
                        await self._work(engine, self)
                    except UserError as error:
                        self.error = error.details
                self._tasks.cancel_scope.cancel()
            if self._scope.cancelled_caught:
                self.error = self.error or ErrorDetails("It was cancelled")
        finally:
            stop()

    async def _cancel_when_asked(self, engine: Engine) -> None:
        await self._to_cancel.wait()
        if self.job is None or not self.has_job or not self.has_begun:
            self._scope.cancel()
            return
        try:
            await engine.calls.cancel(self.job, "Cancelled by the agent")
        except UserError as error:
            self.notes.append(f"It could not be cancelled: {error.details.what}.")

    async def _end_when_unrecorded(self, recorder: Recorder) -> None:
        """Cancel its request, and send nothing more, once the recording has stopped."""
        error = await recorder.stopped()
        what = "The action was cancelled, because it could not be recorded any more"
        hint = "The user can free disk space or check the disk. Then begin it again."
        self.error = ErrorDetails(f"{what}. {error.what}", error.where, hint, error.detail)
        self.is_unrecorded = True
        self._scope.cancel()

    def _on_update(self, update: Update) -> None:
        engine = self._engine
        if engine is None:
            return
        if self.job is None and update.changes.added:
            found = map(engine.jobs.snapshot, update.changes.added)
            own = (each for each in found if each and each.sender is Side.CLIENT)
            first = next(own, None)
            self.job = None if first is None else first.id
        if self.job is not None:
            self.snapshot = engine.jobs.snapshot(self.job)
        if any(engine.servers.snapshot(name).sign_in for name in update.servers):
            hint = "The user can sign in by connecting it in the window."
            self.error = ErrorDetails("The server asks the user to sign in", hint=hint)
            self._scope.cancel()
        for number in update.questions:
            question = engine.questions.find(number)
            if question is not None and not question.ended:
                self._take(question)
            elif self.question is not None and self.question.id == number:
                self.question = None
        self._notify()

    def _take(self, question: Question) -> None:
        """Keep a question for the client that waits for the action; decline it without one."""
        if question.kind != "form":
            self.notes.append(f"The server asked for {question.kind}, which agents cannot answer.")
            self.answer(question, refusal(question.kind), "declined: agents cannot answer this")
        elif not (self.followers or self.returning):
            self.notes.append(
                "The server asked a question. It was declined, because no client was waiting."
            )
            self.answer(question, Decline(), _NOT_FOLLOWED)
        elif self.question is None or self.question.id != question.id:
            self.question = question
            if self._tasks is not None:
                self._tasks.start_soon(self._expire, question)

    async def _expire(self, question: Question) -> None:
        await anyio.sleep(_ANSWER_S)
        if self.question is not None and self.question.id == question.id:
            self.returning.clear()
            self.answer(question, Decline(), _NOT_ANSWERED)

    def _notify(self) -> None:
        happened, self._happened = self._happened, anyio.Event()
        happened.set()


class Actions:
    """The actions of agents on the servers of a data folder, and their limits."""

    def __init__(self, data_dir: Path, is_shown: Callable[[str], bool]) -> None:
        """Only servers whose names are `is_shown` may be used."""
        self.data_dir: Final = data_dir
        self._is_shown = is_shown
        self._trust = Trust(data_dir / TRUST_FILE)
        self._actions: dict[str, Action] = {}
        self._tasks: TaskGroup | None = None

    @contextlib.asynccontextmanager
    async def running(self, is_on: Callable[[], bool]) -> AsyncIterator[None]:
        """Let actions run while it `is_on`; at the end, their servers are ended."""
        async with anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self._cancel_when_off, is_on)
            yield
            self._tasks.cancel_scope.cancel()

    async def _cancel_when_off(self, is_on: Callable[[], bool]) -> None:
        while True:
            await anyio.sleep(_POLL_S)
            going_on = [each for each in self.all() if not each.over.is_set()]
            if going_on and not is_on():
                for action in going_on:
                    action.cancel()

    def find(self, action: str) -> Action | None:
        return self._actions.get(action)

    def all(self) -> Sequence[Action]:
        return tuple(self._actions.values())

    # What may be used

    def known(self) -> list[tuple[CatalogueEntry, bool]]:
        """The saved servers that may be shown, and whether each can be used."""
        return [
            (entry, not entry.is_disabled and self._trust.is_trusted(entry.definition))
            for entry in self._entries()
            if self._is_shown(entry.name)
        ]

    def approved(self, name: str) -> ServerDefinition:
        """A saved server that the user approved; `UserError` with what to do if there is none."""
        names = [entry.name for entry, _ in self.known()]
        found = next((entry for entry in self._entries() if entry.name == name), None)
        if found is None or not self._is_shown(name):
            known = quoted(", ".join(names), _NAMES) or "none"
            hint = f"Agents can use servers that are saved and approved in the window: {known}."
            raise UserError(ErrorDetails("No saved server has this name", quoted(name), hint))
        if found.is_disabled:
            raise UserError(servers.disabled(name, "The user can enable it in the window."))
        self._require(found.definition)
        return found.definition

    def _entries(self) -> tuple[CatalogueEntry, ...]:
        return Catalogue(self.data_dir / FILE_NAME).entries()

    def _require(self, definition: ServerDefinition) -> None:
        error = self._refusal(definition)
        if error is not None:
            raise UserError(error)

    def _require_unchanged(self, definition: ServerDefinition) -> None:
        """`UserError` if the server that the user was asked about is not what is used now."""
        if self.approved(definition.name) != definition:
            what = "The server has changed in the meantime"
            raise UserError(ErrorDetails(what, quoted(definition.name), "Begin it again."))

    def _refusal(self, definition: ServerDefinition) -> ErrorDetails | None:
        if self._trust.is_trusted(definition):
            return None
        command = self._command("servers", "trust", definition.name)
        hint = f"The user can approve it by connecting it in the window, or with: {command}"
        return approval.not_approved(definition.name, hint)

    def _command(self, *words: str) -> str:
        """A command of this program on the data folder, for the user's shell."""
        usual: Path | None = None
        with contextlib.suppress(UserError):  # without a home folder
            usual = paths.chosen_data_dir()
        folder = () if self.data_dir == usual else ("--data-dir", str(self.data_dir))
        return formatting.visible(shlex.join([paths.APPLICATION, *words, *folder]))

    # What is done

    def call(
        self, agent: str, definition: ServerDefinition, tool: str, arguments: JsonObject
    ) -> Action:
        """Begin to call a tool of an approved server; `UserError` if that may not be done now."""
        self._require_unchanged(definition)

        async def work(engine: Engine, action: Action) -> None:
            server = await _connected(engine, definition)
            await _check_call(engine, server, tool, arguments)
            params = {"name": tool, "arguments": arguments}
            outcome = await engine.calls.make(Call(server.name, CALL_TOOL, params))
            action.resume_id = outcome.resume_id

        return self._begun(Action(agent, work))

    async def resumable(self, saved: SavedJob) -> ServerDefinition:
        """The approved server that a saved job is resumed on; `UserError` without one."""
        origin, entries = saved.origin, self._entries()
        if split_watched_key(origin.server_key) is None:
            key = origin.server_key
        else:
            here = await anyio.to_thread.run_sync(find_server_here, origin, entries)
            key = here.definition.job_key
        # In whatever folder it began: that is saved with the job, and decides nothing about this.
        entry = next((each for each in entries if each.definition.job_key == key), None)
        if entry is None or not self._is_shown(entry.name):
            what = "The server of this job is not a saved server that you may use"
            command = self._command("resume", str(saved.number))
            hint = f"The user can resume it in the window, or with: {command}"
            raise UserError(ErrorDetails(what, quoted(saved.server), hint))
        return self.approved(entry.name)

    def resume(self, agent: str, definition: ServerDefinition, saved: SavedJob) -> Action:
        """Begin to resume a saved job; `UserError` if too much is being done."""

        async def work(engine: Engine, action: Action) -> None:
            # The engine trusts what its saved jobs ran: whoever was asked may have revoked it.
            if await self.resumable(saved) != definition:
                what = "The server of this job has changed in the meantime"
                raise UserError(ErrorDetails(what, saved.name, "Resume it again."))
            job = engine.resumer.find(saved.number)
            if job is None:
                raise UserError(ErrorDetails("No such saved job", saved.name))
            action.job = job
            if split_watched_key(saved.origin.server_key) is not None:
                engine.resumer.use_here(saved.origin, definition)
            outcome = await engine.resumer.resume(job, use_saved_definition=True)
            action.resume_id = outcome.resume_id

        return self._begun(Action(agent, work, restores=True))

    def check(
        self,
        agent: str,
        definition: ServerDefinition,
        tools: Sequence[str],
        given: Mapping[str, JsonObject],
    ) -> Action:
        """Begin a tour of an approved server; `UserError` if that may not be done now."""
        self._require_unchanged(definition)
        tour = Tour(tools, given, options=("tools", "arguments"))

        async def work(engine: Engine, action: Action) -> None:
            await tour.run(engine, await _connected(engine, definition))
            action.notes += tour.notes()
            if tour.has_left:
                action.notes.append("Not all tools were called. Name more with tools.")

        return self._begun(Action(agent, work, has_job=False))

    async def save_what_ended(self) -> None:
        """Save the tokens that ended recordings of other clients leave, but not for long."""
        with anyio.move_on_after(_SAVES_S):
            await save_what_ended(self.data_dir)

    def _begun(self, action: Action) -> Action:
        going_on = sum(not each.over.is_set() for each in self.all())
        if going_on >= MOST_AT_ONCE or self._tasks is None:
            what = f"{formatting.count(going_on, 'action')} of agents are already running"
            raise UserError(ErrorDetails(what, hint="Wait for one of them, or cancel it."))
        for oldest in list(self._actions)[:-_KEPT]:
            if self._actions[oldest].over.is_set():
                del self._actions[oldest]
        self._actions[action.id] = action
        self._tasks.start_soon(action.run, self.data_dir, self._refusal)
        return action


async def _connected(engine: Engine, definition: ServerDefinition) -> ServerSnapshot:
    return await engine.servers.connect(engine.servers.add(definition))


async def _check_call(
    engine: Engine, server: ServerSnapshot, name: str, arguments: JsonObject
) -> None:
    """Raise `UserError` for a call that must not be made."""
    tool = next((each for each in server.tools if each.name == name), None)
    if tool is None:
        names = quoted_json([each.name for each in server.tools], _NAMES)
        error = ErrorDetails("The server lists no tool with this name", quoted(name), detail=names)
        raise UserError(error)
    why = server.rejection(tool)
    if why:
        what = "Clients must not call this tool over HTTP: its schema has an invalid x-mcp-header"
        raise UserError(ErrorDetails(what, quoted(name), detail=why))
    found = await engine.calls.check_arguments(server.name, name, arguments)
    if found.violations:
        what = "The arguments violate the tool's schema"
        raise UserError(ErrorDetails(what, quoted(name), detail="\n".join(found.violations)))
