"""What the list of servers offers to do with them: words, icons and keys, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeySequence

from mcp_progress_monitor.models.server_wishes import Wish
from mcp_progress_monitor.widgets.plain_text import plain_tip

if TYPE_CHECKING:
    from collections.abc import Collection

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.widgets.appearance import Appearance

_MADE: Final = (
    # wish, words, icon, keys
    (Wish.OPEN, QT_TRANSLATE_NOOP("ServerActions", "&Open"), "", ("Return", "Enter")),
    (Wish.CONNECT, QT_TRANSLATE_NOOP("ServerActions", "&Connect"), "connect", ("Ctrl+Return",)),
    (
        Wish.DISCONNECT,
        QT_TRANSLATE_NOOP("ServerActions", "&Disconnect"),
        "disconnect",
        ("Ctrl+D",),
    ),
    (Wish.RESTART, QT_TRANSLATE_NOOP("ServerActions", "&Restart"), "again", ("F5",)),
    (Wish.DOCTOR, QT_TRANSLATE_NOOP("ServerActions", "Connection d&octor"), "doctor", ("Ctrl+I",)),
    (Wish.STDERR, QT_TRANSLATE_NOOP("ServerActions", "S&how stderr"), "stderr", ("Ctrl+Shift+E",)),
    (Wish.COPY, QT_TRANSLATE_NOOP("ServerActions", "Co&py details"), "copy", ("Ctrl+C",)),
    (
        Wish.RULES,
        QT_TRANSLATE_NOOP("ServerActions", "Rules for &questions…"),
        "state-needs-you",
        (),
    ),
    (Wish.ROOTS, QT_TRANSLATE_NOOP("ServerActions", "&Folders (roots)…"), "open", ()),
    (Wish.TASKS, QT_TRANSLATE_NOOP("ServerActions", "&Tasks at the server…"), "task", ()),
    (Wish.SIGN_OUT, QT_TRANSLATE_NOOP("ServerActions", "S&ign out"), "server-sign-in", ()),
    (Wish.EDIT, QT_TRANSLATE_NOOP("ServerActions", "&Edit…"), "edit", ("F2",)),
    (Wish.CLONE, QT_TRANSLATE_NOOP("ServerActions", "C&lone"), "copy", ("Ctrl+Shift+C",)),
    (Wish.KEEP, QT_TRANSLATE_NOOP("ServerActions", "&Keep this server"), "save", ("Ctrl+K",)),
    (Wish.AT_START, QT_TRANSLATE_NOOP("ServerActions", "Connect at &start"), "", ("Ctrl+T",)),
    (
        Wish.DISABLE,
        QT_TRANSLATE_NOOP("ServerActions", "Disa&ble"),
        "server-disabled",
        ("Ctrl+B",),
    ),
    (Wish.ENABLE, QT_TRANSLATE_NOOP("ServerActions", "Ena&ble"), "server", ("Ctrl+Shift+B",)),
    (Wish.UP, QT_TRANSLATE_NOOP("ServerActions", "Move &up"), "previous", ("Ctrl+Up",)),
    (Wish.DOWN, QT_TRANSLATE_NOOP("ServerActions", "Move do&wn"), "next", ("Ctrl+Down",)),
    (Wish.REMOVE, QT_TRANSLATE_NOOP("ServerActions", "Re&move"), "remove", ("Del",)),
)


class ServerActions(QObject):
    """One `QAction` for each `Wish`; their keys work in the list alone."""

    wished = Signal(object)
    """The `Wish` that was chosen."""

    def __init__(self, view: QWidget, appearance: Appearance, parent: QObject) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._actions: dict[Wish, QAction] = {}
        for wish, words, _icon, keys in _MADE:
            action = QAction(QCoreApplication.translate("ServerActions", str(words)), view)
            action.setShortcuts([QKeySequence(key) for key in keys])
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.setData(wish.value)
            action.triggered.connect(self._on_triggered)
            view.addAction(action)
            self._actions[wish] = action
        self._actions[Wish.AT_START].setCheckable(True)
        appearance.changed.connect(self._recolour)
        self._recolour()

    def __getitem__(self, wish: Wish) -> QAction:
        """The action for a wish."""
        return self._actions[wish]

    def offer(self, wishes: Collection[Wish]) -> None:
        """Let exactly these be chosen."""
        for wish, action in self._actions.items():
            action.setEnabled(wish in wishes)

    def set_tips(self, why: str) -> None:
        """Tell in every tip why nothing can be changed."""
        for wish, action in self._actions.items():
            if wish is not Wish.COPY:
                action.setToolTip(plain_tip(why))

    @Slot()
    def _on_triggered(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.wished.emit(Wish(action.data()))

    @Slot()
    def _recolour(self) -> None:
        for wish, _words, icon, _keys in _MADE:
            if icon:
                self._actions[wish].setIcon(self._appearance.icon(icon))
