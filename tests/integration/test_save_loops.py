"""Servers that are restarted between jobs when a file is saved, and called again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.save_loops import SavePlan
from mcp_progress_monitor.engine.source_files import sources_of
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tracker.snapshot import JobId, JobState
from tests.integration.reconnecting import LATE, Reports, pid_of, plain, tool
from tests.integration.test_hot_restart import edit
from tests.patience import until


class Loop:
    """An engine with a server that is watched, and what came of its calls."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        self.ended: list[JobId] = []
        self.errors: list[ErrorDetails] = []
        self.reported = Reports(engine)

    @property
    def state(self) -> ServerState:
        return self.engine.servers.snapshot("plain").state

    @property
    def restarts(self) -> int:
        return self.engine.servers.snapshot("plain").restarts

    def waits_for(self) -> int:
        found = self.engine.servers.snapshot("plain").on_save
        return 0 if found is None else found.waits_for

    async def run(self, calls: tuple[Call, ...] | None = None) -> None:
        definition = self.engine.servers.snapshot("plain").definition
        assert definition.transport == "stdio"
        plan = SavePlan(sources_of(definition), calls)
        loops = self.engine.save_loops
        await loops.run("plain", plan, self.ended.append, self.errors.append)

    async def save(self, word: str) -> None:
        """Save until the watch, which takes a moment to begin, has noticed."""
        before = self.restarts
        while self.restarts == before and not self.waits_for():
            edit(self.folder, word)
            with anyio.move_on_after(2):
                await self.reported.until(lambda: self.restarts > before or self.waits_for())

    def text_of(self, job: JobId) -> object:
        detail = self.engine.jobs.detail(job)
        assert detail is not None
        assert detail.answer is not None
        return (detail.answer.result or {})["content"][0]["text"]


@asynccontextmanager
async def looping(folder: Path, calls: tuple[Call, ...] | None = None) -> AsyncIterator[Loop]:
    edit(folder, "plain")
    async with Engine(reconnects=True) as engine, anyio.create_task_group() as tasks:
        loop = Loop(engine, folder)
        engine.servers.add(plain(script=folder / "server.py", restart=LATE))
        await engine.servers.connect("plain")
        await engine.calls.make(tool("echo"))
        tasks.start_soon(loop.run, calls)
        await until(lambda: engine.servers.snapshot("plain").on_save)
        yield loop
        engine.save_loops.stop("plain")


async def test_a_save_restarts_the_server_and_makes_the_last_call_again(tmp_path: Path) -> None:
    async with looping(tmp_path) as loop:
        await loop.save("edited")
        await until(lambda: loop.ended)
        assert loop.text_of(loop.ended[0]) == "edited"
        assert loop.engine.jobs.before(loop.ended[0]) == 1
        shown = loop.engine.servers.snapshot("plain").on_save
        assert shown == (1, (str(tmp_path),), 0)
    assert not loop.errors


async def test_a_chosen_set_is_called_instead_of_the_last_call(tmp_path: Path) -> None:
    calls = tuple(tool("echo", word=word) for word in "ab")
    async with looping(tmp_path, calls) as loop:
        await loop.save("edited")
        await until(lambda: len(loop.ended) == 2)
        sent = [loop.engine.jobs.detail(job) for job in loop.ended]
        assert [found and found.params["arguments"] for found in sent] == [
            {"word": "a"},
            {"word": "b"},
        ]


async def test_a_save_waits_for_running_jobs(tmp_path: Path) -> None:
    async with looping(tmp_path, ()) as loop, anyio.create_task_group() as tasks:
        door = tmp_path / "door"
        tasks.start_soon(loop.engine.calls.make, tool("slow", until=str(door)))
        await until(lambda: len(loop.engine.jobs.ids()) == 2)
        first = pid_of(loop.engine)
        await loop.save("edited")
        await until(lambda: loop.waits_for() == 1)
        assert pid_of(loop.engine) == first
        door.touch()
        await loop.reported.until_back(1)
        job = loop.engine.jobs.snapshot(2)
        assert job is not None
        assert job.state is JobState.DONE
        await until(lambda: not loop.waits_for())


async def test_restart_now_ends_the_jobs(tmp_path: Path) -> None:
    async with looping(tmp_path, ()) as loop, anyio.create_task_group() as tasks:
        tasks.start_soon(loop.engine.calls.make, tool("tick"))
        await until(lambda: len(loop.engine.jobs.ids()) == 2)
        loop.engine.save_loops.restart_now("plain")  # nothing was saved
        await loop.save("edited")
        await until(lambda: loop.waits_for() == 1)
        loop.engine.save_loops.restart_now("plain")
        await loop.reported.until_back(1)
        job = loop.engine.jobs.snapshot(2)
        assert job is not None
        assert job.state is JobState.LOST


async def test_after_a_start_that_failed_the_next_save_tries_again(tmp_path: Path) -> None:
    async with looping(tmp_path) as loop:
        while loop.state is not ServerState.FAILED and loop.state is not ServerState.WAITING:
            (tmp_path / "server.py").write_text("syntax error here\n")
            await anyio.sleep(0.5)
        assert not loop.ended
        await until(lambda: loop.state in {ServerState.FAILED, ServerState.WAITING})
        edit(tmp_path, "mended")
        await until(lambda: loop.ended)
        assert loop.text_of(loop.ended[0]) == "mended"


async def test_a_call_goes_on_when_the_loop_is_stopped_and_no_save_counts_then(
    tmp_path: Path,
) -> None:
    door = tmp_path / "door"
    async with looping(tmp_path, (tool("slow", until=str(door)),)) as loop:
        await loop.save("edited")
        await until(lambda: len(loop.engine.jobs.ids()) == 2)
        loop.engine.save_loops.stop("plain")
        await until(lambda: loop.engine.servers.snapshot("plain").on_save is None)
        door.touch()
        await until(lambda: loop.ended)
        before = loop.restarts
        edit(tmp_path, "again")
        await anyio.sleep(0.6)
        assert loop.restarts == before


async def test_it_ends_with_the_removal_of_the_server(tmp_path: Path) -> None:
    async with looping(tmp_path) as loop:
        await loop.engine.servers.disconnect("plain")
        loop.engine.servers.remove("plain")
        loop.engine.servers.add(plain(script=tmp_path / "server.py"))
        assert loop.engine.servers.snapshot("plain").on_save is None


async def test_a_job_that_was_removed_is_still_the_last_call(tmp_path: Path) -> None:
    async with looping(tmp_path) as loop:
        await loop.save("one")
        await until(lambda: loop.ended)
        loop.engine.jobs.remove(loop.engine.jobs.ids())
        await loop.save("two")
        await until(lambda: len(loop.ended) == 2)
        assert loop.text_of(loop.ended[1]) == "two"
