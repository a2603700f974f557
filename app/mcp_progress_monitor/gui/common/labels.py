"""Labels that several panes show: the number of findings, and the title of a watched server."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, Signal

from mcp_progress_monitor.findings.finding import Level
from mcp_progress_monitor.formatting import count, number, one_line
from mcp_progress_monitor.gui.theme import LEVEL_TONES, Tone

if TYPE_CHECKING:
    from collections.abc import Mapping

ICON = "warning"


_RANKS = {level: rank for rank, level in enumerate(Level)}


class Badge(NamedTuple):
    """The number of findings, and the highest severity among them."""

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
            f"{findings}, highest severity: {self.level.value}"
            if self.total > 1
            else (f"{findings}: {self.level.value}")
        )

    def plus(self, level: Level) -> Badge:
        """One finding more."""
        gravest = level if _RANKS[level] < _RANKS[self.level] else self.level
        return Badge(self.total + 1, gravest)


_NAME = 80


class ServerTitle(NamedTuple):
    """Title of a server that is not shown by its name; `tip` is the longer text."""

    text: str
    tip: str


class ServerTitles(QObject):
    """Titles of servers in every pane: a watched one has its own name and its client's."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._titles: dict[str, ServerTitle] = {}

    def set_titles(self, titles: Mapping[str, ServerTitle]) -> None:
        """Show servers by titles instead of their names."""
        before = [self.text(server) for server in titles]
        self._titles.update((one_line(server, _NAME), title) for server, title in titles.items())
        if before != [title.text for title in titles.values()]:
            self.changed.emit()

    def text(self, server: str) -> str:
        """Return the title of a server, in one line."""
        name = one_line(server[: _NAME + 1], _NAME)
        return self._titles[name].text if name in self._titles else name

    def tip(self, server: str) -> str:
        """The tool tip for a shortened title; empty for a server shown by its name."""
        title = self._titles.get(one_line(server[: _NAME + 1], _NAME))
        return "" if title is None else title.tip
