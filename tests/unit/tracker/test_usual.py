"""Usual times of a tool come from its own successful calls, within bounds."""

import pytest

from mcp_progress_monitor.tracker.snapshot import JobSnapshot, JobState
from mcp_progress_monitor.tracker.tracker import Tracker
from mcp_progress_monitor.tracker.usual import percentile
from mcp_progress_monitor.wording import jobs as job_texts
from tests.unit.exports.sessions import Session


def called(durations: list[float], *, fails: bool = False, tool: str = "export") -> Session:
    """Call a tool again and again, then once more."""
    session = Session()
    session.opened()
    for request, duration_s in enumerate(durations, 1):
        session.called(tool, None, request)
        session.at += duration_s
        if fails:
            session.refused(-1, "no", request)
        else:
            session.answered({"content": []}, request)
    session.called("export", "last", len(durations) + 1)
    return session


def last(session: Session) -> JobSnapshot:
    found = session.jobs.snapshot(max(session.jobs.ids()))
    assert found is not None
    return found


def test_the_usual_time_needs_a_few_calls_that_ended_well() -> None:
    assert last(called([10.0, 30.0])).usual_s is None
    assert last(called([10.0, 30.0, 20.0])).usual_s == 20.0
    assert last(called([10.0, 30.0, 20.0], fails=True)).usual_s is None
    assert last(called([10.0, 30.0, 20.0], tool="other")).usual_s is None


def test_before_the_first_tick_the_rest_of_it_is_the_time_left() -> None:
    session = called([40.0] * 3)
    session.at += 10
    job = last(session)
    assert job_texts.time_left(job) == job_texts.headline(job) == "about 30 s left"
    session.at += 31
    assert job_texts.time_left(last(session)) == ""
    session.ticked(1, "last", total=100)
    assert job_texts.time_left(last(session)) == ""


def test_a_call_is_slow_beyond_the_95th_percentile_of_20() -> None:
    durations = [float(n) for n in range(1, 21)]
    assert last(called(durations[:19])).slow_after_s is None
    session = called(durations)
    assert last(session).slow_after_s == 19.0
    session.at += 19
    assert not last(session).is_slow
    session.at += 1
    job = last(session)
    assert job.is_slow
    assert job.state is JobState.RUNNING
    assert job_texts.state(job) == "Slower than usual"
    session.answered({"content": []}, 21)
    assert job_texts.state(last(session)) == "Done"


def test_only_the_newest_calls_count() -> None:
    assert last(called([100.0] * 50 + [1.0] * 200)).usual_s == pytest.approx(1.0)


def test_of_nothing_there_is_no_percentile() -> None:
    assert percentile([], 0.5) is None
    assert Tracker().snapshot(1, 0.0) is None
