"""Log messages of servers as rows: bounded, plain, and chosen by their level."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.labels import ServerTitle, ServerTitles
from mcp_progress_monitor.gui.server_log import model as messages
from mcp_progress_monitor.gui.server_log.model import (
    KEPT,
    NUMBER,
    RANK,
    SERVER,
    ServerLogFilter,
    ServerLogModel,
)
from mcp_progress_monitor.protocol.facts import NotificationReceived, Side
from mcp_progress_monitor.snapshots.limits import LOG_LEVELS


def message(number: int = 1, **params: Any) -> NotificationReceived:
    method = "notifications/message"
    return NotificationReceived(number, "db#1", 0.0, 1.7e9, Side.SERVER, method, params, ())


def texts(model: ServerLogModel, row: int = 0) -> list[str]:
    return [model.index(row, column).data() for column in range(model.columnCount())]


def test_a_message_is_reported_with_server_level_and_logger() -> None:
    model = ServerLogModel()
    model.add([message(7, level="warning", logger="disk", data="almost full")])
    assert texts(model)[1:] == ["db", "warning", "disk", "almost full"]
    assert model.index(0, 0).data(NUMBER) == 7
    assert model.index(0, 0).data(RANK) == LOG_LEVELS.index("warning")


def test_data_of_any_kind_is_one_line_of_plain_text() -> None:
    model = ServerLogModel()
    model.add([message(level="info", data={"a": "b\nc"}), message(level="info", data="x\x1b[31m")])
    assert texts(model)[4] == '{"a": "b\\nc"}'
    assert "\x1b" not in texts(model, 1)[4]


@pytest.mark.parametrize("level", [None, 3, "loud", {}])
def test_a_level_that_nobody_knows_is_never_hidden(level: object) -> None:
    model = ServerLogModel()
    model.add([message(level=level, data="x"), message(level="debug", data="y")])
    shown = ServerLogFilter(model)
    shown.set_least(len(LOG_LEVELS) - 1)
    assert [shown.index(row, 4).data() for row in range(shown.rowCount())] == ["x"]


def test_only_messages_of_the_level_and_above_are_let_through() -> None:
    model = ServerLogModel()
    model.add([message(level=level, data=level) for level in LOG_LEVELS])
    shown = ServerLogFilter(model)
    shown.set_least(LOG_LEVELS.index("error"))
    reported = [shown.index(row, 4).data() for row in range(shown.rowCount())]
    assert reported == list(LOG_LEVELS[LOG_LEVELS.index("error") :])


def test_only_the_newest_are_kept(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_TURN_MS", 0)
    model = ServerLogModel()
    model.add([message(1, level="info", data="first")])
    model.add([message(number, level="info", data="x") for number in range(2, KEPT + 3)])
    assert model.rowCount() < KEPT / 2  # the others follow, some at a time
    qtbot.waitUntil(lambda: model.index(model.rowCount() - 1, 0).data(NUMBER) == KEPT + 2)
    assert model.rowCount() == KEPT
    assert model.index(0, 0).data(NUMBER) == 3
    model.add([message(KEPT + 9, level="info", data="last")])
    assert (model.rowCount(), model.index(KEPT - 1, 0).data(NUMBER)) == (KEPT, KEPT + 9)
    model.clear()
    assert model.rowCount() == 0


def test_a_message_is_put_into_words_when_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def counted(when: float) -> str:
        asked.append(when)
        return "12:00:00.000"

    monkeypatch.setattr(messages, "moment", counted)
    model = ServerLogModel()
    model.add([message(number, level="info", logger="disk", data="x") for number in range(KEPT)])
    assert asked == []
    assert texts(model, 7) == ["12:00:00.000", "db", "info", "disk", "x"]
    assert len(asked) == 1


def test_what_waits_is_forgotten_with_the_rest(qtbot: QtBot) -> None:
    model = ServerLogModel()
    model.add([message(number, level="info", data="x") for number in range(2_000)])
    model.clear()
    qtbot.wait(40)
    assert model.rowCount() == 0


def test_a_watched_server_is_called_as_in_traffic() -> None:
    titles = ServerTitles()
    model = ServerLogModel(titles)
    model.add([message()])
    server = model.index(0, SERVER)
    assert (server.data(), server.data(Qt.ItemDataRole.ToolTipRole)) == ("db", None)
    changed: list[int] = []
    model.dataChanged.connect(lambda first, _last: changed.append(first.column()))
    one, other = (ServerTitle(f"{name} (Agent)", f"{name}: run by Agent") for name in ("db", "x"))
    titles.set_titles({"db": one, "x": other})
    titles.set_titles({"db": one})
    assert server.data() == "db (Agent)"
    assert server.data(Qt.ItemDataRole.ToolTipRole) == "db: run by Agent"
    assert changed == [SERVER]
