"""Each message that breaks a rule is reported by its frame's number, and no other is."""

import pytest

from mcp_progress_monitor.findings.finding import joined
from mcp_progress_monitor.protocol.facts import (
    Fact,
    JsonObject,
    NotificationReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
    Side,
    UnreadableReceived,
)
from mcp_progress_monitor.tracker.violations import violations_of
from tests.findings import finding, texts_of
from tests.unit.tracker.story import Story

_HEAD = (7, "local-db#1", 1.0, 1e9)


def _answer(standing: RequestStanding, *, is_error: bool = False) -> Fact:
    result: JsonObject | None = None if is_error else {}
    error: JsonObject | None = {"code": 1} if is_error else None
    return RequestAnswered(*_HEAD, Side.SERVER, 1, None, standing, result, error, None, 2, ())


def _cancel(standing: RequestStanding) -> Fact:
    return RequestCancelled(*_HEAD, Side.CLIENT, 1, 3, standing, None, ())


@pytest.mark.parametrize(
    ("fact", "says"),
    [
        (_answer(RequestStanding.ACTIVE), ""),
        (_answer(RequestStanding.UNKNOWN), "Reply to an unknown request"),
        (_answer(RequestStanding.ANSWERED), "already answered"),
        (_answer(RequestStanding.CANCELLED), "after the request was cancelled"),
        (_answer(RequestStanding.CANCELLED, is_error=True), ""),
        (_cancel(RequestStanding.ACTIVE), ""),
        (_cancel(RequestStanding.ANSWERED), "after the request was answered"),
        (_cancel(RequestStanding.CANCELLED), "already cancelled"),
        (_cancel(RequestStanding.UNKNOWN), "unknown request"),
        (UnreadableReceived(*_HEAD, Side.SERVER, "garbage", (finding("not JSON"),)), "not JSON"),
        (NotificationReceived(*_HEAD, Side.SERVER, "x", {}, (finding("no method"),)), "no method"),
        (
            RequestMade(*_HEAD, Side.SERVER, 1, "x", {}, None, None, (finding("id in use"),)),
            "id in use",
        ),
    ],
)
def test_a_message_tells_what_is_wrong_with_it(fact: Fact, says: str) -> None:
    text = joined(violations_of(fact))
    assert (says in text) if says else not text


def test_each_tick_that_breaks_a_rule_is_marked_where_it_came(story: Story) -> None:
    job = story.call()
    story.hold()
    story.tick(job, 1, 10)
    for value in (1, 0.5, 11):
        story.tick(job, value, 10)
    first = job + 1
    marked = texts_of(story.release().marked)
    assert list(marked) == [first + 1, first + 2, first + 3]
    assert marked[first + 1] == "Progress did not increase: 1 after 1"
    assert marked[first + 2] == "Progress did not increase: 0.5 after 1"
    assert "exceeds its total" in marked[first + 3]


def test_a_tick_of_an_unknown_token_is_marked_and_one_of_a_wrong_type_says_both(
    story: Story,
) -> None:
    fact = story.progress(None, None, violations=('"progress" is missing',))
    marked = texts_of(story.tell(fact).marked)
    assert marked == {
        fact.number: 'The progress token does not belong to any request; "progress" is missing'
    }


def test_a_tick_after_the_end_is_marked(story: Story) -> None:
    job = story.call()
    story.reply(job)
    fact = story.progress(job, 1)
    assert "after the job ended" in texts_of(story.tell(fact).marked)[fact.number]


def test_ticks_in_order_carry_no_marks(story: Story) -> None:
    job = story.call()
    story.hold()
    for value in range(1, 50):
        story.tick(job, value, 50)
    assert story.release().marked == {}
