"""Regular expressions of users, run on texts of servers: neither may hold the program up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.filtering.literals import required
from mcp_progress_monitor.timed_regex import compiled_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PIECE: Final = 128 * 1024
"""Characters of a long text that are searched at one go …"""
OVERLAP: Final = 16 * 1024
"""… and how many of them once more with the next: the longest match that is found for sure."""
_LIMIT_S: Final = 0.01
_SHORT_LIMIT_S: Final = 0.002
_PATIENCE: Final = 100


class Pattern:
    """A regular expression with a limit of time: what it fails to answer, it does not match."""

    def __init__(self, text: str) -> None:
        self._pattern = compiled_pattern(text)
        self.required = required(text)
        """Bytes that are in every text that has a match; empty where that is not known."""
        self.timed_out = 0
        """How many texts were given up."""

    def search(self, text: str) -> bool:
        """Whether the pattern has a match in the text."""
        if len(text) > PIECE:
            return any(self.steps(_cut(text)))
        try:
            return self._pattern.search(text, timeout=self._limit_s()) is not None
        except TimeoutError:
            self.timed_out += 1
            return False

    def steps(self, texts: Iterable[str]) -> Iterator[bool]:
        """Search a text that comes in pieces: False while it goes on, True at a match.

        A match that ends where a piece ends waits for the next, which may make it another.
        """
        window, start = "", 0
        following = iter(texts)
        text: str | None = next(following, "")
        while text is not None:
            # One character more, so that ^ does not take the overlap for the beginning.
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
