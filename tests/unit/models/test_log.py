"""The log's model: batches become rows, pausing and clearing touch the view alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from app.models import log
from app.models.log import LogColumn, LogModel
from app.models.log_row import LogKind
from app.models.log_search import LogFilter
from app.models.log_store import LogStore
from app.protocol.frame import Channel
from tests.unit.models.log_frames import frame, progress, ticks

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


pytestmark = pytest.mark.usefixtures("qapp")


@pytest.fixture
def model() -> LogModel:
    """A log of at most 48 frames, watched by Qt's own model tester."""
    made = LogModel(LogStore(capacity=48))
    QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    return made


def _numbers(model: LogModel) -> list[int]:
    frames = [model.frame(row) for row in range(model.rowCount())]
    return [each.number for each in frames if each is not None]


def test_a_batch_becomes_rows_at_one_stroke(model: LogModel, qtbot: QtBot) -> None:
    with qtbot.waitSignals([model.rowsInserted], raising=True):
        model.append(ticks(0, 20))
    assert _numbers(model) == [*range(20)]


def test_a_row_says_time_difference_and_size(model: LogModel) -> None:
    model.append([progress(10), frame(13, b"12345")])
    assert model.text(1, LogColumn.DELTA) == "+0.300"
    assert model.text(1, LogColumn.SIZE) == "5"
    assert model.text(1, LogColumn.SERVER) == "local-db"
    assert model.text(1, LogColumn.DIRECTION) == "← received"
    assert model.line(0).split("\t")[LogColumn.KEY] == "abc"
    assert model.headerData(LogColumn.SERVER, Qt.Orientation.Horizontal) == "Server"


def test_the_oldest_rows_go_and_the_count_of_gone_ones_is_told(
    model: LogModel, qtbot: QtBot
) -> None:
    model.append(ticks(0, 48))
    with qtbot.waitSignal(model.dropped_changed) as told:
        model.append(ticks(48, 30))
    assert told.args == [model.dropped]
    assert _numbers(model) == [*range(model.dropped, 78)]


def test_more_than_the_capacity_at_once_leaves_the_newest(model: LogModel) -> None:
    model.append(ticks(0, 20))
    model.append(ticks(20, 500))
    assert _numbers(model) == [*range(472, 520)]


def test_pausing_stops_the_view_and_never_the_store(model: LogModel, qtbot: QtBot) -> None:
    model.append(ticks(0, 40))
    model.set_paused(True)
    with qtbot.waitSignal(model.waiting_changed) as told:
        model.append(ticks(40, 1_000))
    assert told.args == [1_000]
    assert _numbers(model) == [*range(40)]
    model.set_paused(False)
    assert _numbers(model) == [*range(992, 1_040)]
    assert model.waiting == 0


def test_a_filter_applies_to_what_a_paused_view_shows(model: LogModel) -> None:
    model.append([*ticks(0, 5), frame(5, b"needle")])
    model.set_paused(True)
    model.append([frame(6, b"needle")])
    model.set_filter(LogFilter(words=("needle",)))
    assert _numbers(model) == [5]
    model.set_paused(False)
    assert _numbers(model) == [5, 6]


def test_clearing_hides_and_showing_all_brings_back(model: LogModel) -> None:
    model.append(ticks(0, 10))
    model.clear_view()
    model.append(ticks(10, 2))
    assert (_numbers(model), model.hidden) == ([10, 11], 10)
    model.show_all()
    assert (_numbers(model), model.hidden) == ([*range(12)], 0)


def test_a_cleared_log_stays_cleared_while_filtered(model: LogModel) -> None:
    model.append([frame(0, b"needle")])
    model.clear_view()
    model.append([frame(1, b"needle"), frame(2, b"hay")])
    model.set_filter(LogFilter(words=("needle",)))
    assert _numbers(model) == [1]
    model.set_filter(LogFilter())
    assert _numbers(model) == [1, 2]


def test_new_frames_are_filtered_as_they_come(model: LogModel) -> None:
    model.set_filter(LogFilter(channels=frozenset({Channel.STDERR})))
    model.append([progress(0), frame(1, b"one", Channel.STDERR)])
    model.append([progress(2), frame(3, b"two", Channel.STDERR)])
    assert _numbers(model) == [1, 3]
    assert model.kind(0) is LogKind.STDERR


def test_filtered_rows_go_with_their_frames(model: LogModel) -> None:
    model.set_filter(LogFilter(words=("needle",)))
    model.append([frame(0, b"needle"), *ticks(1, 30)])
    model.append([*ticks(31, 30), frame(61, b"needle")])
    assert _numbers(model) == [61]


def test_a_long_search_goes_on_from_a_timer(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "SLICE_S", 0)
    model = LogModel(LogStore())
    model.append([*ticks(0, 3_000), frame(3_000, b"needle")])
    model.set_filter(LogFilter(words=("needle",)))
    assert model.unsearched > 0
    qtbot.waitUntil(lambda: model.unsearched == 0)
    assert _numbers(model) == [3_000]


def test_a_row_is_found_by_its_place_and_by_its_frames_number(model: LogModel) -> None:
    model.append([*ticks(100, 5), frame(200, b"needle")])
    assert model.row_of_number(102) == 2
    assert model.row_of_number(150) is None
    place = model.place(5)
    model.set_filter(LogFilter(words=("needle",)))
    assert model.row_of(place) == 0
    assert model.row_of_number(102) is None
    assert model.row_from(place + 1) == 1


def test_a_changed_filter_starts_the_rows_anew_only_if_it_differs(
    model: LogModel, qtbot: QtBot
) -> None:
    model.append(ticks(0, 3))
    with qtbot.assertNotEmitted(model.modelReset):
        model.set_filter(LogFilter())


def test_nothing_is_decoded_when_a_batch_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("decoded")

    monkeypatch.setattr("app.models.log_row.decode", fail)
    model = LogModel(LogStore(capacity=48))
    model.append([frame(number, b"{}", Channel.SENT) for number in range(200)])
    assert model.rowCount() == 48


def test_a_row_tells_which_rule_its_message_breaks(model: LogModel) -> None:
    model.mark({11: "Progress did not increase: 1 after 1"})
    model.append(ticks(10, 2))
    assert [model.mark_of(row) for row in range(2)] == ["", "Progress did not increase: 1 after 1"]
    index = model.index(1, LogColumn.SUMMARY)
    assert index.data(LogModel.MARK) == model.mark_of(1)
    assert "did not increase" in index.data(Qt.ItemDataRole.AccessibleTextRole)
    assert model.line(1).endswith("\tProgress did not increase: 1 after 1")
    assert "increase" not in model.line(0)


def test_only_what_breaks_a_rule_is_shown_when_asked_for(model: LogModel, qtbot: QtBot) -> None:
    model.mark({3: "late", 7: "late"})
    model.append(ticks(0, 10))
    model.set_filter(LogFilter(irregular_only=True))
    qtbot.waitUntil(lambda: _numbers(model) == [3, 7])
    model.mark({12: "late"})
    model.append(ticks(10, 5))
    qtbot.waitUntil(lambda: _numbers(model) == [3, 7, 12])


def test_marks_go_with_the_frames_they_are_of(model: LogModel) -> None:
    model.mark(dict.fromkeys(range(48), "late"))
    model.append(ticks(0, 48))
    model.append(ticks(48, 30))
    assert model.dropped
    assert model.mark_of(0) == "late"
    assert len(model._marks) == 48 - model.dropped  # noqa: SLF001 - what must not grow
