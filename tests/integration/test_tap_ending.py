"""How a tap ends: as its server does, with it, and never later; and what reaches the server."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.processes import is_alive
from tests.integration.tapping import (
    PYTHON,
    SHELL,
    Tap,
    events,
    frames_of,
    killed_afterwards,
    recorded,
    recordings,
    tap_command,
    tapped,
    until,
)
from tests.patience import PATIENCE_S, allowed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shells and signals of POSIX")

_LATEST_S = 0.2 + 0.3
"""200 ms are due, and one that must wait takes them whole; the rest is for a busy machine."""
_LONG = "600"


def _closed(data_dir: Path) -> dict[str, object]:
    (closed,) = events(frames_of(recorded(data_dir)), "closed")
    del closed["event"]
    return closed


@pytest.mark.parametrize("code", [0, 1, 77, 255])
def test_it_ends_with_the_servers_code(code: int, tmp_path: Path) -> None:
    assert tapped(tmp_path, *SHELL, f"exit {code}", stdin=subprocess.DEVNULL)[0] == code


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_it_ends_by_the_servers_signal(name: str, tmp_path: Path) -> None:
    with Tap(tmp_path, *SHELL, f"read x; kill -{name[3:]} $$") as tap:
        until(lambda: recordings(tmp_path))
        tap.send(b"go\n")
        assert tap.wait(PATIENCE_S) == -signal.Signals[name]
    assert _closed(tmp_path) == {
        "reason": f"The server was killed by {name}",
        "exit_code": None,
        "signal": name,
        "ended_by": "server",
        "wanted": False,
    }


def _of_shell(*arguments: str) -> tuple[int, bytes, bytes]:
    """How the system's shell says that a command cannot be started."""
    ran = subprocess.run([*SHELL, 'exec "$@"', "sh", *arguments], capture_output=True, check=False)
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize("command", ["no-such-command", "./no/such/file", "/", "/etc/passwd"])
def test_a_command_that_cannot_be_started_fails_as_without_a_tap(
    command: str, tmp_path: Path
) -> None:
    with Tap(tmp_path, command, "argument") as tap:
        out, err = tap.rest(b"{}\n")
    code, _, text = _of_shell(command, "argument")
    assert (tap.returncode, out, err) == (code, b"", text)
    assert tap.returncode in {126, 127}


def test_a_script_without_a_first_line_runs_as_it_does_for_other_programs(tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_text('echo "$1"\n')
    script.chmod(0o700)
    assert tapped(tmp_path, str(script), "hi") == (0, b"hi\n")


def _ends_within(tap: Tap, pid: int) -> float:
    """How long after its server a tap ends."""
    until(lambda: not is_alive(pid))
    began = time.monotonic()
    tap.wait(PATIENCE_S)
    return time.monotonic() - began


def test_a_grandchild_that_holds_the_streams_does_not_keep_it(tmp_path: Path) -> None:
    script = f"sleep {_LONG} & echo $! $$; read x; echo last words; exit 3"
    with Tap(tmp_path, *SHELL, script) as tap:
        assert tap.stdout is not None
        child, server = map(int, tap.stdout.readline().split())
        with killed_afterwards(child):
            tap.send(b"go\n")
            assert _ends_within(tap, server) < allowed(_LATEST_S)
            assert tap.returncode == 3
            assert tap.stdout.read() == b"last words\n"
            assert is_alive(child)


def test_a_grandchild_that_floods_does_not_keep_it(tmp_path: Path) -> None:
    with Tap(tmp_path, *SHELL, "yes & echo $! $$ >&2; exit 4") as tap:
        assert tap.stdout is not None
        assert tap.stderr is not None
        child, server = map(int, tap.stderr.readline().split())
        with killed_afterwards(child):
            while tap.poll() is None and select.select([tap.stdout], [], [], 1)[0]:
                os.read(tap.stdout.fileno(), 65536)
            assert tap.wait(PATIENCE_S) == 4
    assert not is_alive(server)


@pytest.mark.parametrize("number", [1, 2])
def test_the_servers_last_bytes_reach_a_client_that_reads_late(number: int, tmp_path: Path) -> None:
    size = 120_000  # one pipe holds less, two hold more whatever the tap has read
    with Tap(tmp_path, *SHELL, f"head -c {size} /dev/zero >&{number}; exit 5") as tap:
        if sys.platform == "linux":  # where the client's pipe can be made larger
            assert tap.wait(PATIENCE_S) == 5
        else:
            with pytest.raises(subprocess.TimeoutExpired):
                tap.wait(0.6)
        out, err = tap.rest()
    assert len((out, err)[number - 1]) == size
    assert tap.returncode == 5


@pytest.mark.parametrize("number", [1, 2])
def test_where_the_last_bytes_find_no_room_it_waits_for_the_client(
    number: int, tmp_path: Path
) -> None:
    size = 60_000
    client, own = socket.socketpair()
    own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 5000)
    streams: dict[str, Any] = {("stdout", "stderr")[number - 1]: own}
    script = f"head -c {size} /dev/zero >&{number}; exit 5"
    with client, Tap(tmp_path, *SHELL, script, **streams) as tap:
        own.close()
        with pytest.raises(subprocess.TimeoutExpired):
            tap.wait(0.6)
        found = 0
        while data := client.recv(65536):
            found += len(data)
        assert found == size
        assert tap.wait(PATIENCE_S) == 5


def test_a_client_that_does_not_read_can_end_it(tmp_path: Path) -> None:
    with Tap(tmp_path, *SHELL, "echo $$; exec yes") as tap:
        assert tap.stdout is not None
        server = int(tap.stdout.readline())
        tap.terminate()
        assert _ends_within(tap, server) < allowed(_LATEST_S)
        assert tap.returncode == -signal.SIGTERM


def test_it_closes_its_output_when_the_server_does(tmp_path: Path) -> None:
    with Tap(tmp_path, *SHELL, "exec >&-; read x; exit 6") as tap:
        assert tap.stdout is not None
        assert tap.stdout.read() == b""
        assert tap.poll() is None
        tap.send(b"x\n")
        assert tap.wait(PATIENCE_S) == 6


def test_a_client_that_stops_reading_ends_the_servers_output(tmp_path: Path) -> None:
    with Tap(tmp_path, "yes") as tap:
        assert tap.stdout is not None
        tap.read(10)
        until(lambda: recordings(tmp_path))
        tap.stdout.close()
        assert tap.wait(PATIENCE_S) == -signal.SIGPIPE
    assert _closed(tmp_path)["ended_by"] == "client"


def test_a_server_that_stops_reading_ends_the_clients_output(tmp_path: Path) -> None:
    with Tap(tmp_path, *SHELL, f"exec <&-; echo; sleep {_LONG}") as tap:
        tap.read(1)
        with pytest.raises(BrokenPipeError):
            tap.send(b"x" * 1_000_000)
        tap.terminate()


_AWAITS = """
import os, signal, sys
awaited = {getattr(signal, name) for name in sys.argv[1:]}
signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
os.write(1, b"ready\\n")
os.write(1, signal.sigwait(awaited).name.encode() + b"\\n")
sys.exit(7)
"""
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2")


@pytest.mark.parametrize("name", _FORWARDED)
def test_a_signal_for_the_tap_reaches_the_server(name: str, tmp_path: Path) -> None:
    with Tap(tmp_path, *PYTHON, "-c", _AWAITS, *_FORWARDED) as tap:
        assert tap.stdout is not None
        tap.stdout.readline()
        until(lambda: recordings(tmp_path))
        tap.send_signal(signal.Signals[name])
        assert tap.stdout.readline() == f"{name}\n".encode()
        assert tap.wait(PATIENCE_S) == 7
    assert _closed(tmp_path)["ended_by"] == "client"


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    script = 'trap "" HUP INT; exec "$@"'
    arguments = tap_command(tmp_path, *SHELL, "echo; read x; exit 8")
    with subprocess.Popen(
        [*SHELL, script, "sh", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as tap:
        assert tap.stdout is not None
        tap.stdout.readline()
        tap.send_signal(signal.SIGHUP)
        tap.send_signal(signal.SIGINT)
        tap.communicate(b"x\n")
    assert tap.returncode == 8


_ON_TERMINAL = """
import os, pty, sys
pid, terminal = pty.fork()
if not pid:
    os.execv(sys.argv[1], sys.argv[1:])
shown = b""
while b"READY" not in shown:
    shown += os.read(terminal, 1000)
os.write(terminal, b"\\x03")
while b"END" not in shown:
    shown += os.read(terminal, 1000)
print(shown.count(b"GOT"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
_COUNTS = """
import os, signal, sys, time
signal.signal(signal.SIGINT, lambda *_: os.write(1, b"GOT"))
os.write(1, b"READY")
time.sleep(0.5)
os.write(1, b"END")
sys.exit(9)
"""


def test_ctrl_c_reaches_the_server_once(tmp_path: Path) -> None:
    arguments = tap_command(tmp_path, *PYTHON, "-c", _COUNTS)
    ran = subprocess.run(
        [sys.executable, "-c", _ON_TERMINAL, *arguments], capture_output=True, check=True
    )
    assert ran.stdout == b"1 9\n"


def test_the_server_stays_in_the_clients_session_and_group(tmp_path: Path) -> None:
    with Tap(tmp_path, *SHELL, "echo $$; read x") as tap:
        assert tap.stdout is not None
        server = int(tap.stdout.readline())
        assert os.getsid(server) == os.getsid(tap.pid) == os.getsid(0)
        assert os.getpgid(server) == os.getpgid(tap.pid) == os.getpgid(0)
        tap.rest()


def test_a_killed_tap_ends_the_servers_input(tmp_path: Path) -> None:
    """The process that records kills the server itself; what the server started reads the end."""
    ended = tmp_path / "ended"
    script = f"exec 3<&0; (cat <&3 >/dev/null; touch {ended}) & echo $$; wait"
    with Tap(tmp_path, *SHELL, script) as tap:
        assert tap.stdout is not None
        server = int(tap.stdout.readline())
        tap.kill()
        until(lambda: ended.exists() and not is_alive(server))


def test_a_client_that_is_killed_ends_tap_and_server(tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    script = f"echo $$ $PPID >{noted}.new; mv {noted}.new {noted}; cat >/dev/null; exit 3"
    arguments = tap_command(tmp_path, *SHELL, script)
    client = "import subprocess, sys; subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE).wait()"
    with subprocess.Popen([sys.executable, "-c", client, *arguments]) as started:
        until(lambda: noted.exists() and recordings(tmp_path))
        server, tap = map(int, noted.read_text().split())
        started.kill()
        until(lambda: not is_alive(server) and not is_alive(tap))
    assert _closed(tmp_path) == {
        "reason": "The client closed the connection",
        "exit_code": 3,
        "signal": None,
        "ended_by": "client",
        "wanted": True,
    }


def test_it_starts_where_standard_streams_are_closed(tmp_path: Path) -> None:
    arguments = tap_command(tmp_path, *SHELL, "echo said >&2; cat; exit 2")
    ran = subprocess.run(
        [*SHELL, 'exec <&- >&-; exec "$@"', "sh", *arguments], stderr=subprocess.PIPE, check=False
    )
    assert (ran.returncode, ran.stderr) == (2, b"said\n")


def test_streams_that_do_not_block_are_waited_for(tmp_path: Path) -> None:
    reader, client = os.pipe()
    mine, writer = os.pipe()
    for end in (reader, writer):
        os.set_blocking(end, False)
    data = os.urandom(500_000)
    with Tap(tmp_path, "cat", stdin=reader, stdout=writer) as tap:
        os.close(reader)
        os.close(writer)
        got = b""
        rest = memoryview(data)
        while len(got) < len(data):
            if rest:
                rest = rest[os.write(client, rest[:30_000]) :]
            time.sleep(0.002)
            got += os.read(mine, 30_000)
        os.close(client)
        assert tap.wait(PATIENCE_S) == 0
    os.close(mine)
    assert got == data
