"""What can be done with the row one stands on: as a menu, and by keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from mcp_progress_monitor.widgets.plain_text import plain_tip

if TYPE_CHECKING:
    from collections.abc import Collection

    from PySide6.QtCore import QPoint

    from mcp_progress_monitor.widgets.appearance import Appearance


class _Offer(NamedTuple):
    """An action; one that `is_wide` works by its key in all of the pane, others in the table."""

    name: str
    words: object  # a str: what Qt's stubs say of texts to be translated later
    key: str = ""
    icon: str = ""
    is_wide: bool = False


_OFFERS: Final = (
    (
        _Offer("filter", QT_TRANSLATE_NOOP("Log", "Filter by this value"), "Ctrl+Return", "filter"),
        _Offer("exclude", QT_TRANSLATE_NOOP("Log", "Exclude this value"), "Ctrl+Shift+Return"),
    ),
    (
        _Offer("token", QT_TRANSLATE_NOOP("Log", "Follow this token"), "Ctrl+T"),
        _Offer("request", QT_TRANSLATE_NOOP("Log", "Follow this request"), "Ctrl+Shift+T"),
        _Offer("task", QT_TRANSLATE_NOOP("Log", "Follow this task")),
        _Offer("job", QT_TRANSLATE_NOOP("Log", "Follow this job")),
    ),
    (
        _Offer("show_job", QT_TRANSLATE_NOOP("Log", "Show in job"), "Ctrl+J", "jobs", True),
        _Offer(
            "jump_request", QT_TRANSLATE_NOOP("Log", "Jump to request"), "Alt+Home", "sent", True
        ),
        _Offer(
            "jump_reply", QT_TRANSLATE_NOOP("Log", "Jump to reply"), "Alt+End", "received", True
        ),
        _Offer(
            "jump_previous",
            QT_TRANSLATE_NOOP("Log", "Jump to previous of this exchange"),
            "Alt+Up",
            "previous",
            True,
        ),
        _Offer(
            "jump_next",
            QT_TRANSLATE_NOOP("Log", "Jump to next of this exchange"),
            "Alt+Down",
            "next",
            True,
        ),
    ),
    (
        _Offer("mark", QT_TRANSLATE_NOOP("Log", "Mark"), "Ctrl+M", "mark", True),
        _Offer("note", QT_TRANSLATE_NOOP("Log", "Note…"), "Ctrl+Shift+M", "note", True),
        _Offer("next_mark", QT_TRANSLATE_NOOP("Log", "Next mark"), "F2", "", True),
        _Offer("previous_mark", QT_TRANSLATE_NOOP("Log", "Previous mark"), "Shift+F2", "", True),
    ),
    (
        _Offer("copy_line", QT_TRANSLATE_NOOP("Log", "Copy as line"), "Ctrl+C", "copy"),
        _Offer("copy_json", QT_TRANSLATE_NOOP("Log", "Copy as JSON"), "Ctrl+Shift+C", "json"),
        _Offer("copy_raw", QT_TRANSLATE_NOOP("Log", "Copy raw bytes"), "Ctrl+Alt+C"),
        _Offer("copy_python", QT_TRANSLATE_NOOP("Log", "Copy as Python snippet")),
        _Offer("export", QT_TRANSLATE_NOOP("Log", "Export…"), "", "save"),
    ),
)
LOOKED_UP: Final = ("filter", "exclude", "token", "request", "task", "job", "show_job")
"""What can be offered is found out for the menu alone; by key, what is missing is said."""
JUMPS: Final = ("jump_request", "jump_reply", "jump_previous", "jump_next")
MARKS: Final = ("mark", "note")


class LogActions(QObject):
    """The actions by name; says which one is wanted, and what of them can be offered now."""

    wanted = Signal(object)
    """The name of the action."""

    def __init__(self, table: QWidget, pane: QWidget, appearance: Appearance) -> None:
        super().__init__(pane)
        self._appearance = appearance
        self._group = QActionGroup(self)
        self._group.setExclusionPolicy(QActionGroup.ExclusionPolicy.None_)
        self._actions: dict[str, QAction] = {}
        self._icons: dict[str, str] = {}
        self._menu = QMenu(table)
        for section in _OFFERS:
            for offer in section:
                self._add(offer, pane if offer.is_wide else table)
            self._menu.addSeparator()
        self._group.triggered.connect(self._on_triggered)
        self._menu.aboutToHide.connect(self._on_menu_hiding)
        appearance.changed.connect(self._on_appearance_changed)
        self._use_icons()

    def action(self, name: str) -> QAction:
        """The action of that name."""
        return self._actions[name]

    def offer(self, name: str, *, is_offered: bool) -> None:
        """Enable an action, or not."""
        self._actions[name].setEnabled(is_offered)

    def show_menu(self, at: QPoint) -> None:
        """Show all of them as a menu at a point of the screen."""
        self._menu.popup(at)

    def buttons(self, names: Collection[str], parent: QWidget) -> list[QToolButton]:
        """Small buttons for some of the actions."""
        made = []
        for name in names:
            button = QToolButton(parent)
            button.setDefaultAction(self._actions[name])
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
            button.setAutoRaise(True)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            button.setAccessibleName(self._actions[name].text())
            made.append(button)
        return made

    def _add(self, offer: _Offer, place: QWidget) -> None:
        words = QCoreApplication.translate("Log", str(offer.words))
        action = QAction(words, self._group)
        action.setData(offer.name)
        key = QKeySequence(offer.key)
        action.setShortcut(key)
        is_wide = offer.is_wide
        contexts = Qt.ShortcutContext
        action.setShortcutContext(
            contexts.WidgetWithChildrenShortcut if is_wide else contexts.WidgetShortcut
        )
        native = key.toString(QKeySequence.SequenceFormat.NativeText)
        action.setToolTip(plain_tip(f"{words} ({native})" if native else words))
        place.addAction(action)
        self._menu.addAction(action)
        self._actions[offer.name] = action
        if offer.icon:
            self._icons[offer.name] = offer.icon

    def _use_icons(self) -> None:
        for name, icon in self._icons.items():
            self._actions[name].setIcon(self._appearance.icon(icon))

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        self.wanted.emit(action.data())

    @Slot()
    def _on_menu_hiding(self) -> None:
        for name in LOOKED_UP:
            self._actions[name].setEnabled(True)

    @Slot()
    def _on_appearance_changed(self) -> None:
        self._use_icons()
