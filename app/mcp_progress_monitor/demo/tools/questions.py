"""Tools that ask the user, a language model or the client's settings, in the way of each revision.

Each answers with two texts: words, and as JSON what the client replied to every question and which
phases it reported while that was open (`demo.asking.Asked.told`).
"""

import json
import uuid
from typing import Any, Final

from mcp_progress_monitor.demo import queries
from mcp_progress_monitor.demo.asking import MANNER, Asked, Manner, Query, answer, ask
from mcp_progress_monitor.demo.call import Call, RefusedError
from mcp_progress_monitor.demo.messages import (
    URL_NEEDED,
    JsonObject,
    RpcError,
    notification,
    text_result,
)
from mcp_progress_monitor.demo.rounds import STATES, InputRequiredError
from mcp_progress_monitor.demo.schemas import choice, flag, integer, number, record, text
from mcp_progress_monitor.demo.tool import Tool
from mcp_progress_monitor.demo.tools.steady import interval, steps

_PAGE: Final = "https://example.com/sign-in?for=demo"


def ask_form(call: Call, fields: str, message: str, **manner: Any) -> JsonObject:
    """Ask the user to fill in a form."""
    query = queries.form(call.dialect, fields=fields, message=message)
    return _told(ask(call, [query], Manner(**manner)))


def ask_url(
    call: Call, url: str, message: str, complete_after_s: float, as_error: bool, **manner: Any
) -> JsonObject:
    """Send the user to an address, and tell when what is to be done there is done."""
    _require_rich(call)
    elicitation_id = str(uuid.uuid4())
    query = queries.url(call.dialect, url, message, elicitation_id)
    if as_error and not call.dialect.is_per_request:
        raise RpcError(URL_NEEDED, message, {"elicitations": [query.params]})
    asked = ask(call, [query], Manner(**manner))
    if not call.dialect.is_per_request and asked[0].result.get("action") == "accept":
        call.sleep(complete_after_s)
        params = {"elicitationId": elicitation_id}
        call.wire.send(notification("notifications/elicitation/complete", params))
    return _told(asked)


def ask_sampling(
    call: Call, content: str, has_tools: bool, tool_choice: str, max_tokens: int, **manner: Any
) -> JsonObject:
    """Ask a language model of the client's."""
    if has_tools or content == "conversation":
        _require_rich(call)
    choice_ = tool_choice if has_tools else None
    query = queries.sampling(_messages(content), "sampling", max_tokens, choice_)
    return _told(ask(call, [query], Manner(**manner)))


def ask_sampling_loop(call: Call, turns: int, **manner: Any) -> JsonObject:
    """Let a language model use tools: it asks for them, gets what they say, and goes on."""
    _require_rich(call)
    messages = [queries.said("user", queries.text("How is the weather in Bern?"))]
    all_asked: list[Asked] = []
    for turn in range(1, turns + 1):
        mode = "auto" if turn < turns else "none"
        query = queries.sampling(messages, f"turn-{turn}", tool_choice=mode)
        (asked,) = ask(call, [query], Manner(**manner))
        all_asked.append(asked)
        uses = _tool_uses(asked)
        if not uses:
            break
        messages = [*messages, _assistant(asked), queries.said("user", *map(_tool_result, uses))]
    return answer(f"The model answered in turn {len(all_asked)} of {turns}.", *all_asked)


def ask_roots(call: Call, **manner: Any) -> JsonObject:
    """Ask for the folders the client works in."""
    return _told(ask(call, [queries.roots()], Manner(**manner)))


def ask_together(call: Call, count: int, **manner: Any) -> JsonObject:
    """Ask several questions at the same time."""
    return _told(ask(call, _mixed(call, count), Manner(**manner)))


def ask_rounds(call: Call, rounds: int, state_is: str, **manner: Any) -> JsonObject:
    """Ask one question after the other."""
    asked: list[Asked] = []
    for number_of_round in range(1, rounds + 1):
        words = f"Question {number_of_round} of {rounds}: what is your name?"
        query = _question(call, f"round-{number_of_round}", words, is_form=True)
        asked.extend(ask(call, [query], Manner(**manner, state_is=state_is)))
        call.progress(number_of_round, rounds, f"Answered {number_of_round} of {rounds}")
    return _told(asked)


def ask_while_working(
    call: Call, steps: int, interval_s: float, at_step: int, questions: int, **manner: Any
) -> JsonObject:
    """Work, ask in the middle of it, and go on working; not from the start when made again."""
    asked: list[Asked] = []
    is_again = "requestState" in call.params
    for step in range(at_step if is_again else 1, steps + 1):
        if step != at_step or not is_again:
            call.sleep(interval_s)
            call.progress(step, steps, f"Step {step} of {steps}")
        if step == at_step:
            asked = ask(call, _mixed(call, questions), Manner(**manner))
    return _told(asked)


def state_only(call: Call, rounds: int, interval_s: float) -> JsonObject:
    """Want to be called again some times, with nothing but what was sent."""
    if not call.dialect.is_per_request:
        raise RefusedError("Only revision 2026-07-28 has calls that are made again.")
    done = 0
    while call.replay.next() is not None:
        done += 1
    if done < rounds:
        call.sleep(interval_s)
        call.progress(done + 1, rounds, f"Called {done + 1} times")
        raise InputRequiredError({})
    return text_result(f"Was called again {done} times.")


def _told(asked: list[Asked]) -> JsonObject:
    return answer("; ".join(_words(each) for each in asked) or "Nothing was asked", *asked)


def _words(asked: Asked) -> str:
    name = asked.query.key
    if asked.reply is None:
        return f"{name}: no answer in time"
    if error := asked.reply.get("error"):
        return f"{name}: error {json.dumps(error, ensure_ascii=False)}"
    said = asked.result.get("action") or asked.result.get("model") or "answered"
    return f"{name}: {said}"


def _mixed(call: Call, count: int) -> list[Query]:
    """Return a form, a sampling, and forms and samplings in turn."""
    return [
        _question(
            call,
            f"form-{index}" if index % 2 else f"sampling-{index}",
            f"Question {index} of {count}: who are you?",
            is_form=bool(index % 2),
        )
        for index in range(1, count + 1)
    ]


def _question(call: Call, key: str, words: str, *, is_form: bool) -> Query:
    """Return a form, or a sampling where the revision has no forms."""
    if is_form and call.dialect.has_elicitation:
        return queries.form(call.dialect, key, message=words)
    return queries.sampling([queries.said("user", queries.text(words))], key)


def _messages(content: str) -> list[JsonObject]:
    if content == "image":
        question = queries.text("How full is the bar in this picture?")
        return [queries.said("user", queries.picture()), queries.said("user", question)]
    if content == "conversation":
        look = queries.said("user", queries.text("Look at this."), queries.picture())
        reply = queries.said("assistant", queries.text("I see a bar."))
        return [look, reply, queries.said("user", queries.text("How full is it?"))]
    return [queries.said("user", queries.text("Say hello in one sentence."))]


def _content(asked: Asked) -> list[JsonObject]:
    content = asked.result.get("content", [])
    blocks = content if isinstance(content, list) else [content]
    return [block for block in blocks if isinstance(block, dict)]


def _tool_uses(asked: Asked) -> list[JsonObject]:
    return [block for block in _content(asked) if block.get("type") == "tool_use"]


def _assistant(asked: Asked) -> JsonObject:
    return {"role": "assistant", "content": _content(asked)}


def _tool_result(use: JsonObject) -> JsonObject:
    said = f"{use.get('name')} says: 12 degrees, light rain"
    content = [queries.text(said)]
    return {"type": "tool_result", "toolUseId": str(use.get("id")), "content": content}


def _require_rich(call: Call) -> None:
    if not call.dialect.has_rich_questions:
        raise RefusedError(f"Revision {call.dialect.version} does not know this kind of question.")


_ROUNDS: Final = integer("How many rounds; clients give up after ten", 3, 1, 1_000)

TOOLS: Final = (
    Tool(
        ask_form,
        "Ask with a form",
        "Asks you to fill in a form, and tells what you answered.",
        record(
            fields=choice("Which fields the form has", *queries.FIELDS),
            message=text("What it says", "Please tell us about yourself."),
            **MANNER,
        ),
    ),
    Tool(
        ask_url,
        "Ask with an address",
        "Asks you to visit an address, and tells when all is done there.",
        record(
            url=text("Where to go", _PAGE),
            message=text("What it says", "Please sign in to go on."),
            complete_after_s=number("Seconds until all is done there", 1, 0, 3_600),
            as_error=flag("Answer with error -32042 in place of asking (2025-11-25)"),
            **MANNER,
        ),
    ),
    Tool(
        ask_sampling,
        "Ask a model",
        "Asks your language model, with text, a picture or a conversation, with tools if wanted.",
        record(
            content=choice("What is sent", "text", "image", "conversation"),
            has_tools=flag("Offer the model two tools"),
            tool_choice=choice("Whether the model uses tools", "auto", "required", "none"),
            max_tokens=integer("The longest answer", 200, 1, 1_000_000),
            **MANNER,
        ),
    ),
    Tool(
        ask_sampling_loop,
        "Ask a model with tools",
        "Lets your language model use tools, turn by turn; in the last turn it must answer.",
        record(turns=integer("How many turns at most", 2, 1, 20), **MANNER),
    ),
    Tool(ask_roots, "Ask for roots", "Asks which folders you work in.", record(**MANNER)),
    Tool(
        ask_together,
        "Ask several things",
        "Asks a form, a sampling, and so on, all at the same time.",
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
        "Reports progress, asks in the middle of its work, and goes on.",
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
        "Wants to be called again with its requestState and nothing else (2026-07-28).",
        record(rounds=_ROUNDS, interval_s=interval(0.5)),
    ),
)
