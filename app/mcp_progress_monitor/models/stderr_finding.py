"""Looking for words, or a regular expression, in lines: none of them may hold the program up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.timed_regex import compiled_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE_LIMIT_S: Final = 0.01
PATIENCE: Final = 20
"""So many lines may take the pattern longer than that; the rest is not searched then."""
HITS_IN_A_LINE: Final = 100


class Finder:
    """Finds places in lines.

    Raises:
        BadPatternError: `words` are to be a regular expression and are none.
    """

    def __init__(self, words: str, *, has_case: bool = False, is_pattern: bool = False) -> None:
        self.given_up = 0
        """How many lines the pattern took too long for: they count as without a hit."""
        self._is_pattern = is_pattern
        if is_pattern:
            self._pattern = compiled_pattern(words if has_case else f"(?i){words}")
        else:
            flags = 0 if has_case else re.IGNORECASE
            self._words = re.compile(re.escape(words), flags)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where the hits begin and end; at most `HITS_IN_A_LINE`, none of them empty."""
        if self.given_up >= PATIENCE:
            return []
        found: list[tuple[int, int]] = []
        try:
            for span in self._found(line):
                found.append(span)
                if len(found) >= HITS_IN_A_LINE:
                    break
        except TimeoutError:
            self.given_up += 1
            return []
        return found

    def _found(self, line: str) -> Iterator[tuple[int, int]]:
        if self._is_pattern:
            for hit in self._pattern.finditer(line, timeout=LINE_LIMIT_S):
                if hit.end() > hit.start():
                    yield hit.span()
        else:
            for match in self._words.finditer(line):
                yield match.span()
