"""Progress tokens of our own: which the user may choose, and those made for them."""

from __future__ import annotations

import enum
import itertools
from typing import TypeAlias


class AutoToken(enum.Enum):
    """The type of `AUTO`."""

    AUTO = "auto"


AUTO = AutoToken.AUTO
"""Asks for a token from the `TokenSource`."""

TokenChoice: TypeAlias = AutoToken | str | int | None
"""A string or an integer (0 included) to use as it is, `AUTO`, or None for no token at all."""


class TokenSource:
    """Makes tokens `prog-<milliseconds>-<counter>`, unique for the life of the program.

    Made once and passed down. The counter alone makes a token unique, whatever the clock does,
    and counting is atomic, whichever threads ask.
    """

    def __init__(self, now_ms: int) -> None:
        self._started_ms = now_ms
        self._counter = itertools.count(1)

    def next(self, now_ms: int | None = None) -> str:
        """Make a token; `now_ms` is the wall time, by default that of the source's making."""
        milliseconds = self._started_ms if now_ms is None else now_ms
        return f"prog-{milliseconds}-{next(self._counter)}"
