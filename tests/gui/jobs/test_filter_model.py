"""Status groups with counts, and the text filter."""

from collections.abc import Iterator

import pytest
from PySide6.QtTest import QAbstractItemModelTester

from mcp_progress_monitor.gui.jobs.filter_model import (
    COUNT,
    GROUP,
    GROUP_OF_STATE,
    GroupsModel,
    JobFilter,
    JobGroup,
)
from mcp_progress_monitor.gui.jobs.model import JobsModel
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobState
from tests.job_stand_ins import FakeJobs, job, new_job, resumable


@pytest.fixture
def source() -> FakeJobs:
    return FakeJobs(
        job(id=1, name="Export", server="db"),
        job(
            id=2,
            name="Crawl",
            server="web",
            connection="web#1",
            state=JobState.STALLED,
            token="tok-9",
        ),
        job(id=3, name="Index", server="db", state=JobState.DONE, summary='path="/srv/code"'),
        job(id=4, name="Convert", server="web", connection="web#1", state=JobState.LOST),
    )


@pytest.fixture
def jobs(source: FakeJobs) -> Iterator[JobsModel]:
    model = JobsModel()
    model.set_source(source)
    yield model
    model.deleteLater()


@pytest.fixture
def shown(jobs: JobsModel) -> JobFilter:
    proxy = JobFilter(jobs, jobs)
    QAbstractItemModelTester(proxy, QAbstractItemModelTester.FailureReportingMode.Fatal, proxy)
    return proxy


@pytest.fixture
def groups(jobs: JobsModel) -> GroupsModel:
    model = GroupsModel(jobs, jobs)
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, model)
    return model


def visible(shown: JobFilter) -> list[int | None]:
    return [shown.job_at(shown.index(row, 0)) for row in range(shown.rowCount())]


def test_every_state_is_in_exactly_one_group() -> None:
    assert set(GROUP_OF_STATE) == set(JobState)
    assert JobGroup.ALL not in GROUP_OF_STATE.values()


@pytest.mark.parametrize(
    ("group", "jobs_in_it"),
    [
        (JobGroup.ALL, [1, 2, 3, 4]),
        (JobGroup.RUNNING, [1]),
        (JobGroup.STALLED, [2]),
        (JobGroup.FINISHED, [3]),
        (JobGroup.FAILED, [4]),
        (JobGroup.NEEDS_YOU, []),
        (JobGroup.RESUMABLE, []),
    ],
)
def test_a_group_shows_its_jobs_and_counts_them(
    shown: JobFilter, groups: GroupsModel, group: JobGroup, jobs_in_it: list[int]
) -> None:
    shown.set_group(group)
    assert visible(shown) == jobs_in_it
    assert groups.count(group) == len(jobs_in_it)


def test_a_job_that_changes_its_state_changes_its_group(
    jobs: JobsModel, shown: JobFilter, groups: GroupsModel, source: FakeJobs
) -> None:
    shown.set_group(JobGroup.FINISHED)
    source.put(job(id=1, state=JobState.DONE))
    jobs.apply(ChangeSet(progressed=frozenset({1}), moved=frozenset({1})))
    assert visible(shown) == [1, 3]
    assert (groups.count(JobGroup.RUNNING), groups.count(JobGroup.FINISHED)) == (0, 2)


def test_progress_alone_never_filters_again(
    jobs: JobsModel, shown: JobFilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown.set_group(JobGroup.RUNNING)
    asked: list[int] = []
    monkeypatch.setattr(jobs, "settled_state", asked.append)
    jobs.apply(ChangeSet(progressed=frozenset({1, 2, 3, 4})))
    assert asked == []


def test_a_job_that_ends_at_once_never_shows_among_the_running(
    jobs: JobsModel, shown: JobFilter, source: FakeJobs
) -> None:
    shown.set_group(JobGroup.RUNNING)
    source.put(new_job(5))
    jobs.apply(ChangeSet(added=(5,)))
    assert visible(shown) == [1]
    source.put(new_job(5, state=JobState.DONE, elapsed_s=0.1))
    jobs.apply(ChangeSet(progressed=frozenset({5}), moved=frozenset({5})))
    assert visible(shown) == [1]
    shown.set_group(JobGroup.ALL)
    assert visible(shown) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("crawl", [2]),
        ("WEB", [2, 4]),
        ("tok-9", [2]),
        ("/srv", [3]),
        ("code index", [3]),
        ("zz", []),
    ],
)
def test_the_text_filter_wants_every_word_wherever_it_is(
    shown: JobFilter, text: str, found: list[int]
) -> None:
    shown.set_text(text)
    assert visible(shown) == found


def test_text_and_group_are_both_wanted(shown: JobFilter) -> None:
    shown.set_text("index")
    shown.set_group(JobGroup.FAILED)
    assert visible(shown) == []
    assert shown.is_narrowing


def test_indexes_of_jobs_that_are_left_out_are_invalid(shown: JobFilter) -> None:
    shown.set_group(JobGroup.FAILED)
    assert shown.index_of(4).row() == 0
    assert not shown.index_of(1).isValid()
    assert not shown.index_of(99).isValid()


def test_rows_carry_their_group_and_count(groups: GroupsModel) -> None:
    index = groups.index(0)
    assert (index.data(GROUP), index.data(COUNT), index.data()) == (JobGroup.ALL, 4, "All")


def test_resumable_jobs_are_a_group_of_their_own_with_a_count(
    source: FakeJobs, jobs: JobsModel, shown: JobFilter, groups: GroupsModel
) -> None:
    source.put(resumable(5), resumable(6, connection="", server="nightly"))
    jobs.apply(ChangeSet(added=(5, 6)))
    assert groups.count(JobGroup.RESUMABLE) == 2
    shown.set_group(JobGroup.RESUMABLE)
    assert shown.rowCount() == 2
    shown.set_text("nightly")
    assert [shown.job_at(shown.index(row, 0)) for row in range(shown.rowCount())] == [6]


def ask(source: FakeJobs, jobs: JobsModel, parent: int, state: JobState) -> None:
    """Have a server ask something because of `parent`."""
    child = job(id=9, name="elicitation/create", sender=Side.SERVER, parent=parent, state=state)
    source.put(child)
    jobs.apply(ChangeSet(added=(9,), moved=frozenset({9})))


def test_what_a_server_asks_is_folded_into_the_row_of_its_job_until_that_is_over(
    jobs: JobsModel, source: FakeJobs, shown: JobFilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    filtered: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr(JobFilter, "beginFilterChange", lambda _self: filtered.append(None))
        ask(source, jobs, 1, JobState.RUNNING)
    assert visible(shown) == [1, 2, 3, 4]
    assert filtered == []  # it never had a row
    assert shown.index_of(9).row() == shown.row_of(9) == shown.row_of(1)
    assert [shown.shown_at(row) for row in range(5)] == [1, 2, 3, 4, None]
    source.put(job(id=1, state=JobState.LOST))
    jobs.apply(ChangeSet(moved=frozenset({1}), progressed=frozenset({1})))
    assert visible(shown) == [1, 9, 2, 3, 4]
    assert shown.row_of(9) == 1
    jobs.apply(ChangeSet(removed=(9,)))
    assert visible(shown) == [1, 2, 3, 4]


def test_what_a_server_asks_is_not_counted_again(
    jobs: JobsModel, source: FakeJobs, shown: JobFilter, groups: GroupsModel
) -> None:
    source.put(job(id=1, name="Export", state=JobState.NEEDS_YOU))
    jobs.apply(ChangeSet(moved=frozenset({1}), progressed=frozenset({1})))
    ask(source, jobs, 1, JobState.RUNNING)
    shown.set_group(JobGroup.NEEDS_YOU)
    assert visible(shown) == [1]
    assert groups.count(JobGroup.NEEDS_YOU) == 1
    assert groups.count(JobGroup.RUNNING) == 0
    assert groups.count(JobGroup.ALL) == 4


def test_a_question_that_outlives_its_job_is_counted_by_itself(
    jobs: JobsModel, source: FakeJobs, shown: JobFilter, groups: GroupsModel
) -> None:
    ask(source, jobs, 3, JobState.NEEDS_YOU)
    shown.set_group(JobGroup.NEEDS_YOU)
    assert [shown.job_at(shown.index(row, 0)) for row in range(shown.rowCount())] == [9]
    assert groups.count(JobGroup.NEEDS_YOU) == 1


def test_what_a_server_asks_is_found_by_the_text_of_its_job(
    jobs: JobsModel, source: FakeJobs, shown: JobFilter
) -> None:
    ask(source, jobs, 1, JobState.RUNNING)
    for text, found in (("export", [1]), ("elicitation", [1]), ("crawl", [2])):
        shown.set_text(text)
        assert [shown.job_at(shown.index(row, 0)) for row in range(shown.rowCount())] == found
