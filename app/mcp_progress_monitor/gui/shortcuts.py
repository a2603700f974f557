"""The window's commands and their keys: the defaults, the user's own, and what is in conflict.

A command is an action or a button with an object name such as `jobs.cancel`: its section and its
name in it. The list of keys, the command palette and the user's own keys go by these names. A
command of `KEY_TABLE` is an action that stands for parts in any window; they take up its keys.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QObject, QRegularExpression, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton, QApplication, QToolButton, QWidget

from mcp_progress_monitor.gui.common.commands import CommandAction
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.key_table import KEY_TABLE, TableShortcut, give_keys
from mcp_progress_monitor.gui.preferences import KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcp_progress_monitor.gui.preferences import Preferences

SECTIONS: Final = {
    "window": "Window",
    "go": "Go to",
    "jobs": "Jobs",
    "servers": "Servers",
    "watched": "Watched servers",
    "traffic": "Traffic",
    "message": "Message",
    "job": "Job",
    "findings": "Findings",
    "stderr": "stderr",
    "questions": "Questions",
    "replay": "Replay",
    "call": "New call",
    "saved-calls": "Saved calls",
    "editor": "Server editor",
    "rules": "Rules and folders",
    "tasks": "Tasks",
    "recordings": "Recordings",
    "note": "Note",
    "manual": "Manual",
}
"""What the names of commands begin with, and what the sections are called."""
_APART: Final = frozenset(
    {"call", "saved-calls", "editor", "rules", "tasks", "recordings", "note", "manual"}
)
"""Sections of separate windows, where keys of the window and of its panes do nothing."""
_LIVE: Final = frozenset({"servers", "watched"})
"""Sections of what a recording's window has no use for."""
_DEFAULT: Final = "default-keys"
_NAMED: Final = QRegularExpression(rf"^({'|'.join(SECTIONS)})\.")
_OF_TABLE: Final = QRegularExpression("^(" + "|".join(map(re.escape, KEY_TABLE)) + ")$")
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
        """True if the keys work in the whole window."""
        part = self.part
        wide = Qt.ShortcutContext.WindowShortcut
        return not isinstance(part, QAction) or part.shortcutContext() is wide

    @property
    def room(self) -> str:
        """Which of `SECTIONS` it is in."""
        return self.name.partition(".")[0]

    def meets(self, other: Command) -> bool:
        """Return whether the keys of two commands are ambiguous: Qt would run neither."""
        rooms = {self.room, other.room}
        if len(rooms) == 1:
            return True
        if rooms & _APART or ("replay" in rooms and rooms & _LIVE):
            return False
        if rooms == {"traffic", "message"}:
            return self._reaches_within or other._reaches_within
        return self.is_wide or other.is_wide

    @property
    def _reaches_within(self) -> bool:
        """True if the keys of an action work in what is in its part of the window, too."""
        one = Qt.ShortcutContext.WidgetShortcut
        return not isinstance(self.part, QAction) or self.part.shortcutContext() is not one

    def set_keys(self, keys: Sequence[QKeySequence]) -> None:
        """Take other keys; the tool tip that ends in one says the new one."""
        if self.part.property(_DEFAULT) is None:
            self.part.setProperty(_DEFAULT, [key.toString(_PORTABLE) for key in self.keys])
        _take(self.part, keys)


def _take(part: QAction | QAbstractButton | QShortcut, keys: Sequence[QKeySequence]) -> None:
    """Give a part other keys, and tell them in the tool tips that end in the ones of before."""
    if isinstance(part, CommandAction):
        part.set_keys(keys)
        return
    if isinstance(part, QAbstractButton):
        before = [part.shortcut()]
        part.setShortcut(keys[0] if keys else QKeySequence())
    elif isinstance(part, QAction):
        before = part.shortcuts()
        part.setShortcuts(list(keys))
    else:
        before = part.keys()
        part.setKeys(list(keys))
    for named in _named_beside(part) if isinstance(part, QShortcut) else [part]:
        _name_key(named, native(before[:1]), native(keys[:1]))


def _named_beside(shortcut: QShortcut) -> list[QWidget]:
    """The controls that may name the key of a shortcut: those of its page, and beside it."""
    page = shortcut.parent()
    assert isinstance(page, QWidget)  # noqa: S101
    beside = shortcut.told_by if isinstance(shortcut, TableShortcut) else ()
    return [page, *page.findChildren(QWidget), *beside]


def native(keys: Iterable[QKeySequence]) -> str:
    return ", ".join(key.toString(_NATIVE) for key in keys)


def _name_key(part: QAction | QWidget, before: str, now: str) -> None:
    """Let a tool tip that ends in a key end in another one."""
    tip, ending = _as_plain(part.toolTip()), f" ({before})"
    if before and tip.endswith(ending):
        tip = tip.removesuffix(ending)
        part.setToolTip(plain_tip(f"{tip} ({now})" if now else tip))


def _as_plain(tip: str) -> str:
    """The text of a tip that `plain_tip` made."""
    if not tip.startswith("<qt>"):
        return tip
    import html  # as there

    inside = tip.removeprefix("<qt>").removesuffix("</qt>")
    return html.unescape(inside.replace("<br>", "\n"))


class Conflict(NamedTuple):
    """Who else has a key: commands that can give it up, or a use of it that cannot be changed."""

    commands: tuple[Command, ...]
    fixed: str = ""


class Shortcuts(QObject):
    """The commands of a window; takes up the user's keys, and keeps them."""

    changed = Signal()  # commands have other keys

    def __init__(self, window: QWidget, preferences: Preferences) -> None:
        super().__init__(window)
        self._window = window
        self._preferences = preferences
        self._stand_ins = {name: self._stand_in(name) for name in KEY_TABLE}
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._on_focus_changed)

    def apply(self) -> None:
        """Take up the user's keys, of parts too that were not there before."""
        own = self._own()
        if own:
            for command in self.commands():
                keys = own.get(command.name)
                if isinstance(keys, list):
                    command.set_keys([QKeySequence(str(key)) for key in keys])
            self._hand_on(self._window)

    def commands(self) -> list[Command]:
        """Every command, by section, in the order in which they were made."""
        options = Qt.FindChildOption.FindChildrenRecursively
        actions = self._window.findChildren(QAction, _NAMED, options)
        buttons = self._window.findChildren(QAbstractButton, _NAMED, options)
        found: list[QAction | QAbstractButton] = [*actions, *buttons]
        made = [
            _command(part)
            for part in found
            if part.objectName() not in KEY_TABLE or part.parent() is self
        ]
        order = list(SECTIONS.values())
        return sorted(made, key=lambda command: order.index(command.section))

    def set_keys(self, command: Command, keys: Sequence[QKeySequence]) -> None:
        """Assign and save keys for a command; other commands lose these keys."""
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
        sharing: dict[str, list[Command]] = {}
        for command in self.commands():
            for key in command.keys:
                sharing.setdefault(key.toString(_PORTABLE), []).append(command)
        found: dict[str, dict[str, Command]] = {}
        for commands in sharing.values():
            for command, other in itertools.permutations(commands, 2):
                if command.name != other.name and command.meets(other):
                    found.setdefault(command.name, {})[other.name] = other
        return {name: list(others.values()) for name, others in found.items()}

    def _give(self, command: Command, keys: Sequence[QKeySequence]) -> None:
        """Set the keys of a command, and of the parts that share it."""
        command.set_keys(keys)
        if command.name in KEY_TABLE:
            for window in QApplication.topLevelWidgets():
                self._hand_on(window)

    def _stand_in(self, name: str) -> QAction:
        """The action that is listed for parts which may not be there; it does nothing itself."""
        action = QAction(KEY_TABLE[name].title, self)
        give_keys(action, name)
        action.setEnabled(False)
        return action

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, _before: QWidget | None, now: QWidget | None) -> None:
        if now is not None and not self._stand_ins.keys().isdisjoint(self._own()):
            self._hand_on(now.window())

    def _hand_on(self, window: QWidget) -> None:
        """Let the parts in a window have the keys of the actions that stand for them."""
        for part in _parts_of_table(window):
            keys = self._stand_ins[part.objectName()].shortcuts()
            has = part.keys() if isinstance(part, QShortcut) else _command(part).keys
            if has != (keys[:1] if isinstance(part, QAbstractButton) else keys):
                _take(part, keys)

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
        found = dict(FIXED)
        for shortcut in self._window.findChildren(QShortcut):
            if shortcut.objectName() in KEY_TABLE:
                continue
            keys: list[QKeySequence] = shortcut.keys()
            for key in keys:
                found.setdefault(key.toString(_PORTABLE), "a control of the window")
        return found


def _parts_of_table(window: QWidget) -> Iterator[QAction | QAbstractButton | QShortcut]:
    """Yield the parts of a window that have the keys of a command of `KEY_TABLE`."""
    options = Qt.FindChildOption.FindChildrenRecursively
    yield from window.findChildren(QShortcut, _OF_TABLE, options)
    yield from window.findChildren(QAbstractButton, _OF_TABLE, options)
    for action in window.findChildren(QAction, _OF_TABLE, options):
        if not isinstance(action.parent(), Shortcuts):
            yield action


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
    "Menu": "opening the menu of what is selected",
    "Esc": "closing and cancelling",
}
"""Keys that no command can be given, and what they are needed for."""


def _command(part: QAction | QAbstractButton) -> Command:
    name = part.objectName()
    text = part.text()
    if isinstance(part, QAbstractButton) and (not text or _is_short(part)):
        text = part.accessibleName()
    title = text.replace("&", "").removesuffix("…")
    return Command(part, name, SECTIONS[name.partition(".")[0]], title)


def _is_short(button: QAbstractButton) -> bool:
    """Return whether its text says little without what is around it, as "+1 min"."""
    return isinstance(button, QToolButton) and button.text() != button.accessibleName()
