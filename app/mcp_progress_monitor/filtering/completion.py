"""Completions at the cursor of a filter: fields, operators, and values seen in the log."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.filtering.fields import FIELDS, OPERATORS, ROOTS, FieldType
from mcp_progress_monitor.filtering.language import written
from mcp_progress_monitor.protocol.frames import server_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from mcp_progress_monitor.filtering.fields import FieldDefinition
    from mcp_progress_monitor.recording.timeline import Timeline

MOST: Final = 50  # most candidates returned
_LOOKED_AT: Final = 5_000  # how many of the newest values are checked for candidates
_LONGEST: Final = 10_000
_TOKEN: Final = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?)|(?P<op>[=!<>]=?)|(?P<mark>[(),])"""
    r"""|(?P<word>(?:[^\s"'(),=<>!\[]|!(?!=)|\["(?:[^"\\]|\\.)*+"?\]?|\[)+)""",
    re.DOTALL,
)
_WHOLE_OPERATORS: Final = ("==", "!=", "<=", ">=")
_OPERATOR_SIGNS: Final = "=!<>"
_BEFORE_A_CONDITION: Final = ("(", "and", "or", "not")


class Candidate(NamedTuple):
    """A candidate in the filter language, and its meaning, which may be empty."""

    text: str
    meaning: str


_JOINS: Final = (
    Candidate("and", "both are true"),
    Candidate("or", "one is true"),
    Candidate("not", "what follows is false"),
)


class Completion(NamedTuple):
    """Replacements for the characters from `start` to `end`, the likeliest first."""

    start: int
    end: int
    candidates: list[Candidate]


class _Piece(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class Vocabulary(NamedTuple):
    """The fields of a filter, those with members, and the values seen of a field."""

    fields: Mapping[str, FieldDefinition]
    roots: Collection[str]
    seen: Callable[[str], Iterable[str | int]]


def complete(text: str, cursor: int, timeline: Timeline) -> Completion:
    """The completions at `cursor` (characters from 0); takes a few milliseconds at most."""
    return completed(text, cursor, Vocabulary(FIELDS, ROOTS, lambda name: _seen(name, timeline)))


def completed(text: str, cursor: int, vocabulary: Vocabulary) -> Completion:
    """The completions at `cursor` (characters from 0) from any vocabulary."""
    cursor = max(0, min(cursor, len(text)))
    if len(text) > _LONGEST:
        return Completion(cursor, cursor, [])
    pieces = list(_pieces(text))
    here = next((p for p in pieces if p.start < cursor <= p.end and p.kind != "mark"), None)
    before = [piece for piece in pieces if piece.end <= (cursor if here is None else here.start)]
    start, end = (cursor, cursor) if here is None else (here.start, here.end)
    typed = text[start:cursor]
    if here is not None and typed in _WHOLE_OPERATORS:
        before, start, end, typed = [*before, here], cursor, cursor, ""
    return Completion(start, end, _fitting(_offered(before, typed, vocabulary), typed))


def _offered(before: list[_Piece], typed: str, vocabulary: Vocabulary) -> Iterable[Candidate]:
    field = _compared(before, vocabulary)
    if field is not None:
        return _values(field, vocabulary)
    last = before[-1] if before else None
    field = _field(last.text, vocabulary) if last and last.kind == "word" else None
    if field is not None:
        return [*_operators(field), *_JOINS]
    if typed[:1] in _OPERATOR_SIGNS and typed:
        return ()
    is_first = last is None or last.text.lower() in _BEFORE_A_CONDITION
    fields = [Candidate(field.name, field.meaning) for field in vocabulary.fields.values()]
    return [*fields, *_JOINS] if typed or is_first else [*_JOINS, *fields]


def _pieces(text: str) -> Iterator[_Piece]:
    for found in _TOKEN.finditer(text):
        yield _Piece(found.lastgroup or "", found[0], found.start(), found.end())


def _field(text: str, vocabulary: Vocabulary) -> FieldDefinition | None:
    fields, root = vocabulary.fields, re.split(r"[.\[]", text, maxsplit=1)[0]
    return fields.get(text) or (fields[root] if root in vocabulary.roots else None)


def _compared(before: list[_Piece], vocabulary: Vocabulary) -> FieldDefinition | None:
    """The field whose value is expected next; None if something else is."""
    rest = list(before)
    if _is_list(rest):
        while rest[-1].text != "(":
            rest.pop()
        rest.pop()
    elif rest and rest[-1].text.lower() == "in":
        return None
    if len(rest) < 2 or rest[-1].text.lower() not in OPERATORS or rest[-2].kind != "word":
        return None
    return _field(rest[-2].text, vocabulary)


def _is_list(before: list[_Piece]) -> bool:
    if not before or before[-1].text not in ("(", ","):
        return False
    opening = next((i for i in range(len(before) - 1, -1, -1) if before[i].text == "("), 0)
    return opening > 0 and before[opening - 1].text.lower() == "in"


def _operators(field: FieldDefinition) -> Iterator[Candidate]:
    for op, meaning in OPERATORS.items():
        if _applies(op, field.type):
            yield Candidate(op, meaning)


def _applies(op: str, kind: FieldType) -> bool:
    if op in ("contains", "matches"):
        return kind.is_textual
    return kind.is_ordered or op in ("==", "!=", "in")


def _values(field: FieldDefinition, vocabulary: Vocabulary) -> Iterator[Candidate]:
    yield from (Candidate(choice, "") for choice in field.choices)
    seen = dict.fromkeys(vocabulary.seen(field.name))
    yield from (Candidate(written(field.name, value), "") for value in seen)


def _seen(name: str, timeline: Timeline) -> Iterable[str | int]:
    """Values in the tables of the index, newest first."""
    columns = timeline.columns
    if name in ("method", "token"):
        names = columns.methods if name == "method" else columns.tokens
        newest = range(len(names), max(0, len(names) - _LOOKED_AT), -1)
        values = [names.value(number) for number in newest]
        return [value for value in values if isinstance(value, str) or type(value) is int]
    if name in ("server", "connection"):
        count = len(columns.sources)
        newest = range(count, max(0, count - _LOOKED_AT), -1)
        found = [columns.sources.value(number) for number in newest]
        connections = [source.connection for source in found if source is not None]
        return connections if name == "connection" else map(server_name, connections)
    return ()


def _fitting(candidates: Iterable[Candidate], typed: str) -> list[Candidate]:
    wanted = typed.strip("\"'").lower()
    first: list[Candidate] = []
    later: list[Candidate] = []
    for candidate in candidates:
        plain = candidate.text.lstrip('"').lower()
        if plain.startswith(wanted):
            first.append(candidate)
        elif wanted in plain:
            later.append(candidate)
        if len(first) >= MOST:
            break
    return [*first, *later][:MOST]
