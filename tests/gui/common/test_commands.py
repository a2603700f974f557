"""A declared command: offered where it applies, carried out by whoever marks a method with it."""

from typing import NamedTuple

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMenu, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.commands import (
    Command,
    CommandActions,
    CommandButton,
    Commands,
    Takes,
    Words,
    button_tip,
    carries_out,
)
from mcp_progress_monitor.gui.theme import Appearance

WHY = "Not available in a recording"


class Row(NamedTuple):
    """A row of a room."""

    name: str
    is_up: bool = True


def _is_up(row: Row) -> bool:
    return row.is_up


def _words(row: Row) -> Words | None:
    return Words("&Open here", f"Open {row.name} here") if row.name == "theirs" else None


OPEN = Command("room.open", "&Open…", "Open it", keys=("Ctrl+O",), takes=Takes.CURRENT)
STOP = Command(
    "room.stop",
    "&Stop",
    "Stop the selected rows",
    icon="cancel",
    keys=("Ctrl+.",),
    takes=Takes.MANY,
    applies=_is_up,
    words=_words,
    one_tip="Stop this row",
    live_only=True,
)
PIN = Command("room.pin", "&Pin", takes=Takes.MANY, is_on=_is_up)
BOTH = Command("room.both", "&Both", takes=Takes.TWO)
NEXT = Command("room.next", "&Next", takes=Takes.ANY, applies=_is_up)
ALL = Command("room.all", "&All")
DECLARED = (OPEN, STOP, PIN, BOTH, NEXT, ALL)


class Carrier:
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.noted: list[object] = []

    @carries_out(OPEN)
    def open(self, name: str) -> None:
        self.noted.append(("open", name))

    @carries_out(STOP, "now")
    @carries_out(BOTH, "both")
    def stop(self, names: tuple[str, ...], how: str) -> None:
        self.noted.append((how, names))

    @carries_out(PIN)
    def pin(self, names: tuple[str, ...], is_on: bool) -> None:
        self.noted.append((names, is_on))

    @carries_out(NEXT)
    @carries_out(ALL)
    def other(self, *names: str) -> None:
        self.noted.append(names)


class Room:
    """A view with the commands on its rows."""

    def __init__(self, appearance: Appearance, why: str = "") -> None:
        self.view = QWidget()
        self.chosen: list[Row] = []
        self.waiting: list[Row] = []
        self.commands = Commands(why)
        self.carrier = Carrier()
        self.commands.join(self.carrier)
        self.actions = CommandActions(
            DECLARED,
            self.commands,
            self.view,
            appearance,
            lambda: self.chosen,
            lambda: self.waiting,
            lambda row: row.name,
        )

    def choose(self, *rows: Row) -> list[str]:
        """Choose rows; returns the names of the enabled commands."""
        self.chosen = list(rows)
        self.actions.refresh()
        return [
            each.id.removeprefix("room.") for each in DECLARED if self.actions[each].isEnabled()
        ]


@pytest.fixture
def room(qtbot: QtBot, appearance: Appearance) -> Room:
    made = Room(appearance)
    qtbot.addWidget(made.view)
    return made


def test_a_command_is_enabled_where_it_applies(room: Room) -> None:
    up, down = Row("up"), Row("down", is_up=False)
    assert room.choose() == ["all"]
    assert room.choose(up) == ["open", "stop", "pin", "next", "all"]
    assert room.choose(down) == ["open", "pin", "all"]
    assert room.choose(down, up) == ["open", "stop", "pin", "both", "next", "all"]
    room.waiting = [up]
    assert room.choose(down) == ["open", "pin", "next", "all"]


def test_whoever_is_marked_carries_it_out_on_the_rows_that_it_applies_to(room: Room) -> None:
    up, down = Row("up"), Row("down", is_up=False)
    room.choose(down, up)
    for command in DECLARED:
        room.actions[command].trigger()
    assert room.carrier.noted == [
        ("open", "down"),
        ("now", ("up",)),
        (("down", "up"), True),
        ("both", ("down", "up")),
        ("up",),
        (),
    ]


def test_what_waits_elsewhere_is_acted_on_where_nothing_chosen_can_be(room: Room) -> None:
    room.waiting = [Row("elsewhere")]
    room.choose(Row("down", is_up=False))
    room.actions[NEXT].trigger()
    assert room.carrier.noted == [("elsewhere",)]
    menu = QMenu(room.view)
    room.actions.fill(menu, (DECLARED,))
    assert room.actions[NEXT] not in menu.actions()


def test_a_recording_has_no_command_for_a_server(qtbot: QtBot, appearance: Appearance) -> None:
    room = Room(appearance, WHY)
    qtbot.addWidget(room.view)
    assert "stop" not in room.choose(Row("up"))
    assert room.actions[STOP].toolTip() == WHY
    button = CommandButton(STOP, room.actions, room.view)
    button.show_for(Row("up"))
    button.click()
    room.commands.run(STOP, ("up",))
    assert (button.isHidden(), room.carrier.noted) == (True, [])
    menu = QMenu(room.view)
    room.actions.fill(menu, (DECLARED,))
    assert room.actions[STOP] not in menu.actions()


def test_every_tip_has_the_current_key(room: Room) -> None:
    button = CommandButton(STOP, room.actions, room.view)
    button.show_for(Row("up"))

    def tips() -> list[str]:
        return [room.actions[STOP].toolTip(), button.toolTip(), _row_tip(room, Row("up"))]

    room.choose(Row("up"))
    said = ["Stop the selected rows", "Stop this row", "Stop"]
    assert tips() == [f"{text} (Ctrl+.)" for text in said]
    room.actions[STOP].set_keys([QKeySequence("Ctrl+9")])
    assert tips() == [f"{text} (Ctrl+9)" for text in said]
    for row in (Row("theirs"), Row("up")):
        room.choose(row)
        button.show_for(row)
    assert tips() == [f"{text} (Ctrl+9)" for text in said]
    room.actions[STOP].set_keys([])
    assert tips() == said


def _row_tip(room: Room, row: Row) -> str:
    return button_tip(room.view, STOP, row)


def test_a_row_may_have_other_words(room: Room) -> None:
    room.choose(Row("theirs"))
    assert room.actions[STOP].text() == "&Open here"
    assert room.actions[STOP].toolTip() == "Open theirs here (Ctrl+.)"
    assert _row_tip(room, Row("theirs")) == "Open here (Ctrl+.)"
    room.choose(Row("up"))
    assert room.actions[STOP].text() == "&Stop"


def test_a_check_mark_is_set_where_the_command_is_on_for_every_row(room: Room) -> None:
    room.choose(Row("up"))
    assert room.actions[PIN].isChecked()
    room.choose(Row("up"), Row("down", is_up=False))
    assert not room.actions[PIN].isChecked()
