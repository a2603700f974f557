"""Whose turn it is on the terminal: what comes while the user is asked waits until afterwards."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

_MOST: Final = 2_000


class Turns:
    """Does things at once, or in their order once a question is over."""

    def __init__(
        self, aside: Callable[[], AbstractContextManager[None]], say: Callable[[str], None]
    ) -> None:
        """`aside` keeps progress away; `say` tells of lines that were too many to be kept."""
        self._aside = aside
        self._say = say
        self._depth = 0
        self._waiting: list[Callable[[], None]] = []
        self._left_out = 0

    def say(self, line: str) -> None:
        """Write a line; of a flood while the user is asked, the first ones and their number."""
        if self._depth and len(self._waiting) >= _MOST:
            self._left_out += 1
        else:
            self.do(_Line(self._say, line))

    def do(self, action: Callable[[], None]) -> None:
        """Do what is never left out."""
        if self._depth:
            self._waiting.append(action)
        else:
            action()

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Keep everything back for a while."""
        self._depth += 1
        try:
            with self._aside():
                yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._catch_up()

    def _catch_up(self) -> None:
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            action()
        if self._left_out:
            self._say(f"… and {self._left_out:,} further lines, which the recording has.")
            self._left_out = 0


class _Line:
    """A line that waits to be written."""

    def __init__(self, say: Callable[[str], None], line: str) -> None:
        self._say = say
        self._text = line

    def __call__(self) -> None:
        """Write it."""
        self._say(self._text)
