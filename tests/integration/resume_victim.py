"""Programs that go on with an export and come to grief, for tests that kill them at any moment.

One process imports everything and forks for each line `FOLDER ROUND` that it reads, or several at
once for `FOLDER ROUND COUNT`. What a program does is said on stdout, a line each: `pid N` first;
`ended` when all of a line are over.
"""

import contextlib
import hashlib
import os
import sys
from pathlib import Path

import anyio

from mcp_progress_monitor.engine.call import AutoResume
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.facts import ProgressReceived, RequestAnswered, RequestMade
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.forked_scripts import fork_scripts
from tests.integration.resumable import Place, export

CHUNKS = 60
PER_ATTEMPT = 3
_AT_ONCE = AutoResume(limit=1000, pauses_s=(0,))


def say(text: str) -> None:
    """Write a line at once: nothing said is lost in a buffer."""
    os.write(1, f"{text}\n".encode())


def digest(token: object) -> str:
    """A short name for a token."""
    return hashlib.sha256(str(token).encode()).hexdigest()[:12]


class Program:
    """A monitor on a data folder that brings one export to its end, saying what it does."""

    def __init__(self, place: Place, job: str) -> None:
        self._place = place
        self._job = job
        self._mark = place.folder / "in-flight"
        self._has_mark = False
        self._request: int | None = None

    async def run(self) -> None:
        """Go on with the export that is saved, or begin it."""
        async with Engine(store=self._place.store()) as self._engine:
            if self._engine.resumer.error is not None:
                say(f"error {self._engine.resumer.error.as_text()!r}")
            self._engine.subscribe(self._tell)
            say(f"opened {len(self._engine.jobs.ids())}")
            with contextlib.suppress(UserError):
                await self._bring_forward()
            self._unmark()

    async def _bring_forward(self) -> None:
        saved = self._engine.jobs.ids()
        if saved:
            outcome = await self._engine.resumer.resume(saved[-1], auto_resume=_AT_ONCE)
        else:
            self._engine.servers.add(self._place.definition())
            await self._engine.servers.connect("demo")
            call = export(
                job=self._job,
                chunks=CHUNKS,
                chunks_per_attempt=PER_ATTEMPT,
                interval_s=0.001,
                auto_resume=_AT_ONCE,
            )
            outcome = await self._engine.calls.make(call)
        failure = "" if outcome.failure is None else outcome.failure.message
        say(f"outcome {outcome.state.name} {failure!r}")

    def _tell(self, update: Update) -> None:
        for fact in update.facts:
            if isinstance(fact, RequestMade) and fact.method == "tools/call":
                self._request = fact.number
                self._take_mark()
                say(f"sent {digest(fact.resume_token)}")
            elif isinstance(fact, ProgressReceived):
                say(f"tick {fact.progress}")
            elif isinstance(fact, RequestAnswered) and fact.request == self._request:
                self._unmark()
                say(f"received {digest(fact.next_resume_token)}")
        for job in update.changes.moved:
            self._tell_state(job)

    def _tell_state(self, job: int) -> None:
        found = self._engine.jobs.detail(job)
        if found is None:
            return
        if found.snapshot.state is JobState.RESUMABLE:
            say(f"resumable {digest(found.resume_token)}")
        elif found.snapshot.state is JobState.DONE:
            say("done")

    def _take_mark(self) -> None:
        """Say so if another program that runs has an attempt in flight."""
        with contextlib.suppress(FileExistsError):
            self._mark.symlink_to(str(os.getpid()))
            self._has_mark = True
            return
        with contextlib.suppress(FileNotFoundError):
            owner = self._mark.readlink().name
            if _runs(int(owner)):
                say(f"error two attempts in flight, the other one of {owner}")
            self._mark.unlink()
        self._take_mark()

    def _unmark(self) -> None:
        if self._has_mark:
            self._has_mark = False
            self._mark.unlink()


def _runs(pid: int) -> bool:
    """Whether a process runs; one that was killed and not waited for does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}


def main() -> None:
    """Play the programs that stdin asks for."""
    fork_scripts()
    for line in sys.stdin:
        folder, job, count = line.split()
        children = [_fork(Place(Path(folder)), job) for _ in range(int(count))]
        for child in children:
            os.waitpid(child, 0)
        say("ended")


def _fork(place: Place, job: str) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        say(f"pid {os.getpid()}")
        anyio.run(Program(place, job).run)
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
