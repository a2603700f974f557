"""Words are found in names and values of a message, in the order of its tree."""

import time
from typing import Any

from mcp_progress_monitor.gui.common.json_view import hits
from mcp_progress_monitor.protocol.jsonrpc import Elided


def _hits(value: Any, text: str) -> list[tuple[int, ...]]:
    return [hit for hit in hits(value, text) if hit is not None]


def test_names_and_values_are_found_in_any_case() -> None:
    value = {"Name": "x", "list": ["no", {"deep": "Export NAME"}], "last": {"nAme": None}}
    assert _hits(value, "name") == [(0,), (1, 1, 0), (2, 0)]


def test_numbers_and_words_of_json_are_found_as_they_are_written() -> None:
    assert _hits([7, True, None, 1.5, "7"], "7") == [(0,), (4,)]
    assert _hits([7, True, None], "null") == [(2,)]
    assert _hits([10**5_000], "digits") == [(0,)]


def test_search_ignores_elided_values_and_array_indexes() -> None:
    assert _hits([Elided(7), [0, 0]], "1") == []


def test_a_search_pauses_often() -> None:
    walk = hits([["x" * 10] * 300] * 300, "nothing")
    started = time.thread_time()
    steps = sum(1 for _ in walk)
    assert steps > 300
    assert (time.thread_time() - started) / steps < 0.005


def test_the_search_yields_after_a_long_string() -> None:
    assert list(hits(["x" * 100_000, 1], "nothing")) == [None]


def test_nesting_has_no_limit() -> None:
    value: Any = "needle"
    for _ in range(5_000):
        value = [value]
    (hit,) = _hits(value, "needle")
    assert len(hit) == 5_000
