"""The pipe carries exactly the bytes the tools promise."""

from __future__ import annotations

import json

import pytest

from tests.servers.tools.traffic import RUBBISH
from tests.unit.demo.client import Client


def test_a_burst_is_complete_and_in_order() -> None:
    played = Client().call("burst", count=10_001)
    assert played.values == list(range(1, 10_002))
    assert played.result


@pytest.mark.parametrize("kind", RUBBISH)
def test_rubbish_is_printed_byte_for_byte_between_good_ticks(kind: str) -> None:
    raw = Client().call("print_rubbish", kind=kind, interval_s=0).raw
    before, after = raw.split(RUBBISH[kind], 1) if kind != "blank_line" else raw.split(b"\n\n", 1)
    assert json.loads(before)["params"]["progress"] == 1
    good, reply = after.splitlines()
    assert json.loads(good)["params"]["progress"] == 2
    assert "result" in json.loads(reply)


def test_no_rubbish_is_a_plain_good_message() -> None:
    plain = b'{"jsonrpc":"2.0","method":"notifications/demo"}\n'
    assert plain not in RUBBISH.values()


def test_all_rubbish_comes_in_one_call() -> None:
    raw = Client().call("print_rubbish", interval_s=0).raw
    assert all(rubbish in raw for rubbish in RUBBISH.values())


def test_a_split_line_is_one_good_tick() -> None:
    played = Client().call("split_line", pieces=50, pause_s=0)
    assert [(tick["progress"], tick["message"]) for tick in played.ticks] == [(1, "Größe 10 €")]


def test_a_batch_holds_ticks_and_result() -> None:
    (batch,) = Client("2025-03-26").call("batch", ticks=3).messages
    assert [message.get("method") for message in batch[:3]] == ["notifications/progress"] * 3
    assert [message["params"]["progress"] for message in batch[:3]] == [1, 2, 3]
    assert "result" in batch[3]


def test_a_batch_may_precede_its_result() -> None:
    batch, reply = Client("2025-03-26").call("batch", ticks=2, has_result=False).messages
    assert len(batch) == 2
    assert "result" in reply


@pytest.mark.parametrize(("shape", "blocks"), [("text", 1), ("items", 2_000)])
def test_a_long_line_has_the_wanted_size(shape: str, blocks: int) -> None:
    played = Client().call("long_line", megabytes=2, shape=shape)
    assert len(played.result["content"]) == blocks
    assert sum(len(block["text"]) for block in played.result["content"]) == 2_000_000
    assert played.values == [1, 2]
