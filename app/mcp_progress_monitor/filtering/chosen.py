"""What a user has chosen to see of the log: a filter's text, and the buttons beside it."""

from __future__ import annotations

from typing import NamedTuple

from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.protocol.frame_kind import FrameKind


class LogFilter(NamedTuple):
    """Which frames are shown: those that `text` matches, of one of the channels and of the kinds.

    `text` is an expression of the filter language, see `filtering`;
    `irregular_only` leaves out all that break no rule.
    """

    text: str = ""
    channels: frozenset[Channel] = frozenset(Channel)
    kinds: frozenset[FrameKind] = frozenset(FrameKind)
    irregular_only: bool = False

    @property
    def shows_all(self) -> bool:
        """Whether no frame is left out."""
        return not self.text.strip() and not self.is_narrowed

    @property
    def is_narrowed(self) -> bool:
        """Whether frames are left out for what they are, not for what the text says."""
        is_whole = self.channels >= set(Channel) and self.kinds >= set(FrameKind)
        return self.irregular_only or not is_whole
