"""Tools whose calls become tasks, as they should."""

import time
from typing import Any, Final

from mcp_progress_monitor.demo import queries
from mcp_progress_monitor.demo.asking import MANNER, Asked, Manner, Query, answer, ask
from mcp_progress_monitor.demo.call import Call, CancelledCallError
from mcp_progress_monitor.demo.messages import INTERNAL_ERROR, JsonObject, RpcError, text_result
from mcp_progress_monitor.demo.schemas import choice, flag, integer, number, record
from mcp_progress_monitor.demo.tool import TaskTraits, Tool
from mcp_progress_monitor.demo.tools.steady import interval, steps

_OPTIONAL: Final = TaskTraits()


def task_work(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Work, as a task or plainly, and go on where it was if the server was started again."""
    work(call, steps, steps, interval_s)
    return text_result(f"Finished all {steps} steps.")


def task_required(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Work, only as a task."""
    return task_work(call, steps, interval_s)


def task_forbidden(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Work, never as a task."""
    return task_work(call, steps, interval_s)


def task_asks(
    call: Call,
    questions: int,
    together: bool,
    steps: int,
    interval_s: float,
    at_once: bool,
    **manner: Any,
) -> JsonObject:
    """Work a little, ask, and work again, for each question or for all at the same time."""
    how = Manner(**manner, at_once=at_once)
    batches = [_forms(call, 1, questions)] if together else []
    batches = batches or [_forms(call, index, index) for index in range(1, questions + 1)]
    total = steps * (len(batches) + 1)
    asked: list[Asked] = []
    for index, batch in enumerate(batches, start=1):
        work(call, index * steps, total, interval_s)
        asked.extend(ask(call, batch, how))
    work(call, total, total, interval_s)
    return answer(f"Got {len(asked)} answers.", *asked)


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


def work(call: Call, upto: int, total: int, interval_s: float) -> None:
    """Do the steps up to one that were not done yet, even by a server before us."""
    done = 0 if call.task is None else call.task.state.checkpoint
    for step in range(done + 1, upto + 1):
        call.sleep(interval_s)
        if call.task is not None:
            call.task.state.checkpoint = step
        call.progress(step, total, f"Step {step} of {total}")


def _tidy_up(call: Call, goes_on_s: float) -> None:
    """Go on for a while although asked to stop, and say so."""
    deadline = time.monotonic() + goes_on_s
    if call.task is not None:
        call.task.change("working", "Asked to stop, tidying up")
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, 0.1))


def _forms(call: Call, first: int, last: int) -> list[Query]:
    return [
        queries.form(call.dialect, f"form-{index}", message=f"Question {index}: who are you?")
        for index in range(first, last + 1)
    ]


TOOLS: Final = (
    Tool(
        task_work,
        "Task",
        "Works step by step, as a task if you want; goes on when the server was started again.",
        record(steps=steps(20), interval_s=interval(0.5)),
        tasks=_OPTIONAL,
    ),
    Tool(
        task_required,
        "Only as a task",
        "Works step by step; refuses to be called plainly.",
        record(steps=steps(10), interval_s=interval(0.5)),
        tasks=TaskTraits("required"),
    ),
    Tool(
        task_forbidden,
        "Never as a task",
        "Works step by step; refuses to be called as a task.",
        record(steps=steps(5), interval_s=interval(0.3)),
        tasks=TaskTraits("forbidden"),
    ),
    Tool(
        task_asks,
        "Task with questions",
        "Works, needs your answer, and works again.",
        record(
            questions=integer("How many questions", 1, 1, 20),
            together=flag("Ask all of them at the same time"),
            steps=integer("How many steps before and after each question", 4, 0, 1_000_000),
            interval_s=interval(0.3),
            at_once=flag("Ask before tasks/result is open, too (2025-11-25)"),
            **MANNER,
        ),
        tasks=_OPTIONAL,
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
        tasks=_OPTIONAL,
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
        tasks=_OPTIONAL,
    ),
)
