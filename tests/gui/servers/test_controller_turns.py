"""Many servers that are connected at once are started in turn."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from anyio.abc import TaskGroup

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.gui.aio import BackgroundTasks
from mcp_progress_monitor.gui.servers.controller import ServersController
from mcp_progress_monitor.secrets.references import Keyring
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import not_connected

pytestmark = pytest.mark.anyio

NAMES = [f"s{number:02}" for number in range(20)]


class SlowEngine:
    """Servers that connect when a test lets them."""

    def __init__(self) -> None:
        self.held = list(NAMES)
        self.servers = self
        self.begun: list[str] = []
        self.open: dict[str, anyio.Event] = {}
        self.errors: dict[str, ErrorDetails] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(self.held)

    def newest(self, name: str) -> StdioDefinition:
        return StdioDefinition(name=name, command="never-run")

    async def disconnect(self, name: str) -> None:
        assert name not in self.open

    async def connect(self, name: str) -> None:
        self.begun.append(name)
        self.open[name] = anyio.Event()
        await self.open[name].wait()
        del self.open[name]
        if name in self.errors:
            raise UserError(self.errors[name])

    def let(self, *names: str) -> None:
        for name in names:
            self.open[name].set()


class Group:
    """Starts tasks as the window does."""

    def __init__(self, group: TaskGroup) -> None:
        self._group = group

    def start(self, _name: str, work: Callable[..., Coroutine[Any, Any, Any]], *given: Any) -> None:
        self._group.start_soon(work, *given)


async def test_many_servers_are_started_in_their_order_eight_at_a_time(tmp_path: Path) -> None:
    engine, reported, turns = SlowEngine(), list[ErrorDetails](), list[frozenset[str]]()
    engine.errors = {"s00": ErrorDetails("It is broken", "s00"), "s01": not_connected("s01")}
    async with anyio.create_task_group() as group:
        control = ServersController(
            cast("Engine", engine),
            cast("BackgroundTasks", Group(group)),
            reported.append,
            tmp_path,
            cast("Keyring", None),
        )
        control.turns_changed.connect(turns.append)
        control.connect_servers(NAMES[:14])
        await anyio.wait_all_tasks_blocked()
        assert engine.begun == NAMES[:8]
        assert turns[-1] == frozenset(NAMES[8:14])
        control.connect_servers(NAMES[14:])
        await anyio.wait_all_tasks_blocked()
        assert len(engine.open) == 8
        engine.held.remove("s09")  # it is gone when its turn comes
        engine.let("s00", "s01")
        await anyio.wait_all_tasks_blocked()
        assert engine.begun == [*NAMES[:9], "s10"]
        control.connect_server("s19")  # the user's own wish waits for no turn
        await anyio.wait_all_tasks_blocked()
        assert engine.begun[-1] == "s19"
        assert turns[-1] == frozenset(NAMES[11:19])
        control.disconnect_server("s18")  # it is not to be started any more
        assert turns[-1] == frozenset(NAMES[11:18])
        while engine.open:
            engine.let(*engine.open)
            await anyio.wait_all_tasks_blocked()
        control.connect_servers(["s02"])
        await anyio.wait_all_tasks_blocked()
        engine.let("s02")
    assert [name for name in engine.begun if name not in {"s02", "s19"}] == [
        name for name in NAMES if name not in {"s02", "s09", "s18", "s19"}
    ]
    assert turns[-1] == frozenset()
    assert reported == [ErrorDetails("It is broken", "s00")]
