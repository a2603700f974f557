"""Tasks in messages, and our requests about them, in both revisions of tasks.

Which messages create a task, which report on one, and what a server supports.
"""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.protocol.eras import Era, as_object, era_of
from mcp_progress_monitor.protocol.facts import (
    RequestAnswered,
    RequestStanding,
    TaskStated,
    TaskView,
    read_task,
)
from mcp_progress_monitor.protocol.lenient_json import shown
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    CANCEL_TASK,
    CAPABILITIES_KEY,
    GET_TASK,
    LIST_TASKS,
    META,
    RELATED_TASK,
    STATUS_METHODS,
    TASK_ID,
    TASK_RESULT,
    TASKS_EXTENSION,
    UPDATE_TASK,
    TaskStatus,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.protocol.facts import JsonObject, NotificationReceived
    from mcp_progress_monitor.protocol.ledger import Ledger, OpenRequest


_DRAFT: Final = "modelcontextprotocol.io/"
"""The prefix of keys in `_meta` in a draft of 2025-11-25, which FastMCP 2.14 uses."""
_DRAFT_TASK: Final = f"{_DRAFT}task"
_DRAFT_RELATED: Final = f"{_DRAFT}related-task"

_HOW: Final = {GET_TASK: "get", TASK_RESULT: "result", CANCEL_TASK: "cancel", UPDATE_TASK: "update"}


def live_task(result: JsonObject | None) -> str | None:
    """The id of the task that a reply promises, whose token stays active; None without one."""
    task = created_task(result or {})
    return None if task is None or task.is_flat or task.is_terminal else task.id


def created_task(result: JsonObject) -> TaskView | None:
    """The task that is the result of an ordinary request; None for other results.

    A tool may well have something called `task` beside its content.
    """
    draft = _drafted_task(result)
    if draft is not None:
        return draft
    if result.get("resultType") == "task":
        return read_task(result, flat=True) or read_task(result, flat=False)
    return None if "content" in result else read_task(result, flat=False)


def _drafted_task(result: JsonObject) -> TaskView | None:
    """A task in the shape of a draft of 2025-11-25, with a finding about that."""
    task = read_task(as_object(result.get(META)).get(_DRAFT_TASK), flat=True)
    if task is None:
        return None
    note = Finding(rules.TASK_IN_DRAFT, (shown(_DRAFT_TASK),))
    return task._replace(findings=(note,), is_flat=False)


def task_named_by(method: str, params: JsonObject) -> str | None:
    """The id of the task that a `tasks/…` request is about; None for any other request."""
    identity = params.get(TASK_ID) if method in _HOW else None
    return identity if isinstance(identity, str) else None


def related_task(payload: JsonObject) -> str | None:
    meta = as_object(payload.get(META))
    identity = as_object(meta.get(RELATED_TASK, meta.get(_DRAFT_RELATED))).get(TASK_ID)
    return identity if isinstance(identity, str) else None


def tasks_of_reply(
    answer: RequestAnswered, request: OpenRequest | None, ledger: Ledger
) -> list[TaskStated]:
    """The tasks stated by a reply.

    `request` is what it answers, None if that was not open. The tokens of tasks that have ended
    become inactive in `ledger`.
    """
    if request is not None and request.method == LIST_TASKS:
        return _listed(answer, ledger)
    if request is not None and request.task is not None:
        return [_of_request(answer, request.method, request.task, ledger)]
    task = None if answer.result is None else created_task(answer.result)
    return [] if task is None or answer.request is None else [_created(answer, task, ledger)]


def tasks_of_notification(
    fact: NotificationReceived, ledger: Ledger, size: int
) -> list[TaskStated]:
    """The task stated by a notification of `size` bytes, among the requests in `ledger`.

    If the task has ended, its token becomes inactive.
    """
    task = read_task(fact.params, flat=True) if fact.method in STATUS_METHODS else None
    if task is None:
        return []
    notes = [*task.findings]
    if not ledger.is_known_task(task.id):
        notes.append(Finding(rules.TASK_UNKNOWN, (shown(task.id),)))
    return [_stated(fact, task, "status", ledger, notes, fact.params)._replace(size=size)]


def _created(answer: RequestAnswered, task: TaskView, ledger: Ledger) -> TaskStated:
    notes = [*task.findings]
    other = ledger.beginner_of(task.id)
    if other is not None:
        notes.append(Finding(rules.TASK_ID_IN_USE, (shown(task.id), other)))
    if not task.is_flat and task.status and task.status != TaskStatus.WORKING:
        notes.append(Finding(rules.NEW_TASK_STATUS, (shown(task.status),)))
    if other is None or answer.standing is RequestStanding.ACTIVE:
        ledger.begin_task(task.id, answer.request)
    return _stated(answer, task, "created", ledger, notes)


def _listed(answer: RequestAnswered, ledger: Ledger) -> list[TaskStated]:
    items: Any = (answer.result or {}).get("tasks")
    read = (read_task(item, flat=True) for item in (items if isinstance(items, list) else ()))
    tasks = [task for task in read if task is not None]
    return [_stated(answer, task, "list", ledger, [*task.findings]) for task in tasks]


def _of_request(answer: RequestAnswered, method: str, task_id: str, ledger: Ledger) -> TaskStated:
    how, result = _HOW[method], answer.result
    if not ledger.is_known_task(task_id):
        ledger.begin_task(task_id, None)
    if method == TASK_RESULT:
        ledger.end_task(task_id)
        notes = [] if result is None else _notes_of_result(result, task_id)
        return _stated(answer, TaskView(task_id, ""), how, ledger, notes)
    notes, task = [], None if result is None else read_task(result, flat=True)
    if task is not None and task.id != task_id:
        notes.append(Finding(rules.ANOTHER_TASK, (shown(task.id), shown(task_id))))
        task = None
    elif task is None and result is not None and how == "get":
        notes.append(Finding(rules.NO_TASK))
    found = task or TaskView(task_id, "")
    is_elsewhere = how == "get" and task is not None and ledger.beginner_of(task_id) is None
    if is_elsewhere and answer.request is not None:
        ledger.ask_for_task(task_id, answer.request)
    return _stated(answer, found, how, ledger, [*notes, *found.findings], result if task else None)


def _notes_of_result(result: JsonObject, task_id: str) -> list[Finding]:
    """The findings on a reply to `tasks/result`, which must name its task (2025-11-25)."""
    related = related_task(result)
    if related == task_id:
        is_draft = RELATED_TASK not in as_object(result.get(META))
        return [Finding(rules.RESULT_NAMES_AS_DRAFT, (shown(_DRAFT_RELATED),))] if is_draft else []
    if related is None:
        return [Finding(rules.RESULT_NAMES_NO_TASK, (shown(task_id),))]
    return [Finding(rules.RESULT_NAMES_ANOTHER, (shown(related), shown(task_id)))]


def _stated(
    fact: RequestAnswered | NotificationReceived,
    task: TaskView,
    how: str,
    ledger: Ledger,
    notes: list[Finding],
    detail: JsonObject | None = None,
) -> TaskStated:
    """The fact; `detail` has the members that the extension adds to a task."""
    if task.is_terminal:
        ledger.end_task(task.id)
    answer = fact if isinstance(fact, RequestAnswered) else None
    members = detail or {}
    payload = _object(members, "result") if answer is None or how != "result" else answer.result
    failure = None if answer is None else answer.error
    return TaskStated(
        *fact[:5],
        task,
        ledger.beginner_of(task.id),
        how,
        payload,
        _object(members, "error") if failure is None else failure,
        _object(members, "inputRequests"),
        tuple(notes),
        *(() if answer is None else (answer.standing, answer.request, answer.size)),
    )


def _object(members: JsonObject, name: str) -> JsonObject | None:
    found = members.get(name)
    return found if isinstance(found, dict) else None


LONGEST_TTL_MS: Final = 2**53 - 1  # the longest time to live that every JSON parser reads exactly


class TaskWay(enum.Enum):
    """The form of tasks on a connection."""

    CORE = enum.auto()  # 2025-11-25: requested in the call, the result fetched with `tasks/result`
    EXTENSION = enum.auto()
    """2026-07-28: the server's choice, the result in `tasks/get`, answers with `tasks/update`."""


class TaskOffer(NamedTuple):
    """A server's support for tasks, by its revision and its capabilities."""

    way: TaskWay
    capabilities: JsonObject

    @classmethod
    def of(cls, revision: str, capabilities: JsonObject) -> TaskOffer:
        is_core = era_of(revision) is Era.HANDSHAKE
        return cls(TaskWay.CORE if is_core else TaskWay.EXTENSION, capabilities)

    @property
    def has_calls(self) -> bool:
        if self.way is TaskWay.EXTENSION:
            return TASKS_EXTENSION in as_object(self.capabilities.get("extensions"))
        requests = as_object(self._core.get("requests"))
        return "call" in as_object(requests.get("tools"))

    @property
    def has_list(self) -> bool:
        return self.way is TaskWay.CORE and "list" in self._core

    @property
    def has_cancel(self) -> bool:
        """True if tasks can be cancelled; in the extension always, though the server decides."""
        return self.way is TaskWay.EXTENSION or "cancel" in self._core

    @property
    def _core(self) -> JsonObject:
        return as_object(self.capabilities.get("tasks"))


class TaskAugmentation(NamedTuple):
    """The caller's choice: as a task, plainly, or (None) as the tool requires; and how long.

    `ttl_ms` is how long the server is asked to keep the task; None leaves that to the server.
    """

    as_task: bool | None = None
    ttl_ms: float | None = None

    def checked(self) -> TaskAugmentation:
        """The same; `UserError` for a time to live that cannot be sent."""
        ttl_ms = self.ttl_ms
        if ttl_ms is None or (math.isfinite(ttl_ms) and 1 <= ttl_ms <= LONGEST_TTL_MS):
            return self
        what = f"Invalid task lifetime of {ttl_ms:g} ms"
        hint = "Choose a positive time, or none to let the server decide."
        raise UserError(ErrorDetails(what, hint=hint))


def params_with_task(
    method: str,
    params: JsonObject,
    options: TaskAugmentation,
    offer: TaskOffer,
    support: str | None,
    stamps: JsonObject,
) -> JsonObject:
    """The parameters of a request, as a task or plainly.

    `support` is the tool's `taskSupport`, None if unknown. `stamps` are those of the connection: in
    2026-07-28 a call that must not become a task is sent without the extension.

    Raises:
        UserError: a task was requested, but is impossible.
    """
    options = options.checked()
    if options.as_task is True:
        _refuse_impossible(method, offer, support)
    if offer.way is TaskWay.EXTENSION:
        return without_extension(params, stamps) if options.as_task is False else params
    is_demanded = support == "required" and method == CALL_TOOL and offer.has_calls
    if options.as_task is False or not (options.as_task or is_demanded):
        return params
    return {**params, "task": {} if options.ttl_ms is None else {"ttl": int(options.ttl_ms)}}


def _refuse_impossible(method: str, offer: TaskOffer, support: str | None) -> None:
    """`UserError` when a request cannot be a task (2025-11-25 "Tool-Level Negotiation")."""
    if method != CALL_TOOL:
        raise UserError(
            ErrorDetails(f"{method} cannot run as a task", hint="Only tool calls can run as tasks.")
        )
    if not offer.has_calls:
        what = "The server does not support tasks for tool calls"
        raise UserError(ErrorDetails(what, hint="Call the tool without a task."))
    if offer.way is TaskWay.CORE and support == "forbidden":
        what = "The tool cannot run as a task, according to the server's tool list"
        raise UserError(ErrorDetails(what, hint="Call it without a task."))


def with_extension(capabilities: JsonObject) -> JsonObject:
    """`capabilities` of a client that accepts tasks as answers (2026-07-28)."""
    return {
        **capabilities,
        "extensions": {**as_object(capabilities.get("extensions")), TASKS_EXTENSION: {}},
    }


def lacks_extension(meta: Mapping[str, Any], stamps: Mapping[str, Any]) -> bool:
    """Return whether a request with `meta` was sent without the extension that `stamps` declare."""
    own, usual = (as_object(each.get(CAPABILITIES_KEY)) for each in (meta, stamps))
    is_usual = TASKS_EXTENSION in as_object(usual.get("extensions"))
    return is_usual and bool(meta) and TASKS_EXTENSION not in as_object(own.get("extensions"))


def without_extension(params: JsonObject, stamps: Mapping[str, Any]) -> JsonObject:
    """`params` with their own capabilities, which lack the extension."""
    declared = as_object(stamps.get(CAPABILITIES_KEY))
    extensions = as_object(declared.get("extensions"))
    if TASKS_EXTENSION not in extensions:
        return params
    rest = {name: value for name, value in extensions.items() if name != TASKS_EXTENSION}
    without = {name: value for name, value in declared.items() if name != "extensions"}
    own = {CAPABILITIES_KEY: {**without, **({"extensions": rest} if rest else {})}}
    return {**params, META: {**own, **as_object(params.get(META))}}
