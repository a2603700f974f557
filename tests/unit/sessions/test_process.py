"""Processes of servers are started one at a time, whoever asks for them at the same moment."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

from app.sessions.definitions import StdioDefinition
from app.sessions.process import ServerProcess

if TYPE_CHECKING:
    from anyio.abc import Process

pytestmark = pytest.mark.anyio


async def test_never_are_two_processes_started_in_one_turn_of_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, starting, most = anyio.open_process, 0, 0

    async def watched(*command: Any, **options: Any) -> Process:
        nonlocal starting, most
        starting += 1
        most = max(most, starting)
        await anyio.lowlevel.checkpoint()
        started = await real(*command, **options)
        starting -= 1
        return started

    monkeypatch.setattr(anyio, "open_process", watched)
    definition = StdioDefinition(name="s", command=sys.executable, args=("-c", ""))
    started: list[ServerProcess] = []

    async def start() -> None:
        started.append(await ServerProcess.start(definition))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(start)
    for each in started:
        await each.end()
        await each.release()
    assert len(started) == 4
    assert most == 1


async def test_a_start_that_is_given_up_does_not_hold_up_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    definition = StdioDefinition(name="s", command=sys.executable, args=("-c", ""))
    waits = anyio.Event()

    async def never(*_command: Any, **_options: Any) -> Process:
        waits.set()
        await anyio.sleep_forever()
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr(anyio, "open_process", never)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ServerProcess.start, definition)
            await waits.wait()
            tasks.cancel_scope.cancel()
    with anyio.fail_after(20):
        started = await ServerProcess.start(definition)
        await started.end()
        await started.release()
