"""Nothing from a file runs before the user has seen and ticked it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QTreeWidgetItem

from app.sessions.definitions import StdioDefinition
from app.widgets.consent_dialog import ConsentDialog

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

_DEFINITIONS = (
    StdioDefinition(name="db", command="python", args=("-m", "my db"), env={"API_KEY": "hush"}),
    StdioDefinition(name="crawler", command="node", args=("crawl.js",)),
)


def _dialog(qtbot: QtBot) -> ConsentDialog:
    dialog = ConsentDialog("/tmp/servers.json", _DEFINITIONS)  # noqa: S108  # only shown
    qtbot.addWidget(dialog)
    return dialog


def _texts(item: QTreeWidgetItem) -> list[str]:
    children = (item.child(row) for row in range(item.childCount()))
    return [child.text(1) for child in children if child is not None]


def test_nothing_is_ticked_at_first_and_nothing_can_be_started(qtbot: QtBot) -> None:
    dialog = _dialog(qtbot)
    assert dialog.agreed() == ()
    starts = [b for b in dialog.findChildren(QPushButton) if "Start" in b.text()]
    assert [button.isEnabled() for button in starts] == [False]


def test_the_exact_command_is_shown_with_names_of_variables_and_no_values(qtbot: QtBot) -> None:
    dialog = _dialog(qtbot)
    item = dialog.tree.topLevelItem(0)
    assert item is not None
    texts = _texts(item)
    assert "python -m 'my db'" in texts
    assert "API_KEY" in texts
    assert not any("hush" in text for text in texts)


def test_only_what_is_ticked_is_handed_over(qtbot: QtBot) -> None:
    dialog = _dialog(qtbot)
    item = dialog.tree.topLevelItem(1)
    assert item is not None
    item.setCheckState(0, Qt.CheckState.Checked)
    heard: list[tuple[StdioDefinition, ...]] = []
    dialog.servers_agreed.connect(heard.append)
    dialog.accept()
    assert heard == [(_DEFINITIONS[1],)]
