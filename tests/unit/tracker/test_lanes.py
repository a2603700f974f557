"""The course of a job as spans: for a timeline that has one lane for each job."""

from mcp_progress_monitor.tracker.lanes import LaneSpan, SpanKind, lane_of
from mcp_progress_monitor.tracker.snapshot import (
    AttemptSnapshot,
    ChartPoint,
    JobDetail,
    JobState,
    Phase,
    ServerRequestSnapshot,
)
from tests.job_stand_ins import detail, job

START, WHEN = 100.0, 1_795_190_467.123


def spans(made: JobDetail, kind: SpanKind, now: float = 160.0) -> list[tuple[float, float]]:
    return [
        (round(span.began_at, 3), round(span.ended_at, 3))
        for span in lane_of(made, now).spans
        if span.kind is kind
    ]


def test_a_lane_goes_from_the_request_to_the_end_or_to_now() -> None:
    assert lane_of(detail(job()), 160.0)[2:4] == (START, 160.0)
    done = job(state=JobState.DONE, ended_at=152.0)
    assert lane_of(detail(done), 160.0)[2:4] == (START, 152.0)


def test_phases_are_spans_of_which_the_last_goes_on() -> None:
    phases = [Phase("Reading", 101.0, 120.0, 5), Phase("Writing", 120.0, None, 9)]
    lane = lane_of(detail(job(), phases=phases), 160.0)
    assert lane.spans == (
        LaneSpan(SpanKind.PHASE, 101.0, 120.0, "Reading"),
        LaneSpan(SpanKind.PHASE, 120.0, 160.0, "Writing"),
    )


def test_a_silence_beyond_the_jobs_pace_is_a_stall() -> None:
    chart = [ChartPoint(at, 1, 1, 1) for at in (101.0, 102.0, 140.0, 141.0)]
    assert spans(detail(job(), chart=chart), SpanKind.STALL) == [(102.0, 140.0)]
    stalled = job(state=JobState.STALLED, stall_after_s=10.0)
    assert spans(detail(stalled, chart=chart), SpanKind.STALL) == [(102.0, 140.0), (141.0, 160.0)]
    assert spans(detail(job(stall_after_s=None), chart=chart), SpanKind.STALL) == []


def test_between_two_attempts_there_is_a_pause() -> None:
    attempts = [
        AttemptSnapshot(1, WHEN, WHEN + 10, JobState.LOST),
        AttemptSnapshot(2, WHEN + 25, None, JobState.RUNNING),
    ]
    assert spans(detail(job(), attempts=attempts), SpanKind.PAUSE) == [(110.0, 125.0)]


def test_a_question_is_open_until_it_is_answered() -> None:
    asked = [
        ServerRequestSnapshot(5, "a", "elicitation/create", {}, 110.0, WHEN, {}, 130.0),
        ServerRequestSnapshot(6, "b", "elicitation/create", {}, 140.0, WHEN),
    ]
    assert spans(detail(job(), server_requests=asked), SpanKind.QUESTION) == [
        (110.0, 130.0),
        (140.0, 160.0),
    ]


def test_nothing_lies_outside_the_lane() -> None:
    phases = [Phase("Early", 50.0, 90.0, 1), Phase("Across", 90.0, 900.0, 1)]
    assert spans(detail(job(), phases=phases), SpanKind.PHASE) == [(100.0, 160.0)]
