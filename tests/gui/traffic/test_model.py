"""The Traffic model: batches become rows, pausing and clearing touch the view alone."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.filtering.filter import FilterError, TrafficFilter
from mcp_progress_monitor.gui.traffic import model as log
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.gui.traffic.model import TrafficModel
from mcp_progress_monitor.protocol.frames import Channel, FrameKind
from tests.gui.traffic.frames import frame, progress, ticks
from tests.gui.traffic.tape import TapedTraffic


@pytest.fixture
def model() -> TapedTraffic:
    """Traffic of about 48 frames at most, watched by Qt's own model tester."""
    made = TapedTraffic(capacity=48)
    QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    return made


def _no_requests(_job: int) -> tuple[int, ...]:
    return ()


def _numbers(model: TrafficModel) -> list[int]:
    return [model.timeline.number(model.place(row)) for row in range(model.rowCount())]


def _found(model: TrafficModel, qtbot: QtBot) -> list[int]:
    qtbot.waitUntil(lambda: model.unsearched == 0)
    return _numbers(model)


def test_a_batch_becomes_rows_at_one_stroke(model: TapedTraffic, qtbot: QtBot) -> None:
    with qtbot.waitSignals([model.rowsInserted], raising=True):
        model.append(ticks(0, 20))
    assert _numbers(model) == [*range(20)]


def test_rows_change_when_the_model_is_reported_and_never_between(model: TapedTraffic) -> None:
    model.tape.append(ticks(0, 5))
    assert model.rowCount() == 0
    model.refresh()
    model.tape.append(ticks(5, 5))
    assert (model.rowCount(), model.row_of_number(7)) == (5, None)
    model.refresh()
    assert (model.rowCount(), model.row_of_number(7)) == (10, 7)


def test_a_timeline_that_has_frames_already_is_shown_at_once() -> None:
    first = TapedTraffic()
    first.append(ticks(0, 7))
    assert TrafficModel(first.timeline, _no_requests).rowCount() == 7


def test_a_row_says_time_difference_and_size(model: TapedTraffic) -> None:
    model.append([progress(10), frame(13, b"12345")])
    assert model.text(0, TrafficColumn.DELTA) == ""
    assert model.text(1, TrafficColumn.DELTA) == "+0.300"
    assert model.text(1, TrafficColumn.SIZE) == "5"
    assert model.text(1, TrafficColumn.SERVER) == "local-db"
    assert model.text(1, TrafficColumn.DIRECTION) == "← received"
    assert model.line(0).split("\t")[TrafficColumn.KEY] == "abc"
    assert model.headerData(TrafficColumn.SERVER, Qt.Orientation.Horizontal) == "Server"
    assert model.timeline.size(model.place(1)) == 5


def test_a_frames_first_bytes_can_be_had_alone(model: TapedTraffic) -> None:
    model.append([frame(1, b"0123456789")])
    whole, head = model.frame(0), model.frame(0, 4)
    assert whole is not None
    assert head is not None
    assert (whole.raw, head.raw) == (b"0123456789", b"0123")


def test_the_oldest_rows_go_with_their_part_and_the_count_of_gone_ones_is_reported(
    model: TapedTraffic,
) -> None:
    model.append(ticks(0, 40))
    reported: list[int] = []
    model.rows_dropping.connect(lambda rows: reported.append(len(rows)))
    model.append(ticks(40, 30))
    assert reported == [40]
    assert model.timeline.dropped == 40
    assert _numbers(model) == [*range(40, 70)]
    assert model.text(0, TrafficColumn.DELTA) == ""


def test_a_part_that_goes_before_it_is_reported_leaves_empty_rows_and_no_defect(
    model: TapedTraffic,
) -> None:
    model.append([*ticks(0, 3), frame(3, b"x")])
    model.tape.append(ticks(4, 2))
    model.tape.drop()
    assert model.frame(2) is None
    assert {model.text(2, column) for column in TrafficColumn} == {""}
    assert (model.kind(2), model.mark_of(2)) == (None, "")
    model.refresh()
    assert _numbers(model) == [4, 5]


@pytest.mark.parametrize("text", ["", "method contains progress"])
def test_rows_that_nobody_watches_stand_still_and_catch_up_when_somebody_does(
    model: TapedTraffic, qtbot: QtBot, text: str
) -> None:
    model.set_filter(TrafficFilter(text=text))
    model.append(ticks(0, 40))
    assert _found(model, qtbot) == [*range(40)]
    model.set_watched(False)
    model.append(ticks(40, 30))  # 40 older ones go for them
    model.append(ticks(70, 5))
    assert model.rowCount() == 40
    model.set_watched(True)
    assert _found(model, qtbot) == [*range(40, 75)]


def test_pausing_stops_the_view_and_never_the_timeline(model: TapedTraffic, qtbot: QtBot) -> None:
    model.append(ticks(0, 20))
    model.set_paused(True)
    with qtbot.waitSignal(model.waiting_changed) as signal:
        model.append(ticks(20, 25))
    assert signal.args == [25]
    assert _numbers(model) == [*range(20)]
    model.set_paused(False)
    assert _numbers(model) == [*range(45)]
    assert model.waiting == 0


@pytest.mark.parametrize("text", ["", "method contains progress"])
def test_rows_between_go_with_their_bytes_and_are_counted(
    model: TapedTraffic, qtbot: QtBot, text: str
) -> None:
    model.set_filter(TrafficFilter(text=text))
    for start in range(0, 40, 10):
        model.append(ticks(start, 10))
    assert _found(model, qtbot) == [*range(40)]
    model.timeline.give_up(1, 0, 2)
    model.refresh()
    model.timeline.give_up(2, 0, 3)
    model.refresh()
    assert _found(model, qtbot) == [*range(10), *range(30, 40)]
    assert model.timeline.dropped == 20
    assert (model.row_of(9), model.row_of(15), model.row_of(30)) == (9, None, 10)
    model.append(ticks(40, 2))
    assert _found(model, qtbot) == [*range(10), *range(30, 42)]
    model.set_filter(TrafficFilter(text="method contains progres"))
    assert _found(model, qtbot) == [*range(10), *range(30, 42)]
    model.clear_view()
    assert model.hidden == 22


def test_a_paused_view_lets_go_of_rows_whose_frames_are_gone(model: TapedTraffic) -> None:
    model.append(ticks(0, 20))
    model.append(ticks(20, 20))
    model.set_paused(True)
    model.append(ticks(40, 20))
    assert _numbers(model) == [*range(20, 40)]
    model.append(ticks(60, 40))
    assert _numbers(model) == []
    model.set_paused(False)
    assert _numbers(model) == [*range(60, 100)]


def test_a_filter_applies_to_what_a_paused_view_shows(model: TapedTraffic, qtbot: QtBot) -> None:
    model.append([*ticks(0, 5), frame(5, b"needle")])
    model.set_paused(True)
    model.append([frame(6, b"needle")])
    model.set_filter(TrafficFilter("needle"))
    assert _found(model, qtbot) == [5]
    model.append([frame(7, b"needle")])
    assert _found(model, qtbot) == [5]
    model.set_paused(False)
    assert _found(model, qtbot) == [5, 6, 7]


def test_clearing_hides_and_showing_all_brings_back(model: TapedTraffic) -> None:
    model.append(ticks(0, 10))
    model.clear_view()
    assert _numbers(model) == []
    model.append(ticks(10, 2))
    assert (_numbers(model), model.hidden) == ([10, 11], 10)
    model.show_all()
    assert (_numbers(model), model.hidden) == ([*range(12)], 0)


def test_cleared_traffic_stays_cleared_while_filtered(model: TapedTraffic, qtbot: QtBot) -> None:
    model.append([frame(0, b"needle")])
    model.clear_view()
    model.append([frame(1, b"needle"), frame(2, b"hay")])
    model.set_filter(TrafficFilter("needle"))
    assert _found(model, qtbot) == [1]
    model.set_filter(TrafficFilter())
    assert _numbers(model) == [1, 2]


def test_new_frames_are_filtered_as_they_come(model: TapedTraffic, qtbot: QtBot) -> None:
    model.set_filter(TrafficFilter(channels=frozenset({Channel.STDERR})))
    model.append([progress(0), frame(1, b"one", Channel.STDERR)])
    model.append([progress(2), frame(3, b"two", Channel.STDERR)])
    assert _found(model, qtbot) == [1, 3]
    assert model.kind(0) is FrameKind.STDERR
    assert model.text(1, TrafficColumn.DELTA) == "+0.200"


def test_filtered_rows_go_with_their_frames(model: TapedTraffic, qtbot: QtBot) -> None:
    model.set_filter(TrafficFilter("needle"))
    model.append([frame(0, b"needle"), *ticks(1, 30)])
    assert _found(model, qtbot) == [0]
    model.append([*ticks(31, 30), frame(61, b"needle")])
    assert _found(model, qtbot) == [61]


def test_a_long_search_goes_on_from_a_timer(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "SLICE_S", 0)
    model = TapedTraffic()
    model.append([*ticks(0, 30_000), frame(30_000, b"needle")])
    model.set_filter(TrafficFilter("needle"))
    assert model.unsearched > 0
    assert _found(model, qtbot) == [30_000]


def test_a_job_is_found_by_its_requests(qtbot: QtBot) -> None:
    model = TapedTraffic(jobs={5: {1}})
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}
    reply = {"jsonrpc": "2.0", "id": 1, "result": {}}
    model.append([frame(1, call, Channel.SENT), frame(2, b"hay"), frame(3, reply)])
    model.set_filter(TrafficFilter("job == 5"))
    assert _found(model, qtbot) == [1, 3]


def test_a_row_is_found_by_its_place_and_by_its_frames_number(
    model: TapedTraffic, qtbot: QtBot
) -> None:
    model.append([*ticks(100, 5), frame(200, b"needle")])
    assert model.row_of_number(102) == 2
    assert model.row_of_number(150) is None
    place = model.place(5)
    model.set_filter(TrafficFilter("needle"))
    assert _found(model, qtbot) == [200]
    assert model.row_of(place) == 0
    assert model.row_of_number(102) is None
    assert model.row_from(place + 1) == 1


def test_a_changed_filter_starts_the_rows_again_only_if_it_differs(
    model: TapedTraffic, qtbot: QtBot
) -> None:
    model.append(ticks(0, 3))
    with qtbot.assertNotEmitted(model.modelReset):
        model.set_filter(TrafficFilter())


def test_a_mistaken_filter_changes_nothing(model: TapedTraffic) -> None:
    model.append(ticks(0, 3))
    with pytest.raises(FilterError):
        model.set_filter(TrafficFilter("size > "))
    assert (model.filter, model.rowCount()) == (TrafficFilter(), 3)


def test_no_byte_is_read_when_a_batch_comes(model: TapedTraffic) -> None:
    model.append([frame(number, b"{}", Channel.SENT) for number in range(200)])
    assert model.rowCount() == 200
    assert model.tape.parts[0].reads == 0


def test_frames_that_come_again_from_the_beginning_are_other_rows(model: TapedTraffic) -> None:
    model.append(ticks(0, 5))
    model.break_rules({1: "late"})
    model.clear_view()
    assert model.text(0, TrafficColumn.SUMMARY) == ""
    model.timeline.clear()
    model.append([frame(0, b"one"), frame(1, b"two")])
    assert [model.text(row, TrafficColumn.SUMMARY) for row in range(2)] == ["one", "two"]
    assert (model.mark_of(1), model.hidden) == ("", 0)


def test_ten_million_rows_take_no_memory_and_no_time(qtbot: QtBot) -> None:
    class Huge:
        """A timeline of which only its bounds are asked."""

        first, end, gap, columns = 0, 10_000_000, range(0), None

    model = TrafficModel(Huge(), _no_requests)  # type: ignore[arg-type]
    Huge.end += 10_000_000
    with qtbot.waitSignal(model.rowsInserted) as signal:
        model.refresh()
    assert signal.args is not None
    assert signal.args[1:] == [10_000_000, 19_999_999]
    assert model.row_of(19_999_998) == 19_999_998


def test_a_row_tells_which_rule_its_message_breaks(model: TapedTraffic) -> None:
    model.append(ticks(10, 2))
    model.break_rules({11: "Progress did not increase: 1 after 1"})
    assert [model.mark_of(row) for row in range(2)] == ["", "Progress did not increase: 1 after 1"]
    index = model.index(1, TrafficColumn.SUMMARY)
    assert index.data(TrafficModel.MARK) == model.mark_of(1)
    assert "did not increase" in index.data(Qt.ItemDataRole.AccessibleTextRole)
    assert model.line(1).endswith("\tProgress did not increase: 1 after 1")
    assert "increase" not in model.line(0)


def test_a_message_stays_marked_when_the_words_are_gone(model: TapedTraffic) -> None:
    model.append(ticks(10, 2))
    model.timeline.mark([11])
    assert model.mark_of(0) == ""
    assert "violates a rule" in model.mark_of(1)


def test_only_what_breaks_a_rule_is_shown_when_asked_for(model: TapedTraffic, qtbot: QtBot) -> None:
    model.append(ticks(0, 10))
    model.break_rules({3: "late", 7: "late"})
    model.set_filter(TrafficFilter(irregular_only=True))
    assert _found(model, qtbot) == [3, 7]
    model.tape.append(ticks(10, 5))
    model.break_rules({12: "late"})
    model.refresh()
    assert _found(model, qtbot) == [3, 7, 12]


def test_marks_go_with_the_frames_they_are_of(model: TapedTraffic) -> None:
    model.append(ticks(0, 40))
    model.break_rules(dict.fromkeys(range(40), "late"))
    model.append(ticks(40, 30))
    assert model.timeline.dropped == 40
    assert len(model._marks) == 0  # noqa: SLF001 - what must not grow


def test_a_refusal_of_our_own_question_is_reported_as_what_it_is(model: TapedTraffic) -> None:
    error = {"code": -32601, "message": "Method not found"}
    discover = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}
    called = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {}}
    model.append(
        [
            frame(1, discover, Channel.SENT),
            frame(2, {"jsonrpc": "2.0", "id": 1, "error": error}),
            frame(3, called, Channel.SENT),
            frame(4, {"jsonrpc": "2.0", "id": 2, "error": error}),
        ]
    )
    assert [model.kind(row) for row in (1, 3)] == [FrameKind.ERROR, FrameKind.ERROR]
    assert [model.is_expected(row) for row in range(5)] == [False, True, False, False, False]
    assert model.text(1, TrafficColumn.KIND) == "error"
    assert model.text(1, TrafficColumn.SUMMARY) == (
        "-32601 Method not found — expected from servers before 2026-07-28"
    )
    assert model.text(3, TrafficColumn.SUMMARY) == "-32601 Method not found"
    assert not model.mark_of(1)


def test_a_server_that_asks_us_for_it_is_refused_as_usual(model: TapedTraffic) -> None:
    error = {"code": -32601, "message": "Method not found"}
    model.append(
        [
            frame(1, {"jsonrpc": "2.0", "id": 1, "method": "server/discover"}),
            frame(2, {"jsonrpc": "2.0", "id": 1, "error": error}, Channel.SENT),
        ]
    )
    assert not model.is_expected(1)
