"""How one value that was found in a message compares with what a filter says."""

from __future__ import annotations

import json
import operator
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.filtering.expression import Moment
from mcp_progress_monitor.filtering.fields import LEVELS
from mcp_progress_monitor.filtering.patterns import Pattern
from mcp_progress_monitor.filtering.words import Word
from mcp_progress_monitor.protocol.reading import Elided

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.filtering.expression import Comparison, Scalar

ABSENT: Final = Elided(0)
"""Stands for a value that is not there: nothing compares with it."""
_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_RANKS: Final = {level: rank for rank, level in enumerate(LEVELS)}
_NUMBERS: Final = (int, float)


class Judge:
    """A comparison made ready for many values; see `filtering` for the rules."""

    def __init__(self, comparison: Comparison) -> None:
        self._value = comparison.value
        self._rank = _RANKS.get(str(comparison.value)) if comparison.field == "level" else None
        self.pattern = Pattern(str(self._value)) if comparison.op == "matches" else None
        self.word = Word(str(self._value)) if comparison.op == "contains" else None
        self._compare: Callable[[Any], bool] = {
            "==": self._is_equal,
            "!=": self._differs,
            "in": self._is_one,
            "contains": self._contains,
            "matches": self._matches,
        }.get(comparison.op, self._is_ordered)
        self._order: Callable[[Any, Any], bool] = _ORDERS.get(comparison.op, operator.lt)

    def lets_through(self, value: Any) -> bool:
        """Whether the comparison is true of the value; never, when it is not there."""
        return not isinstance(value, Elided) and self._compare(value)

    def _is_equal(self, value: Any) -> bool:
        return is_same(value, self._value)

    def _differs(self, value: Any) -> bool:
        return not is_same(value, self._value)

    def _is_one(self, value: Any) -> bool:
        wanted = self._value
        return isinstance(wanted, tuple) and any(is_same(value, one) for one in wanted)

    def _is_ordered(self, value: Any) -> bool:
        wanted: Any = self._value
        if self._rank is not None:
            rank = _RANKS.get(value) if isinstance(value, str) else None
            return rank is not None and self._order(rank, self._rank)
        if _is_number(value) and _is_number(wanted):
            return self._order(value, wanted)
        is_text = isinstance(value, str) and isinstance(wanted, str)
        return is_text and self._order(value, wanted)

    def _contains(self, value: Any) -> bool:
        return self.word is not None and self.word.is_in_text(text_of(value))

    def _matches(self, value: Any) -> bool:
        return self.pattern is not None and self.pattern.search(text_of(value))


def is_same(value: Any, wanted: Scalar | tuple[Scalar, ...]) -> bool:
    """Equal and of one JSON type: `7` is neither `"7"` nor true, but it is 7.0."""
    if isinstance(wanted, str):
        return isinstance(value, str) and value == wanted
    if wanted is None or isinstance(wanted, bool):
        return value is wanted
    if isinstance(wanted, tuple | Moment):
        return False
    return _is_number(value) and bool(value == wanted)


def _is_number(value: Any) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def text_of(value: Any) -> str:
    """The text that is searched in a value: a string itself, of everything else its JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except ValueError:  # an integer of more digits than Python writes
        return ""
