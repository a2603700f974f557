"""Panes: made when first needed, brought to the front, and reached by keys: F6 cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from PySide6.QtCore import QObject, QSize, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QAbstractItemView, QApplication, QDockWidget, QMainWindow, QWidget

from mcp_progress_monitor.gui.common.commands import Command, CommandActions, carries_out
from mcp_progress_monitor.gui.common.layout import ScreenFit, controls_in, room
from mcp_progress_monitor.gui.window_commands import MENU, NEXT_PANE, PREVIOUS_PANE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from PySide6.QtWidgets import QMenu

_KEPT_NAMES: Final = {"traffic": "log", "server_log": "messages"}
P = TypeVar("P", bound=QWidget)

BESIDE_PANE: Final = QSize(150, 240)
"""Least size of the rest of the window, beside a pane at the bottom."""


class LazyPane(Generic[P]):
    """One pane: a dock as its placeholder, and its maker."""

    def __init__(self, dock: QDockWidget, make: Callable[[], P], least_height: int = 0) -> None:
        self.dock = dock
        self._make = make
        self._made: P | None = None
        self._joins: list[Callable[[], None]] = []
        place = QWidget(dock)
        place.setMinimumHeight(min(least_height, (room(dock) - BESIDE_PANE).height()))
        dock.setWidget(place)

    def open(self) -> P:
        """Bring the pane to the front."""
        bring_to_front(self.dock)
        return self.pane()

    @property
    def is_made(self) -> bool:
        return self._made is not None

    @property
    def is_seen(self) -> bool:
        """True if its dock is in front; Qt keeps those behind it shown, outside the window."""
        geometry = self.dock.geometry()
        return self.dock.isVisible() and geometry.right() >= 0 and geometry.bottom() >= 0

    def pane(self) -> P:
        """The pane, which is created on first use."""
        if self._made is None:
            self._made = self._make()
            place = self.dock.widget()
            self.dock.setWidget(ScreenFit(self._made, BESIDE_PANE, self.dock))
            place.deleteLater()
            if self.dock.isVisible():
                self._made.show()
            for join in self._joins:
                join()
            self._joins.clear()
        return self._made

    def when_made(self, join: Callable[[], None]) -> None:
        """Call `join` once the pane exists, possibly now."""
        if self.is_made:
            join()
        else:
            self._joins.append(join)


def bring_to_front(dock: QDockWidget) -> None:
    """Show a pane in front of those that share its place; it takes over the focus of theirs."""
    dock.show()
    window = dock.parentWidget()
    beside = window.tabifiedDockWidgets(dock) if isinstance(window, QMainWindow) else []
    hides_focus = any(map(has_focus, beside))
    dock.raise_()
    if hides_focus:
        first_control(dock).setFocus()


def has_focus(widget: QWidget) -> bool:
    focused = QApplication.focusWidget()
    return focused is not None and widget.isAncestorOf(focused)


def kept_name(name: str) -> str:
    """The name of a pane in saved window states and keys, which earlier versions wrote."""
    return _KEPT_NAMES.get(name, name)


def _go_to(name: str, text: str, key: str) -> Command:
    where = Qt.ShortcutContext.WindowShortcut
    return Command(f"go.{kept_name(name)}", text, keys=(key,), where=where)


_PANES: Final = {
    "jobs": _go_to("jobs", "&Jobs", "Alt+1"),
    "servers": _go_to("servers", "&Servers", "Alt+2"),
    "traffic": _go_to("traffic", "&Traffic", "Alt+3"),
    "job": _go_to("job", "Jo&b", "Alt+4"),
    "findings": _go_to("findings", "&Findings", "Alt+5"),
    "stderr": _go_to("stderr", "st&derr", "Alt+6"),
    "server_log": _go_to("server_log", "Server &log", "Alt+7"),
    "questions": _go_to("questions", "&Questions", "Alt+8"),
    "timeline": _go_to("timeline", "T&imeline", "Alt+9"),
}
GO_TO: Final = tuple(_PANES.values())


class PaneFocus(QObject):
    """Moves the focus to a pane, or to the next one; each pane remembers its focus."""

    def __init__(
        self,
        window: QWidget,
        panes: Callable[[], Sequence[QWidget]],
        show: Callable[[str], QWidget],
        do: CommandActions,
    ) -> None:
        """`panes` are those of `window` in order; `show` brings one to the front.

        `do` are the commands of the window.
        """
        super().__init__(window)
        self._window = window
        self._panes = panes
        self._show = show
        self._last: dict[QWidget, QWidget] = {}
        self.going: Final = CommandActions(GO_TO, do.commands, window, do.appearance)
        for name, command in _PANES.items():
            do.commands.carry_out(command, self.go_to, name)
        do.commands.join(self)

    def add_to(self, menu: QMenu) -> None:
        menu.addActions(self.going.some(GO_TO))

    @carries_out(NEXT_PANE)
    def go_to_next(self) -> None:
        """Move the focus to the next visible pane, after the last one to the first."""
        self._step(1)

    @carries_out(PREVIOUS_PANE)
    def go_to_previous(self) -> None:
        self._step(-1)

    @carries_out(MENU)
    def open_menu(self) -> None:
        """Open the menu of what has the focus, as the menu key does, which not every board has."""
        focused = QApplication.focusWidget()
        if focused is not None:
            place = focused.rect().center()
            by_key = QContextMenuEvent.Reason.Keyboard
            event = QContextMenuEvent(by_key, place, focused.mapToGlobal(place))
            QApplication.sendEvent(focused, event)

    def go_to(self, name: str) -> None:
        self._enter(self._show(name))

    def _step(self, by: int) -> None:
        panes = [pane for pane in self._panes() if is_seen(pane) and usable(pane)]
        focused = QApplication.focusWidget()
        at = -1 if by > 0 else 0
        for place, pane in enumerate(panes):
            if focused is not None and (pane is focused or pane.isAncestorOf(focused)):
                self._last[pane] = focused
                at = place
        if panes:
            self._enter(panes[(at + by) % len(panes)])

    def _enter(self, pane: QWidget) -> None:
        last = self._last.get(pane)
        within = usable(pane)
        target = last if last in within else first_control(pane)
        if target is _content(pane) and not within:
            return  # nothing there can have the focus, or show it
        target.window().activateWindow()
        target.setFocus(Qt.FocusReason.ShortcutFocusReason)


def is_seen(pane: QWidget) -> bool:
    """Return whether any part of a pane is visible: Qt keeps those behind others shown."""
    geometry = pane.geometry()
    is_behind = not pane.isWindow() and (geometry.right() < 0 or geometry.bottom() < 0)
    return pane.isVisible() and not is_behind


def usable(pane: QWidget) -> list[QWidget]:
    """The focusable controls within a pane."""
    return [each for each in controls_in(_content(pane)) if each.isVisible() and each.isEnabled()]


def first_control(pane: QWidget) -> QWidget:
    """The initial focus of a pane: its own choice, its first list, or its first control."""
    pane = _content(pane)
    # No focus proxy where anything stands before it: Tab would skip that.
    begin = getattr(pane, "begins_at", pane.focusProxy())
    if isinstance(begin, QWidget):
        return begin
    controls = [each for each in controls_in(pane) if each.isVisibleTo(pane) and each.isEnabled()]
    lists: Iterable[QWidget] = (each for each in controls if isinstance(each, QAbstractItemView))
    return next(iter(lists), controls[0] if controls else pane)


def _content(pane: QWidget) -> QWidget:
    if isinstance(pane, QDockWidget):
        pane = pane.widget()
    return pane.content if isinstance(pane, ScreenFit) else pane
