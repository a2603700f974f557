"""Other machines: what a command prints is followed, and connected again without a loss."""

import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.servers_here import find_server_here
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.watched import MachineSnapshot, MachineState
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.patience import allowed, until
from tests.taps import HandTap
from tests.unit.engine.test_watching import jobs_of

_STREAM = (sys.executable, "-m", "mcp_progress_monitor", "--data-dir")


pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.skipif(sys.platform == "win32", reason="the machines are commands of a shell"),
]


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """The data folder of the other machine."""
    return tmp_path / "there"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    here = tmp_path / "here"
    here.mkdir()
    async with Engine(folder=here) as engine:
        yield engine


def _shell(text: str, name: str = "box") -> StdioDefinition:
    return StdioDefinition(name=name, command="/bin/sh", args=("-c", text, "sh"))


def stream_command(there: Path) -> tuple[str, ...]:
    """The command that prints the stream of a data folder."""
    return (*_STREAM, str(there), "tap", "stream")


def _stream(there: Path, name: str = "box") -> StdioDefinition:
    """The command of a machine, which writes its process id into a file."""
    line = " ".join(stream_command(there))
    return _shell(f'echo Welcome; echo $$ > "{there}/pid"; exec {line} "$@"', name)


def _state(engine: Engine) -> MachineSnapshot:
    return engine.machines.snapshots()[0]


def _tap(there: Path, pid: int = 4242) -> HandTap:
    return HandTap(there / "recordings" / "live", pid=pid, client="Cursor")


async def test_jobs_of_another_machine_are_live_here(engine: Engine, there: Path) -> None:
    tap = _tap(there)
    tap.write(tap.opened(), tap.handshake(), tap.call())
    engine.machines.watch(_stream(there))
    await until(lambda: bool(jobs_of(engine)))
    job = jobs_of(engine)[0]
    assert job.watched_client == "Cursor on box"
    assert _state(engine).state is MachineState.LIVE
    watched = engine.watched.snapshots()[0]
    assert (watched.machine, watched.client, watched.label) == ("box", "Cursor", tap.name)
    assert engine.watched.names_on("box") == [watched.name]
    tap.write(tap.tick(7))
    await until(lambda: jobs_of(engine)[0].progress == 7)


async def lose_nothing(
    engine: Engine, there: Path, machine: StdioDefinition, cut: Callable[[], object]
) -> None:
    """A job on a machine named `box` reaches this one, however often `cut` ends the connection."""
    tap = _tap(there)
    tap.write(tap.opened(), tap.handshake(), tap.call())
    engine.machines.watch(machine)
    for progress in range(1, 4):
        tap.write(tap.tick(progress))
        await until(lambda: [job.progress for job in jobs_of(engine)] == [progress])  # noqa: B023
        cut()
        await until(lambda: _state(engine).state is not MachineState.LIVE)
        assert not engine.watched.snapshots()[0].is_reached
    tap.write(tap.tick(4), tap.answer())
    tap.end()
    engine.machines.retry("box")
    await until(lambda: jobs_of(engine)[0].state is JobState.DONE)
    (job,) = jobs_of(engine)
    assert job.tick_count == 4
    assert engine.watched.snapshots()[0].is_reached


async def test_nothing_is_lost_when_the_connection_is_killed(engine: Engine, there: Path) -> None:
    def cut() -> None:
        os.kill(int((there / "pid").read_text()), signal.SIGKILL)

    await lose_nothing(engine, there, _stream(there), cut)


async def test_a_command_that_fails_says_what_it_printed_and_is_tried_again(
    engine: Engine, there: Path
) -> None:
    engine.machines.watch(_shell("echo 'ada@box: Permission denied (publickey).' >&2; exit 255"))
    await until(lambda: _state(engine).state is MachineState.WAITING)
    error = _state(engine).error
    assert error is not None
    assert error.what == "The command ended with exit code 255"
    assert "Permission denied" in error.detail
    assert "BatchMode" in error.hint
    assert _state(engine).retry_at is not None
    engine.machines.stop("box")
    await until(lambda: _state(engine).state is MachineState.STOPPED)
    engine.machines.remove("box")
    assert not engine.machines.names()


async def test_output_that_is_no_stream_is_quoted(engine: Engine) -> None:
    engine.machines.watch(_shell("echo Nothing here; exit 0"))
    await until(lambda: _state(engine).error is not None)
    error = _state(engine).error
    assert error is not None
    assert "Nothing here" in error.detail


async def test_a_stdio_server_of_another_machine_is_not_started_here(
    engine: Engine, there: Path
) -> None:
    tap = _tap(there)
    tap.write(tap.opened(), tap.handshake(), tap.call())
    engine.machines.watch(_stream(there))
    await until(lambda: bool(jobs_of(engine)))
    with pytest.raises(UserError, match="runs on box"):
        find_server_here(engine._origin(engine.jobs.ids()[0]), ())  # noqa: SLF001


async def test_two_machines_with_the_same_process_ids_are_kept_apart(
    engine: Engine, there: Path, tmp_path: Path
) -> None:
    folders = (there, tmp_path / "third")
    taps = [_tap(folder) for folder in folders]  # each holds its lock
    for place, (folder, tap) in enumerate(zip(folders, taps, strict=True)):
        tap.write(tap.opened(), tap.handshake(), tap.call())
        engine.machines.watch(_stream(folder, f"box{place}"))
    await until(lambda: len(jobs_of(engine)) == 2)
    assert {job.watched_client for job in jobs_of(engine)} == {"Cursor on box0", "Cursor on box1"}
    assert len(set(engine.watched.names())) == 2


async def test_ages_are_by_the_clock_of_the_machine(engine: Engine, tmp_path: Path) -> None:
    """Its clocks differ by hours: it was started lately, and its time of day is wrong."""
    tap = HandTap(tmp_path / "recordings", at=4990.0, when=time.time() - 7200)
    tap.write(tap.opened(), tap.handshake(), tap.call())
    head = (
        b'#mcp-recording {"version": 2, "at": 5000.0, "started": "2020-01-01T00:00:00+00:00",'
        b' "stream": {"host": "box"}}\n'
    )
    place = b"#from %032x 1 0\n" % 1
    (tmp_path / "stream").write_bytes(head + place + tap.path.read_bytes())
    engine.machines.watch(_shell(f"cat {tmp_path}/stream; exec sleep 60"))
    await until(lambda: bool(jobs_of(engine)))
    age_s = engine.now() - jobs_of(engine)[0].started_at
    assert 9 < age_s < 10 + allowed(5)


async def test_ages_are_right_after_one_machine_slept(engine: Engine, tmp_path: Path) -> None:
    """An hour has passed there between two connections; here, none."""
    tap = HandTap(tmp_path / "recordings", at=4990.0)
    tap.write(tap.opened(), tap.handshake(), tap.call())
    started = '"started": "2026-11-28T05:00:00+00:00", "stream": {"host": "box"}'
    head = '#mcp-recording {"version": 2, "at": %d, ' + started + "}\\n"
    now = "#now 2026-11-28T05:00:00.000000Z %d\\n"
    text = (
        f"at=$((5000 + 3600 * $#)); printf '{head}#from {1:032x} 1 0\\n' $at;"
        f" cat {tap.path}; printf '{now}' $at; exec sleep 60"
    )
    engine.machines.watch(_shell(text))
    await until(lambda: bool(jobs_of(engine)))
    tap.at += 3600
    tap.write(tap.tick(1))
    engine.machines._machines["box"].scope.cancel()  # noqa: SLF001
    engine.machines.retry("box")
    await until(lambda: jobs_of(engine)[0].progress == 1)
    last_tick_at = jobs_of(engine)[0].last_tick_at
    assert last_tick_at is not None
    assert 9 < engine.now() - last_tick_at < 10 + allowed(5)


async def test_a_hostile_stream_is_refused(engine: Engine) -> None:
    """It says where lines stand that were never sent."""
    head = '#mcp-recording {"version": 2, "at": 1.0, "stream": {"host": "a"}}'
    place = f"#from {1:032x} 1 999999"
    engine.machines.watch(_shell(f"printf '%s\\n%s\\nx\\n' '{head}' '{place}'; exec sleep 60"))
    await until(lambda: _state(engine).error is not None)
    error = _state(engine).error
    assert error is not None
    assert error.what == "The stream skips a part of a recording"
