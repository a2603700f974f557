"""Shapes of floods: as many messages as asked for, over all tokens, in the form they promise."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.benchmarks.shapes import SHAPES, Shape


def messages_of(shape: Shape, tokens: list[str | int], count: int) -> list[dict[str, Any]]:
    """The messages of a stream; an empty one for a line that is no JSON."""
    lines = b"".join(shape.stream(tokens, count)).splitlines()
    found = [json.loads(line) if line[:1] in {b"{", b"["} else {} for line in lines]
    return [m for each in found for m in (each if isinstance(each, list) else [each])]


@pytest.mark.parametrize("name", SHAPES)
def test_a_stream_has_so_many_messages_and_rises_for_each_token(name: str) -> None:
    shape, tokens = SHAPES[name], list[str | int](["a", 7])
    messages = messages_of(shape, tokens, 130)
    progress = [m["params"] for m in messages if m.get("method") == "notifications/progress"]
    ticks = [tick for tick in progress if tick["progressToken"] in tokens]
    assert len(messages) == 130
    assert len(ticks) == shape.ticks(130)
    assert {tick["progressToken"] for tick in ticks} == set(tokens)
    assert len({tick["total"] for tick in ticks}) == (shape.ticks(130) // 2 if shape.grows else 1)
    for token in tokens:
        values = [tick["progress"] for tick in ticks if tick["progressToken"] == token]
        is_rising = all(a < b for a, b in itertools.pairwise(values))
        assert is_rising is not shape.falls


def test_recorded_streams_keep_what_their_servers_wrote() -> None:
    (line, *_) = b"".join(SHAPES["server_everything"].stream(["a"], 30)).splitlines()
    assert line.endswith(b'"jsonrpc":"2.0"}')
    [log, *_] = [
        m
        for m in messages_of(SHAPES["python_sdk_1"], ["a"], 60)
        if m["method"] == "notifications/message"
    ]
    assert log["params"] == {"level": "info", "data": "Export started"}
