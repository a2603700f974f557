"""Programs that share a data folder, or are killed: no token is lost, no chain resumed twice."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.store.chains import SavedOutcome, SavedProgress
from mcp_progress_monitor.store.resumes import FILE
from tests.unit.store.samples import (
    SHARED_UNTIL,
    STANDING,
    begun,
    contents,
    opened,
    query,
    the_chain,
)

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is neither fork nor SIGKILL")


class Victims:
    """Programs played by `victim.py`, one after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.unit.store.victim"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def play(self, role: str, folder: Path) -> None:
        """Start a role; the last one has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{role} {folder}\n")
        self._process.stdin.flush()

    def line(self) -> str:
        """What is said next."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def pid(self) -> int:
        """Which process it is; said first."""
        word, number = self.line().split()
        assert word == "pid"
        return int(number)

    def rest(self) -> list[str]:
        """What is said until the end."""
        return list(iter(self.line, "ended"))

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def victims() -> Iterator[Victims]:
    victims = Victims()
    yield victims
    victims.close()


async def test_what_is_in_flight_elsewhere_stays_there(victims: Victims, data_dir: Path) -> None:
    async with opened(data_dir) as store:
        chain_id = await begun(store, "t1")
        victims.play("hold", data_dir)
        victim = victims.pid()
        assert victims.line() == "holding"

        assert (await the_chain(store)).is_elsewhere
        assert (await store.attempts(chain_id))[-1].outcome is SavedOutcome.RUNNING
        with pytest.raises(UserError, match="Another running program"):
            await store.start_attempt(chain_id, when=200.0)
        assert await store.forget([chain_id]) == [chain_id]

        os.kill(victim, signal.SIGKILL)
        assert victims.rest() == []
        chain = await the_chain(store)
        assert (chain.is_elsewhere, chain.is_usable, chain.token) == (False, True, "t1")
        assert (await store.attempts(chain_id))[-1].outcome is SavedOutcome.INTERRUPTED
        assert (await store.start_attempt(chain_id, when=300.0)).token == "t1"
        await store.advance(chain_id, "t2", STANDING, when=301.0)
        outcomes = [attempt.outcome for attempt in await store.attempts(chain_id)]
    assert outcomes == [SavedOutcome.RESUMABLE, SavedOutcome.INTERRUPTED, SavedOutcome.RESUMABLE]


async def test_the_next_program_notes_what_a_dead_one_left(
    victims: Victims, data_dir: Path
) -> None:
    async with opened(data_dir) as store:
        await begun(store)
    victims.play("hold", data_dir)
    victim = victims.pid()
    assert victims.line() == "holding"
    os.kill(victim, signal.SIGKILL)
    victims.rest()
    assert query(data_dir, "SELECT count(*) FROM chains WHERE owner NOTNULL") == [(1,)]
    async with opened(data_dir) as store:
        assert "exited before the reply" in (await the_chain(store)).reason
        assert len(list((data_dir / "running").iterdir())) == 1
    assert query(data_dir, "SELECT count(*) FROM chains WHERE owner NOTNULL") == [(0,)]


async def test_programs_take_turns_and_never_have_a_chain_at_once(
    victims: Victims, data_dir: Path
) -> None:
    async with opened(data_dir) as store:
        await begun(store, "1")
    victims.play("share*3", data_dir)
    said = [line for line in victims.rest() if not line.startswith("pid")]
    assert sorted(said) == sorted(f"saved {number}" for number in range(2, SHARED_UNTIL + 1))


async def test_files_that_may_not_grow_lose_only_the_new_token(
    victims: Victims, data_dir: Path
) -> None:
    victims.play("outgrow", data_dir)
    _, error, saved = victims.rest()
    assert error.startswith("error The saved resume tokens cannot be used")
    assert saved == "saved 1"
    assert query(data_dir, "PRAGMA integrity_check") == [("ok",)]
    async with opened(data_dir) as store:
        assert store.error is None
        tokens = [chain.token for chain in await store.chains()]
    assert (tokens[0], tokens[-1]) == ("first", "last")


def _killed_at_a_random_point(victims: Victims, folder: Path, dice: random.Random) -> int:
    """Kill a program that saves tokens and return the number of the last that it said was saved."""
    victims.play("save", folder)
    victim = victims.pid()
    said = [victims.line() for _ in range(dice.choice((0, 0, 1, 2, 5, 20)))]
    # Not to wait for something, but to hit anything.
    time.sleep(dice.random() * dice.choice((0.001, 0.01, 0.03)))
    os.kill(victim, signal.SIGKILL)
    said += victims.rest()
    assert [line for line in said if not line.startswith("saved ")] == []
    return max((int(line.split()[1]) for line in said), default=0)


async def _check_survival(folder: Path, newest: int) -> int:
    """Check that the token is there, or one that came after; return its number."""
    running = query(folder, "SELECT count(*) FROM attempts WHERE outcome = 'running'")
    assert running[0][0] <= 1
    assert query(folder, "PRAGMA integrity_check") == [("ok",)]
    async with opened(folder) as store:
        assert store.error is None
        chain = await the_chain(store)
        number = int(chain.token.split()[0])
        assert number in {newest, newest + 1}
        assert chain.is_usable
        assert not chain.is_elsewhere
        assert chain.standing == (STANDING if number == 1 else SavedProgress(number))
        outcomes = {attempt.outcome for attempt in await store.attempts(chain.id)}
        assert outcomes <= {SavedOutcome.RESUMABLE, SavedOutcome.INTERRUPTED, SavedOutcome.LOST}
        assert (await store.start_attempt(chain.id, when=1.0)).token == chain.token
        await store.stop(chain.id, SavedOutcome.LOST, "", chain.standing, when=2.0)
        return number


def _survives(victims: Victims, folder: Path, rounds: int) -> None:
    dice = random.Random(rounds)  # noqa: S311  # repeatable, as far as processes are
    newest = 0
    for _ in range(rounds):
        newest = max(newest, _killed_at_a_random_point(victims, folder, dice))
        if newest or _has_chains(folder):
            newest = anyio.run(_check_survival, folder, newest)
    assert newest > rounds
    assert [name for name in contents(folder) if "damaged" in name] == []


def _has_chains(folder: Path) -> bool:
    if not (folder / FILE).exists():
        return False
    tables = query(folder, "SELECT count(*) FROM sqlite_schema WHERE name = 'chains'")
    return tables == [(1,)] and query(folder, "SELECT count(*) FROM chains") != [(0,)]


def test_a_token_that_was_saved_survives_a_kill(victims: Victims, data_dir: Path) -> None:
    _survives(victims, data_dir, 8)


@pytest.mark.campaign
@pytest.mark.timeout(600)
def test_a_token_that_was_saved_survives_hundreds_of_kills(
    victims: Victims, data_dir: Path
) -> None:
    _survives(victims, data_dir, 600)
