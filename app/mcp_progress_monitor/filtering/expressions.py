"""A filter's text as data: the expression tree, and quantities with units.

`str()` of a node is text that parses to the same tree. Importing this loads no parser.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from dataclasses import dataclass
from typing import Final, TypeAlias

_PLAIN_KEY: Final = re.compile(r"""[^\s"'()\[\],=!<>.\\\x00-\x20]+""")
_UNSAFE: Final = re.compile(r'[\\"\x00-\x1f\x7f\ud800-\udfff]')
_SHORT: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True, slots=True)
class Moment:
    """A span of time, from `begin` to before `end`, written as `text`.

    In seconds since the epoch or, if `is_daily`, since local midnight.
    """

    text: str
    begin: float
    end: float
    is_daily: bool


Scalar: TypeAlias = str | int | float | bool | Moment | None
Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """Text that the message contains, ignoring case."""

    text: str

    def __str__(self) -> str:
        return quoted(self.text)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A field, or the value at a path within it, compared.

    `value` is a tuple for `in`. Values are in the field's base unit: seconds, bytes.
    """

    field: str
    path: Path
    op: str
    value: Scalar | tuple[Scalar, ...]

    def __str__(self) -> str:
        return f"{path_text(self.field, self.path)} {self.op} {value_text(self.value)}"


@dataclass(frozen=True, slots=True)
class Not:
    """Matches what `part` does not match."""

    part: Expression

    def __str__(self) -> str:
        return f"not {_inner(self.part)}"


@dataclass(frozen=True, slots=True)
class And:
    """Matches what all `parts` match."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " and ".join(map(_inner, self.parts))


@dataclass(frozen=True, slots=True)
class Or:
    """Matches what any of the `parts` matches."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " or ".join(map(_inner, self.parts))


Expression: TypeAlias = Text | Comparison | Not | And | Or


def _inner(part: Expression) -> str:
    return f"({part})" if isinstance(part, And | Or) else str(part)


def path_text(field: str, path: Path) -> str:
    """A field with a path in the filter language: `params.arguments["odd name"][0]`."""
    return field + "".join(map(_step, path))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN_KEY.fullmatch(step) else f"[{quoted(step)}]"


def value_text(value: Scalar | tuple[Scalar, ...]) -> str:
    """A value in the filter language; text is always quoted."""
    if isinstance(value, Moment):
        return quoted(value.text)
    if isinstance(value, tuple):
        return f"({', '.join(map(value_text, value))})"
    return quoted(value) if isinstance(value, str) else json.dumps(value)


def quoted(text: str) -> str:
    return f'"{_UNSAFE.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}"


SECONDS: Final = {
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1,
    "sec": 1,
    "min": 60,
    "m": 60,
    "h": 3600,
    "d": 86400,
}
BYTES: Final = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}
_QUANTITY: Final = re.compile(r"(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s?([^\W\d_]*)")
_WHOLE: Final = re.compile(r"-?\d{1,4000}")
_DAILY: Final = re.compile(r"(\d?\d):(\d\d)(?::(\d\d)(\.\d{1,6})?)?")
_DATE: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?P<s>:\d\d(?P<f>\.\d{1,6})?)?(?:Z|[-+]\d\d:?\d\d)?)?"
)
_DAY_S: Final = 86400.0
_LARGEST: Final = 10**18


def number(text: str) -> int | float | None:
    """Parse a number, more leniently than JSON; None if the text is none, or is not finite."""
    found = _QUANTITY.fullmatch(text)
    if found is None or found[2]:
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    value = float(text)
    return value if math.isfinite(value) else None


def quantity(text: str, units: dict[str, float] | dict[str, int]) -> int | float | None:
    """Parse a number with an optional unit, in base units; None if the text is invalid."""
    found = _QUANTITY.fullmatch(text.strip())
    if found is None:
        return None
    value = number(found[1])
    if not found[2] or value is None:
        return value
    factor = units.get(found[2]) or units.get(found[2].lower())
    if factor is None or abs(value) > _LARGEST:
        return None
    return value * factor if factor >= 1 else round(value * factor, 9)


def moment(text: str) -> Moment | None:
    """Parse a time of day or a date, local unless it has a UTC offset; None if the text is neither.

    It is as long as its precision: a minute, a second, or a fraction of one.
    """
    daily = _DAILY.fullmatch(text)
    if daily is not None:
        return _time_of_day(text, daily)
    dated = _DATE.fullmatch(text)
    return None if dated is None else _date(text, dated)


def _time_of_day(text: str, found: re.Match[str]) -> Moment | None:
    hours, minutes, seconds = (int(found[group] or 0) for group in (1, 2, 3))
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    begin = hours * 3600 + minutes * 60 + seconds + float(found[4] or 0)
    length = _precision_s(found[3], found[4])
    return Moment(text, begin, begin + length, is_daily=True)


def _date(text: str, found: re.Match[str]) -> Moment | None:
    try:
        begin = datetime.datetime.fromisoformat(text)
        after = begin + datetime.timedelta(days=1)
        if len(text) == len("2026-11-20"):
            return Moment(text, begin.timestamp(), after.timestamp(), is_daily=False)
        moment = begin.timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    length = _precision_s(found["s"], found["f"])
    return Moment(text, moment, moment + length, is_daily=False)


def _precision_s(seconds: str | None, fraction: str | None) -> float:
    if seconds is None:
        return 60.0
    return 1.0 if fraction is None else float(10 ** (1 - len(fraction)))


def utc_offset_s(when: float) -> float:
    """The local UTC offset at a time; it changes only at quarters of an hour."""
    try:
        local = datetime.datetime.fromtimestamp(when, datetime.UTC).astimezone()
    except (ValueError, OverflowError, OSError):
        return 0.0
    offset = local.utcoffset()
    return 0.0 if offset is None else offset.total_seconds()
