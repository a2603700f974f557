"""The window's commands and their keys: the defaults, the user's own, and what is in conflict.

A command is an action or a button with an object name such as `jobs.cancel`: its section and its
name in it. The list of keys, the command palette and the user's own keys go by these names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QObject, QRegularExpression, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton, QToolButton

from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.preferences import KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.gui.preferences import Preferences

SECTIONS: Final = {
    "window": "Window",
    "go": "Go to",
    "jobs": "Jobs",
    "servers": "Servers",
    "watched": "Watched servers",
    "traffic": "Traffic",
    "job": "Job",
    "findings": "Findings",
}
"""What the names of commands begin with, and what the sections are called."""
_DEFAULT: Final = "default-keys"
_NAMED: Final = QRegularExpression(rf"^({'|'.join(SECTIONS)})\.")
_PORTABLE: Final = QKeySequence.SequenceFormat.PortableText
_NATIVE: Final = QKeySequence.SequenceFormat.NativeText


class Command(NamedTuple):
    """One command: the object that carries it out, and what it is called."""

    part: QAction | QAbstractButton
    name: str
    section: str
    title: str

    @property
    def keys(self) -> list[QKeySequence]:
        if isinstance(self.part, QAction):
            return list(self.part.shortcuts())
        key = self.part.shortcut()
        return [] if key.isEmpty() else [key]

    @property
    def defaults(self) -> list[QKeySequence]:
        kept = self.part.property(_DEFAULT)
        return self.keys if kept is None else [QKeySequence(key) for key in kept]

    @property
    def is_changed(self) -> bool:
        return self.keys != self.defaults

    @property
    def is_wide(self) -> bool:
        """Whether the keys work in the whole window."""
        part = self.part
        wide = Qt.ShortcutContext.WindowShortcut
        return not isinstance(part, QAction) or part.shortcutContext() is wide

    def meets(self, other: Command) -> bool:
        """Whether a key of one can mean the other: then neither would be carried out."""
        return self.is_wide or other.is_wide or self.section == other.section

    def set_keys(self, keys: Sequence[QKeySequence]) -> None:
        """Take other keys; the tool tip that ends in one says the new one."""
        part, before = self.part, native(self.keys[:1])
        if part.property(_DEFAULT) is None:
            part.setProperty(_DEFAULT, [key.toString(_PORTABLE) for key in self.keys])
        if isinstance(part, QAction):
            part.setShortcuts(list(keys))
        else:
            part.setShortcut(keys[0] if keys else QKeySequence())
        _name_key(part, before, native(keys[:1]))


def native(keys: Iterable[QKeySequence]) -> str:
    return ", ".join(key.toString(_NATIVE) for key in keys)


def _name_key(part: QAction | QAbstractButton, before: str, now: str) -> None:
    """Let a tool tip that ends in a key end in another one."""
    tip, ending = part.toolTip(), f" ({before})"
    if before and tip.endswith(ending):
        tip = tip.removesuffix(ending)
        part.setToolTip(plain_tip(f"{tip} ({now})" if now else tip))


class Conflict(NamedTuple):
    """Who else has a key: commands that can give it up, or a use of it that cannot be changed."""

    commands: tuple[Command, ...]
    fixed: str = ""


class Shortcuts(QObject):
    """The commands of a window; takes up the user's keys, and keeps them."""

    changed = Signal()
    """Commands have other keys."""

    def __init__(self, window: QWidget, preferences: Preferences) -> None:
        super().__init__(window)
        self._window = window
        self._preferences = preferences

    def apply(self) -> None:
        """Take up the user's keys, of parts too that were not there before."""
        own = self._own()
        if own:
            for command in self.commands():
                keys = own.get(command.name)
                if isinstance(keys, list):
                    command.set_keys([QKeySequence(str(key)) for key in keys])

    def commands(self) -> list[Command]:
        """Every command, by section, in the order in which they were made."""
        options = Qt.FindChildOption.FindChildrenRecursively
        actions = self._window.findChildren(QAction, _NAMED, options)
        buttons = self._window.findChildren(QAbstractButton, _NAMED, options)
        made = [*map(_command, actions), *map(_command, buttons)]
        order = list(SECTIONS.values())
        return sorted(made, key=lambda command: order.index(command.section))

    def set_keys(self, command: Command, keys: Sequence[QKeySequence]) -> None:
        """Give a command other keys, and keep them; others that have them lose them."""
        for key in keys:
            for other in self.conflict(command, key).commands:
                self._give(other, [each for each in other.keys if each != key])
        self._give(command, keys)
        self._save()

    def reset(self, commands: Iterable[Command]) -> None:
        """Give commands their own keys again; what has them now loses them."""
        for command in commands:
            if command.is_changed:
                self.set_keys(command, command.defaults)

    def conflict(self, command: Command, key: QKeySequence) -> Conflict:
        fixed = "" if key in command.defaults else self._fixed().get(key.toString(_PORTABLE), "")
        others = [each for each in self.commands() if each.name != command.name]
        return Conflict(
            tuple(each for each in others if key in each.keys and command.meets(each)), fixed
        )

    def clashes(self) -> dict[str, list[Command]]:
        """The commands that cannot be told apart by their keys, by name."""
        commands = [command for command in self.commands() if command.keys]
        found: dict[str, list[Command]] = {}
        for command in commands:
            others = [
                each
                for each in commands
                if each.name != command.name
                and command.meets(each)
                and any(key in each.keys for key in command.keys)
            ]
            if others:
                found[command.name] = others
        return found

    def _give(self, command: Command, keys: Sequence[QKeySequence]) -> None:
        """Give a command its keys; buttons elsewhere that do the same say so."""
        before = native(command.keys[:1])
        command.set_keys(keys)
        if command.is_wide and before:
            for button in self._window.findChildren(QAbstractButton):
                _name_key(button, before, native(keys[:1]))

    def _save(self) -> None:
        own = dict(self._own())
        for command in self.commands():
            own.pop(command.name, None)
            if command.is_changed:
                own[command.name] = [key.toString(_PORTABLE) for key in command.keys]
        self._preferences.keep_json(KEYS, own)
        self.changed.emit()

    def _own(self) -> Mapping[str, Any]:
        return self._preferences.json_of(KEYS)

    def _fixed(self) -> dict[str, str]:
        """Keys that mean something in some part of the window, whatever is set here."""
        found = dict(_EDITING)
        for shortcut in self._window.findChildren(QShortcut):
            keys: list[QKeySequence] = shortcut.keys()
            for key in keys:
                found.setdefault(key.toString(_PORTABLE), "a control of the window")
        return found


_EDITING: Final = {
    "Ctrl+V": "editing text",
    "Ctrl+X": "editing text",
    "Ctrl+Z": "editing text",
    "Ctrl+A": "selecting all",
    "Tab": "moving the focus",
    "Shift+Tab": "moving the focus",
    "Backtab": "moving the focus",
    "Space": "pressing buttons",
    "Esc": "closing and cancelling",
}


def _command(part: QAction | QAbstractButton) -> Command:
    name = part.objectName()
    words = part.text()
    if isinstance(part, QAbstractButton) and (not words or _is_short(part)):
        words = part.accessibleName()
    title = words.replace("&", "").removesuffix("…")
    return Command(part, name, SECTIONS[name.partition(".")[0]], title)


def _is_short(button: QAbstractButton) -> bool:
    """Whether its text says little without what is around it, as "+1 min"."""
    return isinstance(button, QToolButton) and button.text() != button.accessibleName()
