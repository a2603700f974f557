"""What messages say of tasks: which begin one, which tell of one, and what facts that makes.

Sources: 2025-11-25 "Tasks", and the tasks extension of 2026-07-28. In the former a task keeps its
request's progress token alive ("Task Progress Notifications"); in the extension progress is not
for tasks, so its flat results hold no token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import RequestAnswered, Standing, TaskStated
from mcp_progress_monitor.protocol.reading import shown
from mcp_progress_monitor.protocol.task_state import TaskStatus, TaskView, read_task

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject, NotificationReceived
    from mcp_progress_monitor.protocol.ledger import Ledger, OpenRequest

STATUS_METHODS: Final = frozenset({"notifications/tasks/status", "notifications/tasks"})
"""Notifications of a task's state: that of 2025-11-25, and the extension's."""

RELATED: Final = "io.modelcontextprotocol/related-task"
"""The key in `_meta` under which a message names the task that it belongs to."""

_DRAFT: Final = "modelcontextprotocol.io/"
"""How keys in `_meta` began in a draft of 2025-11-25, which FastMCP 2.14 speaks."""
_DRAFT_TASK: Final = f"{_DRAFT}task"
_DRAFT_RELATED: Final = f"{_DRAFT}related-task"

OTHER_TOKEN: Final = "the progress token is not the one that the task's request gave"  # noqa: S105
"""The problem of progress that names its task, but not by its token."""

LIST: Final = "tasks/list"
RESULT: Final = "tasks/result"
_HOW: Final = {
    "tasks/get": "get",
    RESULT: "result",
    "tasks/cancel": "cancel",
    "tasks/update": "update",
}


def live_task(result: JsonObject | None) -> str | None:
    """The id of the task that a reply promises, whose token stays active with it; None if none."""
    task = created_task(result or {})
    return None if task is None or task.is_flat or task.is_terminal else task.id


def created_task(result: JsonObject) -> TaskView | None:
    """The task that the result of an ordinary request is; None for any other result.

    A tool may well put something called `task` beside its content.
    """
    draft = _drafted_task(result)
    if draft is not None:
        return draft
    if result.get("resultType") == "task":
        return read_task(result, flat=True) or read_task(result, flat=False)
    return None if "content" in result else read_task(result, flat=False)


def _drafted_task(result: JsonObject) -> TaskView | None:
    """A task that is stated as in a draft of 2025-11-25, with what is wrong with that."""
    task = read_task(as_object(result.get("_meta")).get(_DRAFT_TASK), flat=True)
    if task is None:
        return None
    note = f'the task is stated in "_meta" as {shown(_DRAFT_TASK)}, as in a draft, not as "task"'
    return task._replace(problems=(note,), is_flat=False)


def task_named_by(method: str, params: JsonObject) -> str | None:
    """The id of the task that a `tasks/…` request is about; None for any other request."""
    identity = params.get("taskId") if method in _HOW else None
    return identity if isinstance(identity, str) else None


def related_task(payload: JsonObject) -> str | None:
    """The id of the task that parameters or a result say they belong to."""
    meta = as_object(payload.get("_meta"))
    identity = as_object(meta.get(RELATED, meta.get(_DRAFT_RELATED))).get("taskId")
    return identity if isinstance(identity, str) else None


def tasks_of_reply(
    answer: RequestAnswered, request: OpenRequest | None, ledger: Ledger
) -> list[TaskStated]:
    """What a reply says of tasks. `request` is what it answers, None if that was not open.

    The tokens of tasks that it shows to be over are no longer active in `ledger` from here on.
    """
    if request is not None and request.method == LIST:
        return _listed(answer, ledger)
    if request is not None and request.task is not None:
        return [_asked_for(answer, request.method, request.task, ledger)]
    task = None if answer.result is None else created_task(answer.result)
    return [] if task is None or answer.request is None else [_created(answer, task, ledger)]


def tasks_of_notification(
    fact: NotificationReceived, ledger: Ledger, size: int
) -> list[TaskStated]:
    """What a notification of `size` bytes says of a task of the requests in `ledger`, if it does.

    Where it shows the task to be over, that one's token is no longer active from here on.
    """
    task = read_task(fact.params, flat=True) if fact.method in STATUS_METHODS else None
    if task is None:
        return []
    notes = [*task.problems]
    if not ledger.is_known_task(task.id):
        notes.append(f"no request on this connection is about the task {shown(task.id)}")
    return [_stated(fact, task, "status", ledger, notes, fact.params)._replace(size=size)]


def _created(answer: RequestAnswered, task: TaskView, ledger: Ledger) -> TaskStated:
    notes = [*task.problems]
    other = ledger.beginner_of(task.id)
    if other is not None:
        notes.append(f"the task id {shown(task.id)} is that of the request of frame {other}")
    if not task.is_flat and task.status and task.status != TaskStatus.WORKING:
        notes.append(f"a new task is {shown(task.status)}, not working")
    if other is None or answer.standing is Standing.ACTIVE:
        ledger.begin_task(task.id, answer.request)
    return _stated(answer, task, "created", ledger, notes)


def _listed(answer: RequestAnswered, ledger: Ledger) -> list[TaskStated]:
    items: Any = (answer.result or {}).get("tasks")
    read = (read_task(item, flat=True) for item in (items if isinstance(items, list) else ()))
    tasks = [task for task in read if task is not None]
    return [_stated(answer, task, "list", ledger, [*task.problems]) for task in tasks]


def _asked_for(answer: RequestAnswered, method: str, asked: str, ledger: Ledger) -> TaskStated:
    """The reply to a request that names a task."""
    how, result = _HOW[method], answer.result
    if not ledger.is_known_task(asked):
        ledger.begin_task(asked, None)
    if method == RESULT:
        ledger.end_task(asked)
        notes = [] if result is None else _notes_of_result(result, asked)
        return _stated(answer, TaskView(asked, ""), how, ledger, notes)
    notes, task = [], None if result is None else read_task(result, flat=True)
    if task is not None and task.id != asked:
        notes.append(f"the reply is about the task {shown(task.id)}, not {shown(asked)}")
        task = None
    elif task is None and result is not None and how == "get":
        notes.append("the reply states no task")
    found = task or TaskView(asked, "")
    is_elsewhere = how == "get" and task is not None and ledger.beginner_of(asked) is None
    if is_elsewhere and answer.request is not None:
        ledger.ask_for_task(asked, answer.request)
    return _stated(answer, found, how, ledger, [*notes, *found.problems], result if task else None)


def _notes_of_result(result: JsonObject, asked: str) -> list[str]:
    """What is wrong with a reply to `tasks/result`: it is to name its task (2025-11-25)."""
    related = related_task(result)
    if related == asked:
        is_draft = RELATED not in as_object(result.get("_meta"))
        named = (
            f'the "_meta" of the result names its task as {shown(_DRAFT_RELATED)}, as in a draft'
        )
        return [named] if is_draft else []
    seen = "names no task" if related is None else f"names the task {shown(related)}"
    return [f'the "_meta" of the result {seen}, instead of {shown(asked)}']


def _stated(
    fact: RequestAnswered | NotificationReceived,
    task: TaskView,
    how: str,
    ledger: Ledger,
    notes: list[str],
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
