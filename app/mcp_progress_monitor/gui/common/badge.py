"""Badges: the number of findings of a row, in the colour of the highest severity."""

from __future__ import annotations

from typing import NamedTuple

from mcp_progress_monitor.findings.finding import Level
from mcp_progress_monitor.formatting import count, number
from mcp_progress_monitor.gui.theme import LEVEL_TONES, Tone

ICON = "warning"


class Badge(NamedTuple):
    """The number of findings, and the highest severity."""

    total: int
    level: Level

    @property
    def text(self) -> str:
        """The number."""
        return number(self.total)

    @property
    def tone(self) -> Tone:
        """The colour."""
        return LEVEL_TONES[self.level]

    @property
    def spoken(self) -> str:
        """The same for screen readers and tool tips."""
        findings = count(self.total, "finding")
        return (
            f"{findings}, the gravest: {self.level.value}"
            if self.total > 1
            else (f"{findings}: {self.level.value}")
        )

    def plus(self, level: Level) -> Badge:
        """A badge with one more finding."""
        gravest = min(self.level, level, key=tuple(Level).index)
        return Badge(self.total + 1, gravest)
