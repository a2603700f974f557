"""`--answers FILE`: answers to server questions, chosen by order, kind, message or fields."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from mcp_progress_monitor.cli.asking.prompts import MODEL, defaults_of
from mcp_progress_monitor.cli.calls.arguments import read_typed, strict_json
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.output.stdout import as_json
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import elide
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.snapshots.questions import Accept, Dismiss, Question, Sampled, refusal
from mcp_progress_monitor.timed_regex import BadPatternError, compiled_pattern, is_match
from mcp_progress_monitor.wording.questions import sampled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mcp_progress_monitor.snapshots.questions import Answer, Kind

REPLIES: Final = ("accept", "decline", "cancel", "text", "result")
"""The members that hold an answer; an entry has exactly one of them."""
TEXT_OPTIONS: Final = ("model", "stopReason")  # optional, together with `text`
KINDS: Final[tuple[Kind, ...]] = ("form", "url", "sampling", "roots")
_SHOWN: Final = 60


class ScriptedReply(NamedTuple):
    """One of `REPLIES` with its value, and the options of a text."""

    what: str
    value: Any
    options: Mapping[str, str]

    def answer(self, kind: Kind) -> Answer | None:
        """The answer to a question of this kind; None if it does not apply."""
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
                result = sampled(self.value, self.options.get("model", MODEL), "")
                return Sampled({**result, "stopReason": self.options.get("stopReason", "endTurn")})
            case _:
                return Sampled(self.value)


def read_reply(members: Mapping[str, Any]) -> ScriptedReply:
    """The answer in an entry's members; `ValueError` with a message if they are invalid."""
    given = [name for name in REPLIES if name in members]
    if len(given) != 1:
        seen = f"both {' and '.join(given)}" if given else "no answer"
        raise ValueError(f"{seen}; expected exactly one of {', '.join(REPLIES)}")
    name, value = given[0], members[given[0]]
    if not _is_valid(name, value):
        raise ValueError(f"{name}: expected {_EXPECTED[name]}, got {_brief(value)}")
    options = {other: members[other] for other in TEXT_OPTIONS if other in members}
    for other, text in options.items():
        if name != "text" or not isinstance(text, str):
            raise ValueError(f"{other}: expected a string, and only together with text")
    return ScriptedReply(name, value, options)


def check_kind(kind: Kind, reply: ScriptedReply) -> None:
    """`ValueError` with a message if `reply` can never answer a question of `kind`."""
    from mcp_progress_monitor.sessions.questions.answers import violations_of

    answer = reply.answer(kind)
    if answer is None:
        value = "" if reply.what != "accept" else f" {_brief(reply.value)}"
        raise ValueError(f"{reply.what}{value} cannot answer a {kind} question")
    found = violations_of(_probe(kind), answer)
    if found:
        raise ValueError(f"{reply.what}: {'; '.join(found)}")


_EXPECTED: Final = {
    "accept": "true, an object with a form's content, or a list of roots",
    "decline": "true, or a reason as a string",
    "cancel": "true",
    "text": "a string",
    "result": "an object",
}


def _is_valid(name: str, value: Any) -> bool:
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
    return Question(0, "", "", 0, None, "", kind, "", None, None, {}, None, 0.0, 0.0)


def _brief(value: Any) -> str:
    return elide(as_json(value), _SHOWN)


_ANY: Final = "any"
_LIMIT_S: Final = 0.05
_CONDITIONS: Final = ("kind", "message", "fields", "key", "times")
_ENTRY_MEMBERS: Final = (*_CONDITIONS, *REPLIES, *TEXT_OPTIONS)


@dataclasses.dataclass(slots=True)
class AnswerEntry:
    """An answer and its conditions. `path` is its JSON path; `times` is None for "any"."""

    path: str
    reply: ScriptedReply
    kind: Kind | None = None
    pattern: str | None = None
    fields: frozenset[str] = frozenset()
    key: str | None = None
    times: int | None = 1
    used_count: int = 0

    def take(self, question: Question) -> Answer | None:
        """The answer if it matches the question and is not used up; counts as a use."""
        if self.times is not None and self.used_count >= self.times:
            return None
        answer = self.reply.answer(question.kind) if self._matches_question(question) else None
        self.used_count += answer is not None
        return answer

    def fits(self, kind: Kind) -> bool:
        return self.kind in {None, kind} and self.reply.answer(kind) is not None

    def _matches_question(self, question: Question) -> bool:
        properties = as_object(as_object(question.schema).get("properties"))
        return (
            self.kind in {None, question.kind}
            and self.key in {None, question.key}
            and self.fields <= properties.keys()
            and (self.pattern is None or any(map(self._matches, texts_of(question))))
        )

    def _matches(self, text: str) -> bool:
        try:
            return self.pattern is not None and is_match(self.pattern, text, _LIMIT_S)
        except TimeoutError:
            return False


def texts_of(question: Question) -> Iterator[str]:
    """The texts of a question: its message, its URL, the messages for a model."""
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


def read_entry(value: Any, path: str) -> AnswerEntry:
    """Parse an entry of the file; `ValueError` with a message if it is invalid."""
    if not isinstance(value, dict):
        raise ValueError(f"expected an object with one of {', '.join(REPLIES)}")  # noqa: TRY004
    unknown = [name for name in value if name not in _ENTRY_MEMBERS]
    if unknown:
        raise ValueError(f"unknown member {unknown[0]!r}; known: {', '.join(_ENTRY_MEMBERS)}")
    entry = AnswerEntry(path, read_reply(value), times=_times(value.get("times", 1)))
    entry.kind = _kind(value)
    if entry.kind is not None:
        check_kind(entry.kind, entry.reply)
    elif not any(map(entry.reply.answer, KINDS)):
        raise ValueError(f"this value of {entry.reply.what} cannot answer any kind of question")
    pattern = _entry_text(value, "message")
    entry.pattern = None if pattern is None else _case_insensitive(pattern)
    entry.fields = _names(value.get("fields", []))
    entry.key = _entry_text(value, "key")
    return entry


def _case_insensitive(pattern: str) -> str:
    """The pattern, made case-insensitive. `BadPatternError` if it is invalid."""
    try:
        compiled_pattern(f"(?i){pattern}")
    except BadPatternError as error:
        position = max(0, error.position - len("(?i)"))
        raise BadPatternError(f"{error} at position {position}", position) from None
    return f"(?i){pattern}"


def _kind(value: dict[str, Any]) -> Kind | None:
    kind: Kind | None = value.get("kind")
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind: unknown kind {kind!r}; known: {', '.join(KINDS)}")
    return kind


def _entry_text(value: dict[str, Any], name: str) -> str | None:
    text = value.get(name)
    if text is not None and not isinstance(text, str):
        raise ValueError(f"{name}: expected a string")
    return text


def _names(value: Any) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError("fields: expected a list of field names")
    return frozenset(value)


def _times(value: Any) -> int | None:
    if value == _ANY:
        return None
    if type(value) is not int or value < 1:
        raise ValueError(f'times: expected a positive integer or "{_ANY}", got {value!r}')
    return value


EXAMPLE: Final = """[
  {"message": "your name", "accept": {"name": "Ada"}},
  {"kind": "url", "decline": true},
  {"kind": "sampling", "text": "It is sunny.", "times": 3}
]"""
_HINT: Final = f"Example:\n{EXAMPLE}"
_MEMBERS: Final = ("answers", "fields", *KINDS)


class FoundAnswer(NamedTuple):
    """An answer and its JSON path in the file."""

    answer: Answer
    path: str


class AnswerFile:
    """The answers of a file; counts their uses."""

    def __init__(
        self,
        name: str,
        entries: list[AnswerEntry],
        fields: Mapping[str, Any],
        kinds: Mapping[Kind, ScriptedReply],
    ) -> None:
        """Answers are looked up in `entries`, in order; then `fields` for forms; then by kind."""
        self.name = name
        self._entries = entries
        self._fields = fields
        self._kinds = kinds

    def take(self, question: Question) -> FoundAnswer | None:
        for entry in self._entries:
            answer = entry.take(question)
            if answer is not None:
                return FoundAnswer(_with_defaults(answer, question), entry.path)
        filled = self._filled(question)
        if filled is not None:
            return filled
        reply = self._kinds.get(question.kind)
        answer = None if reply is None else reply.answer(question.kind)
        if answer is None:
            return None
        return FoundAnswer(_with_defaults(answer, question), f"$.{question.kind}")

    def unused(self) -> list[str]:
        return [entry.path for entry in self._entries if not entry.used_count]

    def may_answer(self, kind: Kind) -> bool:
        """Return whether an answer may match questions of a kind.

        For roots, the answer must name the kind: users do not think of them as questions.
        """
        if kind in self._kinds or any(entry.kind == kind for entry in self._entries):
            return True
        if kind == "roots":
            return False
        is_of_form = kind == "form" and bool(self._fields)
        return is_of_form or any(entry.fits(kind) for entry in self._entries)

    def missing(self, question: Question) -> list[str]:
        """The required fields without a value or default, if `fields` has a value for any."""
        properties = as_object(as_object(question.schema).get("properties"))
        if not self._fields.keys() & properties.keys():
            return []
        required = as_object(question.schema).get("required")
        names = required if isinstance(required, list) else []
        given = {*self._fields, *defaults_of(question.schema)}
        return [name for name in names if isinstance(name, str) and name not in given]

    def _filled(self, question: Question) -> FoundAnswer | None:
        properties = as_object(as_object(question.schema).get("properties"))
        content = {name: self._fields[name] for name in properties if name in self._fields}
        if question.kind != "form" or not content or self.missing(question):
            return None
        return FoundAnswer(_with_defaults(Accept(content), question), "$.fields")


def _with_defaults(answer: Answer, question: Question) -> Answer:
    """The answer with the form's defaults for omitted fields, as on the terminal.

    Source: 2025-11-25 "Elicitation", "Requested Schema"; SEP-1034.
    """
    if question.kind != "form" or not isinstance(answer, Accept):
        return answer
    return Accept({**defaults_of(question.schema), **answer.content})


def read_answers(path: Path) -> AnswerFile:
    """The answers in a file.

    Raises:
        CommandFailed: the file cannot be read, is not JSON, or is not in the format that
            docs/questions.md describes.
    """
    try:
        text = read_typed(path)
    except OSError as error:
        _refuse("Cannot read the answer file", str(path), error.strerror or str(error))
    except ValueError as error:
        _refuse("Cannot read the answer file", str(path), str(error))
    try:
        value = strict_json(text)
    except (ValueError, RecursionError) as error:
        _refuse("The answers are not valid JSON", str(path), str(error))
    try:
        return _answers(str(path), value)
    except _AnswerError as error:
        _refuse("Invalid answers", f"{path}, {error.path}", str(error))


class _AnswerError(ValueError):
    """An error at `path`, a JSON path in the file."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(text)
        self.path = path


def _refuse(what: str, where: str, detail: str) -> NoReturn:
    raise CommandFailed(ExitCode.USAGE, ErrorDetails(what, where, _HINT, detail))


def _answers(name: str, value: Any) -> AnswerFile:
    if isinstance(value, list):
        return AnswerFile(name, list(_entries(value, "$")), {}, {})
    if not isinstance(value, dict):
        raise _AnswerError("$", "expected a list or an object")
    if any(member in value for member in REPLIES):
        single = {"times": "any", **value}
        return AnswerFile(name, [_entry(single, "$")], {}, {})
    for member in value:
        if member not in _MEMBERS:
            hint = f'for a form field, write "fields": {{"{member}": …}}'
            what = f"unknown member; known: {', '.join(_MEMBERS)}; {hint}"
            raise _AnswerError(f"$.{member}", what)
    entries = value.get("answers", [])
    if not isinstance(entries, list):
        raise _AnswerError("$.answers", "expected a list")
    fields = value.get("fields", {})
    if not isinstance(fields, dict):
        raise _AnswerError("$.fields", "expected an object")
    kinds = {kind: _kind_reply(kind, value[kind]) for kind in KINDS if kind in value}
    return AnswerFile(name, list(_entries(entries, "$.answers")), fields, kinds)


def _entries(values: list[Any], path: str) -> Iterator[AnswerEntry]:
    for index, value in enumerate(values):
        yield _entry(value, f"{path}[{index}]")


def _entry(value: Any, path: str) -> AnswerEntry:
    try:
        return read_entry(value, path)
    except BadPatternError as error:
        raise _AnswerError(f"{path}.message", f"invalid regular expression: {error}") from error
    except ValueError as error:
        raise _AnswerError(path, str(error)) from error


def _kind_reply(kind: Any, value: Any) -> ScriptedReply:
    path = f"$.{kind}"
    if not isinstance(value, dict):
        raise _AnswerError(path, f"expected an object with one of {', '.join(REPLIES)}")
    try:
        reply = read_reply(value)
        check_kind(kind, reply)
    except ValueError as error:
        raise _AnswerError(path, str(error)) from error
    return reply
