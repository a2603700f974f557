"""Tools whose tasks end in other ways or violate rules, each as its name says."""

import copy
import time
from collections.abc import Callable
from typing import Any, Final

from mcp_progress_monitor.demo.call import Call, CancelledCallError, RefusedError
from mcp_progress_monitor.demo.queries import POLL_S
from mcp_progress_monitor.demo.tasks import Task
from mcp_progress_monitor.demo.tool import Tool, choice, flag, integer, number, record
from mcp_progress_monitor.demo.tools.progress import interval, steps
from mcp_progress_monitor.demo.tools.questions import OPTIONAL, task_work, work
from mcp_progress_monitor.demo.wire import (
    INTERNAL_ERROR,
    JsonObject,
    RpcError,
    progress_notification,
    text_result,
)
from tests.servers.asking import form
from tests.servers.call import FaultyCall
from tests.servers.faulty_tasks import FaultyTask, FaultyTraits

REPEATED_ID: Final = "the-one-and-only-task"
"""The ID of tasks that share one."""


def _with(name: str, value: object) -> Callable[[JsonObject], JsonObject]:
    """Return a function that sets a member, by its name in either era."""

    def distort(shape: JsonObject) -> JsonObject:
        return {**shape, _member(shape, name): value}

    return distort


def _without(name: str) -> Callable[[JsonObject], JsonObject]:
    def distort(shape: JsonObject) -> JsonObject:
        return {key: value for key, value in shape.items() if key != _member(shape, name)}

    return distort


def _member(shape: JsonObject, name: str) -> str:
    return f"{name}Ms" if f"{name}Ms" in shape else name


class _Changing:
    """Changes a member each time except the first, such as the ID."""

    def __init__(self, name: str, make: Callable[[int], str]) -> None:
        self._name = name
        self._make = make
        self._count = 0

    def __call__(self, shape: JsonObject) -> JsonObject:
        self._count += 1
        return shape if self._count == 1 else {**shape, self._name: self._make(self._count)}


WRONG_FIELDS: Final[dict[str, Callable[[JsonObject], JsonObject]]] = {
    "created_text": _with("createdAt", "yesterday afternoon"),
    "created_number": _with("createdAt", 1_784_000_000),
    "created_missing": _without("createdAt"),
    "updated_back": _Changing(
        "lastUpdatedAt", lambda count: f"{max(1970, 2025 - count)}-01-01T00:00:00Z"
    ),
    "ttl_text": _with("ttl", "one minute"),
    "ttl_negative": _with("ttl", -1),
    "ttl_fraction": _with("ttl", 1_500.5),
    "ttl_missing": _without("ttl"),
    "ttl_zero": _with("ttl", 0),
    "poll_zero": _with("pollInterval", 0),
    "poll_negative": _with("pollInterval", -500),
    "poll_text": _with("pollInterval", "often"),
    "poll_huge": _with("pollInterval", 10**15),
    "id_number": _with("taskId", 42),
    "id_empty": _with("taskId", ""),
    "id_missing": _without("taskId"),
    "id_repeated": _with("taskId", REPEATED_ID),
    "id_changes": _Changing("taskId", "task-number-{}".format),
    "status_missing": _without("status"),
    "status_number": _with("status", 1),
    "message_number": _with("statusMessage", 42),
}
"""The faults of `task_wrong_fields`, with functions that change a valid task object."""


def task_required(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Work; can only be called as a task."""
    return task_work(call, steps, interval_s)


def task_forbidden(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Work; cannot be called as a task."""
    return task_work(call, steps, interval_s)


def task_fails(call: Call, how: str, at_tick: int, steps: int, interval_s: float) -> JsonObject:
    """Fail with a protocol error or a tool error."""
    work(call, at_tick, steps, interval_s)
    if how == "rpc_error":
        raise RpcError(INTERNAL_ERROR, "The backend went away", {"tick": at_tick})
    return text_result(f"The disk was full at step {at_tick}.", is_error=True)


def task_cooperative(
    call: Call, steps: int, interval_s: float, goes_on_s: float, ends_as: str
) -> JsonObject:
    """After a cancel, continue for a while, then stop or finish."""
    try:
        work(call, steps, steps, interval_s)
    except CancelledCallError:
        _tidy_up(call, goes_on_s)
        if ends_as == "completed":
            return text_result("Was almost done, so it is done.")
        raise
    return text_result(f"Finished all {steps} steps.")


def _tidy_up(call: Call, goes_on_s: float) -> None:
    """Continue for a while with a status message, although cancelled."""
    deadline = time.monotonic() + goes_on_s
    if call.task is not None:
        call.task.change("working", "Asked to stop, tidying up")
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, 0.1))


def task_jumps_states(call: Call, jump: str, interval_s: float) -> JsonObject | None:
    """Change states in an order that is not allowed."""
    task = _task(call)
    for status in JUMPS[jump]:
        call.sleep(interval_s)
        task.force(status, f"Jumped to {status}", **_payload(status))
    return None


def task_never_ends(call: Call, interval_s: float, ignores_cancel: bool) -> None:
    """Work forever, optionally ignoring cancels."""
    if ignores_cancel and isinstance(call, FaultyCall):
        call.ignores_cancel = True
    step = 0
    while True:
        step += 1
        call.sleep(interval_s)
        call.progress(step, message=f"{step} steps, no end in sight")


def task_changes_token(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Report progress with another token from half-way on."""
    _task(call)
    work(call, steps // 2, steps, interval_s)
    if call.token is not None:
        call.token = f"not-{call.token}"
    work(call, steps, steps, interval_s)
    return text_result("Changed its token half-way.")


def task_forgets_id(call: Call, after_polls: int, interval_s: float) -> None:
    """Be unknown after some polls."""
    _task(call)
    task_never_ends(call, interval_s, ignores_cancel=False)


def task_result_early(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Have a result before the end, and another one at the end."""
    _task(call)
    work(call, steps, steps, interval_s)
    return text_result("The result at the end.")


def task_status_after_end(call: Call, steps: int, late: int, interval_s: float) -> None:
    """Report states and progress after the end."""
    task = _task(call)
    total = steps + late
    work(call, steps, total, interval_s)
    task.finish(text_result(f"Done, with {late} more states to come."))
    for step in range(steps + 1, total + 1):
        call.sleep(interval_s)
        task.force("working", f"Step {step} of {total}, after the end")
        if task.terms.is_core and call.token is not None:
            params = {"progressToken": call.token, "progress": step, "total": total}
            call.wire.send(progress_notification({**params, "_meta": task.related}))
    task.force("completed", "Over at last")


def task_answers_plainly(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Reply with a plain result in any case."""
    work(call, steps, steps, interval_s)
    return text_result("A plain answer.")


def task_unasked(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Become a task that was not requested or that the client does not support."""
    work(call, steps, steps, interval_s)
    return text_result("Done, as a task nobody asked for.")


def task_wrong_fields(call: Call, fault: str, steps: int, interval_s: float) -> JsonObject:
    """Have a member with a wrong value or type in every task object."""
    _task(call)
    work(call, steps, steps, interval_s)
    return text_result(f"Had this fault: {fault}.")


def task_wrong_shape(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Start in the format of the other era."""
    _task(call)
    work(call, steps, steps, interval_s)
    return text_result("Began in the shape of the other era.")


def task_repeats_key(call: Call, interval_s: float) -> JsonObject:
    """Ask two questions with the same key."""
    task = _task(call)
    if task.terms.is_core:
        raise RefusedError("Only tasks of the extension list their questions under keys.")
    for message in ("Who are you?", "And who is your friend?"):
        call.sleep(interval_s)
        query = form(call.dialect, "same-key", message=message)
        task.ask({query.key: query.request})
        while task.given is None:
            call.sleep(POLL_S)
    return text_result("Asked twice under one key.")


def task_sends_progress(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Report progress, which tasks of the extension must not do."""
    _task(call)
    for step in range(1, steps + 1):
        call.sleep(interval_s)
        if call.token is not None:
            params = {"progressToken": call.token, "progress": step, "total": steps}
            call.wire.send(progress_notification(params))
    return text_result(f"Sent {steps} ticks.")


def _task(call: Call) -> Task:
    if call.task is None:
        raise RefusedError("This tool has something to show only as a task.")
    return call.task


def _payload(status: str) -> JsonObject:
    if status == "completed":
        return {"result": text_result("Said to be done.")}
    if status == "failed":
        return {"error": {"code": -32603, "message": "Said to have failed"}}
    return {}


def _starts(task: Task, arguments: JsonObject) -> None:
    if arguments["jump"] == "starts_completed":
        task.state.status, task.state.message = "completed", "Done before it began"
        task.state.result = text_result("Done before it began.")


def _forgets(task: FaultyTask, arguments: JsonObject) -> None:
    task.faults.polls_until_forgotten = arguments["after_polls"]


def _ignores(task: FaultyTask, arguments: JsonObject) -> None:
    task.faults.ignores_cancel = arguments["ignores_cancel"]


def _has_early_result(task: FaultyTask, _arguments: JsonObject) -> None:
    task.faults.has_early_result = text_result("The result before the end.")


def _is_of_other_era(task: FaultyTask, _arguments: JsonObject) -> None:
    task.faults.is_of_other_era = True


def _distorts(task: FaultyTask, arguments: JsonObject) -> None:
    task.faults.distort = copy.copy(WRONG_FIELDS[arguments["fault"]])
    if arguments["fault"] == "id_repeated":
        task.faults.known_as = REPEATED_ID


JUMPS: Final[dict[str, tuple[str, ...]]] = {
    "ended_then_working": ("completed", "working", "completed"),
    "cancelled_then_completed": ("cancelled", "completed"),
    "failed_then_input": ("failed", "input_required", "completed"),
    "input_without_question": ("input_required", "working", "input_required"),
    "unknown_status": ("sleeping", "working", "completed"),
    "starts_completed": ("working", "completed"),
}
"""The faults of `task_jumps_states`, with the states after the first."""


def _tool(
    run: Callable[..., JsonObject | None],
    title: str,
    description: str,
    arguments: JsonObject,
    prepare: Callable[[FaultyTask, Any], None] | None = None,
) -> Tool:
    return Tool(run, title, description, arguments, tasks=FaultyTraits(prepare=prepare))


_FEW: Final = record(steps=steps(6), interval_s=interval(0.3))

TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        task_required,
        "Only as a task",
        "Works step by step; can only be called as a task.",
        record(steps=steps(10), interval_s=interval(0.5)),
        tasks=FaultyTraits("required"),
    ),
    Tool(
        task_forbidden,
        "Never as a task",
        "Works step by step; cannot be called as a task.",
        record(steps=steps(5), interval_s=interval(0.3)),
        tasks=FaultyTraits("forbidden"),
    ),
    Tool(
        task_fails,
        "Task that fails",
        "Fails half-way, with a protocol error or a tool error.",
        record(
            how=choice("Which kind of error", "rpc_error", "is_error"),
            at_tick=integer("The tick after which it fails; 0 for immediately", 5, 0, 1_000_000),
            steps=steps(10),
            interval_s=interval(0.3),
        ),
        tasks=OPTIONAL,
    ),
    Tool(
        task_cooperative,
        "Task that stops slowly",
        "When cancelled, continues for a while, then stops or finishes (2026-07-28).",
        record(
            steps=steps(60),
            interval_s=interval(0.5),
            goes_on_s=number("Seconds it continues after a cancel", 3, 0, 3_600),
            ends_as=choice("How it ends then", "cancelled", "completed"),
        ),
        tasks=OPTIONAL,
    ),
    _tool(
        task_jumps_states,
        "Task that jumps",
        "Violates a rule: its states are in an order that is not allowed.",
        record(jump=choice("Which order", *JUMPS), interval_s=interval(0.5)),
        _starts,
    ),
    _tool(
        task_never_ends,
        "Task without end",
        "Works forever, and optionally ignores cancels.",
        record(interval_s=interval(1), ignores_cancel=flag("Continue when cancelled")),
        _ignores,
    ),
    _tool(
        task_changes_token,
        "Task that changes its token",
        "Violates a rule: changes its progress token half-way (2025-11-25).",
        _FEW,
    ),
    _tool(
        task_forgets_id,
        "Task that is forgotten",
        "Violates a rule: is unknown after some polls.",
        record(
            after_polls=integer("After how many tasks/get", 3, 0, 1_000_000),
            interval_s=interval(0.5),
        ),
        _forgets,
    ),
    _tool(
        task_result_early,
        "Task with an early result",
        "Violates a rule: returns a result while it works.",
        _FEW,
        _has_early_result,
    ),
    _tool(
        task_status_after_end,
        "Task that lives on",
        "Violates a rule: reports states and progress after its end.",
        record(
            steps=steps(3),
            late=integer("How many states after the end", 3, 1, 1_000),
            interval_s=interval(0.3),
        ),
    ),
    Tool(
        task_answers_plainly,
        "Plain answer to a task",
        "Violates a rule: returns a plain result when a task is requested (2025-11-25).",
        _FEW,
        tasks=FaultyTraits("required", becomes="never"),
    ),
    Tool(
        task_unasked,
        "Task nobody wanted",
        "Violates a rule: becomes a task when that is not allowed.",
        _FEW,
        tasks=FaultyTraits("", becomes="always"),
    ),
    _tool(
        task_wrong_fields,
        "Task with a wrong member",
        "Violates a rule: a member of the task is wrong or missing.",
        record(
            fault=choice("Which of them", *WRONG_FIELDS), steps=steps(6), interval_s=interval(0.3)
        ),
        _distorts,
    ),
    _tool(
        task_wrong_shape,
        "Task in the wrong shape",
        "Violates a rule: starts in the format of the other era.",
        _FEW,
        _is_of_other_era,
    ),
    _tool(
        task_repeats_key,
        "Task that repeats a key",
        "Violates a rule: asks two questions with the same key (2026-07-28).",
        record(interval_s=interval(0.3)),
    ),
    _tool(
        task_sends_progress,
        "Task that reports progress",
        "Violates a rule: sends progress, which tasks of 2026-07-28 must not do.",
        _FEW,
    ),
)
