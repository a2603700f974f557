"""Tools that ask several questions, ask repeatedly, or send other requests to the client."""

import json
import time
from typing import Any, Final

from mcp_progress_monitor.demo import queries
from mcp_progress_monitor.demo.call import Call, RefusedError
from mcp_progress_monitor.demo.queries import POLL_S, Asked, Query, answer
from mcp_progress_monitor.demo.questions import InputRequiredError
from mcp_progress_monitor.demo.tool import Tool, choice, flag, integer, number, record, text
from mcp_progress_monitor.demo.tools.progress import interval, steps
from mcp_progress_monitor.demo.tools.questions import outcome, require_rich
from mcp_progress_monitor.demo.wire import JsonObject, text_result
from tests.servers.asking import FIELDS, MANNER, STATES, Manner, ask, form, sampling_with_tools


def ask_form(call: Call, fields: str, message: str, **manner: Any) -> JsonObject:
    query = form(call.dialect, fields=fields, message=message)
    return outcome(ask(call, [query], Manner(**manner)))


def ask_sampling_loop(call: Call, turns: int, **manner: Any) -> JsonObject:
    """Let a language model use tools, turn by turn."""
    require_rich(call)
    messages = queries.said("How is the weather in Bern?")
    all_asked: list[Asked] = []
    for turn in range(1, turns + 1):
        mode = "auto" if turn < turns else "none"
        query = sampling_with_tools(messages, f"turn-{turn}", mode)
        (asked,) = ask(call, [query], Manner(**manner))
        all_asked.append(asked)
        uses = _tool_uses(asked)
        if not uses:
            break
        results = {"role": "user", "content": [_tool_result(use) for use in uses]}
        messages = [*messages, _assistant(asked), results]
    return answer(f"The model answered in turn {len(all_asked)} of {turns}.", *all_asked)


def ask_together(call: Call, count: int, **manner: Any) -> JsonObject:
    """Ask several questions at the same time."""
    return outcome(ask(call, _mixed(call, count), Manner(**manner)))


def ask_rounds(call: Call, rounds: int, state_is: str, **manner: Any) -> JsonObject:
    """Ask one question after the other."""
    asked: list[Asked] = []
    for number_of_round in range(1, rounds + 1):
        message = f"Question {number_of_round} of {rounds}: what is your name?"
        query = _question(call, f"round-{number_of_round}", message, is_form=True)
        asked.extend(ask(call, [query], Manner(**manner, state_is=state_is)))
        call.progress(number_of_round, rounds, f"Answered {number_of_round} of {rounds}")
    return outcome(asked)


def ask_while_working(
    call: Call, steps: int, interval_s: float, at_step: int, questions: int, **manner: Any
) -> JsonObject:
    """Work, ask in between, and continue; a retried call does not start from the beginning."""
    asked: list[Asked] = []
    is_again = "requestState" in call.params
    for step in range(at_step if is_again else 1, steps + 1):
        if step != at_step or not is_again:
            call.sleep(interval_s)
            call.progress(step, steps, f"Step {step} of {steps}")
        if step == at_step:
            asked = ask(call, _mixed(call, questions), Manner(**manner))
    return outcome(asked)


def state_only(call: Call, rounds: int, interval_s: float) -> JsonObject:
    """Require several retries of the call with nothing but its requestState."""
    if not call.dialect.is_per_request:
        raise RefusedError("Only revision 2026-07-28 has calls that are retried.")
    done = 0
    while call.replay.next() is not None:
        done += 1
    if done < rounds:
        call.sleep(interval_s)
        call.progress(done + 1, rounds, f"Called {done + 1} times")
        raise InputRequiredError({})
    return text_result(f"Was called again {done} times.")


def _mixed(call: Call, count: int) -> list[Query]:
    """Return forms and sampling requests in turn."""
    return [
        _question(
            call,
            f"form-{index}" if index % 2 else f"sampling-{index}",
            f"Question {index} of {count}: who are you?",
            is_form=bool(index % 2),
        )
        for index in range(1, count + 1)
    ]


def _question(call: Call, key: str, message: str, *, is_form: bool) -> Query:
    """Return a form, or a sampling request if the revision has no forms."""
    if is_form and call.dialect.has_elicitation:
        return form(call.dialect, key, message=message)
    return queries.sampling(queries.said(message), key)


def _content(asked: Asked) -> list[JsonObject]:
    content = asked.result.get("content", [])
    blocks = content if isinstance(content, list) else [content]
    return [block for block in blocks if isinstance(block, dict)]


def _tool_uses(asked: Asked) -> list[JsonObject]:
    return [block for block in _content(asked) if block.get("type") == "tool_use"]


def _assistant(asked: Asked) -> JsonObject:
    return {"role": "assistant", "content": _content(asked)}


def _tool_result(use: JsonObject) -> JsonObject:
    content = [{"type": "text", "text": f"{use.get('name')} says: 12 degrees, light rain"}]
    return {"type": "tool_result", "toolUseId": str(use.get("id")), "content": content}


_ROUNDS: Final = integer("How many rounds; clients give up after ten", 3, 1, 1_000)


def ask_client(
    call: Call, method: str, count: int, timeout_s: float, even_if_forbidden: bool
) -> JsonObject:
    """Send requests to the client and return its replies."""
    if call.dialect.is_per_request and not even_if_forbidden:
        refusal = f"Servers send no requests in revision {call.dialect.version}."
        return text_result(refusal, is_error=True)
    replies: list[JsonObject | None] = []
    for number_of_question in range(1, count + 1):
        replies.append(_ask(call, method, timeout_s))
        call.progress(number_of_question, count, f"Asked {method}")
    return text_result(*[json.dumps(reply) for reply in replies])


def _ask(call: Call, method: str, timeout_s: float) -> JsonObject | None:
    question = call.questions.ask(method, {})
    deadline = time.monotonic() + timeout_s
    try:
        while question.reply is None and time.monotonic() < deadline:
            call.sleep(POLL_S)
        return question.reply
    finally:
        call.questions.forget(question)


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        ask_form,
        "Ask with a form",
        "Asks you to fill in a form, and returns your answer.",
        record(
            fields=choice("Fields of the form", *FIELDS),
            message=text("Message of the question", "Please tell us about yourself."),
            **MANNER,
        ),
    ),
    Tool(
        ask_sampling_loop,
        "Ask a model with tools",
        "Lets your language model use tools, turn by turn; in the last turn it must answer.",
        record(turns=integer("How many turns at most", 2, 1, 20), **MANNER),
    ),
    Tool(
        ask_together,
        "Ask several things",
        "Sends a form, a sampling request, and so on, all at the same time.",
        record(count=integer("How many questions", 2, 1, 50), **MANNER),
    ),
    Tool(
        ask_rounds,
        "Ask again and again",
        "Asks one question after the other.",
        record(rounds=_ROUNDS, state_is=choice("What requestState is like", *STATES), **MANNER),
    ),
    Tool(
        ask_while_working,
        "Ask while working",
        "Reports progress, asks in the middle of its work, and continues.",
        record(
            steps=steps(10),
            interval_s=interval(0.3),
            at_step=integer("After which step it asks", 5, 1, 1_000_000),
            questions=integer("How many questions at the same time", 1, 1, 50),
            **MANNER,
        ),
    ),
    Tool(
        state_only,
        "State without questions",
        "Requires a retry with its requestState and nothing else (2026-07-28).",
        record(rounds=_ROUNDS, interval_s=interval(0.5)),
    ),
    Tool(
        ask_client,
        "Ask the client",
        "Sends requests to you and returns your replies; null if there was none in time.",
        record(
            method=choice("What to ask", "ping", "roots/list", "demo/no_such_method"),
            count=integer("How often", 1, 1, 10_000),
            timeout_s=number("Seconds to wait for each answer", 5, 0, 600),
            even_if_forbidden=flag("Also ask in revisions that do not allow it"),
        ),
    ),
)
