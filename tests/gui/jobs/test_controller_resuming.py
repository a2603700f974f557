"""Wishes about resuming, and what becomes of what goes wrong."""

from collections.abc import AsyncIterator, Iterable
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.engine.call import AutoResume
from mcp_progress_monitor.engine.origins import ServerChangedError
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.gui.aio import BackgroundTasks
from mcp_progress_monitor.gui.jobs.controller import JobsController
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.tracker.snapshot import JobSnapshot
from tests.job_stand_ins import job

pytestmark = pytest.mark.anyio

REFUSED = ErrorDetails("The server refused this job's resume token", "db")
SAVED = StdioDefinition(name="db", command="python")


class Engine:
    """Notes what is asked of it; `raises` says what goes wrong with which job."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.raises: dict[int, UserError] = {}
        self.at_servers: set[int] = set()
        self.jobs = self.calls = self.tasks = self.resumer = self

    async def resume(self, job: int, *, use_saved_definition: bool = False) -> None:
        self.asked.append(("resume", job, use_saved_definition))
        if job in self.raises:
            raise self.raises[job]

    def can_pick_up(self, job: int) -> bool:
        return job in self.at_servers

    async def pick_up(self, job: int, *, use_saved_definition: bool = False) -> None:
        self.asked.append(("pick up", job, use_saved_definition))
        if job in self.raises:
            raise self.raises[job]

    def ids(self) -> list[int]:
        return [1, 2]

    def snapshot(self, job_id: int) -> JobSnapshot:
        return job(id=job_id, is_automatic=job_id == 2)

    def set_automatic(self, job: int, automatic: AutoResume | None) -> None:
        self.asked.append(("automatic", job, automatic))
        if job in self.raises:
            raise self.raises[job]

    async def reissue(self, job: int) -> None:
        self.asked.append(("reissue", job))
        if job in self.raises:
            raise self.raises[job]

    async def forget(self, jobs: Iterable[int]) -> None:
        self.asked.append(("forget", jobs))


class Stage:
    """What a test looks at: the resuming, its monitor, and the errors shown to the user."""

    def __init__(self, tasks: BackgroundTasks, reported: list[ErrorDetails]) -> None:
        self.reported = reported
        self.engine = Engine()
        self.resuming = JobsController(self.engine, tasks, reported.append)  # type: ignore[arg-type]
        self.wanted: list[tuple[int, ServerChangedError]] = []
        self.resuming.server_requested.connect(self._note)

    def _note(self, job: int, changed: ServerChangedError) -> None:
        self.wanted.append((job, changed))


def _no_bug(error: BaseException) -> None:
    raise error


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    reported: list[ErrorDetails] = []
    async with BackgroundTasks(reported.append, _no_bug) as tasks:
        yield Stage(tasks, reported)


async def test_many_jobs_are_resumed_and_one_that_fails_stops_no_other(stage: Stage) -> None:
    stage.engine.raises[2] = UserError(REFUSED)
    stage.resuming.resume((1, 2, 3))
    await anyio.wait_all_tasks_blocked()
    assert sorted(stage.engine.asked) == [("resume", n, False) for n in (1, 2, 3)]
    assert stage.reported == [REFUSED]
    assert stage.wanted == []


async def test_a_changed_server_is_asked_about_and_is_no_failure(stage: Stage) -> None:
    changed = ServerChangedError(
        ErrorDetails("definition of the job's server has changed", "db"), SAVED
    )
    stage.engine.raises[1] = changed
    stage.resuming.resume((1,))
    await anyio.wait_all_tasks_blocked()
    assert stage.wanted == [(1, changed)]
    assert stage.reported == []


async def test_resuming_uses_the_approved_definition(stage: Stage) -> None:
    stage.resuming.resume_as_saved((4, 7))
    await anyio.wait_all_tasks_blocked()
    assert sorted(stage.engine.asked) == [("resume", 4, True), ("resume", 7, True)]


async def test_automatic_resuming_is_chosen_and_called_off_and_refusals_are_reported(
    stage: Stage,
) -> None:
    stage.engine.raises[2] = UserError(REFUSED)
    stage.resuming.set_automatic((1, 2), True)
    stage.resuming.set_automatic((1,), False)
    kept = AutoResume()
    assert stage.engine.asked == [
        ("automatic", 1, kept),
        ("automatic", 2, kept),
        ("automatic", 1, None),
    ]
    assert stage.reported == [REFUSED]


async def test_a_new_limit_holds_for_jobs_that_go_on_by_themselves_already(stage: Stage) -> None:
    stage.resuming.set_limit(7)
    stage.resuming.set_automatic((3,), True)
    limited = AutoResume(limit=7)
    assert stage.engine.asked == [("automatic", 2, limited), ("automatic", 3, limited)]


async def test_forgetting_several_jobs_is_one_request(stage: Stage) -> None:
    stage.resuming.forget([3, 4])
    stage.resuming.reissue((5, 6))
    await anyio.wait_all_tasks_blocked()
    assert sorted(stage.engine.asked) == [("forget", (3, 4)), ("reissue", 5), ("reissue", 6)]


async def test_reissuing_to_a_changed_server_says_what_to_do_and_starts_nothing(
    stage: Stage,
) -> None:
    error = ErrorDetails(
        "definition of the job's server has changed", "db", "Resume with the saved definition"
    )
    stage.engine.raises[5] = ServerChangedError(error, SAVED)
    stage.resuming.reissue((5,))
    await anyio.wait_all_tasks_blocked()
    (reported,) = stage.reported
    assert reported.what == "definition of the job's server has changed"
    assert "Edit and re-issue" in reported.hint
    assert stage.wanted == []
