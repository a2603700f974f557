"""Tools whose calls can become tasks."""

from typing import Any, Final

from mcp_progress_monitor.demo import queries
from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.queries import MANNER, Asked, Manner, Query, answer, ask
from mcp_progress_monitor.demo.tool import TaskTraits, Tool, flag, integer, record
from mcp_progress_monitor.demo.tools.progress import interval, steps
from mcp_progress_monitor.demo.wire import JsonObject, text_result

OPTIONAL: Final = TaskTraits()


def task_work(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Work, with or without a task, which continues after a restart if the server saves tasks."""
    work(call, steps, steps, interval_s)
    return text_result(f"Finished all {steps} steps.")


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


def work(call: Call, upto: int, total: int, interval_s: float) -> None:
    """Do the steps up to `upto` that were not done yet, including before a restart."""
    done = 0 if call.task is None else call.task.state.checkpoint
    for step in range(done + 1, upto + 1):
        call.sleep(interval_s)
        if call.task is not None:
            call.task.state.checkpoint = step
        call.progress(step, total, f"Step {step} of {total}")


def _forms(call: Call, first: int, last: int) -> list[Query]:
    return [
        queries.form(call.dialect, f"form-{index}", message=f"Question {index}: who are you?")
        for index in range(first, last + 1)
    ]


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        task_work,
        "Task",
        "Works step by step, optionally as a task.",
        record(steps=steps(20), interval_s=interval(0.5)),
        tasks=OPTIONAL,
    ),
    Tool(
        task_asks,
        "Task with questions",
        "Works, asks questions, and continues with the answers.",
        record(
            questions=integer("Number of questions", 1, 1, 20),
            together=flag("Ask all questions at the same time"),
            steps=integer("Steps before and after each question", 4, 0, 1_000_000),
            interval_s=interval(0.3),
            at_once=flag("Ask even before tasks/result is pending (2025-11-25)"),
            **MANNER,
        ),
        tasks=OPTIONAL,
    ),
)
