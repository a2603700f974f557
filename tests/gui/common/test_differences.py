"""Two texts are compared line by line, and what differs is found at once."""

import json

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.differences import DifferencesView, differences
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


def test_much_is_compared_in_part_and_that_is_reported() -> None:
    long = "\n".join(map(str, range(5_000)))
    assert differences(long, f"{long}\nmore") == ["@@ Only the first 4,000 lines were compared. @@"]


def test_changed_lines_have_a_ground(qtbot: QtBot, appearance: Appearance) -> None:
    held = QWidget()
    qtbot.addWidget(held)
    view = DifferencesView("1\n2", "1\n3", appearance, held)
    grounds = [each.format.background().color().name() for each in view.extraSelections()]
    assert len(set(grounds)) == 3  # where the lines are, the old one, the new one
    equal = DifferencesView("1", "1", appearance, held)
    assert equal.toPlainText() == "Both are equal."
    assert not equal.extraSelections()
