"""Tools that use more of a session: questions, tasks, log messages, lists that change."""

import json
import uuid
from typing import Final

from mcp_progress_monitor.demo import queries
from mcp_progress_monitor.demo.call import LEVELS, Call, RefusedError
from mcp_progress_monitor.demo.queries import Asked, Asker, answer
from mcp_progress_monitor.demo.questions import LISTS
from mcp_progress_monitor.demo.resources import COUNTER
from mcp_progress_monitor.demo.tool import (
    NO_ARGUMENTS,
    TaskTraits,
    Tool,
    choice,
    integer,
    record,
    text,
)
from mcp_progress_monitor.demo.tools.progress import interval, steps
from mcp_progress_monitor.demo.wire import JsonObject, notification, text_result

_PAGE: Final = "https://example.com/sign-in?for=demo"
_SIGN_IN_S: Final = 1


def ask_form(call: Call, message: str) -> JsonObject:
    return outcome(Asker(call, [queries.form(call.dialect, message=message)]).ask())


def ask_url(call: Call, url: str, message: str) -> JsonObject:
    """Ask the user to visit a URL, and report when that is complete."""
    require_rich(call)
    elicitation_id = str(uuid.uuid4())
    query = queries.url(call.dialect, url, message, elicitation_id)
    asked = Asker(call, [query]).ask()
    if not call.dialect.is_per_request and asked[0].result.get("action") == "accept":
        call.sleep(_SIGN_IN_S)
        params = {"elicitationId": elicitation_id}
        call.wire.send(notification("notifications/elicitation/complete", params))
    return outcome(asked)


def ask_sampling(call: Call, content: str, max_tokens: int) -> JsonObject:
    query = queries.sampling(queries.said(content), max_tokens=max_tokens)
    return outcome(Asker(call, [query]).ask())


def ask_roots(call: Call) -> JsonObject:
    return outcome(Asker(call, [queries.roots()]).ask())


def outcome(asked: list[Asked]) -> JsonObject:
    return answer("; ".join(_outcome_text(each) for each in asked) or "Nothing was asked", *asked)


def _outcome_text(asked: Asked) -> str:
    name = asked.query.key
    if asked.reply is None:
        return f"{name}: no answer in time"
    if error := asked.reply.get("error"):
        return f"{name}: error {json.dumps(error, ensure_ascii=False)}"
    return f"{name}: {asked.result.get('action') or asked.result.get('model') or 'answered'}"


def require_rich(call: Call) -> None:
    """Refuse revisions before 2025-11-25.

    Raises:
        RefusedError: The revision lacks this kind of question.
    """
    if not call.dialect.has_rich_questions:
        raise RefusedError(f"Revision {call.dialect.version} has no such kind of question.")


def log_levels(call: Call, logger: str, interval_s: float) -> JsonObject:
    for index, level in enumerate(LEVELS, start=1):
        call.sleep(interval_s)
        data = {"message": f"This is {level}", "number": index} if index % 2 else f"This is {level}"
        call.log(level, data, logger)
        call.progress(index, len(LEVELS), f"Logged at level {level}")
    return text_result(f"Logged at {len(LEVELS)} levels; the client received those it requested.")


def change_list(call: Call, list: str) -> JsonObject:  # noqa: A002
    """Add an entry to a list or remove it, and send notifications."""
    extras = call.connection.extras
    extras.symmetric_difference_update({list})
    method = f"notifications/{list}/list_changed"
    sent = call.connection.subscriptions.notify(LISTS[list], None, method, dict)
    if not call.dialect.is_per_request:
        call.wire.announce(notification(method, {}))
        sent += 1
    change = "Added an entry to" if list in extras else "Removed the entry from"
    return text_result(f"{change} the list of {list}; notifications sent: {sent}.")


def update_resource(call: Call, times: int, interval_s: float) -> JsonObject:
    """Increment a counter resource, and notify its subscribers."""
    method, sent = "notifications/resources/updated", 0
    subscriptions, counts = call.connection.subscriptions, call.connection.counts
    for step in range(1, times + 1):
        call.sleep(interval_s)
        counts[COUNTER] = counts.get(COUNTER, 0) + 1
        sent += subscriptions.notify("resourceSubscriptions", COUNTER, method, _counter)
        if subscriptions.has_subscribed(COUNTER):
            call.wire.announce(notification(method, _counter()))
            sent += 1
        call.progress(step, times, f"Counted to {counts[COUNTER]}")
    return text_result(f"{COUNTER} is at {counts[COUNTER]}; notifications sent: {sent}.")


def _counter() -> JsonObject:
    return {"uri": COUNTER}


OPTIONAL: Final = TaskTraits()


def task_work(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Work, with or without a task, which continues after a restart if the server saves tasks."""
    work(call, steps, steps, interval_s)
    return text_result(f"Finished all {steps} steps.")


def task_asks(call: Call, questions: int, steps: int, interval_s: float) -> JsonObject:
    """Work a little, ask, and work again, for each question."""
    total = steps * (questions + 1)
    asked: list[Asked] = []
    for index in range(1, questions + 1):
        work(call, index * steps, total, interval_s)
        text = f"Question {index}: who are you?"
        query = queries.form(call.dialect, f"form-{index}", text, {"name": queries.NAME})
        asked.extend(Asker(call, [query]).ask())
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


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        ask_form,
        "Ask with a form",
        "Asks you to fill in a form, and returns your answer.",
        record(message=text("Message of the question", "Please tell us about yourself.")),
    ),
    Tool(
        ask_url,
        "Ask with a URL",
        "Asks you to visit a URL, and reports when you are done there.",
        record(
            url=text("The URL to visit", _PAGE),
            message=text("Message of the question", "Please sign in to continue."),
        ),
    ),
    Tool(
        ask_sampling,
        "Ask a model",
        "Asks for a language model's reply to a text.",
        record(
            content=text("What to say to the model", "Say hello in one sentence."),
            max_tokens=integer("Maximum length of the reply in tokens", 200, 1, 1_000_000),
        ),
    ),
    Tool(ask_roots, "Ask for roots", "Asks for your root folders.", NO_ARGUMENTS),
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
            steps=integer("Steps before and after each question", 4, 0, 1_000_000),
            interval_s=interval(0.3),
        ),
        tasks=OPTIONAL,
    ),
    Tool(
        log_levels,
        "Log messages",
        "Logs a message at every level; the client receives those it requested.",
        record(logger=text("The logger's name", "demo"), interval_s=interval(0.1)),
    ),
    Tool(
        change_list,
        "Change a list",
        "Adds an entry to a list, or removes it, and sends a notification.",
        record(list=choice("The list to change", *LISTS)),
    ),
    Tool(
        update_resource,
        "Update a resource",
        "Increments demo://counter and notifies its subscribers.",
        record(times=integer("Number of updates", 3, 1, 1_000_000), interval_s=interval(0.5)),
    ),
)
