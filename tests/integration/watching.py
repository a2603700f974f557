"""A listener to a monitor that keeps everything, for tests that wait for something in it."""

import json
from collections.abc import Callable
from typing import Any

import anyio

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.protocol.facts import Fact
from mcp_progress_monitor.protocol.frames import Channel
from tests.patience import PATIENCE_S


class Watch:
    """A listener that keeps everything and wakes whoever waits for something in it."""

    def __init__(self, engine: Engine) -> None:
        self.updates: list[Update] = []
        self._changed = anyio.Event()
        engine.subscribe(self._take)

    def _take(self, update: Update) -> None:
        self.updates.append(update)
        self._changed.set()

    @property
    def facts(self) -> list[Fact]:
        """All facts, in order."""
        return [fact for update in self.updates for fact in update.facts]

    def sent(self, method: str) -> list[dict[str, Any]]:
        """The requests with this method that were written, decoded, in order."""
        frames = [f for update in self.updates for f in update.frames if f.channel is Channel.SENT]
        messages = [json.loads(frame.raw) for frame in frames]
        return [message for message in messages if message.get("method") == method]

    async def until(self, is_so: Callable[[], object]) -> None:
        """Wait until something is so, looking after each update."""
        with anyio.fail_after(PATIENCE_S):
            while not is_so():
                self._changed = anyio.Event()
                await self._changed.wait()
