"""Well-mannered tools keep to the specification in every revision."""

import itertools
from typing import Any

import mcp_types.methods
import pytest

from mcp_progress_monitor.demo.eras import ERAS
from mcp_progress_monitor.demo.tools import progress as steady
from tests.unit.demo.client import Client, Played

QUICK: dict[str, dict[str, Any]] = {
    "known_total": {"interval_s": 0},
    "unknown_total": {"interval_s": 0},
    "fraction": {"interval_s": 0},
    "worker": {"items": 30, "items_per_s": 10_000},
    "download": {"megabytes": 0.3},
    "phases": {"interval_s": 0},
    "stall": {"silence_s": 0.01, "interval_s": 0},
    "stamped_ticks": {"interval_s": 0},
    # Not steady, but no rule is broken by them either:
    "burst": {"count": 50},
    "error_result": {"interval_s": 0},
}


def _check(played: Played, token: str, version: str) -> None:
    """Apply the rules of "Progress" and the schema to all that was written for one call."""
    *ticks, reply = played.messages
    assert [tick["method"] for tick in ticks] == ["notifications/progress"] * len(ticks)
    assert ticks, "at least one tick"
    for tick in ticks:
        params = tick["params"]
        mcp_types.methods.parse_server_notification(tick["method"], version, params)
        assert params["progressToken"] == token
    assert all(low < high for low, high in itertools.pairwise(played.values))
    mcp_types.methods.validate_server_result("tools/call", version, reply["result"])


def test_every_steady_tool_is_checked() -> None:
    others = {"resumable_export"}  # its attempts have tests of their own
    assert {tool.name for tool in steady.TOOLS} - others <= QUICK.keys()


@pytest.mark.parametrize("version", ERAS["both"])
@pytest.mark.parametrize("tool", QUICK)
def test_progress_increases_and_stops_before_the_result(tool: str, version: str) -> None:
    played = Client(version).call(tool, "a", **QUICK[tool])
    _check(played, "a", version)


def test_a_known_total_is_reported_from_the_first_tick_and_reached() -> None:
    ticks = Client().call("known_total", steps=4, interval_s=0).ticks
    assert [(tick["progress"], tick["total"]) for tick in ticks] == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_an_unknown_total_is_left_out() -> None:
    assert all("total" not in tick for tick in Client().call("unknown_total", interval_s=0).ticks)


def test_fractions_are_those_of_the_specification() -> None:
    played = Client().call("fraction", interval_s=0)
    assert played.values == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert {tick["total"] for tick in played.ticks} == {1.0}


def test_a_fast_worker_sends_at_most_twenty_ticks_a_second() -> None:
    played = Client().call("worker", items=1_000, items_per_s=100_000)
    assert played.values == [1_000]


def test_a_silence_falls_where_it_should() -> None:
    client = Client()
    request_id = client.begin_call("stall", before=2, silence_s=3_600, after=1, interval_s=0)
    client.sink.wait_for(lambda written: b'"progress":2' in written)
    assert b'"progress":3' not in client.sink.written
    client.cancel(request_id)


def test_stamps_are_the_monotonic_clock() -> None:
    stamps = [
        int(tick["message"]) for tick in Client().call("stamped_ticks", steps=3, interval_s=0).ticks
    ]
    assert stamps == sorted(stamps)
