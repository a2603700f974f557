"""Program, server, or both killed at random points: no token is lost, nothing is done twice."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from mcp_progress_monitor.store.resumes import FILE
from tests.integration.processes import servers_of
from tests.integration.resumable import Place, whole
from tests.integration.resume_victim import CHUNKS, digest
from tests.unit.store.samples import contents, opened, query

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it asks /proc who runs")


class Programs:
    """Programs played by `resume_victim.py`, and what they said."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.said: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.resume_victim"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, job: str, count: int = 1) -> list[int]:
        """Start programs on the export called `job`; their process ids."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{self.place.folder} {job} {count}\n")
        self._process.stdin.flush()
        self.said = []
        while len(self._pids()) < count:
            self.line()
        return self._pids()

    def _pids(self) -> list[int]:
        return [int(line.split()[1]) for line in self.said if line.startswith("pid ")]

    def line(self) -> str:
        """What is said next; empty when all are over."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline().rstrip("\n")
        assert line
        if line == "ended":
            return ""
        assert not line.startswith("error"), line
        self.said.append(line)
        return line

    def rest(self) -> None:
        """Hear everything until all are over."""
        while self.line():
            pass

    def last(self, word: str) -> str | None:
        """What was said last after this word."""
        found = [line.partition(" ")[2] for line in self.said if line.partition(" ")[0] == word]
        return found[-1] if found else None

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def programs(place: Place) -> Iterator[Programs]:
    programs = Programs(place)
    yield programs
    programs.close()


class Campaign:
    """Rounds of programs that are killed, on exports that follow each other."""

    def __init__(self, programs: Programs, seed: int) -> None:
        self.finished = 0
        self.killed: Counter[str] = Counter()
        self._programs = programs
        self._place = programs.place
        self._dice = random.Random(seed)  # noqa: S311  # repeatable, as far as processes are
        self._newest: str | None = None

    @property
    def _job(self) -> str:
        return f"export-{self.finished}"

    def round(self) -> None:
        """Start a program, kill it at a random point, and look what is left."""
        programs = self._programs
        (victim,) = programs.start(self._job)
        is_over = any(not programs.line() for _ in range(self._dice.randrange(40)))
        if not is_over:
            # Not to wait for something, but to hit anything.
            time.sleep(self._dice.random() * self._dice.choice((0.0005, 0.003, 0.02)))
            self._kill(victim, self._dice.choice(("program", "server", "both")))
            programs.rest()
        anyio.run(self._check)

    def _kill(self, program: int, who: str) -> None:
        """Kill what is there of it: it may have come to its end."""
        with contextlib.suppress(OSError):
            victims = [program] if who in {"program", "both"} else []
            if who in {"server", "both"}:
                victims += servers_of(program)
            self._dice.shuffle(victims)
            for victim in victims:
                os.kill(victim, signal.SIGKILL)
            self.killed[who] += bool(victims)

    async def _check(self) -> None:
        """The last token that was shown is there, or a newer one, or the work is done."""
        place, programs = self._place, self._programs
        assert [name for name in contents(place.data_dir) if "damaged" in name] == []
        self._newest = programs.last("resumable") or self._newest
        if not (place.data_dir / FILE).exists():
            assert self._newest is None
            return
        async with opened(place.data_dir) as store:
            assert store.error is None
            chains = await store.chains()
            running = await self._in_flight([chain.id for chain in chains])
        assert len(chains) <= 1
        assert running == 0
        assert query(place.data_dir, "PRAGMA integrity_check") == [("ok",)]
        usable = [chain for chain in chains if chain.is_usable]
        if usable:
            assert digest(usable[0].token) in {self._newest, programs.last("received")}
            self._newest = digest(usable[0].token)
        elif self._newest is not None:
            # Completed; or that it completed was not received, and its last token is refused now.
            assert place.chunks(self._job) == whole(CHUNKS)
            await self._begin_another([chain.id for chain in chains])

    async def _in_flight(self, chains: list[int]) -> int:
        async with opened(self._place.data_dir) as store:
            found = [attempt for chain in chains for attempt in await store.attempts(chain)]
        return sum(attempt.outcome.value == "running" for attempt in found)

    async def _begin_another(self, refused: list[int]) -> None:
        async with opened(self._place.data_dir) as store:
            await store.forget(refused)
        self.finished += 1
        self._newest = None

    def finish(self) -> None:
        """Let the last export come to its end undisturbed."""
        finished = self.finished
        while self.finished == finished:
            self._programs.start(self._job)
            self._programs.rest()
            anyio.run(self._check)


def _survives(programs: Programs, rounds: int) -> None:
    campaign = Campaign(programs, rounds)
    for _ in range(rounds):
        campaign.round()
    campaign.finish()
    assert campaign.killed.total() > rounds / 2
    print(f"killed {dict(campaign.killed)}, completed {campaign.finished}")  # noqa: T201
    for number in range(campaign.finished):
        assert programs.place.chunks(f"export-{number}") == whole(CHUNKS)


def test_an_export_that_is_killed_again_and_again_is_completed(programs: Programs) -> None:
    _survives(programs, 5)


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_exports_that_are_killed_hundreds_of_times_are_completed(programs: Programs) -> None:
    _survives(programs, 400)


def test_programs_that_share_a_folder_never_resume_a_job_at_once(programs: Programs) -> None:
    programs.start("export-0")
    while programs.last("resumable") is None:
        programs.line()
    os.kill(int(programs.last("pid") or 0), signal.SIGKILL)
    programs.rest()
    programs.start("export-0", 3)
    programs.rest()
    assert "done" in programs.said
    assert sum(line == "done" for line in programs.said) == 1
    assert programs.place.chunks("export-0") == whole(CHUNKS)
