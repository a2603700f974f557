"""When a saved file restarts a server, and when it waits; without files and processes."""

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from mcp_progress_monitor.engine.call import Call, CallSeries
from mcp_progress_monitor.engine.save_loops import SaveLoops, SavePlan
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.sessions.connection.connector import SaveWatch
from mcp_progress_monitor.sessions.connection.session import ReconnectPolicy
from mcp_progress_monitor.snapshots.definitions import FileWatch, StdioDefinition
from mcp_progress_monitor.snapshots.servers import OnSave, ServerState
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobState
from tests.job_stand_ins import FakeJobs, job
from tests.patience import until

CALL = Call("s", "tools/call", {"name": "a", "arguments": {}})


class Stage:
    """The parts that a loop moves, which note what is asked of them."""

    def __init__(self) -> None:
        self.jobs = FakeJobs()
        self.watch: SaveWatch | None = None
        self.restarts: list[tuple[str, ...]] = []
        self.series: list[CallSeries] = []
        self.reached: list[int] = []
        self.notes: list[OnSave | None] = []
        self.errors: list[ErrorDetails] = []
        self.refusal: UserError | None = None
        self.state = ServerState.CONNECTED
        self._policy = ReconnectPolicy("s", is_on=True)
        self._listeners: list[Callable[[Update], None]] = []
        parts: tuple[Any, ...] = (self, self, self, self.jobs, self.subscribe)
        self.loops = SaveLoops(*parts)

    def subscribe(self, listener: Callable[[Update], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def moved(self) -> None:
        for listener in self._listeners:
            listener(Update(changes=ChangeSet(moved=frozenset({1}))))

    # The manager

    def reconnecting(self, _name: str) -> Any:
        return self._policy

    def names(self) -> list[str]:
        return ["s"]

    def newest(self, name: str) -> StdioDefinition:
        return StdioDefinition(name=name, command="x")

    def snapshot(self, _name: str) -> Any:
        before = next(reversed(self.notes), None)
        return SimpleNamespace(on_save=before, state=self.state)

    def note_on_save(self, _name: str, state: OnSave | None) -> None:
        self.notes.append(state)

    # The connector

    def watch_saves(self, _policy: object, watch: SaveWatch | None) -> None:
        self.watch = watch

    async def restart_for(self, paths: tuple[str, ...], _name: str) -> None:
        self.restarts.append(paths)
        await anyio.lowlevel.checkpoint()
        if self.refusal is not None:
            raise self.refusal

    # The calls

    async def make_series(self, series: CallSeries, *, on_end: Callable[[int], object]) -> None:
        self.series.append(series)
        on_end(7)

    async def reach(self, asked: int) -> Call:
        self.reached.append(asked)
        return CALL

    def save(self, *paths: str) -> None:
        assert self.watch is not None
        self.watch.saved(paths)


@asynccontextmanager
async def looping(calls: tuple[Call, ...] | None = (CALL,)) -> AsyncIterator[Stage]:
    stage, ended = Stage(), list[int]()
    plan = SavePlan(FileWatch(is_on=True, paths=(str(Path(__file__).parent),)), calls)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.loops.run, "s", plan, ended.append, stage.errors.append)
        await until(lambda: stage.notes)
        assert stage.watch is not None
        yield stage
        stage.loops.stop("s")
    assert stage.watch is None
    assert stage.notes[-1] is None


async def test_a_save_restarts_and_calls_again() -> None:
    async with looping() as stage:
        stage.save("a.py")
        await until(lambda: stage.series)
        assert stage.restarts == [("a.py",)]
        assert stage.series == [CallSeries((CALL,), at_once=1)]


async def test_saves_while_a_job_runs_count_once_and_wait_for_its_end() -> None:
    async with looping() as stage:
        stage.jobs.put(job(id=1, server="s"), job(id=2, server="other"))
        stage.save("a.py")
        await until(lambda: stage.notes[-1] and stage.notes[-1].waits_for == 1)
        stage.save("b.py", "a.py")
        stage.moved()
        await anyio.sleep(0.05)
        assert not stage.restarts
        stage.jobs.put(job(id=1, server="s", state=JobState.DONE))
        stage.moved()
        await until(lambda: stage.series)
        assert stage.restarts == [("a.py", "b.py")]
        last = stage.notes[-1]
        assert last is not None
        assert not last.waits_for


async def test_restart_now_does_not_wait() -> None:
    async with looping() as stage:
        stage.jobs.put(job(id=1, server="s"))
        stage.save("a.py")
        await until(lambda: stage.notes[-1] and stage.notes[-1].waits_for)
        stage.loops.restart_now("s")
        await until(lambda: stage.restarts)


async def test_restart_now_does_nothing_before_a_save() -> None:
    async with looping() as stage:
        stage.loops.restart_now("s")
        await anyio.sleep(0.05)
        assert not stage.restarts


async def test_a_start_that_failed_is_not_called_and_the_next_save_tries_again() -> None:
    async with looping() as stage:
        stage.refusal, stage.state = UserError(ErrorDetails("It exited")), ServerState.FAILED
        stage.save("a.py")
        await until(lambda: stage.restarts)
        stage.refusal, stage.state = None, ServerState.CONNECTED
        stage.save("a.py")
        await until(lambda: stage.series)
        assert len(stage.restarts) == 2
        assert not stage.errors  # the server's own state shows it


async def test_a_restart_that_is_refused_is_reported() -> None:
    async with looping() as stage:
        stage.refusal = UserError(ErrorDetails("It is not approved"))
        stage.save("a.py")
        await until(lambda: stage.errors)
        assert stage.errors == [ErrorDetails("It is not approved")]


async def test_the_last_call_is_the_newest_of_this_run_on_the_server() -> None:
    async with looping(None) as stage:
        done: dict[str, Any] = {"state": JobState.DONE, "server": "s"}
        earlier = job(id=5, **done)._replace(request=0)
        listed = job(id=4, **done)._replace(method="tools/list")
        other = job(id=3, **done)._replace(server="other")
        watched = job(id=2, **done)._replace(watched_client="Cursor")
        stage.jobs.put(job(id=1, **done), watched, other, listed, earlier)
        stage.save("a.py")
        await until(lambda: stage.series)
        assert stage.reached == [1]


async def test_nothing_is_called_without_an_earlier_call() -> None:
    async with looping(None) as stage:
        stage.save("a.py")
        await until(lambda: stage.restarts)
        await anyio.sleep(0.05)
        assert not stage.series


@pytest.mark.parametrize("state", [ServerState.CLOSING, ServerState.CLOSED])
async def test_a_server_that_the_user_disconnects_stays_so(state: ServerState) -> None:
    async with looping() as stage:
        stage.jobs.put(job(id=1, server="s"))
        stage.save("a.py")
        await until(lambda: stage.notes[-1] and stage.notes[-1].waits_for)
        stage.state = state
        stage.jobs.put(job(id=1, server="s", state=JobState.LOST))
        stage.moved()
        await until(lambda: stage.notes[-1] and not stage.notes[-1].waits_for)
        assert not stage.restarts


async def test_a_server_that_is_removed_while_its_files_are_counted_ends_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage, counted = Stage(), threading.Event()

    def count(*_: object) -> int:
        counted.wait(5)
        return 1

    def gone(*_: object) -> None:
        raise UserError(ErrorDetails("No such server"))

    monkeypatch.setattr("mcp_progress_monitor.engine.source_files.count_files", count)
    plan = SavePlan(FileWatch(is_on=True, paths=("/srv",)), ())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.loops.run, "s", plan, list[int]().append, stage.errors.append)
        await anyio.wait_all_tasks_blocked()
        monkeypatch.setattr(stage, "note_on_save", gone)
        monkeypatch.setattr(stage, "names", list)
        if stage.watch is not None:
            stage.watch.scope.cancel()
        counted.set()
    assert stage.errors == []
