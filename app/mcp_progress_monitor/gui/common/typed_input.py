"""Values as a user types them: JSON with exact numbers, and time limits."""

from __future__ import annotations

import json
import math
from typing import Any, Final

from mcp_progress_monitor.filtering.expressions import SECONDS, quantity
from mcp_progress_monitor.snapshots.limits import LONGEST_LIMIT_S, USUAL, LimitChoice

_LONGEST_INTEGER: Final = 4_000  # digits of an integer; Python converts no more than 4,300 to text


class JsonInputError(ValueError):
    """The input is not valid JSON; `line` and `column` count from 1, 0 if unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        where = f"line {line}, column {column}: " if line else ""
        super().__init__(where + message)
        self.line = line
        self.column = column


def read_json(text: str) -> Any:
    """Return the value of `text`; integers of any size are kept exactly.

    Raises:
        InputError: `text` is not JSON, a name occurs twice in an object, or a number cannot be
            kept
            (NaN, infinities, beyond the range of floating point).
    """
    try:
        return json.loads(
            text,
            parse_constant=_constant,
            parse_float=read_float,
            parse_int=_integer,
            object_pairs_hook=_members,
        )
    except json.JSONDecodeError as error:
        raise JsonInputError(_plain(error.msg), error.lineno, error.colno) from None
    except RecursionError:
        raise JsonInputError("nested too deeply") from None


def read_number(text: str, *, is_integer: bool) -> int | float:
    """Return the number in `text`.

    Raises:
        InputError: it is not a number, or not an integer if `is_integer`.
    """
    value = read_json(text.strip()) if text.strip() else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise JsonInputError("enter a whole number" if is_integer else "enter a number")
    if is_integer and value != math.floor(value):
        raise JsonInputError("enter a whole number")
    return value


def read_float(text: str) -> float:
    """Return a floating point number.

    Raises:
        InputError: it is beyond the range of floating point.
    """
    value = float(text)
    if not math.isfinite(value):
        raise JsonInputError(f"{text[:40]} is too large for a floating-point number")
    return value


def write_json(value: Any) -> str:
    """Return `value` as indented JSON; `read_json` returns the same value.

    Separators that an editor would treat as line ends are escaped.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text.replace("\u2028", r"\u2028").replace("\u2029", r"\u2029")


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_INTEGER:
        raise JsonInputError(f"an integer of {len(digits):,} digits is too long")
    return int(digits)


def _constant(name: str) -> float:
    raise JsonInputError(f"{name} is not valid JSON")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise JsonInputError(f'duplicate name "{name[:40]}" in one object')
        members[name] = value
    return members


def _plain(message: str) -> str:
    return message[:1].lower() + message[1:]


def off_word() -> str:
    """The text for no limit."""
    return "off"


def limit_text(seconds: float) -> str:
    """A limit as `read_limit` reads it: `30 min`, `90 s`, `0`."""
    for unit, length in (("h", 3600), ("min", 60), ("s", 1)):
        if seconds and not seconds % length:
            return f"{seconds / length:g} {unit}"
    return f"{seconds:g} s" if seconds else "0"


def read_limit(text: str) -> LimitChoice:
    """Return the limit in `text`, in seconds or with a unit; 0 and "off" mean none.

    Raises:
        InputError: it is not a number, or not one that a clock can count down.
    """
    entered = text.strip().casefold()
    if not entered:
        return USUAL
    if entered in {"off", off_word().casefold()}:
        return None
    seconds = quantity(entered, SECONDS)
    if seconds is None:
        seconds = read_number(text, is_integer=False)
    if not 0 <= seconds <= LONGEST_LIMIT_S:
        raise JsonInputError(f"enter 0 for no limit, or at most {LONGEST_LIMIT_S:,.0f} seconds")
    return float(seconds) or None
