"""Tools that ask the user, a language model or the client, as each revision requires.

Each returns two texts: a summary, and as JSON the client's replies and the phases that it reported
meanwhile (`queries.Asked.as_json`).
"""

import json
import uuid
from typing import Any, Final

from mcp_progress_monitor.demo import queries
from mcp_progress_monitor.demo.call import Call, RefusedError
from mcp_progress_monitor.demo.queries import MANNER, Asked, Manner, answer, ask
from mcp_progress_monitor.demo.tool import Tool, choice, flag, integer, number, record, text
from mcp_progress_monitor.demo.wire import URL_NEEDED, JsonObject, RpcError, notification

_PAGE: Final = "https://example.com/sign-in?for=demo"


def ask_form(call: Call, fields: str, message: str, **manner: Any) -> JsonObject:
    query = queries.form(call.dialect, fields=fields, message=message)
    return outcome(ask(call, [query], Manner(**manner)))


def ask_url(
    call: Call, url: str, message: str, complete_after_s: float, as_error: bool, **manner: Any
) -> JsonObject:
    """Ask the user to visit a URL, and report when that is complete."""
    require_rich(call)
    elicitation_id = str(uuid.uuid4())
    query = queries.url(call.dialect, url, message, elicitation_id)
    if as_error and not call.dialect.is_per_request:
        raise RpcError(URL_NEEDED, message, {"elicitations": [query.params]})
    asked = ask(call, [query], Manner(**manner))
    if not call.dialect.is_per_request and asked[0].result.get("action") == "accept":
        call.sleep(complete_after_s)
        params = {"elicitationId": elicitation_id}
        call.wire.send(notification("notifications/elicitation/complete", params))
    return outcome(asked)


def ask_sampling(
    call: Call, content: str, has_tools: bool, tool_choice: str, max_tokens: int, **manner: Any
) -> JsonObject:
    if has_tools or content == "conversation":
        require_rich(call)
    choice_ = tool_choice if has_tools else None
    query = queries.sampling(_messages(content), "sampling", max_tokens, choice_)
    return outcome(ask(call, [query], Manner(**manner)))


def ask_roots(call: Call, **manner: Any) -> JsonObject:
    return outcome(ask(call, [queries.roots()], Manner(**manner)))


def outcome(asked: list[Asked]) -> JsonObject:
    return answer("; ".join(_outcome_text(each) for each in asked) or "Nothing was asked", *asked)


def _outcome_text(asked: Asked) -> str:
    name = asked.query.key
    if asked.reply is None:
        return f"{name}: no answer in time"
    if error := asked.reply.get("error"):
        return f"{name}: error {json.dumps(error, ensure_ascii=False)}"
    return f"{name}: {asked.result.get('action') or asked.result.get('model') or 'answered'}"


def _messages(content: str) -> list[JsonObject]:
    if content == "image":
        question = queries.text("How full is the bar in this picture?")
        return [queries.said("user", queries.picture()), queries.said("user", question)]
    if content == "conversation":
        look = queries.said("user", queries.text("Look at this."), queries.picture())
        reply = queries.said("assistant", queries.text("I see a bar."))
        return [look, reply, queries.said("user", queries.text("How full is it?"))]
    return [queries.said("user", queries.text("Say hello in one sentence."))]


def require_rich(call: Call) -> None:
    """Refuse revisions before 2025-11-25.

    Raises:
        RefusedError: The revision lacks this kind of question.
    """
    if not call.dialect.has_rich_questions:
        raise RefusedError(f"Revision {call.dialect.version} has no such kind of question.")


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        ask_form,
        "Ask with a form",
        "Asks you to fill in a form, and returns your answer.",
        record(
            fields=choice("Fields of the form", *queries.FIELDS),
            message=text("Message of the question", "Please tell us about yourself."),
            **MANNER,
        ),
    ),
    Tool(
        ask_url,
        "Ask with a URL",
        "Asks you to visit a URL, and reports when you are done there.",
        record(
            url=text("The URL to visit", _PAGE),
            message=text("Message of the question", "Please sign in to continue."),
            complete_after_s=number("Seconds until completion is reported", 1, 0, 3_600),
            as_error=flag("Reply with error -32042 instead of asking (2025-11-25)"),
            **MANNER,
        ),
    ),
    Tool(
        ask_sampling,
        "Ask a model",
        "Requests a completion for a text, an image or a conversation, optionally with tools.",
        record(
            content=choice("Content of the request", "text", "image", "conversation"),
            has_tools=flag("Offer two tools to the model"),
            tool_choice=choice("Tool use", "auto", "required", "none"),
            max_tokens=integer("Maximum length of the reply in tokens", 200, 1, 1_000_000),
            **MANNER,
        ),
    ),
    Tool(ask_roots, "Ask for roots", "Asks for your root folders.", record(**MANNER)),
)
