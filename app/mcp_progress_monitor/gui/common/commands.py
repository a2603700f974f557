"""Commands as values: everything that offers a command is made from its declaration.

A room declares its commands once. Actions, menus, row buttons, headers, the tool bar, the palette,
the list of keys and the tool tips read the declaration; whoever carries a command out marks a
method with `carries_out`.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QCheckBox, QMenu, QToolButton, QWidget

from mcp_progress_monitor.gui.common.controls import plain_tip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcp_progress_monitor.gui.theme import Appearance

    F = TypeVar("F", bound=Callable[..., object])


class Takes(enum.Enum):
    """Number of rows a command acts on."""

    NOTHING = enum.auto()
    CURRENT = enum.auto()
    """The current row, if the command applies to it."""
    ONE = enum.auto()
    """The selected row, if there is only one and the command applies to it."""
    MANY = enum.auto()
    """Every selected row that the command applies to."""
    EACH = enum.auto()
    """The same, one row after the other."""
    TWO = enum.auto()
    """A selection of exactly two rows."""
    ANY = enum.auto()
    """The first selected row that it applies to, or else the first row elsewhere that waits."""


class Words(NamedTuple):
    """Texts of a command for one row, where those of its declaration do not fit."""

    text: str = ""
    tip: str = ""
    why: str = ""
    """The reason why the command is not available."""


def _always(_row: Any) -> bool:
    return True


class Command(NamedTuple):
    """The declaration of a command.

    `id` is its section and its name in it: users' keys are saved by it.
    """

    id: str
    text: str
    tip: str = ""
    icon: str = ""
    keys: tuple[str, ...] = ()
    where: Qt.ShortcutContext = Qt.ShortcutContext.WidgetShortcut
    """Where the keys work: in the list alone by default."""
    takes: Takes = Takes.NOTHING
    applies: Callable[[Any], bool] = _always
    is_on: Callable[[Any], bool] | None = None
    """For a command with a check mark: whether it is on for a row."""
    words: Callable[[Any], Words | None] | None = None
    one_tip: str = ""
    """The tip of a button that acts on a single row."""
    fixed_keys: tuple[str, ...] = ()
    """Further keys, only in the list, that users cannot change."""
    live_only: bool = False
    """Not available in a recording, which is read-only."""
    role: QAction.MenuRole = QAction.MenuRole.NoRole
    """The place in the menus of macOS, which would otherwise guess it from the text."""

    @property
    def title(self) -> str:
        return title_of(self.text)

    @property
    def section(self) -> str:
        return self.id.partition(".")[0]

    @property
    def is_wide(self) -> bool:
        """True if the keys work in the whole window."""
        return self.where is Qt.ShortcutContext.WindowShortcut

    @property
    def default_keys(self) -> list[QKeySequence]:
        return [QKeySequence(key) for key in self.keys]

    def title_for(self, row: Any) -> str:
        """The title of the command on `row`."""
        return title_of(self.words_for(row).text or self.text)

    def of(self, chosen: Sequence[Any]) -> list[Any]:
        """The rows that the command would act on, of `chosen`, the current one first."""
        if self.takes is Takes.TWO:
            return list(chosen) if len(chosen) == 2 else []
        if self.takes is Takes.ONE and len(chosen) != 1:
            return []
        if self.takes is Takes.CURRENT:
            return [row for row in chosen[:1] if self.applies(row)]
        found = [row for row in chosen if self.applies(row)]
        return found[:1] if self.takes is Takes.ANY else found

    def applies_to(self, chosen: Sequence[Any]) -> bool:
        """True if the command can be carried out on `chosen`."""
        return bool(self.of(chosen)) or (self.takes is Takes.NOTHING and not chosen)

    def words_for(self, row: Any) -> Words:
        found = None if self.words is None or row is None else self.words(row)
        return found or Words()


def title_of(text: str) -> str:
    """The text of a menu entry as a title: without mnemonic and dots."""
    return text.replace("&", "").removesuffix("…")


def with_key(text: str, keys: Sequence[QKeySequence]) -> str:
    """A tool tip with the first of `keys`."""
    key = native(keys[:1])
    return f"{text} ({key})" if key else text


def native(keys: Iterable[QKeySequence]) -> str:
    """Keys as the platform writes them."""
    return ", ".join(key.toString(QKeySequence.SequenceFormat.NativeText) for key in keys)


_MARK: Final = "carried_out"


def carries_out(command: Command, *given: object) -> Callable[[F], F]:
    """Mark a method as what carries out `command`.

    It is called with the ids of the rows (one, a tuple, or none, by what the command takes), for a
    command with a check mark with its new state, and with what is `given`.
    """

    def mark(method: F) -> F:
        vars(method).setdefault(_MARK, []).append((command, given))
        return method

    return mark


class Commands:
    """The commands of a window: who carries out which, and why some are never available.

    They do nothing until the program behind the window is loaded.
    """

    def __init__(self, why_read_only: str = "") -> None:
        """`why_read_only` is the tip of commands that a recording's window does not have."""
        self.why_read_only: Final = why_read_only
        self._carriers: dict[str, tuple[Callable[..., object], tuple[object, ...]]] = {}

    def join(self, owner: object) -> None:
        """Let `owner` carry out the commands that its methods are marked with."""
        for kind in reversed(type(owner).__mro__):
            for name, method in vars(kind).items():
                for command, given in getattr(method, _MARK, ()):
                    self.carry_out(command, getattr(owner, name), *given)

    def carry_out(self, command: Command, work: Callable[..., object], *given: object) -> None:
        """Let `work` carry out `command`."""
        self._carriers[command.id] = work, given

    def is_carried_out(self, command: Command) -> bool:
        return command.id in self._carriers

    def is_offered(self, command: Command) -> bool:
        """False for commands that a read-only window never carries out."""
        return not (command.live_only and self.why_read_only)

    def run(self, command: Command, *arguments: object) -> None:
        carrier = self._carriers.get(command.id)
        if carrier is not None and self.is_offered(command):
            work, given = carrier
            work(*arguments, *given)


class CommandAction(QAction):
    """A command in menus and tool bars; its tool tip ends in its current key."""

    def __init__(self, command: Command, parent: QObject, why: str = "") -> None:
        """`why` it is not available in this window, if it is not."""
        super().__init__(command.text, parent)
        self.command: Final = command
        self._why = why
        self._words: Words | None = None
        self.setObjectName(command.id)
        self.setShortcuts(command.default_keys)
        self.setShortcutContext(command.where)
        self.setCheckable(command.is_on is not None)
        self.setMenuRole(command.role)
        self.setEnabled(not why)
        self.say(Words())

    def set_keys(self, keys: Sequence[QKeySequence]) -> None:
        self.setShortcuts(list(keys))
        self._tell()

    def is_offered(self) -> bool:
        """True if it can be carried out now."""
        return self.isEnabled()

    def say(self, words: Words) -> None:
        """Show what the command is called now."""
        if words == self._words:
            return
        self._words = words
        text = words.text or self.command.text
        if text != self.text():
            self.setText(text)
        self._tell()

    @property
    def why(self) -> str:
        """The reason why it is not available, if one is known."""
        return self._why or (self._words or Words()).why

    def tip(self) -> str:
        """Describe the command and its current key, or say why it is not available."""
        words = self._words or Words()
        said = words.tip or self.command.tip or self.text().replace("&", "")
        return self.why or with_key(said, self.shortcuts())

    def _tell(self) -> None:
        self.setToolTip(plain_tip(self.tip()))

    def offer(self, chosen: Sequence[Any], waiting: Sequence[Any] = ()) -> None:
        """Enable the action if it applies to what is `chosen`, or to what is `waiting`."""
        command = self.command
        is_elsewhere = command.takes is Takes.ANY and bool(waiting)
        self.setEnabled((command.applies_to(chosen) or is_elsewhere) and not self._why)
        self.say(command.words_for(chosen[0] if chosen else None))
        if command.is_on is not None:
            rows = command.of(chosen)
            self.setChecked(bool(rows) and all(map(command.is_on, rows)))


class CommandActions(QObject):
    """The commands of a room as actions of `view`; each is enabled if it applies to the selection.

    There is one action for each key: Qt ignores ambiguous ones.
    """

    def __init__(
        self,
        declared: Iterable[Command],
        commands: Commands,
        view: QWidget,
        appearance: Appearance,
        chosen: Callable[[], Sequence[Any]] = tuple,
        waiting: Callable[[], Sequence[Any]] = tuple,
        id_of: Callable[[Any], object] | None = None,
        *,
        pane: QWidget | None = None,
        by_menu: bool = False,
    ) -> None:
        """`chosen` are the selected rows, the current one first; `waiting` those elsewhere.

        Rows are named to whoever carries a command out by `id_of`. Keys that do not only work in
        `view` work in `pane`. Keys of `by_menu` commands work through the window's menus.
        """
        super().__init__(view)
        self.commands: Final = commands
        self.appearance: Final = appearance
        self._chosen = chosen
        self._waiting = waiting
        self._id_of = id_of
        self._actions: dict[str, CommandAction] = {}
        for command in declared:
            in_view = pane is None or command.where is Qt.ShortcutContext.WidgetShortcut
            self._add(command, view if in_view or pane is None else pane, by_menu=by_menu)
        appearance.changed.connect(self._recolour)
        self._recolour()

    def __getitem__(self, command: Command) -> CommandAction:
        return self._actions[command.id]

    def key_of(self, command: Command) -> str:
        """The current key of `command`, as the platform writes it; empty without one."""
        return native(self[command].shortcuts()[:1])

    def some(self, commands: Iterable[Command]) -> list[QAction]:
        """The actions of `commands`, for a menu or a tool bar."""
        return [self[command] for command in commands]

    @Slot()
    def refresh(self) -> None:
        """Enable exactly what applies to the selection."""
        chosen, waiting = self._chosen(), self._waiting()
        for action in self._actions.values():
            action.offer(chosen, waiting)

    def run(self, command: Command, rows: Sequence[Any], *, is_on: bool | None = None) -> None:
        """Carry out `command` on those of `rows` that it applies to."""
        found = command.of(rows)
        if not found and command.takes is not Takes.NOTHING:
            return
        ids = found if self._id_of is None else [self._id_of(row) for row in found]
        given = () if is_on is None else (is_on,)
        if command.takes is Takes.NOTHING:
            self.commands.run(command, *given)
        elif command.takes in {Takes.MANY, Takes.TWO}:
            self.commands.run(command, tuple(ids), *given)
        else:
            for each in ids:
                self.commands.run(command, each, *given)

    def fill(self, menu: QMenu, groups: Iterable[Iterable[Command]]) -> None:
        """Fill `menu` with what applies to the selected rows, in groups, and what says why not."""
        self.refresh()
        chosen = self._chosen()
        menu.clear()
        for group in groups:
            for command in group:
                is_elsewhere = command.takes is Takes.ANY and not command.of(chosen)
                is_useful = self[command].isEnabled() or bool(self[command].why)
                if self.commands.is_offered(command) and is_useful and not is_elsewhere:
                    menu.addAction(self[command])
            menu.addSeparator()

    def _add(self, command: Command, view: QWidget, *, by_menu: bool) -> None:
        why = "" if self.commands.is_offered(command) else self.commands.why_read_only
        action = CommandAction(command, view, why)
        action.triggered.connect(self._on_triggered)
        if not by_menu:
            view.addAction(action)
        self._actions[command.id] = action
        for key in command.fixed_keys:
            also = QShortcut(QKeySequence(key), view)
            also.setContext(Qt.ShortcutContext.WidgetShortcut)
            also.activated.connect(action.trigger)

    @Slot(bool)
    def _on_triggered(self, is_on: bool) -> None:
        action = self.sender()
        if isinstance(action, CommandAction):
            command = action.command
            takes_rows = command.takes is not Takes.NOTHING
            rows = command.of(self._chosen()) or self._waiting() if takes_rows else ()
            self.run(command, rows, is_on=None if command.is_on is None else is_on)

    @Slot()
    def _recolour(self) -> None:
        """Set the icons again: native menus keep what they have drawn."""
        for action in self._actions.values():
            if action.command.icon:
                action.setIcon(self.appearance.icon(action.command.icon))


class KeyAction(CommandAction):
    """The keys of a command that a page offers by controls of its own."""

    def __init__(
        self,
        command: Command,
        page: QWidget,
        work: Callable[[], object],
        *controls: QWidget,
        tip: str = "",
    ) -> None:
        """Let the keys do `work` where they work in `page`.

        The tool tips of `controls` are those of the command, or `tip`, with the current key.
        """
        super().__init__(command, page)
        self._page = page
        self.say(Words(tip=tip))
        page.addAction(self)
        self.triggered.connect(work)
        for control in controls:
            KeyTip(control, self)

    def is_offered(self) -> bool:
        """True if the page can be seen: Qt keeps panes behind others shown."""
        return self._page.isEnabled() and not self._page.visibleRegion().isEmpty()


class KeyTip(QObject):
    """Keeps the tool tip of a control in step with the action that does the same."""

    def __init__(self, control: QWidget, action: CommandAction, tip: str = "") -> None:
        """Without a `tip` of its own, the control has that of the action."""
        super().__init__(control)
        self._control = control
        self._tip = tip
        self._action = action
        action.changed.connect(self._tell)
        self._tell()

    @Slot()
    def _tell(self) -> None:
        action = self._action
        text = with_key(self._tip, action.shortcuts()) if self._tip else action.tip()
        self._control.setToolTip(plain_tip(text))


def button_tip(view: QWidget, command: Command, row: object) -> str:
    """The tip of a button on a row of `view`: the command's title, and its current key."""
    title = command.title_for(row)
    found = (each for each in view.actions() if each.objectName() == command.id)
    action = next(found, None)
    return title if action is None else with_key(title, action.shortcuts())


class _OnOneRow:
    """Base of a row's controls: the row, its texts, and the tip with the key."""

    def __init__(self, command: Command, actions: CommandActions) -> None:
        self.command: Final = command
        self.actions: Final = actions
        self.row: Any = None

    @property
    def is_offered(self) -> bool:
        """True if the command applies to the row in this window."""
        is_there = self.row is not None and bool(self.command.of([self.row]))
        return is_there and self.actions.commands.is_offered(self.command)

    def tip(self) -> str:
        """Describe what the command does to the row, with its current key."""
        command, commands = self.command, self.actions.commands
        if not commands.is_offered(command):
            return commands.why_read_only
        tip = command.words_for(self.row).tip or command.one_tip or command.tip or command.title
        return with_key(tip, self.actions[command].shortcuts())

    def run(self, *, is_on: bool | None = None) -> None:
        if self.row is not None:
            self.actions.run(self.command, [self.row], is_on=is_on)


class CommandButton(QToolButton):
    """Carries out a command on one row; hidden where it does not apply."""

    def __init__(
        self, command: Command, actions: CommandActions, parent: QWidget, label: str = ""
    ) -> None:
        """`label` is shown for the title, where what is around it says the rest."""
        super().__init__(parent)
        self._on_row = _OnOneRow(command, actions)
        self._label = label
        if command.icon:
            self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCheckable(command.is_on is not None)
        self.setText(label or command.title)
        self.setAccessibleName(command.title)
        self.hide()
        if command.icon:
            self.setIcon(actions.appearance.icon(command.icon))
        self._tell()
        self.clicked.connect(self._on_clicked)
        actions[command].changed.connect(self._tell)

    def show_for(self, row: Any) -> None:
        """Offer the command for `row`, if it applies."""
        self._on_row.row = row
        command = self._on_row.command
        text = self._label or command.title_for(row)
        if text != self.text():
            self.setText(text)
        self._tell()
        self.setVisible(self._on_row.is_offered)
        if command.is_on is not None:
            self.setChecked(command.is_on(row))

    @Slot()
    def _tell(self) -> None:
        self.setToolTip(plain_tip(self._on_row.tip()))

    @Slot(bool)
    def _on_clicked(self, is_on: bool) -> None:
        self._on_row.run(is_on=is_on if self.isCheckable() else None)


class CommandCheck(QCheckBox):
    """Turns a command with a check mark on and off for one row."""

    def __init__(self, command: Command, actions: CommandActions, parent: QWidget) -> None:
        super().__init__(command.text, parent)
        self._on_row = _OnOneRow(command, actions)
        self._tell()
        self.clicked.connect(self._on_clicked)
        actions[command].changed.connect(self._tell)

    def show_for(self, row: Any) -> None:
        """Show whether the command is on for `row`."""
        self._on_row.row = row
        is_on = self._on_row.command.is_on
        self.setEnabled(self._on_row.is_offered)
        self.setChecked(is_on is not None and is_on(row))

    @Slot()
    def _tell(self) -> None:
        self.setToolTip(plain_tip(self._on_row.tip()))

    @Slot(bool)
    def _on_clicked(self, is_on: bool) -> None:
        self._on_row.run(is_on=is_on)


class CommandMenu(QMenu):
    """A menu of commands on the rows that are `chosen` when it opens."""

    def __init__(
        self,
        declared: Iterable[Command],
        actions: CommandActions,
        parent: QWidget,
        chosen: Callable[[], Sequence[Any]] = tuple,
    ) -> None:
        super().__init__(parent)
        self._chosen = chosen
        self._room = actions
        self._commands = {self.addAction(command.text): command for command in declared}
        self.aboutToShow.connect(self._on_opening)
        for action in self._commands:
            action.triggered.connect(self._on_triggered)

    @Slot()
    def _on_opening(self) -> None:
        for action, command in self._commands.items():
            action.setEnabled(command.applies_to(self._chosen()))

    @Slot()
    def _on_triggered(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self._room.run(self._commands[action], self._chosen())
