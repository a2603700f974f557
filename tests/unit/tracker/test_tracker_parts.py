"""Streams of events and partial results as parts of a job."""

import itertools
from typing import Any

import pytest

from mcp_progress_monitor.protocol.facts import PartReceived, Side
from mcp_progress_monitor.snapshots.limits import OTHER_IDLE_S, usual_limits
from mcp_progress_monitor.tracker.job_parts import PARTS_KEPT
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobState
from mcp_progress_monitor.wording import jobs
from tests.unit.tracker.story import CONNECTION, Story

_EVENT = "notifications/events/event"
_NUMBERS = itertools.count(10_000)


def _part(story: Story, request: int | None, method: str = _EVENT, **params: Any) -> PartReceived:
    return PartReceived(
        next(_NUMBERS), CONNECTION, story.now, 1e9, Side.SERVER, method, params, request
    )


def _stream(story: Story) -> int:
    return story.call(None, method="events/stream", params={"name": "build.finished"})


def test_a_silent_stream_never_stalls() -> None:
    story = Story()
    request = _stream(story)
    story.tick(request, 1)
    story.now = 10_000
    story.tracker.tick(story.now)
    found = story.tracker.snapshot(1, story.now)
    assert found is not None
    assert found.state is JobState.RUNNING
    assert found.name == "build.finished"


def test_a_stream_has_no_idle_timeout_even_if_its_server_has_one() -> None:
    assert usual_limits("events/stream", 30.0, None).idle_s is None
    assert usual_limits("events/poll", None, None).idle_s == OTHER_IDLE_S


def test_the_row_of_a_stream_counts_its_events_but_not_its_heartbeats() -> None:
    story = Story()
    request = _stream(story)
    story.tell(_part(story, request, "notifications/events/active", cursor="c"))
    story.tell(*(_part(story, request, eventId=f"e{number}") for number in range(2)))
    story.tell(_part(story, request, "notifications/events/heartbeat", cursor="c"))
    found = story.tracker.detail(1, story.now)
    assert found is not None
    assert jobs.status(found.snapshot).startswith("streaming, 2 events")
    shown = [jobs.part_row(part, 0.0)[0] for part in found.parts]
    assert shown == ['active cursor="c"', 'eventId="e0"', 'eventId="e1"']


def test_a_partial_result_is_shown_in_its_job_and_ends_a_stall() -> None:
    story = Story()
    request = story.call("a")
    story.ticks(request, 1, 2, 3)
    story.now += 1000
    story.tracker.tick(story.now)
    before = story.tracker.snapshot(1, story.now)
    assert before is not None
    assert before.state is JobState.STALLED
    text = [{"type": "text", "text": "half"}]
    story.tell(_part(story, request, "notifications/tools/partial_result", content=text))
    found = story.tracker.detail(1, story.now)
    assert found is not None
    assert found.snapshot.state is JobState.RUNNING
    assert found.snapshot.marks == ()
    assert "1 partial result" in jobs.status(found.snapshot)


def test_a_job_keeps_the_newest_parts_and_counts_all() -> None:
    story = Story()
    request = _stream(story)
    story.tell(*(_part(story, request, eventId=str(number)) for number in range(PARTS_KEPT + 5)))
    found = story.tracker.detail(1, story.now)
    assert found is not None
    assert len(found.parts) == PARTS_KEPT
    assert found.snapshot.part_count == PARTS_KEPT + 5


@pytest.mark.parametrize("request_number", [None, 4711])
def test_an_event_of_no_known_stream_changes_nothing(request_number: int | None) -> None:
    story = Story()
    assert story.tell(_part(story, request_number)) == ChangeSet()


_IMAGE = {"type": "image", "mimeType": "image/png", "data": "A" * 137_336}
_FILE = {"type": "resource", "resource": {"uri": "file:///a", "blob": "A" * 40}}


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (
            [{"type": "text", "text": "half\nway \x1b[31m"}, _IMAGE],
            r"half\nway \x1b[31m · image, 103.0 kB",
        ),
        (
            [_FILE, {"type": "resource_link", "name": "log"}],
            "resource, file:///a, 30 B · resource_link, log",
        ),
        ({"type": "text", "text": "<b>one</b>"}, "<b>one</b>"),
        ("message", "message"),
        ([None, 7, {}], "content · content · content"),
        ([{"type": "text", "text": "x"}] * 50, " · ".join(12 * ["x"]) + " · …"),
        ({"resource": {"resource": {"resource": {}}}}, "resource"),
    ],
)
@pytest.mark.parametrize("method", ["notifications/progress", "notifications/tools/partial_result"])
def test_content_is_shown_as_text_or_by_its_size(content: Any, shown: str, method: str) -> None:
    story = Story()
    request = story.call("a")
    part = _part(story, request, method, progressToken="a", progress=1, content=content)
    story.tell(part)
    found = story.tracker.detail(1, story.now)
    assert found is not None
    assert jobs.part_row(found.parts[0], 0.0)[0] == shown
    assert jobs.part_text(found.parts[0]) == jobs.part_text(part)


def test_a_job_keeps_no_more_of_content_than_is_shown() -> None:
    story = Story()
    request = story.call("a")
    content = [_IMAGE, {"type": "text", "text": "y" * 100_000}, _FILE] * 100
    story.tell(_part(story, request, "notifications/progress", content=content))
    found = story.tracker.detail(1, story.now)
    assert found is not None
    assert len(repr(found.parts[0].params)) < 10_000
