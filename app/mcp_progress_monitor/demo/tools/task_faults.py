"""Tools whose tasks break the rules, each in the one way its name says."""

import copy
from collections.abc import Callable
from typing import Any, Final

from mcp_progress_monitor.demo import queries
from mcp_progress_monitor.demo.asking import LOOK_EVERY_S
from mcp_progress_monitor.demo.call import Call, RefusedError
from mcp_progress_monitor.demo.messages import JsonObject, progress_notification, text_result
from mcp_progress_monitor.demo.schemas import choice, flag, integer, record
from mcp_progress_monitor.demo.tasks.task import Task
from mcp_progress_monitor.demo.tasks.wrong_fields import REPEATED_ID, WRONG_FIELDS
from mcp_progress_monitor.demo.tool import TaskTraits, Tool
from mcp_progress_monitor.demo.tools.steady import interval, steps
from mcp_progress_monitor.demo.tools.tasks import work


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
            call.sleep(LOOK_EVERY_S)
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


def _forgets(task: Task, arguments: JsonObject) -> None:
    task.faults.polls_until_forgotten = arguments["after_polls"]


def _ignores(task: Task, arguments: JsonObject) -> None:
    task.faults.ignores_cancel = arguments["ignores_cancel"]


def _has_early_result(task: Task, _arguments: JsonObject) -> None:
    task.faults.has_early_result = text_result("The result before the end.")


def _is_of_other_era(task: Task, _arguments: JsonObject) -> None:
    task.faults.is_of_other_era = True


def _distorts(task: Task, arguments: JsonObject) -> None:
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
    prepare: Callable[[Task, Any], None] | None = None,
) -> Tool:
    return Tool(run, title, description, arguments, tasks=TaskTraits(prepare=prepare))


_FEW: Final = record(steps=steps(6), interval_s=interval(0.3))

TOOLS: Final = (
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
        tasks=TaskTraits("required", becomes="never"),
    ),
    Tool(
        task_unasked,
        "Task nobody wanted",
        "Breaks a rule: becomes a task when it must not.",
        _FEW,
        tasks=TaskTraits("", becomes="always"),
    ),
    _tool(
        task_wrong_fields,
        "Task with a wrong member",
        "Breaks a rule: a member of the task is wrong or missing.",
        record(
            fault=choice("Which of them", *WRONG_FIELDS),
            steps=steps(6),
            interval_s=interval(0.3),
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
