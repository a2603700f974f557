"""What a filter says, as a tree of frozen nodes. `str()` of each gives text that reads the same."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, TypeAlias

_PLAIN_KEY: Final = re.compile(r"""[^\s"'()\[\],=!<>.\\\x00-\x20]+""")
_UNSAFE: Final = re.compile(r'[\\"\x00-\x1f\x7f\ud800-\udfff]')
_SHORT: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True, slots=True)
class Moment:
    """A stretch of time, from `begin` up to before `end`, written as `text`.

    Seconds since the epoch or, when `is_daily`, since a day's beginning, local time.
    """

    text: str
    begin: float
    end: float
    is_daily: bool


Scalar: TypeAlias = str | int | float | bool | Moment | None
Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """Words that the message has in it, in any case."""

    words: str

    def __str__(self) -> str:
        return quoted(self.words)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A field, or what lies at a path within it, compared. `value` is a tuple for `in`.

    Values are in the field's base unit: seconds, bytes.
    """

    field: str
    path: Path
    op: str
    value: Scalar | tuple[Scalar, ...]

    def __str__(self) -> str:
        return f"{path_text(self.field, self.path)} {self.op} {value_text(self.value)}"


@dataclass(frozen=True, slots=True)
class Not:
    """Everything that `part` leaves out."""

    part: Expression

    def __str__(self) -> str:
        return f"not {_inner(self.part)}"


@dataclass(frozen=True, slots=True)
class And:
    """What all `parts` let through."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " and ".join(map(_inner, self.parts))


@dataclass(frozen=True, slots=True)
class Or:
    """What one of the `parts` lets through."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " or ".join(map(_inner, self.parts))


Expression: TypeAlias = Text | Comparison | Not | And | Or


def _inner(part: Expression) -> str:
    return f"({part})" if isinstance(part, And | Or) else str(part)


def path_text(field: str, path: Path) -> str:
    """A field with a path as the language writes it: `params.arguments["odd name"][0]`."""
    return field + "".join(map(_step, path))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN_KEY.fullmatch(step) else f"[{quoted(step)}]"


def value_text(value: Scalar | tuple[Scalar, ...]) -> str:
    """A value as the language writes it; texts always in quotes."""
    if isinstance(value, Moment):
        return quoted(value.text)
    if isinstance(value, tuple):
        return f"({', '.join(map(value_text, value))})"
    return quoted(value) if isinstance(value, str) else json.dumps(value)


def quoted(text: str) -> str:
    """A text in double quotes."""
    return f'"{_UNSAFE.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}"
