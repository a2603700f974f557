"""Names, titles and default keys of commands whose widgets are created on demand.

The window's own commands are there for as long as it is (`shortcuts.py`). These are listed, and can
be given other keys, while none of their parts exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence, QShortcut

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtWidgets import QAbstractButton, QWidget


class Keyed(NamedTuple):
    """Title of a command, and its keys unless the user chose others."""

    title: str
    keys: tuple[str, ...]
    context: Qt.ShortcutContext = Qt.ShortcutContext.WidgetWithChildrenShortcut

    def sequences(self) -> list[QKeySequence]:
        """The keys as Qt has them."""
        return [QKeySequence(key) for key in self.keys]


_ACCEPT: Final = ("Ctrl+Enter", "Ctrl+Return")
"""Enter with Ctrl, on the pad of digits and beside the letters."""

_ONE: Final = Qt.ShortcutContext.WidgetShortcut
_WIDE: Final = Qt.ShortcutContext.WindowShortcut

KEY_TABLE: Final = {
    "servers.add": Keyed("Add a server", ("Ins",), _ONE),
    "traffic.find": Keyed("Filter messages", ("Ctrl+F",)),
    "message.filter": Keyed("Filter by this value", ("Ctrl+Return",), _ONE),
    "message.exclude": Keyed("Exclude this value", ("Ctrl+Shift+Return",), _ONE),
    "message.bytes": Keyed("Show in raw bytes", ("Ctrl+B",), _ONE),
    "message.find": Keyed("Find in the message", ("Ctrl+Shift+F",)),
    "message.next": Keyed("Next match in the message", ("F3",)),
    "message.previous": Keyed("Previous match in the message", ("Shift+F3",)),
    "findings.find": Keyed("Filter findings", ("Ctrl+F",)),
    "findings.group": Keyed("Group findings by rule", ("Ctrl+Shift+G",)),
    "findings.rules": Keyed("Show which rules were tried", ("Ctrl+U",)),
    "stderr.find": Keyed("Find", ("Ctrl+F",)),
    "stderr.next": Keyed("Next match", ("F3",)),
    "stderr.previous": Keyed("Previous match", ("Shift+F3",)),
    "stderr.case": Keyed("Match case", ("Alt+C",)),
    "stderr.pattern": Keyed("Use regular expression", ("Alt+R",)),
    "questions.accept": Keyed("Accept", _ACCEPT),
    "call.send": Keyed("Send the call", _ACCEPT),
    "call.find": Keyed("Search what the server offers", ("Ctrl+F",)),
    "saved-calls.delete": Keyed("Delete the selected calls", ("Del",)),
    "editor.save": Keyed("Save and connect", _ACCEPT),
    "rules.save": Keyed("Save", _ACCEPT),
    "statistics.refresh": Keyed("Count again", ("F5",)),
    "tasks.refresh": Keyed("Refresh", ("F5",)),
    "tasks.cancel": Keyed("Cancel task", ("Del",)),
    "recordings.delete": Keyed("Delete the selected recordings", ("Del",)),
    "note.save": Keyed("Save the note", _ACCEPT),
    "manual.find": Keyed("Search the manual", ("Ctrl+F",)),
    "replay.play": Keyed("Play or pause", ("F5",), _WIDE),
    "replay.next": Keyed("Show the next message", ("F4",), _WIDE),
    "replay.start": Keyed("Go back to the first message", ("Shift+F5",), _WIDE),
    "replay.all": Keyed("Show the whole recording at once", ("Ctrl+F5",), _WIDE),
}


def give_keys(part: QAction | QAbstractButton, name: str) -> None:
    """Make `part` the command `name` of `KEY_TABLE`, with its keys."""
    command = KEY_TABLE[name]
    part.setObjectName(name)
    if isinstance(part, QAction):
        part.setShortcuts(command.sequences())
        part.setShortcutContext(command.context)
    else:
        part.setShortcut(command.sequences()[0])


class TableShortcut(QShortcut):
    """The keys of a command of `KEY_TABLE` in a page; `told_by` are controls beside the page."""

    def __init__(self, page: QWidget, told_by: Sequence[QWidget]) -> None:
        super().__init__(page)
        self.told_by: Final = told_by


def add_keys(
    page: QWidget, name: str, slot: Callable[[], object], told_by: Sequence[QWidget] = ()
) -> None:
    """Let the keys of the command `name` of `KEY_TABLE` call `slot`, where they work in `page`.

    The first key is told by tool tips of controls in the page, and of those in `told_by`.
    """
    command = KEY_TABLE[name]
    shortcut = TableShortcut(page, told_by)
    shortcut.setObjectName(name)
    shortcut.setKeys(command.sequences())
    shortcut.setContext(command.context)
    shortcut.activated.connect(slot)
