"""The tools with which an agent acts: call, resume, cancel, and check of a server.

The user is asked first, through the agent's client. What is done is answered from its recording.
"""

from __future__ import annotations

import itertools
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import anyio
from mcp.server.mcpserver import Context  # noqa: TC002  # the SDK evaluates annotations
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import Field

from mcp_progress_monitor import formatting, paths
from mcp_progress_monitor.agents import answers
from mcp_progress_monitor.agents.actions import Actions
from mcp_progress_monitor.agents.answers import CheckAnswer, DetailAnswer, SavedServerAnswer, quoted
from mcp_progress_monitor.agents.asking import Caller, Consents, InputNeededError
from mcp_progress_monitor.agents.saved import saved_jobs
from mcp_progress_monitor.agents.server import (
    JobName,
    Limit,
    RecordingName,
    failing,
    refused,
    result_of,
)
from mcp_progress_monitor.audit.settings import asks_before_actions
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.snapshots.questions import Accept, Decline, Dismiss
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_words

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection
    from contextlib import AbstractAsyncContextManager

    from mcp.server import MCPServer
    from mcp_types import ElicitResult

    from mcp_progress_monitor.agents.actions import Action
    from mcp_progress_monitor.agents.saved import SavedJob
    from mcp_progress_monitor.agents.server import Agents
    from mcp_progress_monitor.agents.sources import FoundJob, Sources
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.snapshots.questions import Answer, Question

_ACTION: Final = "action:"
_STEP_S: Final = 0.5
_REPORTED_S: Final = 1.0
_BEGINS_S: Final = 60.0
"""How long to wait for the server, before an answer without a job."""
_SETTLES_S: Final = 3.0
_ARGUMENTS: Final = 1_000
_TOOLS: Final = 10
"""Tools that the user is shown by name, each with at most `_TOOL` characters."""
_TOOL: Final = 60
_REPLY: Final = 3_000
_LARGEST_FORM: Final = 20_000
_ACTS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)
_ENDS: Final = _ACTS.model_copy(update={"idempotent_hint": True})

ServerToUse = Annotated[
    str, Field(description="A saved server that the user approved: see the tool servers.")
]
Wait = Annotated[
    float,
    Field(
        ge=0,
        le=3600,
        description="Return after this many seconds even if it is still running; 0 only starts it.",
    ),
]


class _Wanted(NamedTuple):
    """An action that the user is asked about: its text, and how it is begun."""

    text: str
    begin: Callable[[], Action]


class ActionTools:
    """The functions behind the tools."""

    def __init__(self, agents: Agents, sources: Sources, actions: Actions) -> None:
        self._agents = agents
        self._sources = sources
        self._actions = actions
        self._consents = Consents()
        agents.saved_servers = self.saved_servers

    def add_to(self, server: MCPServer[Any]) -> None:
        """Register the tools."""
        server.tool(annotations=_ACTS)(self.call)
        server.tool(annotations=_ACTS)(self.resume)
        server.tool(annotations=_ENDS)(self.cancel)
        server.tool(annotations=_ACTS)(self.check)

    def saved_servers(self) -> list[SavedServerAnswer]:
        return [
            SavedServerAnswer(
                server=quoted(entry.name),
                transport=entry.definition.transport,
                is_approved=is_approved,
            )
            for entry, is_approved in self._actions.known()
        ]

    async def call(
        self,
        server: ServerToUse,
        tool: Annotated[str, Field(description="The name of one of its tools.")],
        context: Context,
        arguments: Annotated[
            dict[str, Any] | None, Field(description="The tool's arguments.")
        ] = None,
        wait_s: Wait = 45.0,
    ) -> Annotated[CallToolResult, DetailAnswer] | InputRequiredResult:
        """Start an approved server and call a tool; reports progress while it runs."""
        given = arguments or {}
        caller = Caller(context)

        async def prepare() -> _Wanted:
            definition = self._actions.approved(server)
            of = f"of the server {quoted(server)!r} with {_shown(given)}"
            return _Wanted(
                f"call the tool {quoted(tool)!r} {of}",
                lambda: self._actions.call(caller.name, definition, tool, given),
            )

        return await self._acted(caller, context, prepare, wait_s)

    async def resume(
        self,
        job: Annotated[str, Field(description="A resumable job from the tool jobs.")],
        context: Context,
        wait_s: Wait = 45.0,
    ) -> Annotated[CallToolResult, DetailAnswer] | InputRequiredResult:
        """Resume a job with its saved token, on an approved server; reports progress meanwhile."""
        caller = Caller(context)

        async def prepare() -> _Wanted:
            saved = await self._saved(job)
            definition = await self._actions.resumable(saved)
            return _Wanted(
                _resuming(saved, definition),
                lambda: self._actions.resume(caller.name, definition, saved),
            )

        return await self._acted(caller, context, prepare, wait_s)

    async def cancel(self, job: JobName) -> Annotated[CallToolResult, DetailAnswer]:
        """Cancel a running job that call or resume of this server began."""
        await self._agents.settle()
        with failing():
            found = self._sources.job(job)
        for action in self._actions.all():
            if action.path == found.source.path:
                action.cancel()
                with anyio.move_on_after(_SETTLES_S):
                    await action.over.wait()
                return await self._answered(action)
        client = found.snapshot.watched_client or "another program"
        raise ToolError(
            f"{job} was not started by this server, so nothing can be sent for it. Only the program"
            f" that made the request can cancel it: {quoted(client)}."
        )

    async def check(
        self,
        context: Context,
        server: Annotated[
            str | None, Field(description="Test a saved server that the user approved.")
        ] = None,
        recording: RecordingName = None,
        tools: Annotated[
            list[str] | None,
            Field(description="Tools to call although they are not marked as read-only."),
        ] = None,
        arguments: Annotated[
            dict[str, dict[str, Any]] | None,
            Field(description="Arguments by tool; others are made from the schema."),
        ] = None,
        limit: Limit = 20,
    ) -> Annotated[CallToolResult, CheckAnswer] | InputRequiredResult:
        """Test an approved server, or a recording, against the rules of the protocol.

        A server is started, its read-only tools are called in all the ways that clients may, and
        it is ended.
        """
        if server is None:
            return await self._agents.check(context, recording, limit)
        named, given, caller = tools or [], arguments or {}, Caller(context)
        also = _listed(dict.fromkeys([*named, *given]))

        async def prepare() -> _Wanted:
            definition = self._actions.approved(server)
            which = f"the tools {also} and all read-only ones" if also else "all read-only tools"
            which += f" with {_shown(given)}" if given else ""
            return _Wanted(
                f"test the server {quoted(server)!r}, calling {which}",
                lambda: self._actions.check(caller.name, definition, named, given),
            )

        try:
            action = await self._begun(caller, prepare)
            await self._follow(action, caller, context, None)
        except InputNeededError as needed:
            return needed.result
        if action.error is not None:
            raise refused(action.error)
        source = None if action.path is None else await self._sources.at(action.path)
        if source is None:
            raise ToolError("The check is done, but its recording cannot be read.")
        with anyio.move_on_after(_SETTLES_S):
            while not source.is_finished:
                await self._sources.turn()
        return result_of(self._agents.report(source, limit, action.notes))

    # Parts of actions

    async def _acted(
        self,
        caller: Caller,
        context: Context,
        prepare: Callable[[], Awaitable[_Wanted]],
        wait_s: float,
    ) -> Annotated[CallToolResult, DetailAnswer] | InputRequiredResult:
        """Begin an action, or continue one that asked a question; answer with its job."""
        try:
            action = await self._begun(caller, prepare)
            await self._follow(action, caller, context, wait_s)
        except InputNeededError as needed:
            return needed.result
        return await self._answered(action)

    async def _begun(self, caller: Caller, prepare: Callable[[], Awaitable[_Wanted]]) -> Action:
        if caller.state.startswith(_ACTION):
            action = self._actions.find(caller.state.removeprefix(_ACTION).partition(":")[0])
            if action is None:
                raise ToolError("This action no longer exists.")
            return action
        with failing():
            wanted = await prepare()
            await self._require_consent(caller, wanted.text)
            return wanted.begin()

    async def _require_consent(self, caller: Caller, text: str) -> None:
        if not asks_before_actions(self._actions.data_dir):
            return
        where = "Settings > Confirmations > Let an agent act on a server"
        if not caller.can_ask:
            what = "The user must be asked before an agent acts, and this client cannot ask"
            hint = f"The user can use a client with elicitation, or clear in the window: {where}."
            raise UserError(ErrorDetails(what, hint=hint))
        message = f"{caller.name} wants to {text}. Its session is recorded and shown in the window."
        if not await self._consents.is_given(caller, message):
            hint = (
                f"Do not try again unless the user tells you to. The setting that asks is {where}."
            )
            raise UserError(ErrorDetails("The user did not allow this", hint=hint))

    async def _follow(
        self, action: Action, caller: Caller, context: Context, wait_s: float | None
    ) -> None:
        """Wait for an action, report its progress, and pass on what its server asks."""
        began, reported = anyio.current_time(), -1.0
        action.followers += 1
        action.returning.discard(caller.state)
        try:
            while not action.over.is_set():
                if action.question is not None:
                    await self._pass_on(action, action.question, caller)
                spent = anyio.current_time() - began
                if wait_s is not None and spent >= (wait_s if action.has_begun else _BEGINS_S):
                    break
                if spent - reported >= _REPORTED_S or reported < 0:
                    reported = spent
                    await context.report_progress(spent, wait_s or None, _standing(action))
                left_s = _STEP_S if wait_s is None else max(0.01, wait_s - spent)
                await action.happened(min(_STEP_S, left_s))
        except InputNeededError as needed:
            action.returning.add(needed.result.request_state or "")
            raise
        except anyio.get_cancelled_exc_class():
            action.cancel()
            raise
        finally:
            action.followers -= 1

    async def _pass_on(self, action: Action, question: Question, caller: Caller) -> None:
        """Let the user answer a question of the action's server."""
        schema = question.schema
        if not caller.can_ask:
            action.notes.append("The server asked a question; this client cannot ask its user.")
            action.answer(question, Decline(), "declined: the agent's client cannot ask")
            return
        if schema is None or len(json.dumps(schema)) > _LARGEST_FORM:
            action.notes.append("The server's question has no form that can be shown.")
            action.answer(question, Decline(), "declined: its form cannot be shown")
            return
        text = f"The server {quoted(question.server)!r} asks: {quoted(question.message, 1_000)}"
        state = f"{_ACTION}{action.id}:{question.id}"
        answer: Answer | None = None
        needed: InputNeededError | None = None

        async def end_with_action() -> None:
            while action.question is question:
                await action.happened(_STEP_S)
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end_with_action)
            try:
                answer = _answer_of(await caller.ask(text, schema, state))
            except InputNeededError as error:  # not in a group of exceptions
                needed = error
            tasks.cancel_scope.cancel()
        if needed is not None:
            raise needed
        if answer is not None:
            action.answer(question, answer)

    async def _saved(self, job: str) -> SavedJob:
        """The saved job of a name, also of one in a recording; `UserError` without one."""
        await self._actions.save_what_ended()
        saved = [
            each
            for each in await saved_jobs(self._actions.data_dir)
            if self._sources.may_show(each.server)
        ]
        named = next((each for each in saved if each.name == job), None)
        if named is not None and named.is_task:
            what = "Agents cannot follow tasks that were left on their server"
            hint = f"The user can follow it in the window or with: {paths.APPLICATION} resume {job}"
            raise UserError(ErrorDetails(what, job, hint))
        if named is not None:
            return named
        await self._agents.settle()
        found = self._sources.job(job)
        token = found.source.playback.jobs.resume_token(found.snapshot.id)
        match = next((each for each in saved if token and each.token == token), None)
        if match is None:
            what = "No resume token is saved for this job"
            hint = "The job was completed or forgotten, or never returned one. List the jobs again."
            raise UserError(ErrorDetails(what, quoted(job), hint))
        return match

    async def _answered(self, action: Action) -> CallToolResult:
        found = await self._found(action)
        if found is None or (action.error is not None and action.is_unrecorded):
            raise refused(action.error or ErrorDetails("It has not started yet: find it with jobs"))
        notes = list(action.notes)
        if action.error is not None:
            notes.append(quoted(action.error.what))
        if not action.over.is_set():
            notes.append(f"It is still running. Its name for wait, job and cancel is {found.name}.")
        if action.resume_id is not None:
            notes.append(f"To resume it, call resume with job s{action.resume_id}.")
        detail = found.source.playback.jobs.detail(found.snapshot.id)
        if detail is None:
            raise ToolError("The job no longer exists.")
        stderr = self._agents.stderr(found.source, found.snapshot.server)
        answer = answers.detail_answer(found, detail, stderr, None, _REPLY)
        note = " ".join(filter(None, (*notes, answer.note)))
        return result_of(answer.model_copy(update={"note": note, "remarks_quoted": action.remarks}))

    async def _found(self, action: Action) -> FoundJob | None:
        """The job of an action in its recording, read as far as it is."""
        snapshot, path = action.snapshot, action.path
        if snapshot is None or path is None or snapshot.request <= 0:
            return None
        found = await self._sources.request_in(path, snapshot.request)
        with anyio.move_on_after(_SETTLES_S):
            while (
                found is not None
                and action.over.is_set()
                and not (found.snapshot.state.is_over or found.source.is_finished)
            ):
                await self._sources.turn()
                found = await self._sources.request_in(path, snapshot.request)
        return found


def add_actions(
    sources: Sources, server: MCPServer[Any], agents: Agents, is_on: Callable[[], bool]
) -> AbstractAsyncContextManager[None]:
    """Add the tools to a server over `sources`; returns what to enter while it runs.

    Once it no longer `is_on`, what runs is cancelled.
    """
    actions = Actions(sources.data_dir, sources.may_show)
    ActionTools(agents, sources, actions).add_to(server)
    return actions.running(is_on)


def _listed(tools: Collection[str]) -> str:
    """The first of some tools, and how many more there are."""
    shown = ", ".join(quoted(each, _TOOL) for each in itertools.islice(tools, _TOOLS))
    left = len(tools) - _TOOLS
    return f"{shown} and {left:,} more" if left > 0 else shown


def _shown(arguments: JsonObject) -> str:
    """Arguments to be allowed, and how much of them cannot be seen."""
    whole = answers.quoted_json(arguments, sys.maxsize)  # escapes make it longer
    if len(whole) <= _ARGUMENTS:
        return whole
    shown, size = formatting.elide(whole, _ARGUMENTS), formatting.number(len(whole))
    return f"{shown} (only the beginning of {size} characters)"


def _resuming(saved: SavedJob, definition: ServerDefinition) -> str:
    name = quoted(saved.answer().name_quoted or saved.origin.method)
    return f"resume the job {name!r} ({saved.name}) of the server {quoted(definition.name)!r}"


def _standing(action: Action) -> str:
    snapshot = action.snapshot
    if snapshot is None:
        return "Connecting the server"
    if not action.has_job:
        return "Testing the server"
    share = "" if snapshot.fraction is None else f", {100 * snapshot.fraction:.1f} %"
    waits = ", asks the user" if snapshot.state is JobState.NEEDS_YOU else ""
    return f"{job_words.full_state(snapshot)}{share}{waits}"


def _answer_of(result: ElicitResult) -> Answer:
    if result.action == "accept":
        return Accept(dict(result.content or {}))
    return Decline() if result.action == "decline" else Dismiss()
