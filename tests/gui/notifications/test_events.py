"""Which changes of jobs are notified, to whom they matter, and with what text."""

import datetime
from typing import Any

import pytest

from mcp_progress_monitor.gui.notifications.events import (
    EventKind,
    JobEvent,
    JobEvents,
    NoticeAction,
    is_wanted,
    notice_of,
)
from mcp_progress_monitor.gui.user_settings import NotificationSettings
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import Failure, JobSnapshot, JobState
from tests.job_stand_ins import job

NOON = datetime.time(12)
BEGUN = 1_000.0


def made(state: JobState = JobState.DONE, **fields: Any) -> JobSnapshot:
    ended = {"ended_at": 30.0} if state.is_over else {}
    given = {"started_when": BEGUN + 5, "started_at": 0.0, "elapsed_s": 30.0, **ended, **fields}
    return job(id=1, state=state, **given)


def kinds(events: JobEvents, *snapshots: JobSnapshot) -> list[EventKind]:
    return [event.kind for event in events.changed(snapshots)]


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (JobState.DONE, EventKind.DONE),
        (JobState.FAILED, EventKind.FAILED),
        (JobState.TIMED_OUT, EventKind.FAILED),
        (JobState.LOST, EventKind.FAILED),
        (JobState.STALLED, EventKind.STALLED),
        (JobState.RESUMABLE, EventKind.RESUMABLE),
        (JobState.NEEDS_YOU, EventKind.NEEDS_YOU),
    ],
)
def test_a_state_that_matters_is_reported_once(state: JobState, kind: EventKind) -> None:
    events = JobEvents(BEGUN)
    assert kinds(events, made(JobState.RUNNING)) == []
    assert kinds(events, made(state)) == [kind]
    assert kinds(events, made(state)) == []


def test_a_job_that_stalls_again_is_reported_again() -> None:
    events = JobEvents(BEGUN)
    stalled, running = made(JobState.STALLED), made(JobState.RUNNING)
    assert kinds(events, running, stalled, running, stalled) == [EventKind.STALLED] * 2


@pytest.mark.parametrize(
    "snapshot",
    [
        made(JobState.CANCELLED),
        made(JobState.LOST, failure=Failure("local", "disconnected", is_wanted=True)),
        made(JobState.DONE, parent=7),
        made(JobState.DONE, sender=Side.SERVER),
        made(JobState.RESUMABLE, is_automatic=True),
    ],
    ids=["cancelled", "ended by the user", "asked by a job", "asked by a server", "automatic"],
)
def test_what_the_user_did_or_need_not_know_is_not_reported(snapshot: JobSnapshot) -> None:
    events = JobEvents(BEGUN)
    events.changed([made(JobState.RUNNING, parent=snapshot.parent)])
    assert kinds(events, snapshot) == []


def test_what_earlier_runs_left_and_taps_recorded_before_is_history() -> None:
    events = JobEvents(BEGUN)
    assert kinds(events, made(started_when=BEGUN - 100)) == []
    assert kinds(events, job(id=2, state=JobState.RESUMABLE, request=-3, ended_at=None)) == []
    events.prime([job(id=3, state=JobState.FAILED)])
    assert kinds(events, job(id=3, state=JobState.FAILED)) == []
    assert kinds(events, job(id=4, state=JobState.STALLED, started_when=BEGUN - 100)) == []


def event(state: JobState = JobState.DONE, **fields: Any) -> JobEvent:
    (found,) = JobEvents(0.0).changed([made(state, **fields)])
    return found


def test_short_jobs_are_not_worth_it_but_questions_always_are() -> None:
    settings = NotificationSettings()
    assert not is_wanted(event(elapsed_s=9.9), settings, NOON)
    assert is_wanted(event(elapsed_s=10.0), settings, NOON)
    assert is_wanted(event(JobState.NEEDS_YOU, elapsed_s=0.1), settings, NOON)


@pytest.mark.parametrize("kind", EventKind)
def test_each_kind_has_a_switch(kind: EventKind) -> None:
    happened = JobEvent(kind, made())
    on: Any = {kind.value: True}
    off: Any = {kind.value: False}
    assert is_wanted(happened, NotificationSettings(**on), NOON)
    assert not is_wanted(happened, NotificationSettings(**off), NOON)
    assert not is_wanted(happened, NotificationSettings(is_on=False), NOON)


def test_quiet_hours_watched_jobs_and_rules_of_servers_count() -> None:
    night = NotificationSettings(has_quiet_hours=True)
    assert not is_wanted(event(), night, datetime.time(23))
    assert is_wanted(event(), night, NOON)
    watched = event(server="db@17", watched_client="Cursor")
    assert is_wanted(watched, NotificationSettings(), NOON)
    assert not is_wanted(watched, NotificationSettings(includes_watched=False), NOON)
    assert not is_wanted(watched, NotificationSettings(servers={"db": "none"}), NOON)
    attention = NotificationSettings(servers={"db": "attention"})
    assert not is_wanted(watched, attention, NOON)
    assert is_wanted(event(JobState.STALLED, server="db"), attention, NOON)


def test_one_event_says_what_where_how_long_and_why() -> None:
    failure = Failure("server", "disk\x1b full <b>")
    notice = notice_of([event(JobState.FAILED, name="export", server="db", failure=failure)])
    assert notice.title == "export failed"
    assert notice.body == "db · 30 s\ndisk\\x1b full <b>"
    assert not notice.is_urgent


def test_several_are_one_notification_and_a_click_opens_the_most_urgent() -> None:
    many = [
        JobEvent(EventKind.DONE, job(id=number, state=JobState.DONE, name=f"job{number}"))
        for number in range(1, 7)
    ]
    question = JobEvent(EventKind.NEEDS_YOU, job(id=9, state=JobState.NEEDS_YOU, name="deploy"))
    notice = notice_of([*many, question])
    assert notice.title == "Jobs: 1 waiting for an answer, 6 done"
    assert notice.body.splitlines() == [
        "deploy needs an answer",
        "job1 is done",
        "job2 is done",
        "job3 is done",
        "and 3 more jobs",
    ]
    assert notice.job == 9
    assert notice.is_urgent


@pytest.mark.parametrize(
    ("snapshot", "action"),
    [
        (made(JobState.NEEDS_YOU), NoticeAction.ANSWER),
        (made(JobState.RESUMABLE, can_resume=True), NoticeAction.RESUME),
        (made(JobState.RESUMABLE), None),
        (made(JobState.FAILED), NoticeAction.REISSUE),
        (made(JobState.LOST), NoticeAction.REISSUE),
        (made(JobState.DONE), None),
        (made(JobState.STALLED), None),
        (made(JobState.FAILED, watched_client="Cursor"), None),
    ],
)
def test_a_notification_of_one_job_offers_what_can_be_done(
    snapshot: JobSnapshot, action: NoticeAction | None
) -> None:
    (event,) = JobEvents(BEGUN).changed([made(JobState.RUNNING), snapshot])
    assert notice_of([event]).action is action
    assert notice_of([event, event]).action is None
