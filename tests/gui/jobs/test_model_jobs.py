"""The jobs' table: rows follow changes, snapshots are made for those who look."""

from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.jobs.columns import COLUMNS, Column
from mcp_progress_monitor.gui.jobs.model import ROW, SORTED_EACH_SECOND, JobsModel
from mcp_progress_monitor.gui.jobs.row import SETTLED_AFTER_S
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import ChangeSet, Clocks, JobSnapshot, JobState
from tests.findings import mark
from tests.job_stand_ins import FakeJobs, job, new_job, resumable

ASCENDING = Qt.SortOrder.AscendingOrder
DESCENDING = Qt.SortOrder.DescendingOrder


@pytest.fixture
def source() -> FakeJobs:
    return FakeJobs()


@pytest.fixture
def model(source: FakeJobs) -> Iterator[JobsModel]:
    model = JobsModel()
    fatal = QAbstractItemModelTester.FailureReportingMode.Fatal
    QAbstractItemModelTester(model, fatal, model)
    model.set_source(source)
    yield model
    model.deleteLater()


@pytest.fixture
def bare(source: FakeJobs) -> Iterator[JobsModel]:
    """A model without the tester, which itself looks at every row that changes."""
    model = JobsModel()
    model.set_source(source)
    yield model
    model.deleteLater()


def shown(model: JobsModel) -> list[int | None]:
    return [model.job_at(row) for row in range(model.rowCount())]


def shown_text(model: JobsModel, row: int, column: Column) -> object:
    return model.data(model.index(row, column))


def announced(model: JobsModel) -> list[tuple[int, int]]:
    """Collect the spans of rows that the model says have changed."""
    spans: list[tuple[int, int]] = []

    def note(first: QModelIndex, last: QModelIndex) -> None:
        spans.append((first.row(), last.row()))

    model.dataChanged.connect(note)
    return spans


def add(model: JobsModel, source: FakeJobs, count: int) -> None:
    source.put(*(job(id=number) for number in range(1, count + 1)))
    model.apply(ChangeSet(added=tuple(range(1, count + 1))))


def test_rows_are_jobs_in_order_of_start(model: JobsModel, source: FakeJobs) -> None:
    add(model, source, 3)
    assert shown(model) == [1, 2, 3]


def test_jobs_that_are_there_already_are_shown() -> None:
    model = JobsModel()
    model.set_source(FakeJobs(job(id=4), job(id=2)))
    assert shown(model) == [2, 4]


def test_removed_jobs_take_their_rows_with_them(model: JobsModel, source: FakeJobs) -> None:
    add(model, source, 6)
    model.apply(ChangeSet(removed=(2, 3, 5)))
    assert shown(model) == [1, 4, 6]
    assert [model.row_of(number) for number in (1, 4, 6, 2)] == [0, 1, 2, None]


@pytest.mark.requirement("FR-6", "IT-2")
def test_progress_reaches_the_window_with_server_token_numbers_and_message(
    model: JobsModel, source: FakeJobs
) -> None:
    add(model, source, 1)
    source.put(job(progress=700, fraction=0.7, message="Batch 700", tick_count=700))
    model.apply(ChangeSet(progressed=frozenset({1})))
    got = model.data(model.index(0, Column.PROGRESS), ROW).job
    assert (got.server, got.token, got.progress, got.total, got.message) == (
        "local-db",
        "prog-1",
        700,
        1000,
        "Batch 700",
    )
    assert shown_text(model, 0, Column.PROGRESS) == "70.0 %"
    assert shown_text(model, 0, Column.MESSAGE) == "Batch 700"
    assert shown_text(model, 0, Column.TOKEN) == "prog-1"


def test_a_change_makes_no_snapshot_of_rows_nobody_looks_at(
    bare: JobsModel, source: FakeJobs
) -> None:
    add(bare, source, 1000)
    bare.close()  # all states are read
    source.asked.clear()
    bare.apply(ChangeSet(progressed=frozenset(range(1, 1001))))
    for row in range(20):
        bare.data(bare.index(row, Column.PROGRESS))
        bare.data(bare.index(row, Column.STATUS))
    assert source.asked == list(range(1, 21))


def test_a_second_makes_no_snapshot_of_rows_nobody_looks_at(
    bare: JobsModel, source: FakeJobs
) -> None:
    add(bare, source, 1000)
    source.asked.clear()
    spans = announced(bare)
    bare.tick(range(5, 25))
    assert spans == [(5, 24)]
    assert source.asked == []


def test_time_passes_for_jobs_that_go_on_only(model: JobsModel, source: FakeJobs) -> None:
    source.put(job(id=1), job(id=2, state=JobState.DONE, elapsed_s=9.0))
    model.apply(ChangeSet(added=(1, 2)))
    source.put(job(id=1, elapsed_s=61.0), job(id=2, state=JobState.DONE, elapsed_s=99.0))
    spans = announced(model)
    model.tick([0, 1])
    assert spans == [(0, 0)]
    assert shown_text(model, 0, Column.ELAPSED) == "1 min 1 s"
    assert shown_text(model, 1, Column.ELAPSED) == "9.0 s"


def test_a_row_out_of_sight_is_up_to_date_when_it_comes_into_sight(
    model: JobsModel, source: FakeJobs
) -> None:
    add(model, source, 2)
    source.put(job(id=2, elapsed_s=61.0))
    model.tick([0])
    assert shown_text(model, 1, Column.ELAPSED) == "1 min 1 s"


def test_few_changes_are_announced_row_by_row(model: JobsModel, source: FakeJobs) -> None:
    add(model, source, 300)
    spans = announced(model)
    model.apply(ChangeSet(progressed=frozenset({1, 2, 200})))
    assert spans == [(0, 1), (199, 199)]


def test_many_changes_are_announced_as_one_span(model: JobsModel, source: FakeJobs) -> None:
    add(model, source, 300)
    spans = announced(model)
    model.apply(ChangeSet(progressed=frozenset(range(1, 300, 2))))
    assert spans == [(0, 298)]


@pytest.mark.parametrize("column", list(Column))
@pytest.mark.parametrize(
    "number",
    [2**63, -(2**63) - 1, 10**400, 10**5000, 1e308, 5e-324, 0.1 + 0.2],
    ids=["2^63", "-2^63-1", "10^400", "10^5000", "1e308", "5e-324", "0.3"],
)
def test_no_number_a_server_can_send_raises(
    model: JobsModel, source: FakeJobs, column: Column, number: float
) -> None:
    source.put(
        job(id=1, progress=number, total=number, token=number, request_id=number),
        job(id=2),
        new_job(3, token=None),
    )
    model.apply(ChangeSet(added=(1, 2, 3)))
    for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
        assert len(str(model.index(0, column).data(role))) < 1000
    model.sort(column, DESCENDING)
    assert sorted(one or 0 for one in shown(model)) == [1, 2, 3]


def test_long_and_hostile_text_is_bounded_and_made_visible(
    model: JobsModel, source: FakeJobs
) -> None:
    source.put(job(message="a\u202eb\n" + "x" * 100_000))
    model.apply(ChangeSet(added=(1,)))
    text = str(shown_text(model, 0, Column.MESSAGE))
    assert text.startswith(r"a\u202eb\n")
    assert len(text) <= 400


def test_sorting_keeps_unknown_at_the_end_in_both_directions(
    model: JobsModel, source: FakeJobs
) -> None:
    source.put(job(id=1, rate=None), job(id=2, rate=5.0), job(id=3, rate=50.0))
    model.apply(ChangeSet(added=(1, 2, 3)))
    model.sort(Column.RATE, ASCENDING)
    assert shown(model) == [2, 3, 1]
    model.sort(Column.RATE, DESCENDING)
    assert shown(model) == [3, 2, 1]


def test_clearing_the_sorting_returns_to_the_order_of_start(
    model: JobsModel, source: FakeJobs
) -> None:
    source.put(job(id=1, name="b"), job(id=2, name="a"))
    model.apply(ChangeSet(added=(1, 2)))
    model.sort(Column.JOB, ASCENDING)
    assert shown(model) == [2, 1]
    model.sort(-1)
    assert shown(model) == [1, 2]


def test_a_new_job_takes_its_place_in_a_sorted_list(model: JobsModel, source: FakeJobs) -> None:
    source.put(job(id=1, name="b"), job(id=2, name="d"))
    model.apply(ChangeSet(added=(1, 2)))
    model.sort(Column.JOB, ASCENDING)
    source.put(job(id=3, name="c"))
    model.apply(ChangeSet(added=(3,)))
    assert shown(model) == [1, 3, 2]


def test_rows_in_a_list_sorted_by_a_moving_number_change_places_once_a_second(
    model: JobsModel, source: FakeJobs
) -> None:
    source.put(job(id=1, rate=9.0), job(id=2, rate=5.0))
    model.apply(ChangeSet(added=(1, 2)))
    model.sort(Column.RATE, DESCENDING)
    source.put(job(id=2, rate=99.0))
    model.apply(ChangeSet(progressed=frozenset({2})))
    assert shown(model) == [1, 2]
    model.tick([])
    assert shown(model) == [2, 1]


def test_rows_of_very_many_running_jobs_change_places_every_other_second(
    qtbot: QtBot, bare: JobsModel, source: FakeJobs
) -> None:
    running = range(1, SORTED_EACH_SECOND + 2)
    source.put(*(job(id=number, rate=float(number)) for number in running))
    bare.apply(ChangeSet(added=tuple(running)))
    bare.close()  # all states are read
    bare.sort(Column.RATE, ASCENDING)
    source.put(job(id=1, rate=9e9))
    source.asked.clear()
    bare.tick([])
    assert source.asked == []
    with qtbot.waitSignal(bare.layoutChanged):
        bare.tick([])
    assert shown(bare)[-1] == 1


def test_a_remembered_row_follows_its_job_through_sorting(
    model: JobsModel, source: FakeJobs
) -> None:
    source.put(job(id=1, name="b"), job(id=2, name="a"))
    model.apply(ChangeSet(added=(1, 2)))
    remembered = QPersistentModelIndex(model.index(0, Column.JOB))
    model.sort(Column.JOB, ASCENDING)
    assert remembered.row() == 1


def test_a_job_the_source_forgot_keeps_its_last_snapshot_until_it_is_removed(
    model: JobsModel, source: FakeJobs
) -> None:
    add(model, source, 1)
    source.held.clear()
    model.apply(ChangeSet(progressed=frozenset({1})))
    assert shown_text(model, 0, Column.PROGRESS) == "63.2 %"


def test_a_change_of_an_unknown_job_is_ignored(model: JobsModel, source: FakeJobs) -> None:
    model.apply(ChangeSet(progressed=frozenset({99}), moved=frozenset({99}), removed=(98,)))
    assert shown(model) == []
    assert source.asked == []


def test_a_young_job_counts_only_when_it_has_lived_half_a_second(
    qtbot: QtBot, model: JobsModel, source: FakeJobs
) -> None:
    source.put(new_job(1))
    model.apply(ChangeSet(added=(1,)))
    assert model.rowCount() == 1
    assert model.count_by_state() == {}
    source.put(new_job(1, elapsed_s=SETTLED_AFTER_S))
    with qtbot.waitSignal(model.groups_changed):
        pass
    assert model.count_by_state() == {JobState.RUNNING: 1}


def test_a_job_that_ends_at_once_never_counted_as_running(
    model: JobsModel, source: FakeJobs
) -> None:
    reported: list[object] = []
    model.groups_changed.connect(lambda: reported.append(dict(model.count_by_state())))
    source.put(new_job(1))
    model.apply(ChangeSet(added=(1,)))
    source.put(new_job(1, state=JobState.DONE, elapsed_s=0.2))
    model.apply(ChangeSet(progressed=frozenset({1}), moved=frozenset({1})))
    assert reported == [{}, {JobState.DONE: 1}]


def test_every_column_has_a_title_but_the_buttons() -> None:
    untitled = [column for column, about in COLUMNS.items() if not about.title()]
    assert untitled == [Column.ACTIONS]


def test_a_row_reads_as_one_sentence_to_a_screen_reader(model: JobsModel, source: FakeJobs) -> None:
    source.put(job(marks=(mark("not-increasing", "went back", 2, 9),)))
    model.apply(ChangeSet(added=(1,)))
    spoken = model.data(model.index(0, Column.JOB), Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == (
        "export_orders on local-db: Running, 63.2 %, Processing batch 632 of 1000, "
        "31 s left, 12/s · 52 s so far, 1 finding: warning"
    )


def test_time_passes_for_resumable_jobs_although_they_are_over(
    bare: JobsModel, source: FakeJobs
) -> None:
    source.put(resumable(1), job(id=2, state=JobState.DONE))
    bare.apply(ChangeSet(added=(1, 2)))
    spans = announced(bare)
    assert bare.is_anything_running
    bare.tick([0, 1])
    assert spans == [(0, 0)]


def test_jobs_sorted_by_server_are_grouped_and_in_order_of_start_within(
    model: JobsModel, source: FakeJobs
) -> None:
    source.put(*(resumable(n, server=("b", "a")[n % 2]) for n in range(1, 7)))
    model.apply(ChangeSet(added=tuple(range(1, 7))))
    model.sort(Column.SERVER, ASCENDING)
    assert shown(model) == [1, 3, 5, 2, 4, 6]
    model.sort(Column.SERVER, DESCENDING)
    assert shown(model) == [2, 4, 6, 1, 3, 5]


def test_attempts_and_the_age_of_tokens_have_columns(model: JobsModel, source: FakeJobs) -> None:
    source.put(resumable(1, attempt_count=3), job(id=2))
    model.apply(ChangeSet(added=(1, 2)))
    assert shown_text(model, 0, Column.ATTEMPTS) == "3"
    assert shown_text(model, 0, Column.SAVED) != ""
    assert shown_text(model, 1, Column.SAVED) == ""


def test_jobs_are_sorted_by_their_end_those_that_run_last(
    model: JobsModel, source: FakeJobs
) -> None:
    source.put(
        job(id=1, state=JobState.DONE, ended_at=90.0),
        job(id=2),
        job(id=3, state=JobState.FAILED, started_at=10.0, started_when=1.7e9, ended_at=50.0),
    )
    model.apply(ChangeSet(added=(1, 2, 3)))
    model.sort(Column.ENDED, ASCENDING)
    assert shown(model) == [3, 1, 2]
    assert shown_text(model, 0, Column.ENDED) == formatting.date_and_clock(1.7e9 + 40)
    assert shown_text(model, 2, Column.ENDED) == ""


def test_a_live_row_counts_down_to_a_limit_that_is_near_and_a_recorded_one_does_not(
    model: JobsModel,
) -> None:
    live = FakeJobs(job(id=1, clocks=Clocks(42.0, None, False, 1800.0, None)))
    model.set_source(live)
    assert model.index(0, Column.STATUS).data().startswith("31 s left · idle timeout in 42 s")
    live.put(job(id=1, clocks=Clocks(41.0, None, False, 1800.0, None)))
    model.tick([0])
    assert "idle timeout in 41 s" in model.index(0, Column.STATUS).data()
    model.set_source(FakeJobs(job(id=1)))
    assert "limit" not in model.index(0, Column.STATUS).data()


def asked(job_id: int, parent: int, **changes: Any) -> JobSnapshot:
    """What a server asks because of a job."""
    return job(id=job_id, sender=Side.SERVER, parent=parent, **changes)


def test_what_a_server_asks_stands_below_the_job_that_caused_it(
    model: JobsModel, source: FakeJobs
) -> None:
    source.put(job(id=1), job(id=2), asked(3, 1), asked(4, 2), asked(5, 1))
    model.apply(ChangeSet(added=(1, 2, 3, 4, 5)))
    assert shown(model) == [1, 3, 5, 2, 4]


@pytest.mark.parametrize(
    ("order", "expected"), [(ASCENDING, [2, 4, 1, 3]), (DESCENDING, [1, 3, 2, 4])]
)
def test_it_stands_there_however_the_jobs_are_sorted(
    model: JobsModel, source: FakeJobs, order: Qt.SortOrder, expected: list[int]
) -> None:
    source.put(
        job(id=1, name="b"), job(id=2, name="a"), asked(3, 1, name="0"), asked(4, 2, name="z")
    )
    model.apply(ChangeSet(added=(1, 2, 3, 4)))
    model.sort(Column.JOB, order)
    assert shown(model) == expected


def test_a_question_whose_job_is_removed_stands_by_itself(
    model: JobsModel, source: FakeJobs
) -> None:
    source.put(job(id=1), job(id=2), asked(3, 1))
    model.apply(ChangeSet(added=(1, 2, 3)))
    model.apply(ChangeSet(removed=(1,)))
    assert shown(model) == [2, 3]
    assert model.parent_of(3) is None
    assert model.job_count == 2


def test_no_row_stands_below_itself_or_a_later_one(model: JobsModel, source: FakeJobs) -> None:
    source.put(asked(1, 2), asked(2, 2), asked(3, 99))
    model.apply(ChangeSet(added=(1, 2, 3)))
    assert shown(model) == [1, 2, 3]


def test_many_young_jobs_are_looked_at_a_few_in_each_turn(
    qtbot: QtBot, bare: JobsModel, source: FakeJobs
) -> None:
    numbers = range(1, 181)
    source.put(*(new_job(number) for number in numbers))
    with qtbot.waitSignal(bare.groups_changed):
        bare.apply(ChangeSet(added=tuple(numbers)))
    source.put(*(new_job(number, elapsed_s=SETTLED_AFTER_S) for number in numbers))
    looks: list[int] = []
    bare.dataChanged.connect(lambda first, last: looks.append(last.row() - first.row() + 1))
    with qtbot.waitSignal(bare.groups_changed):
        source.asked.clear()
    assert sum(looks) == len(numbers)
    assert max(looks) <= 50
    assert all(bare.settled_state(number) is JobState.RUNNING for number in numbers)
    assert source.asked == list(numbers)


def test_the_states_of_many_jobs_that_start_and_end_at_once_are_read_a_few_in_each_turn(
    qtbot: QtBot, bare: JobsModel, source: FakeJobs
) -> None:
    numbers = range(1, 181)
    source.put(*(new_job(number) for number in numbers))
    read: list[list[int]] = []
    bare.states_read.connect(read.append)
    with qtbot.waitSignal(bare.groups_changed):
        bare.apply(ChangeSet(added=tuple(numbers)))
        assert bare.rowCount() == 180
    assert [number for part in read for number in part] == [*numbers]
    source.put(*(job(id=number, state=JobState.DONE) for number in numbers))
    bare.apply(ChangeSet(progressed=frozenset(numbers), moved=frozenset(numbers)))
    bare.apply(ChangeSet(removed=(180,)))
    qtbot.waitUntil(lambda: bare.count_by_state() == {JobState.DONE: 179})
    assert sorted(number for part in read[4:] for number in part) == [*range(1, 180)]
    assert max(map(len, read)) <= 50


def test_a_request_is_listed_below_its_job_before_its_state_is_read(
    bare: JobsModel, source: FakeJobs
) -> None:
    source.put(job(id=1), *(asked(number, 1) for number in range(2, 182)))
    source.asked.clear()
    bare.apply(ChangeSet(added=tuple(range(1, 182))))
    assert 181 not in source.asked
    assert bare.parent_of(181) == 1
    assert bare.job_count == 1


def test_all_states_are_read_when_the_model_is_closed(
    qtbot: QtBot, bare: JobsModel, source: FakeJobs
) -> None:
    numbers = range(1, 181)
    source.put(*(new_job(number) for number in numbers))
    bare.apply(ChangeSet(added=tuple(numbers)))
    source.put(*(job(id=number, state=JobState.DONE) for number in numbers))
    bare.apply(ChangeSet(moved=frozenset(numbers)))
    bare.close()
    assert bare.count_by_state() == {JobState.DONE: 180}
    with qtbot.assertNotEmitted(bare.groups_changed, wait=20):
        pass
