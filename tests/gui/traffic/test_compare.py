"""Two messages are compared line by line, and what differs is found at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QLabel

from mcp_progress_monitor.gui.traffic.compare import MessagesDialog, differences

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from mcp_progress_monitor.gui.theme import Appearance


def _changed(first: str, second: str) -> list[str]:
    return [line for line in differences(first, second) if line[0] in "-+"]


def test_only_what_differs_is_listed_with_what_is_around() -> None:
    first = json.dumps({"id": 7, "rows": list(range(50)), "next": None}, indent=1)
    found = differences(first, first.replace(" 25", " 99"))
    assert [line for line in found if line[0] in "-+"] == ["-  25,", "+  99,"]
    assert len(found) < 20
    assert differences(first, first) == []


@pytest.mark.parametrize(
    ("first", "second", "changed"),
    [
        (["one\ntwo\nthree"], ["one\n2\nthree"], ["-    two\\n", "+    2\\n"]),
        (["back\\no"], ["back\\nx"], ['-["back\\\\no"]', '+["back\\\\nx"]']),
    ],
)
def test_a_string_of_lines_is_compared_line_by_line(
    first: list[str], second: list[str], changed: list[str]
) -> None:
    assert _changed(json.dumps(first), json.dumps(second)) == changed


def test_what_cannot_be_seen_is_written_out() -> None:
    assert _changed("a", "a\u202e") == ["-a", r"+a\u202e"]


def test_the_dialog_says_which_messages_and_that_nothing_differs(
    qtbot: QtBot, appearance: Appearance
) -> None:
    dialog = MessagesDialog(("no. 3", "no. 9"), ("[1]", "[1]"), appearance)
    qtbot.addWidget(dialog)
    assert dialog.text.toPlainText() == "The messages are equal."
    assert not dialog.text.extraSelections()


def test_changed_lines_have_a_ground(qtbot: QtBot, appearance: Appearance) -> None:
    dialog = MessagesDialog(("no. 3", "no. 9"), ("1\n2", "1\n3"), appearance)
    qtbot.addWidget(dialog)
    grounds = [each.format.background().color() for each in dialog.text.extraSelections()]
    assert len(grounds) == 3  # where the lines are, the old one, the new one
    assert len({ground.name() for ground in grounds}) == 3


def test_much_is_compared_in_part_and_that_is_said(qtbot: QtBot, appearance: Appearance) -> None:
    long = "\n".join(map(str, range(5_000)))
    dialog = MessagesDialog(("no. 3", "no. 9"), (long, long + "\nmore"), appearance)
    qtbot.addWidget(dialog)
    said = [each.text() for each in dialog.findChildren(QLabel)]
    assert any("first 4,000 lines" in words for words in said)
