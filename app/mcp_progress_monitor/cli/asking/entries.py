"""One entry of an answer file: which questions it is for, how often, and what it says."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.cli.asking.replies import (
    KINDS,
    OF_TEXT,
    SAYINGS,
    Saying,
    check_kind,
    read_saying,
)
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.timed_regex import BadPatternError, compiled_pattern, is_match

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.sessions.questions import Answer, Kind, Question

_ANY: Final = "any"
_LIMIT_S: Final = 0.05
_CONDITIONS: Final = ("kind", "message", "fields", "key", "times")
_MEMBERS: Final = (*_CONDITIONS, *SAYINGS, *OF_TEXT)


@dataclasses.dataclass(slots=True)
class Entry:
    """An answer with its conditions; `path` is its place in the file, `times` None without end."""

    path: str
    saying: Saying
    kind: Kind | None = None
    pattern: str | None = None
    fields: frozenset[str] = frozenset()
    key: str | None = None
    times: int | None = 1
    used_count: int = 0

    def take(self, question: Question) -> Answer | None:
        """The answer if it is for this question and not used up; that counts as a use."""
        if self.times is not None and self.used_count >= self.times:
            return None
        answer = self.saying.answer(question.kind) if self._is_for(question) else None
        self.used_count += answer is not None
        return answer

    def fits(self, kind: Kind) -> bool:
        """Whether it may be for a question of that kind."""
        return self.kind in {None, kind} and self.saying.answer(kind) is not None

    def _is_for(self, question: Question) -> bool:
        properties = as_object(as_object(question.schema).get("properties"))
        return (
            self.kind in {None, question.kind}
            and self.key in {None, question.key}
            and self.fields <= properties.keys()
            and (self.pattern is None or any(map(self._matches, texts_of(question))))
        )

    def _matches(self, text: str) -> bool:
        """Whether the pattern has a match; not in a text for which it takes too long."""
        try:
            return self.pattern is not None and is_match(self.pattern, text, _LIMIT_S)
        except TimeoutError:
            return False


def texts_of(question: Question) -> Iterator[str]:
    """What a question says in words: its message, its address, the messages for a model."""
    yield question.message
    if question.url is not None:
        yield question.url
    messages = question.params.get("messages") if question.kind == "sampling" else None
    for message in messages if isinstance(messages, list) else ():
        content = as_object(message).get("content")
        for block in content if isinstance(content, list) else [content]:
            text = as_object(block).get("text")
            if isinstance(text, str):
                yield text


def read_entry(value: Any, path: str) -> Entry:
    """Parse an entry of the file; `ValueError` says what is wrong, invalid patterns included."""
    if not isinstance(value, dict):
        raise ValueError(f"not an object with one of {', '.join(SAYINGS)}")  # noqa: TRY004
    unknown = [name for name in value if name not in _MEMBERS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not one of {', '.join(_MEMBERS)}")
    entry = Entry(path, read_saying(value), times=_times(value.get("times", 1)))
    entry.kind = _kind(value)
    if entry.kind is not None:
        check_kind(entry.kind, entry.saying)
    elif not any(entry.saying.answer(_as_kind(kind)) for kind in KINDS):
        raise ValueError(f"{entry.saying.what} answers no kind of question so")
    pattern = _text(value, "message")
    entry.pattern = None if pattern is None else _usable(pattern)
    entry.fields = _names(value.get("fields", []))
    entry.key = _text(value, "key")
    return entry


def _usable(pattern: str) -> str:
    """The pattern, in any case of letters. `BadPatternError` when it is none."""
    try:
        compiled_pattern(f"(?i){pattern}")
    except BadPatternError as error:
        position = max(0, error.position - len("(?i)"))
        raise BadPatternError(f"{error} at position {position}", position) from None
    return f"(?i){pattern}"


def _kind(value: dict[str, Any]) -> Kind | None:
    kind = value.get("kind")
    if kind is None:
        return None
    if kind not in KINDS:
        raise ValueError(f"kind: {kind!r} is not one of {', '.join(KINDS)}")
    return _as_kind(kind)


def _as_kind(kind: Any) -> Kind:
    found: Kind = kind
    return found


def _text(value: dict[str, Any], name: str) -> str | None:
    text = value.get(name)
    if text is not None and not isinstance(text, str):
        raise ValueError(f"{name}: not a text")
    return text


def _names(value: Any) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError("fields: not a list of names")
    return frozenset(value)


def _times(value: Any) -> int | None:
    if value == _ANY:
        return None
    if type(value) is not int or value < 1:
        raise ValueError(f'times: {value!r} is neither a count from 1 on nor "{_ANY}"')
    return value
