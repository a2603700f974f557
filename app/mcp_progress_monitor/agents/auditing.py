"""Keeps the log of what the agent reads, and refuses what the user has turned off.

Every message of the agent passes here before the official SDK looks at it, and every answer before
it is sent.
"""

from __future__ import annotations

import itertools
import json
import time
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
import pydantic_core
from mcp.shared.exceptions import MCPError

from mcp_progress_monitor.agents.answers import quoted, quoted_json
from mcp_progress_monitor.audit.access import load_access
from mcp_progress_monitor.audit.log import AgentName, AuditLog, Reading
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.messages import CALL_TOOL, LISTEN, READ_RESOURCE, SUBSCRIBE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

_SUBJECTS: Final = {CALL_TOOL: "name", READ_RESOURCE: "uri", LISTEN: "", SUBSCRIBE: "uri"}
"""The requests that read recordings, and the parameter that names what they read."""
_TURNED_OFF: Final = -32_000
_POLL_S: Final = 0.25
_LOG_S: Final = 1.0
"""How long an answer waits for the disk of the log."""
_MOST_NAMES: Final = 20
_MOST_ARGUMENTS: Final = 300
_MOST_DEPTH: Final = 8


class Auditing:
    """A middleware of the SDK's server, for the one agent that this process answers."""

    def __init__(self, data_dir: Path, servers: Iterable[str] = (), *, acts: bool = False) -> None:
        self._data_dir = data_dir
        self._log = AuditLog(data_dir, servers, acts=acts)
        self._names = dict[str, tuple[str, str]]()
        self._writers = anyio.CapacityLimiter(1)

    async def __aenter__(self) -> None:
        await self._write(self._log.begin)

    async def __aexit__(self, *_: object) -> None:
        with anyio.CancelScope(shield=True):
            await self._write(self._log.end)

    async def __call__(
        self,
        ctx: ServerRequestContext[Any, Any],  # the SDK's name
        call_next: CallNext,
    ) -> HandlerResult:
        """Answer a message; `MCPError` instead if it reads, and the user has turned that off."""
        await self._note_name(ctx)
        if ctx.method not in _SUBJECTS:
            return await call_next(ctx)
        reading = _asked(ctx)
        result: HandlerResult = None
        try:
            if not self._refusal():
                result = await self._while_allowed(call_next, ctx)
        except Exception:
            await self._note(reading, outcome="failed")
            raise
        except anyio.get_cancelled_exc_class():  # it may have seen progress meanwhile
            with anyio.CancelScope(shield=True):
                await self._note(reading, outcome="cancelled")
            raise
        refusal = self._refusal()  # it may have been turned off meanwhile
        if refusal or result is None:
            await self._note(reading, outcome="refused")
            raise MCPError(
                _TURNED_OFF, refusal or "Reading was turned off in the meantime. Ask again."
            )
        await self._note(reading, **_content_of(result))
        return result

    def is_on(self) -> bool:
        return not self._refusal()

    async def _while_allowed(
        self, call_next: CallNext, context: ServerRequestContext[Any, Any]
    ) -> HandlerResult:
        """The answer; None if reading is turned off before there is one."""
        result: HandlerResult = None
        failure: Exception | None = None

        async def end_when_off(scope: anyio.CancelScope) -> None:
            while self.is_on():  # noqa: ASYNC110  # other programs turn it off
                await anyio.sleep(_POLL_S)
            scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end_when_off, tasks.cancel_scope)
            try:
                result = await call_next(context)
            except Exception as error:  # noqa: BLE001  # raised below, and not in a group
                failure = error
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return result

    def _refusal(self) -> str:
        try:
            return load_access(self._data_dir).refusal(self._names.keys() or {""})
        except UserError as error:
            return f"{error.details.what}. {error.details.hint}"  # not where the switch is

    async def _note_name(self, context: ServerRequestContext[Any, Any]) -> None:
        """Note the name that the agent gives, in the handshake or with a request."""
        about = as_object((context.params or {}).get("clientInfo"))
        known = context.session.client_params
        if known is not None:
            about = known.client_info.model_dump()
        if not about:
            return
        name, title, version = (
            one_line(str(about.get(key) or ""), 100) for key in ("name", "title", "version")
        )
        if self._names.get(name) != (title, version) and len(self._names) < _MOST_NAMES:
            self._names[name] = title, version
            given = AgentName(when=time.time(), name=name, title=title, version=version)
            await self._write(self._log.note_name, given)

    async def _note(self, reading: Reading, **content: Any) -> None:
        await self._write(self._log.note, reading.model_copy(update=content))

    async def _write(self, work: Callable[..., None], *arguments: object) -> None:
        """Write to the log, on a disk that may hang."""
        with anyio.move_on_after(_LOG_S):
            await anyio.to_thread.run_sync(
                work, *arguments, abandon_on_cancel=True, limiter=self._writers
            )


def _asked(context: ServerRequestContext[Any, Any]) -> Reading:
    params = dict(context.params or {})
    subject = params.get(_SUBJECTS[context.method])
    arguments = params.get("arguments")
    return Reading(
        when=time.time(),
        what=quoted(subject, 200) if isinstance(subject, str) else context.method,
        arguments=quoted_json(arguments, _MOST_ARGUMENTS) if arguments else "",
    )


def _content_of(result: HandlerResult) -> dict[str, Any]:
    """The servers and jobs in an answer, as far as the log has room for them, and its size."""
    content = pydantic_core.to_jsonable_python(result)
    servers, jobs = dict[str, None](), dict[str, None]()
    for member, name in _names(content, 0):
        (servers if member == "server" else jobs)[one_line(name)] = None
    return {
        "outcome": "failed" if as_object(content).get("isError") is True else "answered",
        "servers": tuple(itertools.islice(servers, _MOST_NAMES)),
        "jobs": tuple(itertools.islice(jobs, _MOST_NAMES)),
        "size": len(pydantic_core.to_json(content)),
    }


def _names(value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Each server and job that an answer names, in its structure or in the JSON of a resource."""
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, dict):
        for member, inner in value.items():
            if member in {"server", "job"} and isinstance(inner, str):
                yield member, inner
            elif member == "contents" and isinstance(inner, list):
                for part in inner:
                    yield from _names(_decoded(as_object(part).get("text")), depth + 1)
            else:
                yield from _names(inner, depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _names(each, depth + 1)


def _decoded(text: object) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
