"""The watchdog ends servers of a program that is gone, and nobody else."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from mcp_progress_monitor import paths
from mcp_progress_monitor.sessions.transport import watchdog
from mcp_progress_monitor.sessions.transport.process_guard import ProcessGuard
from mcp_progress_monitor.sessions.transport.watchdog import MARK, mark_of
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")

_STUBBORN = (
    "import signal, sys, time\n"
    "for name in ('SIGTERM', 'SIGINT', 'SIGHUP'): signal.signal(getattr(signal, name), 1)\n"
    "print('up', flush=True)\ntime.sleep(600)"
)
_WITH_CHILD = (
    "import os, subprocess, sys, time\n"
    f"child = subprocess.Popen([sys.executable, '-c', {_STUBBORN!r}], start_new_session=True,"
    " stdout=subprocess.DEVNULL, {env})\n"
    "print(child.pid, flush=True)\n"
)
_DAEMON = (
    "import os, time\n"
    "reader, writer = os.pipe()\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0:\n"
    "        os.write(writer, str(os.getpid()).encode())\n"
    "        time.sleep(600)\n"
    "    os._exit(0)\n"
    "os.wait()\n"
    "print(os.read(reader, 9).decode(), flush=True)\n"
)
_WITH_PSUTIL = (
    "import importlib.util as importing, sys\n"
    "spec = importing.spec_from_file_location('watchdog', sys.argv.pop(1))\n"
    "sys.modules['watchdog'] = module = importing.module_from_spec(spec)\n"
    "spec.loader.exec_module(module)\n"
    "module._HAS_PROC = False\n"
    "sys.exit(module.main(sys.argv[1:]))\n"
)
"""The watchdog as on macOS: isolated, without /proc, and reported where psutil is."""


class Program:
    """Somebody who has the watchdog look after processes, as the guard does."""

    def __init__(self, command: list[str]) -> None:
        self.watchdog = subprocess.Popen(command, stdin=subprocess.PIPE)
        while not ignores(self.watchdog.pid, signal.SIGHUP):  # it is up
            time.sleep(0.01)
        self.started: list[subprocess.Popen[bytes]] = []
        self.strays: list[int] = []

    def start(self, code: str, mark: str = "run-1", *, tells: bool = True) -> int:
        """Start a server; returns the number that it prints, its child's if it has one."""
        server = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, MARK: mark},
            start_new_session=True,
        )
        self.started.append(server)
        if tells:
            self.tell(f"+ {server.pid} {mark}")
        assert server.stdout is not None
        line = server.stdout.readline().strip()
        if line.isdigit():
            self.strays.append(int(line))
        return int(line) if line.isdigit() else 0

    def tell(self, line: str) -> None:
        assert self.watchdog.stdin is not None
        self.watchdog.stdin.write(f"{line}\n".encode())
        self.watchdog.stdin.flush()

    def die(self) -> None:
        """Close what a dead program's system closes, and wait for what comes of it."""
        assert self.watchdog.stdin is not None
        for server in self.started:
            assert server.stdin is not None
            server.stdin.close()
        self.watchdog.stdin.close()
        assert self.watchdog.wait(PATIENCE_S) == 0

    def close(self) -> None:
        """Leave nothing behind, whatever the test has found."""
        for process in (*self.started, self.watchdog):
            process.kill()
            with process:  # which closes its pipes
                process.wait()
        for pid in filter(is_alive, self.strays):
            os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ignores(pid: int, number: signal.Signals) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    ignored = next(line for line in status.splitlines() if line.startswith("SigIgn:"))
    return bool(int(ignored.split()[1], 16) >> (number - 1) & 1)


WATCHDOGS = {
    "own table": [*paths.internal_command(paths.WATCHDOG), "run"],
    "psutil": [
        *(sys.executable, "-I", "-S", "-c", _WITH_PSUTIL, watchdog.__file__, "run"),
        str(Path(psutil.__file__).parents[1]),
    ],
}


@pytest.fixture(params=list(WATCHDOGS.values()), ids=list(WATCHDOGS))
def program(request: pytest.FixtureRequest) -> Iterator[Program]:
    """A program whose watchdog reads /proc, and one whose watchdog asks psutil, as on macOS."""
    program = Program(request.param)
    yield program
    program.close()


def test_a_stubborn_server_is_killed(program: Program) -> None:
    program.start(_STUBBORN)
    program.die()
    assert program.started[0].wait(PATIENCE_S) == -9


def test_a_server_that_ends_by_itself_is_given_the_time(program: Program) -> None:
    program.start("import sys, time; print('up', flush=True); sys.stdin.read(); time.sleep(0.5)")
    program.die()
    assert program.started[0].wait(PATIENCE_S) == 0


def test_a_server_that_the_program_had_no_time_to_tell_of_is_killed(program: Program) -> None:
    program.start(_STUBBORN, tells=False)
    program.die()
    assert program.started[0].wait(PATIENCE_S) == -9


def test_a_child_in_a_session_of_its_own_is_killed(program: Program) -> None:
    child = program.start(_WITH_CHILD.format(env="") + "sys.stdin.read()")
    assert is_alive(child)
    program.die()
    assert not is_alive(child)


def test_a_child_that_its_server_has_left_is_killed(program: Program) -> None:
    child = program.start(_WITH_CHILD.format(env=""))
    assert program.started[0].wait(PATIENCE_S) == 0
    program.die()
    assert not is_alive(child)


def test_a_child_with_another_environment_is_killed(program: Program) -> None:
    child = program.start(_WITH_CHILD.format(env="env={}") + "sys.stdin.read(); time.sleep(0.3)")
    assert mark_of(child) == ""
    program.die()
    assert not is_alive(child)


def test_a_daemon_that_a_running_server_has_left_on_purpose_is_spared(program: Program) -> None:
    daemon = program.start(_DAEMON + "import sys; sys.stdin.read(); time.sleep(0.3)")
    program.die()
    assert is_alive(daemon)


def test_what_a_server_leaves_that_had_ended_well_is_spared(program: Program) -> None:
    child = program.start(_WITH_CHILD.format(env=""))
    program.tell("- run-1")
    program.die()
    assert is_alive(child)


def test_servers_of_another_run_are_spared(program: Program) -> None:
    program.start(_STUBBORN, "other-1", tells=False)
    program.die()
    assert program.started[0].poll() is None


def test_all_are_ended_at_once_when_the_program_says_so(program: Program) -> None:
    child = program.start(_WITH_CHILD.format(env="") + "sys.stdin.read(); time.sleep(600)")
    began = time.monotonic()
    program.tell("!")
    assert program.watchdog.wait(PATIENCE_S) == 0
    assert time.monotonic() - began < PATIENCE_S / 2
    assert program.started[0].wait(PATIENCE_S) == -9
    assert not is_alive(child)


def test_signals_that_end_the_program_do_not_end_the_watchdog_before_it(program: Program) -> None:
    program.start(_STUBBORN)
    while not ignores(program.watchdog.pid, signal.SIGTERM):
        time.sleep(0.01)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        program.watchdog.send_signal(number)
    program.die()
    assert program.started[0].wait(PATIENCE_S) == -9


@pytest.mark.announces_log("no more processes")
def test_without_a_watchdog_the_servers_groups_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no more processes")

    guard = ProcessGuard()
    with monkeypatch.context() as patch:
        patch.setattr(
            "mcp_progress_monitor.sessions.transport.process_guard.subprocess.Popen", refuse
        )
        mark = guard.prepare()
    server = subprocess.Popen([sys.executable, "-c", _STUBBORN], start_new_session=True)
    guard.add(server.pid, mark)
    guard.end_all()
    assert server.wait(PATIENCE_S) == -9
