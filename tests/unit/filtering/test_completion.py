"""What is offered at the cursor fits there, has been seen, and is not too much."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.filtering.completion import MOST, complete
from mcp_progress_monitor.filtering.fields import FIELDS
from mcp_progress_monitor.recording.timeline import Timeline
from tests.unit.filtering.logs import Log, notification


@pytest.fixture(scope="module")
def timeline() -> Timeline:
    log = Log()
    log.call(1, "abc")
    log.call(2, 7)
    log.call(3, "7")
    log.call(4, "two words")
    log.receive(notification("notifications/message"), connection="db#2")
    return log.timeline


def _offered(text: str, timeline: Timeline) -> list[str]:
    """The candidates at the mark | of a text."""
    cursor = text.index("|") if "|" in text else len(text)
    return [found.text for found in complete(text.replace("|", ""), cursor, timeline).candidates]


def test_fields_are_offered_where_a_condition_begins(timeline: Timeline) -> None:
    for text in ("", "a and ", "(", "not "):
        assert _offered(text, timeline)[: len(FIELDS)] == [*FIELDS]
    assert _offered("tok", timeline) == ["token"]
    assert _offered("me", timeline) == ["method", "time"]


def test_operators_that_make_sense_are_offered_behind_a_field(timeline: Timeline) -> None:
    assert _offered("dt ", timeline)[:7] == ["==", "!=", "<", "<=", ">", ">=", "in"]
    assert "contains" in _offered("method ", timeline)
    assert _offered("job ", timeline)[:3] == ["==", "!=", "in"]
    assert _offered("params.x con", timeline) == ["contains"]
    assert _offered("method =", timeline) == ["==", "!=", "<=", ">="]


def test_seen_values_are_offered_behind_an_operator_the_newest_first(timeline: Timeline) -> None:
    assert _offered("token == ", timeline) == ['"two words"', '"7"', "7", "abc"]
    assert _offered("token == two", timeline) == ['"two words"']
    assert _offered("server==", timeline) == ["db", "demo"]
    assert _offered("connection != d", timeline) == ["db#2", "demo#1"]
    assert _offered("method == notifications/m", timeline) == ["notifications/message"]
    assert _offered("method in (ping, tools/", timeline) == ["tools/call"]
    assert _offered("kind == err", timeline) == ["error", "stderr"]
    assert _offered("level >= w", timeline) == ["warning"]
    assert _offered("irregular == ", timeline) == ["true", "false"]
    assert _offered("dt > ", timeline) == []


def test_what_is_typed_is_replaced_up_to_the_end_of_the_word(timeline: Timeline) -> None:
    found = complete("a and toxen == 7", 8, timeline)
    assert (found.start, found.end) == (6, 11)
    assert [candidate.text for candidate in found.candidates][:2] == ["token", "total"]
    inserted = complete("method ==", 9, timeline)
    assert (inserted.start, inserted.end) == (9, 9)


def test_joins_are_offered_behind_a_condition(timeline: Timeline) -> None:
    assert _offered("method == x ", timeline)[:3] == ["and", "or", "not"]


def test_candidates_are_bounded_and_quick() -> None:
    log = Log()
    for number in range(6_000):
        log.call(number, f"token number {number}")
    begun_s = time.process_time()
    found = _offered("token == 1", log.timeline)
    assert time.process_time() - begun_s < 0.5
    assert len(found) == MOST


@given(st.text("pa r.[\"'0(,=!<>)inx\\", max_size=30), st.integers(-2, 40))
def test_any_text_and_any_cursor_have_an_answer(text: str, cursor: int) -> None:
    found = complete(text, cursor, Log().timeline)
    assert 0 <= found.start <= found.end <= len(text)


def test_a_text_beyond_bounds_is_left_alone(timeline: Timeline) -> None:
    assert complete("x" * 100_000, 5, timeline).candidates == []
