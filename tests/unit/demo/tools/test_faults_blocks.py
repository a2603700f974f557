"""Ready-made blocks hold the very lines that single notifications would be."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.demo.tools.faults import blocks


def _ticks(data: bytes) -> list[dict[str, object]]:
    return [json.loads(line)["params"] for line in data.splitlines()]


def test_tokens_take_turns() -> None:
    ticks = _ticks(b"".join(blocks(["a", 7], 2)))
    assert ticks == [
        {"progressToken": "a", "progress": 1, "total": 2},
        {"progressToken": 7, "progress": 1, "total": 2},
        {"progressToken": "a", "progress": 2, "total": 2},
        {"progressToken": 7, "progress": 2, "total": 2},
    ]


@given(st.text() | st.integers(), st.none() | st.text())
def test_any_token_and_message_survive(token: str | int, message: str | None) -> None:
    (tick,) = _ticks(b"".join(blocks([token], 1, message)))
    assert tick["progressToken"] == token
    assert tick.get("message") == message


def test_a_block_is_whole_rounds_of_about_the_wanted_size() -> None:
    sizes = [block.count(b"\n") for block in blocks(["a", "b", "c"], 5, block_lines=7)]
    assert sizes == [6, 6, 3]


def test_every_tick_is_sent_once_across_blocks() -> None:
    ticks = _ticks(b"".join(blocks(["a"], 10_001)))
    assert [tick["progress"] for tick in ticks] == list(range(1, 10_002))
