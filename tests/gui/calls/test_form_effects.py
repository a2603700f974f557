"""The form of a call shows what a tool's server declares of its effects."""

from PySide6.QtWidgets import QListView
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.calls.form import CallDialog, Effects
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.protocol.offers import Tool
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from tests.gui.exposure import expose


def test_a_tool_that_is_declared_destructive_says_so(qtbot: QtBot, appearance: Appearance) -> None:
    hints: tuple[dict[str, bool], ...] = ({"destructiveHint": True}, {"readOnlyHint": True}, {})
    tools = [
        Tool(f"t{at}", None, None, {"type": "object"}, "forbidden", {"annotations": each})
        for at, each in enumerate(hints)
    ]
    definition = StdioDefinition(name="db", command="db")
    server = ServerSnapshot("db", definition, tools=tuple(tools), state=ServerState.CONNECTED)
    dialog = CallDialog(appearance)
    dialog.form.set_servers([server])
    expose(qtbot, dialog)
    (effects,) = dialog.findChildren(Effects)
    offers = next(
        each
        for each in dialog.findChildren(QListView)
        if each.accessibleName() == "What the server offers"
    )
    shown = []
    for row in range(3):
        offers.setCurrentIndex(offers.model().index(row, 0))
        shown.append(effects.text() if effects.isVisible() else "")
    declared = "Declared by the server: "
    assert shown == [f"{declared}destructive", f"{declared}read-only", ""]
