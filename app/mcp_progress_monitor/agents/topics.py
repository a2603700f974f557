"""Explanations for agents: rules, states, fields of filters and exit codes."""

from __future__ import annotations

import difflib
import functools
import re
from typing import Final

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.filtering.fields import FIELDS
from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.findings.rules import RULES
from mcp_progress_monitor.paths import manual

_STATES: Final = {
    "running": "The request waits for its reply.",
    "stalled": "Running, but silent for much longer than its usual interval between ticks.",
    "needs_you": "Running; the server is waiting for the user to answer a question.",
    "cancelling": "A cancel was sent; the other side has not confirmed it yet.",
    "resumable": "It stopped, and the server returned a resume token to continue with.",
    "done": "Answered with a result.",
    "failed": "Answered with an error, or a result that says so (isError).",
    "cancelled": "Cancelled, and the server did not answer with a result.",
    "timed_out": "The client's time limit ended it.",
    "lost": "The connection ended before the reply, and no resume token was saved.",
}
_CLOSE: Final = 3


def explained(topic: str) -> str:
    """Explain a topic; `UserError` with the most similar ones if there is none of that name."""
    name = topic.strip()
    if (rule := name.upper()) in ADVICE:
        return _rule(rule)
    key = name.lower().replace(" ", "_").removeprefix("exit_code_")
    if key in _STATES:
        return f"State of a job. {_STATES[key]}"
    if key in FIELDS:
        field = FIELDS[key]
        choices = f" Values: {', '.join(field.choices)}." if field.choices else ""
        return (
            f"Field of the filter language ({field.type.name.lower()}). {field.meaning}.{choices}"
        )
    if key.isdecimal() and (meaning := _exit_codes().get(key)) is not None:
        return f"Exit code of the command line. {meaning}"
    known = (*ADVICE, *_STATES, *FIELDS)
    close = difflib.get_close_matches(name[:50], known, _CLOSE, 0.5)
    hint = f"Similar: {', '.join(close)}." if close else "Try PROG-3, stalled, token or 7."
    raise UserError(ErrorDetails("No such topic", topic[:100], hint))


@functools.cache
def _exit_codes() -> dict[str, str]:
    """The exit codes and their meanings, from the manual."""
    page = (manual() / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(\d+)` \| (.+?) \|$", page, re.MULTILINE))


def _rule(name: str) -> str:
    advice = ADVICE[name]
    rule = next((rule for rule in RULES if rule.id == name), None)
    source = "" if rule is None else f"\nSource: {rule.source.document}, {rule.source.section}"
    examples = (("Python", advice.python), ("TypeScript", advice.typescript))
    calls = "".join(f"\n{language}: {call}" for language, call in examples if call)
    return (
        f"{name}: {advice.title}\nRequired since {advice.since}: {advice.due} "
        f"({advice.certainty.value}){source}\nFix: {advice.fix}{calls}"
    )
