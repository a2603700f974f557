"""A filter as the user chose it, and the error in one. Light: every window loads it."""

from __future__ import annotations

from typing import NamedTuple

from mcp_progress_monitor.protocol.frames import Channel, FrameKind


class FilterError(ValueError):
    """A filter is invalid.

    `str()` is one line: what is wrong, where, and what to try. The error spans `length` characters
    from `position`; `length` is 0 if something is missing at the end. `hint` may be empty.
    """

    def __init__(self, what: str, position: int, length: int = 0, hint: str = "") -> None:
        self.what = what
        self.position = position
        self.length = length
        self.hint = hint
        where = f"at character {position + 1:,}"
        super().__init__(f"{what} ({where})" + (f". {hint}" if hint else ""))


class TrafficFilter(NamedTuple):
    """Filter of frames: those that match `text`, of the chosen channels and kinds.

    `text` is an expression of the filter language, see `filtering`; with `irregular_only`, only
    frames that violate a rule are shown.
    """

    text: str = ""
    channels: frozenset[Channel] = frozenset(Channel)
    kinds: frozenset[FrameKind] = frozenset(FrameKind)
    irregular_only: bool = False

    @property
    def shows_all(self) -> bool:
        return not self.text.strip() and not self.is_narrowed

    @property
    def is_narrowed(self) -> bool:
        """True if channels, kinds or `irregular_only` exclude frames."""
        is_whole = self.channels >= set(Channel) and self.kinds >= set(FrameKind)
        return self.irregular_only or not is_whole
