"""Every message finds the job it belongs to."""

import json
from typing import Any

import pytest

from mcp_progress_monitor.gui.followed import JobsFollowed
from mcp_progress_monitor.gui.traffic.related import job_at, job_of_frame
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.protocol.jsonrpc import decode
from mcp_progress_monitor.tracker.snapshot import JobSnapshot, JobState
from tests.gui.traffic.frames import frame
from tests.gui.traffic.session import TrafficSession

_JOB = JobSnapshot(
    id=1, connection="local-db#1", server="local-db", sender=Side.CLIENT, request=10,
    request_id=7, method="tools/call", name="export", summary="", token="abc",
    state=JobState.RUNNING, progress=None, total=None, fraction=None, message=None, tick_count=0,
    late_count=0, rate=None, eta_s=None, started_at=1.0, started_when=1.0, ended_at=None,
    elapsed_s=0.0, last_tick_at=None, silent_s=0.0, stall_after_s=None, marks=(), failure=None,
    reply_size=None,
)  # fmt: skip


class Jobs(JobsFollowed):
    """Three jobs: two with one token and id, one after the other, and one the server asked for."""

    def __init__(self) -> None:
        again = _JOB._replace(id=2, request=50)
        asked = _JOB._replace(id=3, request=60, sender=Side.SERVER, token=7)
        self._jobs = {job.id: job for job in (_JOB, again, asked)}

    def ids(self) -> list[int]:
        return [*self._jobs]

    def snapshot(self, job: int) -> JobSnapshot | None:
        return self._jobs.get(job)

    def job_of(self, request: int) -> int | None:
        return next((job.id for job in self._jobs.values() if job.request == request), None)


def _job(number: int, message: dict[str, Any], channel: Channel = Channel.RECEIVED) -> int | None:
    one = frame(number, json.dumps({"jsonrpc": "2.0"} | message).encode(), channel)
    found = job_of_frame(one, decode(one.raw), Jobs())
    return None if found is None else found.id


def _tick(token: object) -> dict[str, Any]:
    return {"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}


def test_a_request_is_known_by_its_number() -> None:
    message = {"id": 7, "method": "tools/call", "params": {}}
    assert _job(50, message, Channel.SENT) == 2
    assert _job(51, message, Channel.SENT) is None


@pytest.mark.parametrize(("number", "job"), [(11, 1), (49, 1), (51, 2), (9, None)])
def test_a_tick_and_a_reply_belong_to_the_last_job_before_them(
    number: int, job: int | None
) -> None:
    assert _job(number, _tick("abc")) == job
    assert _job(number, {"id": 7, "result": {}}) == job


def test_direction_and_type_of_a_token_matter() -> None:
    assert _job(99, _tick(7)) is None
    assert _job(99, _tick(7), Channel.SENT) == 3
    assert _job(99, _tick("7"), Channel.SENT) is None


def test_a_cancellation_belongs_to_its_senders_job() -> None:
    message = {"method": "notifications/cancelled", "params": {"requestId": 7}}
    assert _job(55, message, Channel.SENT) == 2
    assert _job(55, message) is None


def test_other_lines_belong_to_no_job() -> None:
    assert _job(55, {"method": "notifications/message", "params": {}}) is None
    assert _job(55, {"id": 7, "result": {}}, Channel.STDERR) is None


def test_the_index_tells_the_job_without_the_message_being_read() -> None:
    session = TrafficSession()
    place = _place_of_request(session, 10)
    one = session.timeline.frame(place)
    assert one is not None
    found = job_at(session.timeline, place, one, None, Jobs())
    assert found is not None
    assert found.id == 1


def test_a_message_of_no_known_request_is_compared_with_every_job() -> None:
    session = TrafficSession()
    for _ in range(60):
        session.logged("before")
    place = session.said(_tick("abc"), connection="local-db#1")
    one = session.timeline.frame(place)
    assert one is not None
    assert session.timeline.exchange(place) == 0
    assert job_at(session.timeline, place, one, None, Jobs()) is None
    found = job_at(session.timeline, place, one, decode(one.raw), Jobs())
    assert found is not None
    assert found.id == 2


def _place_of_request(session: TrafficSession, number: int) -> int:
    """The place of a tick of a request with that number."""
    while session.timeline.end < number - 1:
        session.logged("before")
    session.called(7, "abc")
    return session.ticked("abc")
