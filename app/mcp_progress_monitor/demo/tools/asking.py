"""Tools that ask the client something while their call is running."""

import json
import time
from typing import Final

from mcp_progress_monitor.demo.asking import LOOK_EVERY_S
from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.messages import JsonObject, text_result
from mcp_progress_monitor.demo.schemas import choice, flag, integer, number, record
from mcp_progress_monitor.demo.tool import Tool


def ask_client(
    call: Call,
    method: str,
    count: int,
    timeout_s: float,
    even_if_forbidden: bool,
) -> JsonObject:
    """Send requests to the client and answer with what it said to each."""
    if call.dialect.is_per_request and not even_if_forbidden:
        text = f"Servers send no requests in revision {call.dialect.version}."
        return text_result(text, is_error=True)
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
            call.sleep(LOOK_EVERY_S)
        return question.reply
    finally:
        call.questions.forget(question)


TOOLS: Final = (
    Tool(
        ask_client,
        "Ask the client",
        "Sends requests to you and tells what you answered; null is no answer in time.",
        record(
            method=choice("What to ask", "ping", "roots/list", "demo/no_such_method"),
            count=integer("How often", 1, 1, 10_000),
            timeout_s=number("Seconds to wait for each answer", 5, 0, 600),
            even_if_forbidden=flag("Ask in revisions that do not allow it, too"),
        ),
    ),
)
