"""Whether a call becomes a task can be chosen where server and tool allow it; tips say why."""

from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.calls.offers import Offer, OfferKind
from mcp_progress_monitor.gui.calls.options import TaskOptions
from mcp_progress_monitor.gui.common.typed_input import JsonInputError
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.protocol.messages import TASKS_EXTENSION
from mcp_progress_monitor.protocol.tasks import TaskAugmentation
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from tests.server_stand_ins import server

CORE: dict[str, Any] = {"tasks": {"requests": {"tools": {"call": {}}}}}


def of(revision: str, capabilities: dict[str, Any]) -> ServerSnapshot:
    changes = {"revision": revision, "capabilities": capabilities}
    return server("db", state=ServerState.CONNECTED, **changes)


def tool(support: str = "optional", kind: OfferKind = OfferKind.TOOL) -> Offer:
    return Offer(kind, "export", "", "", {}, support)


@pytest.fixture
def options(qtbot: QtBot, appearance: Appearance) -> Iterator[TaskOptions]:
    holder = QWidget()
    qtbot.addWidget(holder)
    made = TaskOptions(appearance, holder)
    made.show_offer(of("2025-11-25", CORE), tool())
    yield made
    holder.close()


@pytest.mark.parametrize(
    ("capabilities", "offer", "why"),
    [
        ({}, tool(), "does not support tasks"),
        (CORE, tool("forbidden"), "forbidden"),
        (CORE, tool("", OfferKind.PROMPT), "Only tool calls"),
        (CORE, None, "nothing is selected"),
    ],
)
def test_what_cannot_be_a_task_says_why(
    options: TaskOptions, capabilities: dict[str, Any], offer: Offer | None, why: str
) -> None:
    options.choice.setCurrentIndex(1)
    options.show_offer(of("2025-11-25", capabilities), offer)
    assert not options.choice.isEnabled()
    assert why in options.choice.toolTip()
    assert not options.ttl.isEnabled()
    assert options.request() == TaskAugmentation()


@pytest.mark.parametrize("support", ["optional", "required"])
def test_what_the_tool_says_is_in_the_tip(options: TaskOptions, support: str) -> None:
    options.show_offer(of("2025-11-25", CORE), tool(support))
    assert options.choice.isEnabled()
    assert f"“{support}”" in options.choice.toolTip()


def test_a_task_is_requested_with_its_time_to_live(options: TaskOptions) -> None:
    options.choice.setCurrentIndex(1)
    options.ttl.setText("90")
    assert options.request() == TaskAugmentation(True, 90_000.0)
    options.choice.setCurrentIndex(2)
    assert options.request() == TaskAugmentation(False, None)


@pytest.mark.parametrize("entered", ["0", "-3", "soon", "1e400", "true"])
def test_a_time_to_live_that_is_none_is_refused_by_name(options: TaskOptions, entered: str) -> None:
    options.ttl.setText(entered)
    with pytest.raises(JsonInputError, match="Time to live in seconds"):
        options.request()


def test_with_the_tasks_extension_the_server_chooses_the_time_to_live(options: TaskOptions) -> None:
    options.show_offer(of("2026-07-28", {"extensions": {TASKS_EXTENSION: {}}}), tool("forbidden"))
    assert options.choice.isEnabled()
    assert "the server decides" in options.choice.toolTip()
    assert not options.ttl.isEnabled()
    options.choice.setCurrentIndex(2)
    assert options.request() == TaskAugmentation(False, None)


def test_what_was_chosen_is_remembered_and_nonsense_is_the_automatic(options: TaskOptions) -> None:
    options.choice.setCurrentIndex(2)
    options.ttl.setText("5")
    state = options.state()
    options.restore(None)
    assert options.state() == {"as_task": None, "ttl_s": ""}
    options.restore(state)
    assert options.state() == {"as_task": False, "ttl_s": "5"}
    options.restore({"as_task": "yes", "ttl_s": 7})
    assert options.state() == {"as_task": None, "ttl_s": ""}
