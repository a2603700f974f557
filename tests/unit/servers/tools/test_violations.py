"""Tools that break a rule break exactly the one they name."""

from __future__ import annotations

import itertools
import json
import math

import pytest

from tests.servers.tools.violations import WRONG_PARAMS
from tests.unit.demo.client import Client


def test_decreasing_falls_back_at_each_such_tick() -> None:
    values = Client().call("decreasing", steps=10, every=5, interval_s=0).values
    falls = [index + 2 for index, (a, b) in enumerate(itertools.pairwise(values)) if b <= a]
    assert falls == [5, 10]


def test_equal_repeats_each_value() -> None:
    values = Client().call("equal", steps=2, repeats=3, interval_s=0).values
    assert values == [1, 1, 1, 2, 2, 2]


def test_above_total_counts_on() -> None:
    ticks = Client().call("above_total", total=2, steps=3, interval_s=0).ticks
    assert [(tick["progress"], tick["total"]) for tick in ticks] == [(1, 2), (2, 2), (3, 2)]


def test_a_changing_total_is_never_overtaken_and_ends_right() -> None:
    ticks = Client().call("changing_total", steps=8, interval_s=0).ticks
    totals = [tick["total"] for tick in ticks]
    assert totals == [5, 6, 7, 8, 16, 16, 8, 8]
    assert all(tick["progress"] <= tick["total"] for tick in ticks)


def test_late_progress_follows_the_result() -> None:
    played = Client().call("late_progress", steps=2, late_steps=3, interval_s=0, delay_s=0)
    kinds = ["result" if "result" in message else "tick" for message in played.messages]
    assert kinds == ["tick", "tick", "result", "tick", "tick", "tick"]
    assert played.values == [1, 2, 3, 4, 5]


def test_an_unknown_token_is_used_alone_even_when_one_was_given() -> None:
    ticks = Client().call("unknown_token", "mine", token="theirs", steps=2, interval_s=0).ticks
    assert [tick["progressToken"] for tick in ticks] == ["theirs", "theirs"]


def test_extreme_numbers_exceed_what_64_bits_hold() -> None:
    values = Client().call("extreme_numbers", interval_s=0).values
    assert min(values) < 0
    assert any(isinstance(value, int) and value > 2**64 for value in values)
    assert max(values) > 1e308


def test_odd_totals_are_sent_as_they_are() -> None:
    ticks = Client().call("odd_totals", interval_s=0).ticks
    assert [tick.get("total") for tick in ticks] == [10, 0, -5, 0.001, 2**64, 1e300, None, 10]


@pytest.mark.parametrize(
    ("fault", "member", "value"),
    [
        ("progress_as_string", "progress", "2"),
        ("progress_null", "progress", None),
        ("progress_true", "progress", True),
        ("progress_list", "progress", [1, 2]),
        ("progress_infinite", "progress", math.inf),
        ("total_null", "total", None),
        ("total_as_string", "total", "100"),
        ("message_number", "message", 42),
        ("message_object", "message", {"text": "Working"}),
        ("message_null", "message", None),
        ("message_empty", "message", ""),
        ("token_null", "progressToken", None),
        ("token_float", "progressToken", 1.5),
        ("token_true", "progressToken", True),
        ("token_object", "progressToken", {"a": 1}),
    ],
)
def test_a_wrong_member_stands_between_two_good_ticks(
    fault: str, member: str, value: object
) -> None:
    first, wrong, last = Client().call("wrong_types", fault=fault, interval_s=0).ticks
    assert wrong[member] == value
    assert type(wrong[member]) is type(value)
    good = {"progressToken": "a", "total": 3}
    assert (first["progress"], last["progress"]) == (1, 3)
    assert {name: first[name] for name in good} == good
    assert {name: last[name] for name in good} == good


def test_every_fault_is_reported_apart_from_a_good_tick() -> None:
    for fault in WRONG_PARAMS:
        raw = Client().call("wrong_types", fault=fault, interval_s=0).raw.splitlines()
        wrong = json.loads(raw[1])["params"]
        assert wrong != {"progressToken": "a", "progress": 2}, fault


def test_not_a_number_is_sent_as_such() -> None:
    assert b'"progress":NaN' in Client().call("wrong_types", fault="progress_nan").raw
    assert b'"total":NaN' in Client().call("wrong_types", fault="total_nan").raw


@pytest.mark.parametrize(
    ("fault", "missing"), [("progress_missing", "progress"), ("token_missing", "progressToken")]
)
def test_a_member_can_be_missing(fault: str, missing: str) -> None:
    assert missing not in Client().call("wrong_types", fault=fault).ticks[1]


@pytest.mark.parametrize(("token", "other"), [(7, "7"), ("7", 7), ("a", {"is": "a"})])
def test_a_token_can_come_back_as_another_type(token: str | int, other: object) -> None:
    ticks = Client().call("wrong_types", token, fault="token_other_type").ticks
    assert ticks[1]["progressToken"] == other


def test_params_can_be_no_object() -> None:
    assert Client().call("wrong_types", fault="params_list").ticks[1] == ["a", 2]
    assert Client().call("wrong_types", fault="params_null").ticks[1] is None


def test_all_faults_come_in_one_call_with_increasing_good_ticks() -> None:
    played = Client().call("wrong_types", interval_s=0)
    good = [
        message["params"]["progress"]
        for message in played.messages
        if "params" in message and "A good tick" in str(message["params"])
    ]
    assert good == list(range(1, 2 * len(WRONG_PARAMS) + 2, 2))
