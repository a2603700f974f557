"""Frames as the tests of Traffic want them."""

import json
from typing import Any

from mcp_progress_monitor.protocol.frames import Channel, Frame

TOKEN = "abc"


def frame(
    number: int,
    content: bytes | dict[str, Any],
    channel: Channel = Channel.RECEIVED,
    *,
    connection: str = "local-db#1",
) -> Frame:
    """A frame of `number`, a tenth of a second after the one before it."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return Frame(number, connection, channel, 1_800_000_000 + number / 10, number / 10, raw)


def progress(number: int, token: object = TOKEN, value: float = 1) -> Frame:
    """A received progress notification."""
    params = {"progressToken": token, "progress": value}
    return frame(number, {"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def ticks(first: int, count: int) -> list[Frame]:
    """Progress notifications with rising numbers and values."""
    return [progress(number, value=number) for number in range(first, first + count)]
