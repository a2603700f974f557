"""What was said of the messages that break a rule, kept for exports: the index knows only which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import Changes

_KEPT: Final = 20_000
UNKNOWN: Final = "irregular; the reason is no longer kept"


class Told(Protocol):
    """An update; `updates.Update` fits."""

    @property
    def changes(self) -> Changes:
        """What happened to jobs, and what is wrong with messages."""


class MarkWords:
    """Listens to updates; keeps the words of the first messages that break a rule."""

    def __init__(self) -> None:
        self._words: dict[int, str] = {}

    def listen(self, update: Told) -> None:
        """Take what an update says (a listener of `Monitor` and `Playback`)."""
        marked = update.changes.marked
        if marked and len(self._words) < _KEPT:
            self._words.update(marked)

    def of(self, number: int) -> str:
        """The words for the marked frame of that number."""
        return self._words.get(number, UNKNOWN)
