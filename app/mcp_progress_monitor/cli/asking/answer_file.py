"""`--answer FILE`: answers to a server's questions, by order, kind, message or names of fields.

What is wrong with the file is said before anything runs; whether an answer fits the question's
schema shows when it is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from mcp_progress_monitor.cli.asking.entries import Entry, read_entry
from mcp_progress_monitor.cli.asking.fields import defaults_of
from mcp_progress_monitor.cli.asking.replies import KINDS, SAYINGS, Saying, check_kind, read_saying
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.strict_json import strict_json
from mcp_progress_monitor.cli.typed_file import read_typed
from mcp_progress_monitor.problem import Problem
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.sessions.questions import Accept
from mcp_progress_monitor.timed_regex import BadPatternError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mcp_progress_monitor.sessions.questions import Answer, Kind, Question

EXAMPLE: Final = """[
  {"message": "your name", "accept": {"name": "Ada"}},
  {"kind": "url", "decline": true},
  {"kind": "sampling", "text": "It is sunny.", "times": 3}
]"""
_HINT: Final = f"For example:\n{EXAMPLE}"
_MEMBERS: Final = ("answers", "fields", *KINDS)


class Found(NamedTuple):
    """An answer, and the place in the file that it comes from."""

    answer: Answer
    path: str


class AnswerFile:
    """The answers of one file, some of which are used up."""

    def __init__(
        self,
        name: str,
        entries: list[Entry],
        fields: Mapping[str, Any],
        kinds: Mapping[str, Saying],
    ) -> None:
        """`entries` come first, in order; then `fields` for forms; then one answer for a kind."""
        self.name = name
        self._entries = entries
        self._fields = fields
        self._kinds = kinds

    def take(self, question: Question) -> Found | None:
        """The answer to a question, used up if it is for once; None when there is none."""
        for entry in self._entries:
            answer = entry.take(question)
            if answer is not None:
                return Found(_with_defaults(answer, question), entry.path)
        filled = self._filled(question)
        if filled is not None:
            return filled
        saying = self._kinds.get(question.kind)
        answer = None if saying is None else saying.answer(question.kind)
        if answer is None:
            return None
        return Found(_with_defaults(answer, question), f"$.{question.kind}")

    def unused(self) -> list[str]:
        """The places of answers that no question was for."""
        return [entry.path for entry in self._entries if not entry.used_count]

    def may_answer(self, kind: Kind) -> bool:
        """Whether something in it may be meant for questions of a kind.

        For requests for the roots only what names them: nobody thinks of those as a question.
        """
        if kind in self._kinds or any(entry.kind == kind for entry in self._entries):
            return True
        if kind == "roots":
            return False
        is_of_form = kind == "form" and bool(self._fields)
        return is_of_form or any(entry.fits(kind) for entry in self._entries)

    def missing(self, question: Question) -> list[str]:
        """The names of required fields that have no value, if `fields` has one for any at all.

        A value is in `fields`, or it is the default of the form.
        """
        properties = as_object(as_object(question.schema).get("properties"))
        if not self._fields.keys() & properties.keys():
            return []
        required = as_object(question.schema).get("required")
        names = required if isinstance(required, list) else []
        given = {*self._fields, *defaults_of(question.schema)}
        return [name for name in names if isinstance(name, str) and name not in given]

    def _filled(self, question: Question) -> Found | None:
        """The form filled in by the names of its fields."""
        properties = as_object(as_object(question.schema).get("properties"))
        content = {name: self._fields[name] for name in properties if name in self._fields}
        is_for_it = question.kind == "form" and bool(content) and not self.missing(question)
        answer = _with_defaults(Accept(content), question)
        return Found(answer, "$.fields") if is_for_it else None


def _with_defaults(answer: Answer, question: Question) -> Answer:
    """The answer with the form's defaults for the fields it leaves out, as on a terminal.

    Source: 2025-11-25 "Elicitation", "Requested Schema"; SEP-1034.
    """
    if question.kind != "form" or not isinstance(answer, Accept):
        return answer
    return Accept({**defaults_of(question.schema), **answer.content})


def read_answers(path: Path) -> AnswerFile:
    """The answers in a file.

    Raises:
        CommandFailed: the file cannot be read, is not JSON, or does not have the form that
            docs/questions.md describes.
    """
    text = _text(path)
    try:
        value = strict_json(text)
    except (ValueError, RecursionError) as error:
        _refuse("The answers are not JSON", str(path), str(error))
    try:
        return _answers(str(path), value)
    except _WrongError as wrong:
        _refuse("The answers cannot be used", f"{path}, {wrong.path}", wrong.words)


class _WrongError(ValueError):
    """Something in the file is wrong: where, and what."""

    def __init__(self, path: str, words: str) -> None:
        super().__init__(words)
        self.path = path
        self.words = words


def _text(path: Path) -> str:
    try:
        return read_typed(path)
    except OSError as error:
        _refuse("The file of answers cannot be read", str(path), error.strerror or str(error))
    except ValueError as error:
        _refuse("The file of answers cannot be read", str(path), str(error))


def _refuse(what: str, where: str, detail: str) -> NoReturn:
    raise CommandFailed(ExitCode.USAGE, Problem(what, where, _HINT, detail))


def _answers(name: str, value: Any) -> AnswerFile:
    if isinstance(value, list):
        return AnswerFile(name, list(_entries(value, "$")), {}, {})
    if not isinstance(value, dict):
        raise _WrongError("$", "neither a list nor an object")
    if any(member in value for member in SAYINGS):
        single = {"times": "any", **value}
        return AnswerFile(name, [_entry(single, "$")], {}, {})
    for member in value:
        if member not in _MEMBERS:
            hint = f'values for fields of forms stand in "fields": {{"{member}": …}}'
            raise _WrongError(f"$.{member}", f"not one of {', '.join(_MEMBERS)}; {hint}")
    entries = value.get("answers", [])
    if not isinstance(entries, list):
        raise _WrongError("$.answers", "not a list")
    fields = value.get("fields", {})
    if not isinstance(fields, dict):
        raise _WrongError("$.fields", "not an object")
    kinds = {kind: _of_kind(kind, value[kind]) for kind in KINDS if kind in value}
    return AnswerFile(name, list(_entries(entries, "$.answers")), fields, kinds)


def _entries(values: list[Any], path: str) -> Iterator[Entry]:
    for index, value in enumerate(values):
        yield _entry(value, f"{path}[{index}]")


def _entry(value: Any, path: str) -> Entry:
    try:
        return read_entry(value, path)
    except BadPatternError as error:
        raise _WrongError(f"{path}.message", f"not a regular expression: {error}") from error
    except ValueError as error:
        raise _WrongError(path, str(error)) from error


def _of_kind(kind: Any, value: Any) -> Saying:
    path = f"$.{kind}"
    if not isinstance(value, dict):
        raise _WrongError(path, f"not an object with one of {', '.join(SAYINGS)}")
    try:
        saying = read_saying(value)
        check_kind(kind, saying)
    except ValueError as error:
        raise _WrongError(path, str(error)) from error
    return saying
