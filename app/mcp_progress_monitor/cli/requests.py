"""`read`, `prompt` and `request`: resources, prompts and any other method, as jobs."""

from __future__ import annotations

import base64
import functools
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from mcp_progress_monitor import private_file
from mcp_progress_monitor.cli.answers import contents_of, messages_text, read_result, resource_text
from mcp_progress_monitor.cli.arguments import read_document
from mcp_progress_monitor.cli.calling import NO_LISTS, make_requests, request
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.fronts import USUAL_WORDING, Wording
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.reply import exact_outcome, exact_result, indented
from mcp_progress_monitor.looking import absolute
from mcp_progress_monitor.problem import Problem
from mcp_progress_monitor.text import size

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.cli.front import Front
    from mcp_progress_monitor.cli.options import Invocation
    from mcp_progress_monitor.cli.order import PromptOrder, RawOrder, ReadOrder
    from mcp_progress_monitor.monitor import Call, Monitor, Outcome
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot


def read_resource(invocation: Invocation, order: ReadOrder) -> int:
    """Read a resource and return the exit code."""
    return make_requests(invocation, order, functools.partial(_Read, order))


def get_prompt(invocation: Invocation, order: PromptOrder) -> int:
    """Get a prompt and return the exit code."""
    return make_requests(invocation, order, functools.partial(_Prompt, order))


def send_request(invocation: Invocation, order: RawOrder) -> int:
    """Make any request and return the exit code."""
    return make_requests(invocation, order, functools.partial(_Raw, order))


class _Alone:
    """What plans of one request have in common that needs none of the server's lists."""

    lists = NO_LISTS
    repeat = 1
    owns_jobs = True
    wording = USUAL_WORDING

    def ended(self, monitor: Monitor, front: Front, outcome: Outcome) -> None:
        """Do nothing: all is shown."""


class _Read(_Alone):
    """A plan: a resource, also one that the server does not list."""

    def __init__(self, order: ReadOrder) -> None:
        self.where = f"resource {order.uri!r}"
        self._order = order
        self.wording = Wording(resource_text if order.output is None else _nothing)
        if order.output is not None and not absolute(order.output).parent.is_dir():
            _refuse_file(order.output, "The folder does not exist")

    async def call(self, _monitor: Monitor, server: ServerSnapshot, _front: Front) -> Call:
        """The request."""
        return request(server, "resources/read", {"uri": self._order.uri}, self._order)

    def ended(self, monitor: Monitor, front: Front, outcome: Outcome) -> None:
        """Write what was read into the file that the user named."""
        if self._order.output is None or outcome.result is None:
            return
        content = _bytes_of(outcome.raw, self.where)
        path = absolute(self._order.output)
        try:
            private_file.put(path, content)
        except OSError as error:
            _refuse_file(path, error.strerror or str(error))
        front.note(f"Saved {size(len(content))} in {path}")


class _Prompt(_Alone):
    """A plan: a prompt, whose arguments are all text."""

    wording = Wording(messages_text)

    def __init__(self, order: PromptOrder) -> None:
        self.where = f"prompt {order.name!r}"
        self._order = order

    async def call(self, _monitor: Monitor, server: ServerSnapshot, _front: Front) -> Call:
        """The request."""
        params: dict[str, Any] = {"name": self._order.name}
        if self._order.pairs:
            params["arguments"] = dict(self._order.pairs)
        return request(server, "prompts/get", params, self._order)


class _Raw(_Alone):
    """A plan: any method, with parameters as they were typed; its result is shown as JSON."""

    def __init__(self, order: RawOrder) -> None:
        self.where = f"request {order.method!r}"
        self._order = order
        self._params = None if order.params is None else read_document(order.params, "--params")
        # A task's state is what is asked for; a call that has become a task has its end.
        exact = exact_result if order.method.startswith("tasks/") else exact_outcome
        is_for_eyes = Output(sys.stdout).is_terminal
        self.wording = Wording(functools.partial(_json_text, exact, indents=is_for_eyes), exact)

    async def call(self, _monitor: Monitor, server: ServerSnapshot, _front: Front) -> Call:
        """The request."""
        return request(server, self._order.method, self._params or {}, self._order)


def _nothing(_raw: bytes) -> str:
    return ""


def _json_text(exact: Any, raw: bytes, *, indents: bool) -> str:
    found: str = exact(raw)
    return f"{indented(found) if indents else found}\n"


def _bytes_of(raw: bytes, where: str) -> bytes:
    """All that a resource holds: text in UTF-8, data as it is."""
    parts = []
    for part in contents_of(read_result(raw)):
        text, blob = part.get("text"), part.get("blob")
        if isinstance(text, str):
            parts.append(text.encode("utf-8", "surrogatepass"))
        elif isinstance(blob, str):
            try:
                parts.append(base64.b64decode(blob, validate=True))
            except ValueError as error:
                what = "The server's data is not base64, and is not saved"
                problem = Problem(what, where, "--json shows it as it came.", str(error))
                raise CommandFailed(ExitCode.ANSWERED_ERROR, problem) from error
    return b"".join(parts)


def _refuse_file(path: Path, reason: str) -> NoReturn:
    problem = Problem("The file cannot be written", str(path), detail=reason)
    raise CommandFailed(ExitCode.UNWRITABLE, problem)
