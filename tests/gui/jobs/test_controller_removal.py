"""Rows of removed jobs go at once; the jobs themselves only when nobody can undo it any more."""

from typing import Any

import pytest
from PySide6.QtWidgets import QMainWindow

from mcp_progress_monitor.gui.jobs.controller import JobRemoval
from mcp_progress_monitor.gui.jobs.model import JobsModel
from mcp_progress_monitor.gui.undo import UndoOffer
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobState
from tests.job_stand_ins import FakeJobs, job, resumable


class Controller:
    """Notes what was made final."""

    def __init__(self) -> None:
        self.done: list[tuple[str, tuple[int, ...]]] = []

    def finished(self) -> list[int]:
        return [2, 3]

    def remove(self, jobs: Any) -> None:
        self.done.append(("remove", tuple(jobs)))

    def forget(self, jobs: Any) -> None:
        self.done.append(("forget", tuple(jobs)))


@pytest.fixture
def parts() -> Any:
    window = QMainWindow()
    source = FakeJobs(
        job(id=1),
        job(id=2, state=JobState.DONE, name="nightly-report"),
        job(id=3, state=JobState.FAILED),
        resumable(4),
    )
    model = JobsModel(window)
    model.set_source(source)
    controller: Any = Controller()
    offer = UndoOffer(window)
    yield model, controller, offer, JobRemoval(model, controller, offer, window), source
    window.deleteLater()


def rows(model: JobsModel) -> list[int | None]:
    return [model.job_at(row) for row in range(model.rowCount())]


def test_a_removed_row_is_back_where_it_was_once_that_is_undone(parts: Any) -> None:
    model, controller, offer, removal, _ = parts
    removal.remove((1, 2))
    assert rows(model) == [1, 3, 4]
    assert offer.text == "Removed nightly-report."
    offer.undo()
    assert rows(model) == [1, 2, 3, 4]
    assert controller.done == []


def test_nothing_is_removed_for_good_before_the_offer_ends(parts: Any) -> None:
    model, controller, offer, removal, _ = parts
    removal.remove_finished()
    assert rows(model) == [1, 4]
    assert offer.text == "Removed 2 jobs."
    assert controller.done == []
    removal.forget((4,))
    assert controller.done == [("remove", (2, 3))]
    offer.settle()
    assert controller.done == [("remove", (2, 3)), ("forget", (4,))]
    assert rows(model) == [1]


def test_a_hidden_job_that_moves_stays_hidden_and_one_that_is_gone_does_not_come_back(
    parts: Any,
) -> None:
    model, _, offer, removal, source = parts
    removal.remove((2, 3))
    model.apply(ChangeSet(moved=frozenset({2}), progressed=frozenset({2})))
    assert rows(model) == [1, 4]
    del source.held[3]
    offer.undo()
    assert rows(model) == [1, 2, 4]


def test_jobs_that_run_are_left_alone(parts: Any) -> None:
    model, _, offer, removal, _ = parts
    removal.remove((1,))
    assert rows(model) == [1, 2, 3, 4]
    assert offer.text == ""
