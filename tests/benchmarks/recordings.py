"""Recordings of any length, written as the program writes them: floods and trickles, mixed.

Three servers work side by side, round after round: `files` floods (three jobs, up to a hundred
lines a chunk), `search` trickles under integer tokens, `build` trickles with messages of its own
and talks on stderr. Each round makes requests, and answers them; in every tenth one is an error.

There are as many jobs in a long recording as in a short one, but longer ones: what a frame costs
shows when two lengths are compared.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording import format as form

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

if TYPE_CHECKING:
    Line = tuple[float, str, Channel, bytes]
    """Seconds since the line before, connection, channel, bytes."""

NEEDLE: Final = "checksum mismatch"
"""Words that stand in one frame of every tenth round."""
ROUNDS: Final = 40
_BEGAN_WHEN: Final = 1_763_665_391.0
_FLOODING: Final = 3
_CHUNK: Final = 100
_STEPS: Final = 20
_BESIDE: Final = 2 * _STEPS + 15
"""How many frames of a round are not of its flood: other ticks, requests, replies, stderr."""
_FILES, _SEARCH, _BUILD = _CONNECTIONS = ("files#1", "search#1", "build#1")
_REVISION: Final = "2025-11-25"


def write_recording(path: Path, count: int) -> None:
    """Write a recording of `count` frames, `ROUNDS` rounds; the same for the same count."""
    ticks = max(1, (count // ROUNDS - _BESIDE) // _FLOODING)
    write_lines(path, itertools.islice(_lines(ticks), count))


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    """Write a recording of these lines."""
    with path.open("wb") as file:
        file.write(_header())
        _write(file, lines)


def _header() -> bytes:
    fields = {"program": "benchmark", "started": "2025-11-20T19:03:11Z"}
    return form.header({**fields, "at": 0.0, "first": 1, "part": 1, "run": "benchmark"})


def _write(file: BinaryIO, lines: Iterable[Line]) -> None:
    at, known = 0.0, b""
    before: tuple[str, Channel] | None = None
    for passed, connection, channel, raw in lines:
        if passed or before != (connection, channel):
            at = round(at + passed, 6)
            known = form.prefix(connection, channel, _BEGAN_WHEN + at, at)
            before = (connection, channel)
        file.write(known + raw + b"\n")


def _lines(ticks: int) -> Iterator[Line]:
    """Frames without end, in rounds whose jobs of the flood have so many `ticks` each."""
    for connection in _CONNECTIONS:
        yield from opening(connection)
    for turn in itertools.count(1):
        yield from _round(turn, ticks)


def opening(connection: str) -> Iterator[Line]:
    """The connection of a server is opened and negotiated."""
    client = {"name": "MCP Progress Monitor", "version": "1"}
    asked = {"protocolVersion": _REVISION, "capabilities": {}, "clientInfo": client}
    reported = {"protocolVersion": _REVISION, "capabilities": {"tools": {}}, "serverInfo": client}
    yield 0.01, connection, Channel.EVENT, _json({"event": "opened", "transport": "stdio"})
    yield 0.01, connection, Channel.SENT, message(id=0, method="initialize", params=asked)
    yield 0.05, connection, Channel.RECEIVED, message(id=0, result=reported)
    yield 0.01, connection, Channel.SENT, message(method="notifications/initialized")


def _round(turn: int, flood_ticks: int) -> Iterator[Line]:
    """Half a minute or more: requests, then ticks side by side, then replies."""
    floods: list[Any] = [f"files-{turn}-{place}" for place in range(_FLOODING)]
    search, build = turn, f"build-{turn}"
    for place, token in enumerate(floods):
        yield request(_FILES, turn * _FLOODING + place, token, {"path": f"/data/{turn}/{place}"})
    yield request(_SEARCH, turn, search, {"query": f"orders {turn}", "limit": turn % 50})
    yield request(_BUILD, turn, build, {"target": "all", "n": turn})
    ticks = _flood(floods, flood_ticks)
    for step in range(1, _STEPS + 1):
        yield from itertools.islice(ticks, flood_ticks * _FLOODING // _STEPS)
        yield tick(0.5, _SEARCH, search, step, _STEPS, None)
        text = f"Step {step} of {_STEPS}: compiling part {turn}"
        yield tick(0.7, _BUILD, build, step, _STEPS, text)
        if step % 4 == 0:
            yield 0.01, _BUILD, Channel.STDERR, f"warning: part {turn}.{step} is slow".encode()
    yield from ticks
    yield from _replies(turn, flood_ticks)


def _replies(turn: int, flood_ticks: int) -> Iterator[Line]:
    for place in range(_FLOODING):
        yield reply(_FILES, turn * _FLOODING + place, f"{flood_ticks} rows exported")
    yield reply(_SEARCH, turn, f"{turn % 50} documents found")
    if turn % 10:
        yield reply(_BUILD, turn, "built")
    else:
        error = {"code": -32000, "message": f"Part {turn} failed: {NEEDLE}"}
        yield 0.2, _BUILD, Channel.RECEIVED, message(id=turn, error=error)


def _flood(tokens: list[Any], ticks: int) -> Iterator[Line]:
    """The ticks of all `tokens`, taking turns, many lines at one moment."""
    for number in range(ticks * len(tokens)):
        step, place = divmod(number, len(tokens))
        passed = 0.0 if number % _CHUNK else 0.002
        yield tick(passed, _FILES, tokens[place], step + 1, ticks, None)


def request(connection: str, id_: int, token: Any, arguments: dict[str, Any]) -> Line:
    """A call with a token."""
    meta = {"progressToken": token}
    params = {"name": "export", "arguments": arguments, "_meta": meta}
    raw = message(id=id_, method="tools/call", params=params)
    return 0.01, connection, Channel.SENT, raw


def reply(connection: str, id_: int, expected: str) -> Line:
    """The result of a call."""
    content = [{"type": "text", "text": expected}]
    raw = message(id=id_, result={"content": content, "isError": False})
    return 0.2, connection, Channel.RECEIVED, raw


def tick(
    passed: float, connection: str, token: Any, step: int, total: int, expected: str | None
) -> Line:
    """One progress notification."""
    # Put together by hand: encoding would take most of the time that a million frames need.
    message = "" if expected is None else f',"message":{json.dumps(expected)}'
    text = (
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'
        f'{json.dumps(token)},"progress":{step},"total":{total}{message}}}}}'
    )
    return passed, connection, Channel.RECEIVED, text.encode()


def message(**members: Any) -> bytes:
    """A message as bytes."""
    return _json({"jsonrpc": "2.0", **members})


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
