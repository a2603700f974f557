"""Checks on tasks in both revisions: capabilities, the order of statuses, error codes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import (
    NotificationReceived,
    RequestStanding,
    Side,
    parsed_moment,
)
from mcp_progress_monitor.protocol.lenient_json import shown
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    CANCEL_TASK,
    GET_TASK,
    TASK_ID,
    TASK_RESULT,
    TASKS_EXTENSION,
    TaskStatus,
    is_terminal,
)
from mcp_progress_monitor.protocol.tasks import TaskOffer, created_task, task_named_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.checking.connection import (
        Evidence,
        JudgedCall,
        JudgedConnection,
        TaskRecord,
    )
    from mcp_progress_monitor.findings.finding import Rule
    from mcp_progress_monitor.protocol.facts import Fact, RequestAnswered, RequestMade, TaskStated

_METHOD_NOT_FOUND: Final = -32601
_INVALID_PARAMS: Final = -32602
_REORDERING_S: Final = 10.0
"""How long after its first status a task may be created: HTTP streams overtake each other."""
_TASK_REVISION: Final = "2025-11-25"
_UNKNOWN: Final = frozenset({GET_TASK, TASK_RESULT, CANCEL_TASK})


def take_request(
    connection: JudgedConnection, call: JudgedCall, fact: RequestMade
) -> Iterator[Evidence]:
    """Check a request for a task, and note whether a request about a task is about an ended one."""
    call.of_task = task_named_by(fact.method, fact.params)
    if call.of_task is not None:
        known = connection.server.tasks.get(call.of_task)
        call.task_was_over = known is not None and is_terminal(known.status)
    is_call = fact.method == CALL_TOOL and fact.sender is Side.CLIENT
    if not is_call or "task" not in fact.params or connection.revision != _TASK_REVISION:
        return
    tool = connection.server.tools.get(str(fact.params.get("name")))
    if not TaskOffer.of(_TASK_REVISION, connection.capabilities).has_calls:
        yield call.breaks(rules.TASK_NOT_OFFERED, fact.number, by=Side.CLIENT)
    elif tool is not None and tool.support == "forbidden":
        name = shown(fact.params.get("name"))
        yield call.breaks(rules.TASK_FORBIDDEN, fact.number, name, by=Side.CLIENT)


def take_answer(
    connection: JudgedConnection, call: JudgedCall, fact: RequestAnswered
) -> Iterator[Evidence]:
    """Check the reply to a request that is about a task or may have created one."""
    if fact.standing is not RequestStanding.ACTIVE:
        return
    if call.of_task is not None:
        yield from _about_task(connection, call, fact)
    elif connection.is_per_request:
        yield from _created(connection, call, fact)
    elif call.method == CALL_TOOL and connection.revision == _TASK_REVISION:
        yield from _without_task(connection, call, fact)
    if created_task(fact.result or {}) is not None:
        call.of_task = ""  # later messages are about the task


def _without_task(
    connection: JudgedConnection, call: JudgedCall, fact: RequestAnswered
) -> Iterator[Evidence]:
    """Check that a tool that requires a task rejects a plain call."""
    tool = connection.server.tools.get(str(call.params.get("name")))
    if tool is None or tool.support != "required" or "task" in call.params:
        return
    if not TaskOffer.of(_TASK_REVISION, connection.capabilities).has_calls:
        return
    code = (fact.error or {}).get("code")
    if code != _METHOD_NOT_FOUND:
        what = "a result" if fact.error is None else f"the error {shown(code)}"
        yield call.breaks(rules.TASK_ONLY, fact.number, shown(call.params.get("name")), what)


def _created(
    connection: JudgedConnection, call: JudgedCall, fact: RequestAnswered
) -> Iterator[Evidence]:
    """Check that a task of the extension is created only for tool calls of a supporting client."""
    task = created_task(fact.result or {})
    if task is None:
        return
    if TASKS_EXTENSION not in as_object(call.capabilities.get("extensions")):
        yield call.breaks(rules.TASK_UNDECLARED, fact.number)
    if call.method != CALL_TOOL:
        yield call.breaks(rules.TASK_OF_OTHER, fact.number, shown(call.method))
    if task.status and task.status != TaskStatus.WORKING:
        yield call.breaks(rules.NEW_FLAT_STATUS, fact.number, shown(task.status))


def _about_task(
    connection: JudgedConnection, call: JudgedCall, fact: RequestAnswered
) -> Iterator[Evidence]:
    code = (fact.error or {}).get("code")
    is_core = connection.revision == _TASK_REVISION
    if call.method == CANCEL_TASK and call.task_was_over and is_core and code != _INVALID_PARAMS:
        what = "a result" if fact.error is None else f"the error {shown(code)}"
        yield call.breaks(rules.FINISHED_CANCELLED, fact.number, what)
    known = connection.server.tasks.get(call.of_task or "")
    is_unknown = known is None and call.method in _UNKNOWN and fact.error is not None
    if is_unknown and is_core and code not in {_INVALID_PARAMS, _METHOD_NOT_FOUND}:
        yield call.breaks(rules.UNKNOWN_TASK, fact.number, call.method, shown(code))
    if known is None or call.method != GET_TASK:
        return
    known.poll_count += 1
    is_first = known.poll_count == 1 and known.began is not None and not is_terminal(known.status)
    if is_first and connection.is_per_request and code == _INVALID_PARAMS:
        yield call.breaks(rules.TASK_NOT_FOUND, fact.number, shown(code))


def take_statement(connection: JudgedConnection, fact: TaskStated) -> Iterator[Evidence]:
    """Check a message about a task against the earlier ones."""
    if not fact.task.status and fact.how != "result":
        return
    record = connection.server.task(fact.task.id)
    if fact.how == "created":
        record.began, record.began_at = fact.request, fact.at
        early, at = connection.early.pop(fact.task.id, (None, 0.0))
        if early is not None and fact.at - at > _REORDERING_S:
            yield early
    if fact.how == "result" and fact.result is not None:
        record.result_frame = fact.number
        return
    status = fact.task.status
    yield from _after_result(connection, record, fact)
    yield from _time(connection, record, fact)
    if status and not is_terminal(record.status):
        record.status = status


def creating_request(connection: JudgedConnection, fact: NotificationReceived) -> int | None:
    """The request that created the task of a notification; None if there is none."""
    task = fact.params.get(TASK_ID)
    record = connection.server.tasks.get(task) if isinstance(task, str) else None
    return None if record is None else record.began


def without_early(
    connection: JudgedConnection, fact: Fact, found: Iterator[Evidence]
) -> Iterator[Evidence]:
    """Delay findings about statuses of unknown tasks, whose creation may still arrive."""
    for evidence in found:
        task = fact.params.get(TASK_ID) if isinstance(fact, NotificationReceived) else None
        if evidence.finding.rule is rules.TASK_UNKNOWN and isinstance(task, str):
            known = connection.server.tasks.get(task)
            if known is None or known.began is None:
                connection.early.setdefault(task, (evidence, fact.at))
            elif known.began_at - fact.at > _REORDERING_S:  # created later in the same chunk
                yield evidence._replace(request=None)
        else:
            yield evidence


def take_end(connection: JudgedConnection) -> Iterator[Evidence]:
    """Report the tasks that were never created."""
    yield from take_time(connection, math.inf)
    connection.early.clear()


def take_time(connection: JudgedConnection, now: float) -> Iterator[Evidence]:
    for task, (evidence, at) in connection.early.items():
        if evidence is not None and now - at > _REORDERING_S:
            connection.early[task] = None, at
            yield evidence


def due(connection: JudgedConnection) -> Iterator[float]:
    early = connection.early.values()
    return (at + _REORDERING_S for evidence, at in early if evidence is not None)


def _after_result(
    connection: JudgedConnection, record: TaskRecord, fact: TaskStated
) -> Iterator[Evidence]:
    """Check that no status after the reply to `tasks/result` shows an unfinished task.

    HTTP streams overtake each other: there only statuses requested after the reply count.
    """
    at = record.result_frame
    if at is None or is_terminal(fact.task.status) or connection.revision != _TASK_REVISION:
        return
    is_later = not connection.is_http if fact.reply_to is None else fact.reply_to > at
    if is_later and fact.task.status and not is_terminal(record.status):
        status = shown(fact.task.status)
        yield _breaks(connection, rules.RESULT_BEFORE_END, fact, status)


def _time(connection: JudgedConnection, record: TaskRecord, fact: TaskStated) -> Iterator[Evidence]:
    moment = parsed_moment(fact.task.updated)
    if moment is None:
        return
    if record.updated_s is not None and moment < record.updated_s:
        before = f"{record.updated_s:.3f} s"
        yield _breaks(connection, rules.UPDATED_BACK, fact, before, f"{moment:.3f} s")
    record.updated_s = moment


def _breaks(
    connection: JudgedConnection, rule: Rule, fact: TaskStated, *arguments: object
) -> Evidence:
    call = connection.call_of(fact.request) or connection.call_of(fact.reply_to)
    if call is None:
        return connection.breaks(rule, fact.number, *arguments, by=fact.sender)
    return call.breaks(rule, fact.number, *arguments, by=fact.sender)
