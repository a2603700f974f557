"""What a message of a flood costs in each stage between the pipe and the views, without either.

The stages run in this process, one after the other, on chunks as a pipe has them; of each the
processor time is taken. Without pipes, threads and painting the figures can be repeated, also on a
busy machine. `ingest` shows what all of it costs together.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mcp_progress_monitor.checking.judge import SessionChecker
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer, LineSplitter
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.benchmarks.figures import Figure, Size
from tests.benchmarks.shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcp_progress_monitor.protocol.frames import FactRun, Frame

_Item = TypeVar("_Item")

_CHUNK: Final = 1 << 16
"""As much as a pipe holds."""
_A_SECOND: Final = 250
"""Chunks between two seconds of the session's clock: as many as a pipe brings at full speed."""
_TOKENS: Final = (1, 50, 1000)
_USUAL: Final = 50


def stages(size: Size, shapes: Sequence[str] = ()) -> list[Figure]:
    """Each shape over 50 tokens, stage by stage, beside a loop that splits and decodes.

    A shape that is named is measured over 1, 50 and 1,000 tokens.
    """
    count, rounds = size.pick((50_000, 5), (20_000, 3), (500, 1))
    cases = [(shape, tokens) for shape in shapes for tokens in _TOKENS]
    cases = cases or [(shape, _USUAL) for shape in SHAPES]
    return [each for case in cases for each in _of_shape(*case, count, rounds)]


def _of_shape(shape: str, tokens: int, count: int, times: int) -> list[Figure]:
    count *= 4 if tokens > _USUAL else 1  # the first message of a token costs more
    rounds = [
        (_bare(shape, tokens, count), Stages(shape, count, tokens).run()) for _ in range(times)
    ]
    best = {name: min(spent[name] for _, spent in rounds) for name in rounds[0][1]}
    bare, whole = min(spent for spent, _ in rounds), sum(best.values())
    figures = [
        Figure("bare", bare, "us"),
        *(Figure(name, us, "us") for name, us in best.items()),
        Figure("all", whole, "us"),
        Figure("ratio", bare / whole, "x"),
    ]
    return [figure._replace(name=f"{tokens}_{shape}_{figure.name}") for figure in figures]


def _bare(shape: str, tokens: int, count: int) -> float:
    """Split and decode: microseconds for a message."""
    from pydantic_core import from_json

    chunks, tail = _chunks(shape, tokens, count), b""
    began = time.process_time()
    for chunk in chunks:
        lines = (tail + chunk).split(b"\n")
        tail = lines.pop()
        for line in lines:
            with contextlib.suppress(ValueError):  # no JSON
                from_json(line)
    return (time.process_time() - began) / count * 1e6


def _chunks(shape: str, tokens: int, count: int) -> list[bytes]:
    names = [f"token-{number}" for number in range(1, tokens + 1)]
    stream = b"".join(SHAPES[shape].stream(names, count))
    return [stream[start : start + _CHUNK] for start in range(0, len(stream), _CHUNK)]


class Stages:
    """One session whose stages are timed: what `Connection` and `Engine` do with a chunk."""

    def __init__(self, shape: str, count: int, tokens: int = _USUAL) -> None:
        """Open the session: `tokens` calls are pending."""
        self.spent: dict[str, float] = {}
        self.count = count
        self.tracker = Tracker()
        self.recorder = Recorder()
        self.check = SessionChecker(lambda _request: None)
        self._chunks = _chunks(shape, tokens, count)
        self._framer = Framer("flood#1", FrameNumbers())
        self._conversation = Conversation("flood#1")
        self._lines = LineSplitter()
        self._open(SHAPES[shape].revisions[-1], tokens)

    def run(self) -> dict[str, float]:
        """Read the flood; microseconds for a message in each stage."""
        self.spent.clear()
        gc.collect()
        gc.disable()
        try:
            for number, chunk in enumerate(self._chunks):
                self._read(chunk, 2.0 + number / _A_SECOND)
        finally:
            gc.enable()
        return {name: spent / self.count * 1e6 for name, spent in self.spent.items()}

    def _read(self, chunk: bytes, at: float) -> None:
        lines = self._timed("split", self._lines.feed, chunk)
        slices = self._framer.in_slices(lines, 1e9 + at, at)
        for frames in self._each("frame", slices):
            for some, facts in self._each("decode", self._conversation.read_parts(frames)):
                self._take(some, facts, at)

    def _take(self, frames: Sequence[Frame], facts: FactRun, at: float) -> None:
        self._timed("record", self.recorder.take, frames, facts)
        changes = self._timed("track", self.tracker.apply, facts, at)
        if changes.marked:
            self._timed("record", self.recorder.mark, changes.marked)
        self._timed("judge", self.check.take, frames, facts, changes.marked)

    def _timed(self, stage: str, work: Callable[..., _Item], *arguments: Any) -> _Item:
        began = time.process_time()
        result = work(*arguments)
        spent = time.process_time() - began
        self.spent[stage] = self.spent.get(stage, 0.0) + spent
        return result

    def _each(self, stage: str, items: Iterable[_Item]) -> Iterator[_Item]:
        iterator = iter(items)
        while True:
            found = self._timed(stage, lambda: list(itertools.islice(iterator, 1)))
            if not found:
                return
            yield found[0]

    def _open(self, revision: str, tokens: int) -> None:
        if revision >= "2026":
            said = {"io.modelcontextprotocol/protocolVersion": revision}
            self._send({"id": 0, "method": "server/discover", "params": {"_meta": said}})
            versions = {"supportedVersions": [revision], "capabilities": {}, "serverInfo": {}}
            self._receive({"id": 0, "result": {**versions, "resultType": "complete"}})
        else:
            params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {}}
            self._send({"id": 0, "method": "initialize", "params": params})
            agreed = {"protocolVersion": revision, "capabilities": {}, "serverInfo": {}}
            self._receive({"id": 0, "result": agreed})
            self._send({"method": "notifications/initialized"})
        for number in range(1, tokens + 1):
            call = {"name": "flood", "_meta": {"progressToken": f"token-{number}"}}
            self._send({"id": number, "method": "tools/call", "params": call})

    def _send(self, message: dict[str, Any]) -> None:
        frame = self._framer.sent(_raw(message), 1e9, 1.0)
        self._take([frame], self._conversation.read([frame]), 1.0)

    def _receive(self, message: dict[str, Any]) -> None:
        frames = self._framer.received([_raw(message)], 1e9, 1.0)
        self._take(frames, self._conversation.read(frames), 1.0)


def _raw(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()
