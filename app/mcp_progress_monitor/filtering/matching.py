"""Compares one value with a filter: text ignoring case, regular expressions, order."""

from __future__ import annotations

import json
import operator
import re
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.filtering.expressions import Comparison, Moment, Scalar
from mcp_progress_monitor.filtering.fields import LEVELS
from mcp_progress_monitor.protocol.lenient_json import Elided
from mcp_progress_monitor.timed_regex import compiled_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


_SHORT: Final = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PLAIN: Final = re.compile(r"[^\x00-\x1f\"\\/\x7f-\U0010ffff]+")
_LETTERS: Final = re.compile(r"[A-Za-z_]{2,}")
_ESCAPE_OF_ASCII: Final = b"\\u00"


class Word:
    r"""A text prepared for a search that ignores case.

    In bytes, a character is found as UTF-8 and as a JSON escape: `ü`, `Ü`, `\u00fc`; `"`, `\"`. It
    matches itself, its lower case and its upper case, and nothing else.
    """

    def __init__(self, text: str) -> None:
        self._is_plain = _PLAIN.fullmatch(text) is not None or not text
        self._is_ascii = text.isascii()
        self._lower = text.lower()
        self._bytes = self._lower.encode(errors="replace")
        self._in_bytes = re.compile(b"".join(map(_in_bytes, text)), re.IGNORECASE)
        self._in_text = re.compile("".join(map(_in_text, text)))
        # Letters only: JSON has several forms of numbers and white space.
        self._hint = max(_LETTERS.findall(text), key=len, default="").lower().encode()
        self.has_hint = bool(self._hint)  # whether `may_be_in` can exclude anything
        self.overlap = 12 * len(text)  # the most bytes that the text can take in a message

    def is_in(self, raw: bytes, lowered: bytes) -> bool:
        """Return whether the text is in a message, given as received and in lower case."""
        if self._is_ascii and self._bytes in lowered:
            return True
        if self._is_plain or (b"\\" not in raw and (self._is_ascii or raw.isascii())):
            return False
        return self._in_bytes.search(raw) is not None

    def chosen(
        self, hits: Iterable[int], raws: Sequence[bytes], lowered: Sequence[bytes]
    ) -> list[int]:
        """The `hits` whose message, given as received and in lower case, contains the text."""
        if self._is_plain:
            wanted = self._bytes
            return [hit for hit in hits if wanted in lowered[hit]]
        return [hit for hit in hits if self.is_in(raws[hit], lowered[hit])]

    def is_in_text(self, text: str) -> bool:
        if self._is_ascii and text.isascii():
            return self._lower in text.lower()
        return self._in_text.search(text) is not None

    def may_be_in(self, raw: bytes) -> bool:
        """Return whether a string in a JSON message can contain the text, however it is escaped."""
        return self._hint in raw.lower() or _ESCAPE_OF_ASCII in raw


def _forms(character: str) -> list[str]:
    return sorted({character, character.lower(), character.upper()})


def _in_text(character: str) -> str:
    return "(?:" + "|".join(map(re.escape, _forms(character))) + ")"


def _in_bytes(character: str) -> bytes:
    forms = {form for cased in _forms(character) for form in (cased, _escaped(cased))}
    forms.add(_SHORT.get(character, character))
    encoded = sorted(form.encode(errors="replace") for form in forms)
    return b"(?:" + b"|".join(map(re.escape, encoded)) + b")"


def _escaped(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    units = text.encode("utf-16-be", errors="replace")
    return "".join(rf"\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))


_SHORTEST: Final = 2
_ODD: Final = re.compile(r"\(\?(?!:)|\{(?!\d+(?:,\d*)?\})|�")
"""Flags, and syntax that `regex` reads differently from `re`: such patterns are not analysed."""
_GROUPS: Final = {"SUBPATTERN", "ATOMIC_GROUP"}
_REPEATS: Final = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}


def required(pattern: str) -> bytes:
    """The longest text that every match of the pattern contains, as UTF-8; empty if unknown."""
    if _ODD.search(pattern):
        return b""
    try:
        found = max(_runs(re._parser.parse(pattern)), key=len, default="")  # noqa: SLF001  # no public API
        raw = found.encode()
    except (re.error, UnicodeEncodeError, RecursionError, OverflowError, ValueError):
        return b""
    return raw if len(raw) >= _SHORTEST else b""


def _runs(nodes: Any) -> Iterator[str]:
    """The literal texts that every match of a sequence of nodes contains."""
    run = ""
    for op, value in nodes:
        if str(op) == "LITERAL":
            run += chr(value)
            continue
        yield run
        run = ""
        yield from _within(str(op), value)
    yield run


def _within(op: str, value: Any) -> Iterator[str]:
    if op in _GROUPS:
        yield from _runs(value[-1] if op == "SUBPATTERN" else value)
    elif op in _REPEATS and value[0] > 0:
        yield from _runs(value[2])


PIECE: Final = 128 * 1024  # characters of a long text that are searched in one step
OVERLAP: Final = 16 * 1024
"""Characters searched again with the next piece: the longest match that is always found."""
_LIMIT_S: Final = 0.01
_SHORT_LIMIT_S: Final = 0.002
_PATIENCE: Final = 100


class Pattern:
    """A regular expression with a time limit: a timeout counts as no match."""

    def __init__(self, text: str) -> None:
        self._pattern = compiled_pattern(text)
        self.required = required(text)
        """Bytes that every matching text contains; empty if unknown."""
        self.timed_out = 0  # how many texts timed out

    def search(self, text: str) -> bool:
        if len(text) > PIECE:
            return any(self.steps(_cut(text)))
        try:
            return self._pattern.search(text, timeout=self._limit_s()) is not None
        except TimeoutError:
            self.timed_out += 1
            return False

    def steps(self, texts: Iterable[str]) -> Iterator[bool]:
        """Search a text that arrives in pieces: yields False for each, then True at a match.

        A match at the end of a piece is decided with the next piece, which may change it.
        """
        window, start = "", 0
        following = iter(texts)
        text: str | None = next(following, "")
        while text is not None:
            # One more character, so that ^ does not match at the overlap.
            window, start = window[-OVERLAP - 1 :] + text, min(len(window), 1)
            text = next(following, None)
            try:
                found = self._pattern.search(window, start, timeout=self._limit_s())
            except TimeoutError:
                self.timed_out += 1
                return
            if found is not None and (text is None or found.end() < len(window)):
                yield True
                return
            yield False

    def _limit_s(self) -> float:
        return _LIMIT_S if self.timed_out < _PATIENCE else _SHORT_LIMIT_S


def _cut(text: str) -> Iterator[str]:
    for begin in range(0, max(len(text), 1), PIECE):
        yield text[begin : begin + PIECE]


ABSENT: Final = Elided(0)  # a missing value, which no comparison matches
_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_RANKS: Final = {level: rank for rank, level in enumerate(LEVELS)}
_NUMBERS: Final = (int, float)


class ValueJudge:
    """A comparison prepared for many values; see `filtering` for the rules."""

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
        """Return whether the value matches; a missing one never does."""
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
    """True if the values are equal and of the same JSON type: 7 equals 7.0, but not `"7"`."""
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
    """The text of a value to search: a string itself, anything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except ValueError:  # an integer with more digits than Python converts
        return ""
