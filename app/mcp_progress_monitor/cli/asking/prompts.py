"""Asking the user at the terminal: each kind of question in its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.cli.asking.form_prompt import fill_in
from mcp_progress_monitor.cli.asking.sampling_prompt import answer_as_model
from mcp_progress_monitor.cli.asking.url_prompt import visit_page
from mcp_progress_monitor.sessions.questions import Accept, Refused

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.asking.dialogue import Dialogue
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.questions import Answer, Question

_WORDS = {
    "form": "asks for some input",
    "url": "asks you to visit a page",
    "sampling": "asks for the answer of a language model",
    "roots": "asks which folders it may work on",
}


async def prompt(question: Question, dialogue: Dialogue, call: str, earlier: JsonObject) -> Answer:
    """The user's answer. `call` names what is being called, empty when that is not known.

    `earlier` is the content that was typed before and does not fit. `HungUpError` when nobody is
    there.
    """
    whose = f"{question.server}, for {call}," if call else question.server
    dialogue.begin(f"{whose} {_WORDS[question.kind]}")
    if question.problem:
        dialogue.say(f"There is something wrong with this question: {question.problem}")
    match question.kind:
        case "form":
            return await fill_in(question, dialogue, earlier)
        case "url":
            return await visit_page(question, dialogue)
        case "sampling":
            return await answer_as_model(question, dialogue)
        case _:
            return await _list_roots(dialogue)


async def _list_roots(dialogue: Dialogue) -> Answer:
    """Addresses of folders, one a line."""
    if await dialogue.choose("Tell it?", ("yes", "no"), default="no") == "no":
        return Refused("User rejected listing roots")
    roots = []
    while address := await dialogue.ask("A file:// address, nothing ends the list"):
        if address.startswith("file://"):
            roots.append({"uri": address})
        else:
            dialogue.say("That does not begin with file://", indent="    ")
    return Accept({"roots": roots})
