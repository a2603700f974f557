"""Folded ticks: one row for those of a request between two other messages, and nothing lost."""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.gui.traffic import model as log
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.gui.traffic.filtering import rows_term
from mcp_progress_monitor.gui.traffic.model import TrafficModel, TrafficNotes
from mcp_progress_monitor.protocol.frames import Channel, Frame, FrameKind
from tests.gui.traffic.frames import frame
from tests.gui.traffic.tape import TapedTraffic

OTHER = "x"
"""In a story: a message of the server's log; letters are the ticks of requests."""


def request(number: int, token: str) -> Frame:
    params = {"name": "export", "arguments": {}, "_meta": {"progressToken": token}}
    call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return frame(number, call, Channel.SENT)


def tick(number: int, token: str, value: int) -> Frame:
    params = {"progressToken": token, "progress": value, "total": 240}
    return frame(number, {"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def frames_of(story: str, first: int = 0) -> list[Frame]:
    """The requests of the letters `a` to `c`, then a frame for each letter of a story, from 4."""
    frames = [] if first else [request(at, token) for at, token in enumerate("abc", 1)]
    for number, letter in enumerate(story, first or 4):
        log_message = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
        is_other = letter == OTHER
        made = frame(number, log_message) if is_other else tick(number, letter, number)
        frames.append(made)
    return frames


def traffic(story: str = "", capacity: int = 1 << 60) -> TapedTraffic:
    model = TapedTraffic(capacity)
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, model)
    model.set_folded(True)
    model.append(frames_of(story))
    return model


def rows(model: TrafficModel) -> list[list[int]]:
    """The numbers of the messages that each row holds, behind the three requests."""
    number = model.timeline.number
    held = [[number(place) for place in model.places(row)] for row in range(model.rowCount())]
    return [row for row in held if row[0] > 3]


def place(model: TrafficModel, number: int) -> int:
    found = model.timeline.place_of(number)
    assert found is not None
    return found


def summaries(model: TrafficModel) -> list[str]:
    return [
        model.text(row, TrafficColumn.SUMMARY)
        for row in range(model.rowCount())
        if model.kind(row) is FrameKind.PROGRESS
    ]


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        ("aaa", [[4, 5, 6]]),
        ("a", [[4]]),
        ("aaxa", [[4, 5], [6], [7]]),
        ("abab", [[4, 6], [5, 7]]),  # jobs side by side
        ("abxba", [[4], [5], [6], [7], [8]]),
        ("xx", [[4], [5]]),
        ("zz", [[4], [5]]),  # an unknown token belongs to no job
    ],
)
def test_ticks_of_a_request_between_other_messages_are_one_row(
    story: str, expected: list[list[int]]
) -> None:
    assert rows(traffic(story)) == expected


def test_a_folded_row_says_how_many_from_where_to_where_and_how_long() -> None:
    model = traffic("a" * 82)
    assert summaries(model) == ["▸ 82 ticks, 4 to 85 of 240, 8.1 s"]
    row = model.rowCount() - 1
    assert model.text(row, TrafficColumn.METHOD) == "progress"
    assert model.text(row, TrafficColumn.KEY) == "a"
    assert model.text(row, TrafficColumn.SIZE) == ""
    spoken = model.index(row, TrafficColumn.SUMMARY).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "Folded: 82 ticks, 4 to 85 of 240, 8.1 s"


def test_ticks_that_come_are_folded_into_their_row_and_counted(qtbot: QtBot) -> None:
    model = traffic("aa")
    with qtbot.waitSignals([model.folded_in, model.dataChanged]) as blocker:
        model.append(frames_of("aba", first=6))
    assert blocker.signal_triggered
    assert rows(model) == [[4, 5, 6, 8], [7]]
    assert (model.rowCount(), model.shown, model.total) == (5, 8, 8)
    assert summaries(model)[0] == "▸ 4 ticks, 4 to 8 of 240, 400 ms"


@pytest.mark.parametrize("story", ["aaax", "ababab"])  # its ticks are together, or apart
def test_a_row_is_unfolded_and_folded_again(story: str) -> None:
    model = traffic(story)
    folded = rows(model)
    assert model.set_open(3, is_open=True)
    assert summaries(model)[0].startswith("▾ 4/240")
    assert rows(model)[:2] != folded[:2]
    assert model.shown == len(story) + 3
    assert not model.set_open(3, is_open=True)
    model.append(frames_of("a" if story == "ababab" else "x", first=4 + len(story)))
    assert sum(map(len, rows(model))) == len(story) + 1
    member = model.row_of(place(model, 6))
    assert member is not None
    assert model.set_open(member, is_open=False)
    assert rows(model)[: len(folded)] != [[4]]
    assert sorted(itertools.chain(*rows(model))) == [*range(4, 5 + len(story))]


def test_a_message_that_is_folded_is_unfolded_where_it_is_asked_for() -> None:
    model = traffic("abab")
    assert (model.row_of(place(model, 7)), model.row_with(place(model, 7))) == (None, 4)
    row = model.row_of_number(7)
    assert row is not None
    assert model.place(row) == place(model, 7)
    assert rows(model) == [[4, 6], [5], [7]]
    assert model.row_with(99) is None


def test_a_violation_is_never_hidden() -> None:
    model = TapedTraffic()
    model.set_folded(True)
    model.tape.append(frames_of("aaaa"))
    model.break_rules({6: "progress fell"})
    model.refresh()
    assert rows(model) == [[4, 5], [6], [7]]


def test_marks_and_notes_on_folded_ticks_are_shown_on_their_row() -> None:
    model = traffic("abab")
    notes = TrafficNotes()
    model.set_notes(notes)
    notes.toggle([7])
    notes.set_note(6, "here")
    assert [model.is_marked(row) for row in (3, 4)] == [False, True]
    assert [model.note_of(row) for row in (3, 4)] == ["here", ""]


def test_the_time_difference_is_that_to_the_message_before() -> None:
    model = traffic("aaaxb")
    assert model.text(4, TrafficColumn.DELTA) == "+0.100"
    assert model.between_s(3, 4) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("text", "is_folded"),
    [
        ("", True),
        ("server == local-db", True),
        ("request == 1 or request == 2", True),
        ("not (token == b)", True),
        ("method == notifications/progress", False),
        ("params.progress >= 4", False),
        ("progress", False),
    ],
)
def test_filters_that_look_into_ticks_show_each(qtbot: QtBot, text: str, is_folded: bool) -> None:
    model = traffic("aaabaa")
    model.set_filter(TrafficFilter(text))
    qtbot.waitUntil(lambda: not model.unsearched)
    assert model.is_folded is is_folded
    assert (model.rowCount() < model.shown) is is_folded
    model.set_filter(TrafficFilter(kinds=frozenset({FrameKind.PROGRESS})))
    qtbot.waitUntil(lambda: not model.unsearched)
    assert (model.rowCount(), model.shown) == (6, 6)


def test_a_filter_folds_what_it_matches_across_what_it_hides(qtbot: QtBot) -> None:
    model = traffic("aaxbaa")
    model.set_filter(TrafficFilter("request == 1"))
    qtbot.waitUntil(lambda: not model.unsearched)
    assert rows(model) == [[4, 5, 8, 9]]


def test_folding_is_turned_off_and_on() -> None:
    model = traffic("aaa")
    model.set_folded(False)
    assert rows(model) == [[4], [5], [6]]
    assert not model.is_folded
    model.set_folded(True)
    assert rows(model) == [[4, 5, 6]]


def test_folded_rows_lose_what_is_no_longer_in_memory() -> None:
    model = traffic("abab", capacity=6)
    model.append(frames_of("ax", first=8))  # the first part goes with what it holds
    assert rows(model) == [[8], [9]]


def test_folding_goes_on_in_slices(monkeypatch: pytest.MonkeyPatch, qtbot: QtBot) -> None:
    monkeypatch.setattr(log, "SLICE_S", 0.0)
    monkeypatch.setattr(log, "_FOLDED_AT_ONCE", 3)
    model = TapedTraffic()
    model.set_folded(True)
    model.tape.append(frames_of("aaaxaaaa" * 3))
    model.refresh()
    assert model.shown < model.total
    qtbot.waitUntil(lambda: model.shown == model.total)
    assert [len(row) for row in rows(model)] == [3, 1, 7, 1, 7, 1, 4]


STORIES = st.lists(st.text("aabbcdx", min_size=1, max_size=12), min_size=1, max_size=8)


@given(STORIES, st.randoms(use_true_random=False), st.integers(4, 40))
def test_every_message_is_in_one_row_whatever_comes_and_goes(
    stories: list[str], random: object, capacity: int
) -> None:
    choose: Callable[[int], int] = random.randrange  # type: ignore[attr-defined]
    model = traffic(capacity=capacity)
    done = 4
    for story in stories:
        model.append(frames_of(story, first=done))
        done += len(story)
        if model.rowCount() and choose(2):
            model.set_open(choose(model.rowCount()), is_open=bool(choose(2)))
        places = [model.places(row) for row in range(model.rowCount())]
        first = model.timeline.first
        assert sorted(itertools.chain(*places)) == [*range(first, model.timeline.end)]
        assert model.shown == model.timeline.end - first
        assert [held[0] for held in places] == sorted(held[0] for held in places)


@given(st.text("aabbcx", min_size=1, max_size=30), st.data())
def test_the_filter_of_rows_matches_what_they_hold(story: str, data: st.DataObject) -> None:
    model = traffic(story)
    first = data.draw(st.integers(0, model.rowCount() - 1))
    last = data.draw(st.integers(first, model.rowCount() - 1))
    chosen = TapedTraffic()
    chosen.append(frames_of(story))
    term = rows_term(model, first, last)
    chosen.set_filter(TrafficFilter(term))
    while chosen.unsearched:
        chosen.refresh()
    expected = sorted(itertools.chain(*(model.places(row) for row in range(first, last + 1))))
    assert [chosen.place(row) for row in range(chosen.rowCount())] == expected, term
