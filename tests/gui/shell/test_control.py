"""Wishes of the window become calls of the monitor; many servers at once are started in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import anyio
import pytest

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.sessions.connect_failure import not_connected
from mcp_progress_monitor.shell.control import Control

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from anyio.abc import TaskGroup
    from PySide6.QtWidgets import QApplication

    from mcp_progress_monitor.monitor import Monitor
    from mcp_progress_monitor.shell.aio import Tasks

pytestmark = pytest.mark.anyio

NAMES = [f"s{number:02}" for number in range(20)]


class SlowMonitor:
    """Servers that connect when a test lets them."""

    def __init__(self) -> None:
        self.names = list(NAMES)
        self.begun: list[str] = []
        self.open: dict[str, anyio.Event] = {}
        self.problems: dict[str, Problem] = {}

    def server_names(self) -> tuple[str, ...]:
        return tuple(self.names)

    async def disconnect(self, name: str) -> None:
        assert name not in self.open

    async def connect(self, name: str) -> None:
        self.begun.append(name)
        self.open[name] = anyio.Event()
        await self.open[name].wait()
        del self.open[name]
        if name in self.problems:
            raise ProblemError(self.problems[name])

    def let(self, *names: str) -> None:
        for name in names:
            self.open[name].set()


class Group:
    """Starts tasks as the window does."""

    def __init__(self, group: TaskGroup) -> None:
        self._group = group

    def start(self, _name: str, work: Callable[..., Coroutine[Any, Any, Any]], *given: Any) -> None:
        self._group.start_soon(work, *given)


async def test_many_servers_are_started_in_their_order_eight_at_a_time(qapp: QApplication) -> None:
    monitor, told, turns = SlowMonitor(), list[Problem](), list[frozenset[str]]()
    monitor.problems = {"s00": Problem("It is broken", "s00"), "s01": not_connected("s01")}
    async with anyio.create_task_group() as group:
        control = Control(cast("Monitor", monitor), cast("Tasks", Group(group)), told.append)
        control.turns_changed.connect(turns.append)
        control.connect_servers(NAMES[:14])
        await anyio.wait_all_tasks_blocked()
        assert monitor.begun == NAMES[:8]
        assert turns[-1] == frozenset(NAMES[8:14])
        control.connect_servers(NAMES[14:])
        await anyio.wait_all_tasks_blocked()
        assert len(monitor.open) == 8
        monitor.names.remove("s09")  # it is gone when its turn comes
        monitor.let("s00", "s01")
        await anyio.wait_all_tasks_blocked()
        assert monitor.begun == [*NAMES[:9], "s10"]
        control.connect_server("s19")  # the user's own wish waits for no turn
        await anyio.wait_all_tasks_blocked()
        assert monitor.begun[-1] == "s19"
        assert turns[-1] == frozenset(NAMES[11:19])
        control.disconnect_server("s18")  # it is not to be started any more
        assert turns[-1] == frozenset(NAMES[11:18])
        while monitor.open:
            monitor.let(*monitor.open)
            await anyio.wait_all_tasks_blocked()
        control.connect_servers(["s02"])
        await anyio.wait_all_tasks_blocked()
        monitor.let("s02")
    assert [name for name in monitor.begun if name not in {"s02", "s19"}] == [
        name for name in NAMES if name not in {"s02", "s09", "s18", "s19"}
    ]
    assert turns[-1] == frozenset()
    assert told == [Problem("It is broken", "s00")]
