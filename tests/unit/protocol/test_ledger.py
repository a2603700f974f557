"""The tables of open requests and active tokens."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.facts import RequestStanding
from mcp_progress_monitor.protocol.ledger import (
    MOST_REMEMBERED,
    MOST_TASKS,
    Ledger,
    OpenRequest,
    key_of,
)

LOOKALIKES: list[Any] = [7, "7", 7.0, True, 1, 1.0, "true", None, "null", [], {}, "[]", [7]]


def test_values_of_different_json_types_have_different_keys() -> None:
    assert len({key_of(value) for value in LOOKALIKES}) == len(LOOKALIKES)


def test_a_float_id_that_is_no_number_is_still_found_again() -> None:
    assert key_of(float("nan")) == key_of(float("nan"))


def _opened(*requests: tuple[object, str | None]) -> Ledger:
    """A ledger with requests numbered from 1, of the ids and tokens given."""
    ledger = Ledger()
    for number, (identity, token) in enumerate(requests, 1):
        ledger.begin(identity, OpenRequest(number, "tools/call", token))
    return ledger


@pytest.mark.requirement("FR-4")
def test_active_tokens_are_tracked_by_request() -> None:
    ledger = _opened((1, "a"), (2, "b"), (3, None))
    assert ledger.find_token("b") == (2, RequestStanding.ACTIVE, None)
    assert ledger.token_count == 2
    assert ledger.find_token("c").standing is RequestStanding.UNKNOWN


@pytest.mark.requirement("FR-5")
def test_an_answer_ends_request_and_token() -> None:
    ledger = _opened((1, "a"))
    ended = ledger.answer(1)
    assert (ended.number, ended.standing) == (1, RequestStanding.ACTIVE)
    assert (ledger.open_count, ledger.token_count) == (0, 0)
    assert ledger.answer(1) == (1, RequestStanding.ANSWERED, None)
    assert ledger.find_token("a") == (1, RequestStanding.ANSWERED, None)


def test_a_cancelled_request_is_remembered_as_such_until_it_is_answered() -> None:
    ledger = _opened((1, "a"))
    assert ledger.cancel(1).standing is RequestStanding.ACTIVE
    assert ledger.find_token("a") == (1, RequestStanding.CANCELLED, None)
    assert ledger.cancel(1).standing is RequestStanding.CANCELLED
    assert ledger.answer(1).standing is RequestStanding.CANCELLED
    assert ledger.answer(1).standing is RequestStanding.ANSWERED


def test_an_id_in_use_twice_names_the_newest_and_then_the_one_before() -> None:
    ledger = _opened((1, None), (1, None), (1, None))
    assert ledger.open_count == 3
    assert [ledger.answer(1).number for _ in range(3)] == [3, 2, 1]
    assert ledger.open_count == 0


@pytest.mark.parametrize("order", [*itertools.permutations([1, 2, 3])])
def test_a_token_in_use_twice_belongs_to_the_newest_open_request(order: tuple[int, ...]) -> None:
    ledger = _opened((1, "a"), (2, "a"), (3, "a"))
    going_on = {1, 2, 3}
    for identity in order:
        assert ledger.find_token("a") == (max(going_on), RequestStanding.ACTIVE, None)
        ledger.answer(identity)
        going_on.remove(identity)
    assert ledger.token_count == 0


def test_a_task_keeps_its_token_active_until_it_ends() -> None:
    ledger = _opened((1, "a"))
    ledger.answer(1, live_task="T")
    assert ledger.open_count == 0
    assert ledger.find_token("a").standing is RequestStanding.ACTIVE
    ledger.end_task("T")
    assert ledger.find_token("a") == (1, RequestStanding.ANSWERED, None)
    ledger.end_task("T")


def test_a_task_without_a_token_needs_no_memory() -> None:
    ledger = _opened((1, None))
    ledger.answer(1, live_task="T")
    assert ledger.remembered_count == 1  # the ended request


def test_memory_of_tasks_is_bounded() -> None:
    ledger = Ledger()
    for number in range(MOST_TASKS + 10):
        ledger.begin(number, OpenRequest(number, "tools/call", f"t{number}"))
        ledger.answer(number, live_task=f"T{number}")
    assert ledger.token_count == MOST_TASKS
    assert ledger.find_token("t0").standing is RequestStanding.ANSWERED


def test_what_ended_long_ago_is_forgotten_oldest_first() -> None:
    ledger = Ledger()
    for number in range(MOST_REMEMBERED + 1):
        ledger.begin(number, OpenRequest(number, "ping", f"t{number}"))
        ledger.answer(number)
    assert ledger.remembered_count == 2 * MOST_REMEMBERED
    assert ledger.answer(0).standing is RequestStanding.UNKNOWN
    assert ledger.answer(1).standing is RequestStanding.ANSWERED
    assert ledger.find_token("t0").standing is RequestStanding.UNKNOWN


def test_nothing_is_left_when_the_connection_is_gone() -> None:
    ledger = _opened((1, "a"), (1, "a"), (2, "b"))
    ledger.answer(2, live_task="T")
    ledger.clear()
    assert (ledger.open_count, ledger.token_count, ledger.remembered_count) == (0, 0, 0)


STEPS = st.tuples(
    st.sampled_from(["begin", "answer", "task", "cancel", "end task"]),
    st.sampled_from([1, "1", 2]),
    st.sampled_from([None, "a", "b"]),
)


@given(st.lists(STEPS, max_size=40))
def test_after_all_have_ended_nothing_is_open(steps: list[tuple[str, Any, str | None]]) -> None:
    ledger = Ledger()
    begun = 0
    for number, (step, identity, token) in enumerate(steps):
        match step:
            case "begin":
                ledger.begin(identity, OpenRequest(number, "tools/call", token))
                begun += 1
            case "answer":
                begun -= ledger.answer(identity).request is not None
            case "task":
                begun -= ledger.answer(identity, f"T{identity}").request is not None
            case "cancel":
                begun -= ledger.cancel(identity).request is not None
            case _:
                ledger.end_task(f"T{identity}")
        assert ledger.open_count == begun
    for identity in [1, "1", 2]:
        ledger.end_task(f"T{identity}")
        while ledger.answer(identity).request:
            pass
    assert (ledger.open_count, ledger.token_count) == (0, 0)


def test_a_request_that_was_given_up_is_found_by_its_number_and_frees_its_token() -> None:
    ledger = _opened((1, "a"), ("x", "b"))
    assert ledger.give_up(2, RequestStanding.GIVEN_UP)[0] == "x"
    assert (ledger.open_count, ledger.token_count) == (1, 1)
    assert ledger.find_token("b") == (2, RequestStanding.GIVEN_UP, None)
    assert ledger.answer("x") == (2, RequestStanding.GIVEN_UP, None)


def test_giving_up_what_is_not_open_changes_nothing() -> None:
    ledger = _opened((1, "a"))
    identity, ended = ledger.give_up(9, RequestStanding.GIVEN_UP)
    assert (identity, ended.standing) == (None, RequestStanding.UNKNOWN)
    assert ledger.open_count == 1


def test_an_id_that_is_no_id_can_be_given_up_and_is_not_reported() -> None:
    ledger = _opened((7.5, "a"))
    identity, ended = ledger.give_up(1, RequestStanding.CANCELLED)
    assert (identity, ended.number, ledger.open_count) == (None, 1, 0)
