"""What can be chosen as a limit, and what is usual."""

import math

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.limits import (
    LONGEST_LIMIT_S,
    USUAL,
    DefaultLimits,
    LimitChoice,
    Limits,
    chosen_limits,
    usual_limits,
)


def usual(method: str, definition: StdioDefinition) -> Limits:
    return usual_limits(method, definition.idle_timeout_s, definition.total_timeout_s)


def server(**limits: float | None) -> StdioDefinition:
    return StdioDefinition.model_validate({"name": "s", "command": "c", **limits})


@pytest.mark.parametrize("off", [None, 0, 0.0, -0.0])
def test_none_and_zero_are_off(off: float | None) -> None:
    assert Limits(off, off).checked() == Limits(None, None)


@pytest.mark.parametrize("seconds", [0.001, 1, 60, 1800.5, LONGEST_LIMIT_S])
def test_other_limits_stay_as_they_are(seconds: float) -> None:
    assert Limits(seconds, seconds).checked() == Limits(seconds, seconds)


@pytest.mark.parametrize(
    "seconds", [-1, -0.001, math.nan, math.inf, -math.inf, 1e300, 10**400, LONGEST_LIMIT_S + 1]
)
@pytest.mark.parametrize("name", ["idle", "total"])
def test_what_no_clock_can_count_down_is_refused_with_a_message(name: str, seconds: float) -> None:
    limits = Limits(seconds, None) if name == "idle" else Limits(None, seconds)
    with pytest.raises(UserError) as refused:
        limits.checked()
    assert f"The {name} timeout cannot be" in refused.value.details.what
    assert "0 for no limit" in refused.value.details.hint


@pytest.mark.parametrize(
    ("method", "idle_s"), [("tools/call", 1800), ("resources/read", 60), ("prompts/get", 60)]
)
def test_tools_may_be_silent_longer_than_anything_else(method: str, idle_s: float) -> None:
    assert usual(method, server()) == Limits(idle_s, None)


def test_a_server_has_limits_of_its_own() -> None:
    own = server(idle_timeout_s=90, total_timeout_s=3600)
    assert usual("tools/call", own) == Limits(90, 3600)
    assert usual("tools/call", server(idle_timeout_s=0)) == Limits(None, None)


@pytest.mark.parametrize(
    ("idle", "total", "limits"),
    [
        (USUAL, USUAL, Limits(90, 3600)),
        (None, USUAL, Limits(None, 3600)),
        (0, 0, Limits(None, None)),
        (5, 7, Limits(5, 7)),
        (USUAL, None, Limits(90, None)),
    ],
)
def test_a_call_chooses_over_its_server(
    idle: LimitChoice, total: LimitChoice, limits: Limits
) -> None:
    assert chosen_limits(idle, total, Limits(90, 3600)) == limits


def test_the_users_defaults_count_where_the_server_sets_none() -> None:
    own = DefaultLimits(90, 5, 300)
    assert usual_limits("tools/call", None, None, own) == Limits(90, 300)
    assert usual_limits("prompts/get", None, None, own) == Limits(5, 300)
    assert usual_limits("tools/call", 7, 0, own) == Limits(7, None)
    assert usual_limits("tools/call", None, None, DefaultLimits(0, 0, 0)) == Limits(None, None)
