"""Lines of progress: the first at once, few in between, always the last."""

import io
import re
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.cli.output.stdout import StandardOutput
from mcp_progress_monitor.cli.output.text_front import LineMeter
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobSnapshot, JobState, TaskSnapshot
from tests.job_stand_ins import FakeJobs, job


class Lines:
    """A meter over held jobs, its clock in the test's hands, and what it wrote."""

    def __init__(self) -> None:
        self.now = 100.0
        self.jobs = FakeJobs()
        self._stream = io.BytesIO()
        self._output = StandardOutput(io.TextIOWrapper(self._stream, encoding="utf-8"))
        self.number(1, 1)

    def number(self, job_id: int, number: int) -> None:
        """Let a number stand for a job."""
        self.meter = LineMeter(
            self._output,
            self.jobs,
            is_numbered=True,
            numbers={job_id: number},
            clock=lambda: self.now,
        )

    def change(self, job_id: int, **fields: Any) -> None:
        """A job changed."""
        self.jobs.put(job(id=job_id, **fields))
        self.meter.on_changes(ChangeSet(progressed=frozenset({job_id})))

    def read(self) -> list[str]:
        """The lines written so far."""
        return self._stream.getvalue().decode().splitlines()


@pytest.fixture
def written() -> Lines:
    return Lines()


def test_the_first_change_is_written_at_once_and_then_one_a_second(written: Lines) -> None:
    for progress in range(100):
        written.change(1, progress=progress)
        written.now += 0.125
    assert [line.split()[2] for line in written.read()] == [str(n) for n in range(0, 100, 8)]


def test_every_job_has_its_own_second(written: Lines) -> None:
    written.change(1)
    written.change(2)
    assert [line.split(":")[0] for line in written.read()] == [
        "export_orders #1",
        "export_orders #2",
    ]


def test_a_change_of_one_job_is_not_work_for_all_that_wait(written: Lines) -> None:
    for job_id in range(50):
        written.change(job_id, progress=1)
        written.change(job_id, progress=2)
    asked: list[int] = []
    known = written.jobs.snapshot

    def snapshot(each: int) -> JobSnapshot | None:
        asked.append(each)
        return known(each)

    written.jobs.snapshot = snapshot  # type: ignore[method-assign, assignment]
    written.change(7, progress=3)
    assert asked == [7]


def test_jobs_may_have_other_numbers(written: Lines) -> None:
    written.number(2, 70)
    written.change(2)
    assert written.read()[0].startswith("export_orders #70:")


def test_the_end_is_written_at_once_and_only_once(written: Lines) -> None:
    written.change(1)
    written.change(1, state=JobState.DONE)
    written.change(1, state=JobState.DONE, late_count=1)
    assert len(written.read()) == 2
    assert "done in" in written.read()[1]


def test_the_end_of_each_attempt_is_written_once(written: Lines) -> None:
    for attempt in (1, 2):
        written.change(1, attempt_count=attempt)
        written.change(1, attempt_count=attempt, state=JobState.RESUMABLE)
        written.change(1, attempt_count=attempt, state=JobState.RESUMABLE, late_count=1)
        written.now += 2
    written.change(1, attempt_count=3, state=JobState.DONE)
    reported = [re.sub(r".*(attempt 2|resumable|done).*", r"\1", line) for line in written.read()]
    assert reported[1:] == ["resumable", "attempt 2", "resumable", "done"]


def test_a_saved_job_is_not_reported_of_before_it_goes_on(written: Lines) -> None:
    written.change(1, state=JobState.RESUMABLE)
    assert written.read() == []
    written.change(1, attempt_count=2)
    written.change(1, attempt_count=2, state=JobState.RESUMABLE)
    assert len(written.read()) == 2


def test_a_job_without_progress_is_not_reported_of_before_its_end(written: Lines) -> None:
    written.change(1, tick_count=0)
    assert written.read() == []
    written.change(1, tick_count=0, state=JobState.FAILED)
    assert "failed in" in written.read()[0]


def test_what_the_server_asked_of_us_is_no_progress_of_ours(written: Lines) -> None:
    written.change(1, sender=Side.SERVER)
    assert written.read() == []


def test_a_job_that_is_gone_is_forgotten(written: Lines) -> None:
    written.meter.on_changes(ChangeSet(progressed=frozenset({9})))
    written.meter.on_changes(ChangeSet())
    assert written.jobs.asked == [9]


@pytest.mark.anyio
async def test_a_change_that_had_to_wait_is_written_when_its_second_is_over(
    written: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    written.change(1, progress=1)
    written.change(1, progress=2)
    assert len(written.read()) == 1

    async def sleep(seconds: float) -> None:
        written.now += seconds
        if len(written.read()) == 2:
            scope.cancel()
        await anyio.lowlevel.checkpoint()

    monkeypatch.setattr(anyio, "sleep", sleep)
    with anyio.fail_after(5), anyio.CancelScope() as scope:
        await written.meter.animate()
    assert written.read()[1].split()[2] == "2"
    assert written.now == 101.25


def test_lines_wait_while_the_user_is_asked(written: Lines) -> None:
    with written.meter.aside():
        written.change(1, progress=1)
        assert written.read() == []
    assert len(written.read()) == 1


def test_a_task_is_reported_without_ticks_when_its_text_change(written: Lines) -> None:
    fields: dict[str, Any] = {"tick_count": 0, "progress": None, "total": None, "fraction": None}
    for arguments in ("Begun", "Begun", "Begun", "Going on"):
        task = TaskSnapshot("T", "working", arguments)
        written.change(1, **fields, message=None, task=task, rate=None, eta_s=None)
        written.now += 5
    assert [line.partition(": ")[2] for line in written.read()] == ["Begun", "Going on"]
