"""Regular expressions with a time limit, for patterns or texts from untrusted sources."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import regex

LONGEST: Final = 2_000  # characters of a pattern
_MOST_UNROLLED: Final = 20_000
"""Elements of a pattern with its counted repetitions expanded; a million take 270 MB."""
_FEW: Final = 100_000
_COUNT: Final = re.compile(r"\{\s*(\d+)")
_ODD: Final = re.compile(r"\(\?(?:#|[a-zA-Z0-9]*[xV])|\[:")
"""Comments, flags and classes that give brackets another meaning than `_ELEMENT` assumes."""
_ELEMENT: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<open>\()|(?P<close>\))|\{(?:\s*\d*,)?\s*(?P<count>\d+)[^}]*\}|.",
    re.DOTALL,
)


class BadPatternError(ValueError):
    """Not a usable regular expression; `position` is the place of the error."""

    def __init__(self, what: str, position: int) -> None:
        super().__init__(what)
        self.position = position


@lru_cache(maxsize=256)
def compiled_pattern(text: str) -> regex.Pattern[str]:
    """Compile a pattern in the syntax of the `regex` module, version 0.

    Raises:
        BadPatternError: it is invalid, too long or too large.
    """
    import regex  # on first use: it takes 12 ms

    if len(text) > LONGEST:
        raise BadPatternError(f"longer than {LONGEST:,} characters", LONGEST)
    if _is_too_large(text):
        raise BadPatternError("its repetition counts are too large", 0)
    try:
        return regex.compile(text, regex.V0, cache_pattern=False)
    except regex.error as error:
        raise BadPatternError(str(error.msg), error.pos or 0) from None
    except (RecursionError, OverflowError, ValueError, MemoryError) as error:
        raise BadPatternError(str(error) or "too complex", 0) from None


def is_match(pattern: str, text: str, limit_s: float) -> bool:
    """Return whether `pattern` matches anywhere in `text`.

    Raises:
        BadPatternError: it is invalid.
        TimeoutError: it took more than `limit_s` seconds of processor time.
    """
    return compiled_pattern(pattern).search(text, timeout=limit_s) is not None


def _is_too_large(pattern: str) -> bool:
    """Return whether the pattern needs too much memory with its counted repetitions expanded."""
    counts = [_as_count(count) for count in _COUNT.findall(pattern)]
    if math.prod(counts) * len(pattern) <= _FEW:
        return False
    return bool(_ODD.search(pattern)) or unrolled(pattern) > _MOST_UNROLLED


@lru_cache(maxsize=256)
def unrolled(pattern: str) -> int:
    """The number of elements of the pattern with all counted repetitions expanded."""
    sizes, last = [0], 0
    for element in _ELEMENT.finditer(pattern):
        if element["open"]:
            sizes.append(0)
            last = 0
            continue
        if element["close"]:
            last = sizes.pop() + 1 if len(sizes) > 1 else 1
            sizes[-1] += last
        elif element["count"]:
            more = last * (_as_count(element["count"]) - 1)
            last += more
            sizes[-1] += more
        else:
            last = 1
            sizes[-1] += 1
    return sum(sizes)


def _as_count(digits: str) -> int:
    return max(1, int(digits)) if len(digits) < len(str(_FEW)) + 1 else _FEW
