"""The demo's resumable export behind a monitor, for tests of going on with it."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from mcp_progress_monitor.engine.call import AutoResume, Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.snapshots.definitions import Era, StdioDefinition
from mcp_progress_monitor.store.resumes import ResumeStore
from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot
from mcp_progress_monitor.tracker.tracker import CANCEL_GRACE_S
from tests.integration.watching import Watch
from tests.servers.definition import server_definition
from tests.unit.store.samples import query

AT_ONCE = AutoResume(pauses_s=(0,))


class Place:
    """Where one test's tokens and chunks lie."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data_dir = folder / "data"
        self.state_dir = folder / "state"
        self.data_dir.mkdir(exist_ok=True)

    def definition(self, *args: str, name: str = "demo", era: Era = "auto") -> StdioDefinition:
        """The demo server that writes here."""
        return server_definition("--state-dir", str(self.state_dir), *args, name=name, era=era)

    def store(self) -> ResumeStore:
        """The store, as another program would open it."""
        return ResumeStore(self.data_dir)

    def chunks(self, job: str = "export") -> list[str]:
        """What the export wrote."""
        return (self.state_dir / f"{job}.txt").read_text().splitlines()


def whole(chunks: int = 12) -> list[str]:
    """A complete export, every chunk once."""
    return [f"chunk {number}" for number in range(1, chunks + 1)]


def export(server: str = "demo", **changes: Any) -> Call:
    """A call of the export: 12 chunks, 5 in each attempt; `changes` to the call or arguments."""
    arguments: dict[str, Any] = {"chunks": 12, "chunks_per_attempt": 5, "interval_s": 0.002}
    of_call = {name: changes.pop(name) for name in set(changes) & _OF_CALL}
    arguments |= changes
    params = {"name": "resumable_export", "arguments": arguments}
    return Call(server, "tools/call", params, **of_call)


_OF_CALL = {"token", "auto_resume", "idle_timeout_s", "total_timeout_s", "allow_duplicate_token"}


@contextlib.asynccontextmanager
async def running(
    place: Place,
    *,
    saves: bool = True,
    is_connected: bool = True,
    era: Era = "auto",
    cancel_grace_s: float = CANCEL_GRACE_S,
) -> AsyncIterator[tuple[Engine, Watch]]:
    """The program, with its store; with the demo server connected by default."""
    store = place.store() if saves else None
    async with Engine(store=store, cancel_grace_s=cancel_grace_s) as engine:
        watch = Watch(engine)
        if is_connected:
            engine.servers.add(place.definition(era=era))
            await engine.servers.connect("demo")
        yield engine, watch


def the_job(engine: Engine, job: JobId | None = 1) -> JobSnapshot:
    """A job that is there."""
    found = None if job is None else engine.jobs.snapshot(job)
    assert found is not None
    return found


def saved_tokens(place: Place) -> list[str]:
    """The tokens in the file, as any other program reads them."""
    return [token for (token,) in query(place.data_dir, "SELECT token FROM tokens")]
