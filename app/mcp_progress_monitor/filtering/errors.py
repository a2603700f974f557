"""What is wrong with a filter, where, and what to write instead."""

from __future__ import annotations


class FilterError(ValueError):
    """A filter cannot be understood. `str()` says what, where and what to try, in one line.

    The mistake stands at `position` (characters from 0) and is `length` characters long, 0 where
    something is missing at the end. `hint` may be empty.
    """

    def __init__(self, what: str, position: int, length: int = 0, hint: str = "") -> None:
        self.what = what
        self.position = position
        self.length = length
        self.hint = hint
        where = f"at character {position + 1:,}"
        super().__init__(f"{what} ({where})" + (f". {hint}" if hint else ""))
