"""What was done to associate recordings with this program, in words for the user."""

from __future__ import annotations

from typing import NamedTuple


class Outcome(NamedTuple):
    """`done` are lines on what was written, removed or run; `to_do` what is left to the user."""

    done: tuple[str, ...] = ()
    to_do: tuple[str, ...] = ()

    def as_text(self) -> str:
        """All of it, a line each."""
        return "\n".join((*self.done, *self.to_do))
