"""Tools whose tasks end in other ways or break the rules, each as its name says."""

import copy
import time
from collections.abc import Callable
from typing import Any, Final

from mcp_progress_monitor.demo import queries
from mcp_progress_monitor.demo.call import Call, CancelledCallError, RefusedError
from mcp_progress_monitor.demo.queries import POLL_S
from mcp_progress_monitor.demo.tasks import Task
from mcp_progress_monitor.demo.tool import Tool, choice, flag, integer, number, record
from mcp_progress_monitor.demo.tools.progress import interval, steps
from mcp_progress_monitor.demo.tools.tasks import OPTIONAL, task_work, work
from mcp_progress_monitor.demo.wire import (
    INTERNAL_ERROR,
    JsonObject,
    RpcError,
    progress_notification,
    text_result,
)
from tests.servers.faulty_tasks import FaultyTask, FaultyTraits
from tests.servers.tools.task_fields import REPEATED_ID, WRONG_FIELDS


def task_required(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Work, only as a task."""
    return task_work(call, steps, interval_s)


def task_forbidden(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Work, never as a task."""
    return task_work(call, steps, interval_s)


def task_fails(call: Call, how: str, at_tick: int, steps: int, interval_s: float) -> JsonObject:
    """Fail in the protocol or in the tool."""
    work(call, at_tick, steps, interval_s)
    if how == "rpc_error":
        raise RpcError(INTERNAL_ERROR, "The backend went away", {"tick": at_tick})
    return text_result(f"The disk was full at step {at_tick}.", is_error=True)


def task_cooperative(
    call: Call, steps: int, interval_s: float, goes_on_s: float, ends_as: str
) -> JsonObject:
    """Stop some time after it was asked to, or finish in spite of it."""
    try:
        work(call, steps, steps, interval_s)
    except CancelledCallError:
        if call.on_cancel != "stop":
            raise
        _tidy_up(call, goes_on_s)
        if ends_as == "completed":
            return text_result("Was almost done, so it is done.")
        raise
    return text_result(f"Finished all {steps} steps.")


def _tidy_up(call: Call, goes_on_s: float) -> None:
    """Go on for a while although asked to stop, and say so."""
    deadline = time.monotonic() + goes_on_s
    if call.task is not None:
        call.task.change("working", "Asked to stop, tidying up")
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, 0.1))


def task_jumps_states(call: Call, jump: str, interval_s: float) -> JsonObject | None:
    """Go through states in an order that is not allowed."""
    task = _task(call)
    for status in JUMPS[jump]:
        call.sleep(interval_s)
        task.force(status, f"Jumped to {status}", **_payload(status))
    return None


def task_never_ends(call: Call, interval_s: float, ignores_cancel: bool) -> None:
    """Work for ever, deaf to cancelling if wanted."""
    if ignores_cancel:
        call.on_cancel = "ignore"
    step = 0
    while True:
        step += 1
        call.sleep(interval_s)
        call.progress(step, message=f"{step} steps, no end in sight")


def task_changes_token(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Report progress under another token half-way."""
    _task(call)
    work(call, steps // 2, steps, interval_s)
    if call.token is not None:
        call.token = f"not-{call.token}"
    work(call, steps, steps, interval_s)
    return text_result("Changed its token half-way.")


def task_forgets_id(call: Call, after_polls: int, interval_s: float) -> None:
    """Be unknown to the server after it was asked for some times."""
    _task(call)
    task_never_ends(call, interval_s, ignores_cancel=False)


def task_result_early(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Have a result before the end, and another one then."""
    _task(call)
    work(call, steps, steps, interval_s)
    return text_result("The result at the end.")


def task_status_after_end(call: Call, steps: int, late: int, interval_s: float) -> None:
    """Go on telling states and progress when all is over."""
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
    """Answer with a plain result, whatever was wanted."""
    work(call, steps, steps, interval_s)
    return text_result("A plain answer.")


def task_unasked(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Become a task that nobody wanted, or that the client cannot know."""
    work(call, steps, steps, interval_s)
    return text_result("Done, as a task nobody asked for.")


def task_wrong_fields(call: Call, fault: str, steps: int, interval_s: float) -> JsonObject:
    """Have a member with a wrong value or type in every shape."""
    _task(call)
    work(call, steps, steps, interval_s)
    return text_result(f"Had this fault: {fault}.")


def task_wrong_shape(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Begin in the shape of the other era."""
    _task(call)
    work(call, steps, steps, interval_s)
    return text_result("Began in the shape of the other era.")


def task_repeats_key(call: Call, interval_s: float) -> JsonObject:
    """Ask two questions under one key."""
    task = _task(call)
    if task.terms.is_core:
        raise RefusedError("Only tasks of the extension list their questions under keys.")
    for message in ("Who are you?", "And who is your friend?"):
        call.sleep(interval_s)
        query = queries.form(call.dialect, "same-key", message=message)
        task.ask({query.key: query.request})
        while task.given is None:
            call.sleep(POLL_S)
    return text_result("Asked twice under one key.")


def task_sends_progress(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Report progress, which tasks of the extension must not."""
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
"""What `task_jumps_states` can do: a name, and the states after the first."""


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
        "Works step by step; refuses to be called plainly.",
        record(steps=steps(10), interval_s=interval(0.5)),
        tasks=FaultyTraits("required"),
    ),
    Tool(
        task_forbidden,
        "Never as a task",
        "Works step by step; refuses to be called as a task.",
        record(steps=steps(5), interval_s=interval(0.3)),
        tasks=FaultyTraits("forbidden"),
    ),
    Tool(
        task_fails,
        "Task that fails",
        "Fails half-way, with an error of the protocol or of the tool.",
        record(
            how=choice("Which kind of error", "rpc_error", "is_error"),
            at_tick=integer("The tick after which it fails; 0 is at once", 5, 0, 1_000_000),
            steps=steps(10),
            interval_s=interval(0.3),
        ),
        tasks=OPTIONAL,
    ),
    Tool(
        task_cooperative,
        "Task that stops slowly",
        "When cancelled goes on for a while, then stops or is done (2026-07-28).",
        record(
            steps=steps(60),
            interval_s=interval(0.5),
            goes_on_s=number("Seconds it goes on when asked to stop", 3, 0, 3_600),
            ends_as=choice("How it ends then", "cancelled", "completed"),
        ),
        tasks=OPTIONAL,
    ),
    _tool(
        task_jumps_states,
        "Task that jumps",
        "Breaks a rule: its states come in an order that is not allowed.",
        record(jump=choice("Which order", *JUMPS), interval_s=interval(0.5)),
        _starts,
    ),
    _tool(
        task_never_ends,
        "Task without end",
        "Works for ever, and if wanted does not listen to cancelling.",
        record(interval_s=interval(1), ignores_cancel=flag("Go on when cancelled, too")),
        _ignores,
    ),
    _tool(
        task_changes_token,
        "Task that changes its token",
        "Breaks a rule: progress comes under another token half-way (2025-11-25).",
        _FEW,
    ),
    _tool(
        task_forgets_id,
        "Task that is forgotten",
        "Breaks a rule: is unknown when it was asked for some times.",
        record(
            after_polls=integer("After how many tasks/get", 3, 0, 1_000_000),
            interval_s=interval(0.5),
        ),
        _forgets,
    ),
    _tool(
        task_result_early,
        "Task with an early result",
        "Breaks a rule: gives a result while it works.",
        _FEW,
        _has_early_result,
    ),
    _tool(
        task_status_after_end,
        "Task that lives on",
        "Breaks a rule: tells states and progress after its end.",
        record(
            steps=steps(3),
            late=integer("How many states after the end", 3, 1, 1_000),
            interval_s=interval(0.3),
        ),
    ),
    Tool(
        task_answers_plainly,
        "Plain answer to a task",
        "Breaks a rule: answers plainly when a task is wanted (2025-11-25).",
        _FEW,
        tasks=FaultyTraits("required", becomes="never"),
    ),
    Tool(
        task_unasked,
        "Task nobody wanted",
        "Breaks a rule: becomes a task when it must not.",
        _FEW,
        tasks=FaultyTraits("", becomes="always"),
    ),
    _tool(
        task_wrong_fields,
        "Task with a wrong member",
        "Breaks a rule: a member of the task is wrong or missing.",
        record(
            fault=choice("Which of them", *WRONG_FIELDS), steps=steps(6), interval_s=interval(0.3)
        ),
        _distorts,
    ),
    _tool(
        task_wrong_shape,
        "Task in the wrong shape",
        "Breaks a rule: begins in the shape of the other era.",
        _FEW,
        _is_of_other_era,
    ),
    _tool(
        task_repeats_key,
        "Task that repeats a key",
        "Breaks a rule: asks two questions under one key (2026-07-28).",
        record(interval_s=interval(0.3)),
    ),
    _tool(
        task_sends_progress,
        "Task that reports progress",
        "Breaks a rule: sends progress, which tasks of 2026-07-28 have none of.",
        _FEW,
    ),
)
