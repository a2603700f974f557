"""What tests of servers that come back share: cheap servers that mend quickly."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from mcp_progress_monitor.engine.call import Call, Outcome
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.snapshots.definitions import RestartPolicy, StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.patience import PATIENCE_S

SCRIPT = Path(__file__).with_name("plain_server.py")
SOON = RestartPolicy(first_delay_s=0.05, longest_delay_s=0.2, limit=5)
LATE = RestartPolicy(first_delay_s=600, longest_delay_s=600)


def plain(*command_line: str, script: Path = SCRIPT, **settings: Any) -> StdioDefinition:
    """The small server; it is not asked for the newer era, which costs it a start."""
    fields: dict[str, Any] = {"era": "handshake", "restart": SOON, "connect_timeout_s": 60}
    fields |= {"name": "plain", "command": sys.executable, **settings}
    return StdioDefinition(args=("-S", "-E", str(script), *command_line), **fields)


def tool(name: str, server: str = "plain", **arguments: Any) -> Call:
    """A call of one of its tools."""
    return Call(server, "tools/call", {"name": name, "arguments": arguments})


def pid_of(engine: Engine, server: str = "plain") -> int:
    """The process of a server that has one."""
    pid = engine.servers.snapshot(server).pid
    assert pid is not None
    return pid


def text_of(outcome: Outcome) -> str:
    """What a call was answered with."""
    assert outcome.result is not None
    text = outcome.result["content"][0]["text"]
    assert isinstance(text, str)
    return text


class Reports:
    """Waits for updates of servers and jobs."""

    def __init__(self, engine: Engine) -> None:
        self.updates: list[Update] = []
        self.states: list[ServerState] = []
        self._engine = engine
        self._news = anyio.Event()
        engine.subscribe(self._note)

    def _note(self, update: Update) -> None:
        self.updates.append(update)
        for name in update.servers & set(self._engine.servers.names()):
            state = self._engine.servers.snapshot(name).state
            if self.states[-1:] != [state]:
                self.states.append(state)
        self._news.set()

    async def until(self, condition: Callable[[], object], within_s: float = PATIENCE_S) -> None:
        """Wait until `condition` is true, which is looked at at each update."""
        with anyio.fail_after(within_s):
            while not condition():
                self._news = anyio.Event()
                await self._news.wait()

    async def until_state(self, state: ServerState, server: str = "plain") -> None:
        """Wait until a server is in a state."""
        await self.until(lambda: self._engine.servers.snapshot(server).state is state)

    async def until_back(self, restarts: int = 1, server: str = "plain") -> None:
        """Wait until a server was connected again so often, and is connected."""

        def is_back() -> bool:
            found = self._engine.servers.snapshot(server)
            return found.restarts >= restarts and found.state is ServerState.CONNECTED

        await self.until(is_back)

    def raw(self) -> bytes:
        """All that came and went, and what this side had to say of it."""
        return b"\n".join(frame.raw for update in self.updates for frame in update.frames)
