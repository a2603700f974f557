"""What one entry of an answer file says, and what that is as an answer to each kind of question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.cli.reply import as_json
from mcp_progress_monitor.sessions.questions import (
    Accept,
    Decline,
    Dismiss,
    Question,
    Refused,
    Sampled,
)
from mcp_progress_monitor.text import elide

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.sessions.questions import Answer, Kind

SAYINGS: Final = ("accept", "decline", "cancel", "text", "result")
"""The members that say an answer; an entry has exactly one of them."""
OF_TEXT: Final = ("model", "stopReason")
"""What may stand beside `text`."""
KINDS: Final = ("form", "url", "sampling", "roots")
MODEL: Final = "human"
"""What we call the model where nobody names one: a person, or a file written by one, answers."""
_SHOWN: Final = 60


class Saying(NamedTuple):
    """One member of `SAYINGS` with its value, and what stands beside `text`."""

    what: str
    value: Any
    more: Mapping[str, str]

    def answer(self, kind: Kind) -> Answer | None:
        """The answer to a question of this kind; None where it can be none."""
        match self.what:
            case "accept":
                return _accepted(kind, self.value)
            case "decline":
                return refusal(kind, self.value if isinstance(self.value, str) else "")
            case "cancel":
                return refusal(kind) if kind in {"sampling", "roots"} else Dismiss()
            case _ if kind != "sampling":
                return None
            case "text":
                return sampled(self.value, **self.more)
            case _:
                return Sampled(self.value)


def sampled(text: str, model: str = MODEL, stopReason: str = "endTurn") -> Sampled:  # noqa: N803
    """A text as a model's message; the names are those of the protocol."""
    content = {"type": "text", "text": text}
    result = {"role": "assistant", "content": content, "model": model, "stopReason": stopReason}
    return Sampled(result)


def refusal(kind: Kind, words: str = "") -> Answer:
    """No, in the way that questions of this kind have for it; `words` go along where they can."""
    if kind in {"form", "url"}:
        return Decline()
    return Refused(words) if words else Refused()


def read_saying(members: Mapping[str, Any]) -> Saying:
    """What the members of an entry say; `ValueError` in words where that is nothing sound."""
    said = [name for name in SAYINGS if name in members]
    if len(said) != 1:
        seen = f"{' and '.join(said)} at once" if said else "no answer"
        raise ValueError(f"{seen}: it needs exactly one of {', '.join(SAYINGS)}")
    name, value = said[0], members[said[0]]
    if not _is_sound(name, value):
        raise ValueError(f"{name}: {_brief(value)} is not {_DUE[name]}")
    more = {other: members[other] for other in OF_TEXT if other in members}
    for other, words in more.items():
        if name != "text" or not isinstance(words, str):
            raise ValueError(f"{other}: a text that may stand beside text, and only there")
    return Saying(name, value, more)


def check_kind(kind: Kind, saying: Saying) -> None:
    """`ValueError` in words if `saying` can be no answer to questions of `kind`, whatever asked."""
    from mcp_progress_monitor.sessions.answers import problems_of

    answer = saying.answer(kind)
    if answer is None:
        value = "" if saying.what != "accept" else f" {_brief(saying.value)}"
        raise ValueError(f"{saying.what}{value} cannot be the answer to a question for {kind}")
    found = problems_of(_probe(kind), answer)
    if found:
        raise ValueError(f"{saying.what}: {'; '.join(found)}")


_DUE: Final = {
    "accept": "true, the content of a form as an object, or a list of roots",
    "decline": "true or a text that says why",
    "cancel": "true",
    "text": "a text",
    "result": "an object",
}


def _is_sound(name: str, value: Any) -> bool:
    match name:
        case "accept":
            return value is True or isinstance(value, dict | list)
        case "decline":
            return value is True or (isinstance(value, str) and bool(value))
        case "cancel":
            return value is True
        case "text":
            return isinstance(value, str)
        case _:
            return isinstance(value, dict)


def _accepted(kind: Kind, value: Any) -> Answer | None:
    if value is True:
        return Accept() if kind in {"form", "url"} else None
    if isinstance(value, list):
        return Accept({"roots": value}) if kind == "roots" else None
    return Accept(value) if kind in {"form", "roots"} else None


def _probe(kind: Kind) -> Question:
    """A question that says nothing but its kind."""
    return Question(0, "", "", 0, None, "", kind, "", None, None, {}, None, 0.0, 0.0)


def _brief(value: Any) -> str:
    return elide(as_json(value), _SHOWN)
