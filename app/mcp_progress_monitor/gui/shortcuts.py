"""The keys of all commands: the defaults, the user's own, and what is in conflict.

They are read from the preferences, and applied to the actions of all windows.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QWidget

from mcp_progress_monitor.gui.common.commands import CommandAction
from mcp_progress_monitor.gui.preferences import KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcp_progress_monitor.gui.common.commands import Command
    from mcp_progress_monitor.gui.preferences import Preferences

_PORTABLE: Final = QKeySequence.SequenceFormat.PortableText
FIXED: Final = {
    "Ctrl+C": "copying",
    "Ctrl+V": "pasting text",
    "Ctrl+X": "cutting text",
    "Ctrl+Z": "undoing",
    "Ctrl+A": "selecting all",
    "Tab": "moving the focus",
    "Shift+Tab": "moving the focus",
    "Backtab": "moving the focus",
    "Space": "pressing buttons",
    "Return": "pressing buttons",
    "Menu": "opening the context menu",
    "Esc": "closing and cancelling",
}
"""Keys that no command can be given, and what they are needed for."""


class Section(NamedTuple):
    """The commands of a room; ids of these begin with the key of the section."""

    title: str
    commands: tuple[Command, ...]
    is_apart: bool = False
    """True for a separate window, where keys of the window and of its panes do nothing."""
    is_live: bool = False
    """True for rooms that a recording's window has no use for."""


class Conflict(NamedTuple):
    """Other users of a key: commands that can give it up, or a use that cannot be changed."""

    commands: tuple[Command, ...]
    fixed: str = ""


class Shortcuts(QObject):
    """Hands the user's keys to the actions of all windows, and keeps them."""

    changed = Signal()  # commands have other keys

    def __init__(
        self, window: QWidget, preferences: Preferences, sections: Mapping[str, Section]
    ) -> None:
        """`sections` have all commands of the program."""
        super().__init__(window)
        self.sections: Final = sections
        self._window = window
        self._preferences = preferences
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._on_focus_changed)

    def commands(self) -> list[Command]:
        """Every command, by section."""
        return [command for section in self.sections.values() for command in section.commands]

    def keys_of(self, command: Command) -> list[QKeySequence]:
        """The user's own keys of `command`, or its defaults."""
        return _keys(command, self._own())

    def is_changed(self, command: Command) -> bool:
        return self.keys_of(command) != command.default_keys

    def apply(self) -> None:
        """Take up the user's keys, of parts too that were not there before."""
        if self._own():
            self._hand_on(self._window)

    def set_keys(self, command: Command, keys: Sequence[QKeySequence]) -> None:
        """Assign and save keys for a command; other commands lose these keys."""
        changed = {command: list(keys)}
        for key in keys:
            for other in self.conflict(command, key).commands:
                has = changed.get(other, self.keys_of(other))
                changed[other] = [each for each in has if each != key]
        own = dict(self._own())
        for each, its_keys in changed.items():
            own.pop(each.id, None)
            if its_keys != each.default_keys:
                own[each.id] = [key.toString(_PORTABLE) for key in its_keys]
        self._preferences.keep_json(KEYS, own)
        for window in QApplication.topLevelWidgets():
            self._hand_on(window)
        self.changed.emit()

    def reset(self, commands: Iterable[Command]) -> None:
        """Give commands their own keys again; what has them now loses them."""
        for command in commands:
            if self.is_changed(command):
                self.set_keys(command, command.default_keys)

    def conflict(self, command: Command, key: QKeySequence) -> Conflict:
        is_default = key in command.default_keys
        fixed = "" if is_default else self._fixed().get(key.toString(_PORTABLE), "")
        others = (each for each in self.commands() if each.id != command.id)
        return Conflict(
            tuple(
                each for each in others if key in self.keys_of(each) and self.meets(command, each)
            ),
            fixed,
        )

    def meets(self, command: Command, other: Command) -> bool:
        """True if the same key for two commands would be ambiguous: Qt would run neither."""
        sections = {command.section, other.section}
        if len(sections) == 1:
            return True
        rooms = [self.sections[section] for section in sections]
        is_of_recordings = "replay" in sections and any(room.is_live for room in rooms)
        if is_of_recordings or any(room.is_apart for room in rooms):
            return False
        if sections == {"traffic", "message"}:
            one = Qt.ShortcutContext.WidgetShortcut
            return command.where is not one or other.where is not one
        return command.is_wide or other.is_wide

    def clashes(self) -> dict[str, list[Command]]:
        """The commands that cannot be told apart by their keys, by id."""
        sharing: dict[str, list[Command]] = {}
        own = self._own()
        for command in self.commands():
            for key in _keys(command, own):
                sharing.setdefault(key.toString(_PORTABLE), []).append(command)
        found: dict[str, dict[str, Command]] = {}
        for commands in sharing.values():
            for command, other in itertools.permutations(commands, 2):
                if self.meets(command, other):
                    found.setdefault(command.id, {})[other.id] = other
        return {name: list(others.values()) for name, others in found.items()}

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, _before: QWidget | None, now: QWidget | None) -> None:
        if now is not None and self._own():
            self._hand_on(now.window())

    def _hand_on(self, window: QWidget) -> None:
        """Let the actions in a window have the current keys of their commands."""
        own = self._own()
        for action in window.findChildren(CommandAction):
            keys = _keys(action.command, own)
            if action.shortcuts() != keys:
                action.set_keys(keys)

    def _own(self) -> Mapping[str, Any]:
        return self._preferences.json_of(KEYS)

    def _fixed(self) -> dict[str, str]:
        """Keys that mean something in some part of the window, whatever is set here."""
        found = dict(FIXED)
        for shortcut in self._window.findChildren(QShortcut):
            keys: list[QKeySequence] = shortcut.keys()
            for key in keys:
                found.setdefault(key.toString(_PORTABLE), "a control of the window")
        return found


def _keys(command: Command, own: Mapping[str, Any]) -> list[QKeySequence]:
    kept = own.get(command.id)
    if not isinstance(kept, list):
        return command.default_keys
    return [QKeySequence(str(key)) for key in kept]
