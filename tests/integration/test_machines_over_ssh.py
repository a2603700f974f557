"""Another machine over real SSH: a daemon of this user's own, on a port of the loopback."""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from tests.patience import allowed
from tests.unit.engine.test_machines import lose_nothing, stream_command

_SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        sys.platform == "win32" or _SSHD is None or shutil.which("ssh") is None,
        reason="needs OpenSSH with its server",
    ),
]


class _Daemon:
    """An SSH daemon that ends with its sessions when it is cut off, and starts again."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        for name in ("host", "key"):
            command = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
            subprocess.run(command, check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._config = folder / "config"
        self._config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\n"
            f"AuthorizedKeysFile {folder}/key.pub\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\n"
        )
        self._folder = folder
        self.start()

    def start(self) -> None:
        if os.getuid() == 0:  # privileges are separated there
            Path("/run/sshd").mkdir(exist_ok=True)
        assert _SSHD is not None
        self._process = subprocess.Popen(
            [_SSHD, "-D", "-f", self._config], start_new_session=True, stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + allowed(5)
        while time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.05)
        pytest.fail("the daemon does not listen")

    def end(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()

    def machine(self, command: tuple[str, ...]) -> StdioDefinition:
        """A machine named `box`, with a command to run over SSH."""
        options = (
            *(
                "BatchMode=yes",
                "StrictHostKeyChecking=no",
                f"UserKnownHostsFile={self._folder}/known",
            ),
            *(f"IdentityFile={self._folder}/key", "IdentitiesOnly=yes"),
        )
        given = (word for option in options for word in ("-o", option))
        where = f"{getpass.getuser()}@127.0.0.1"
        args = ("-F", "none", "-p", str(self.port), *given, where, *command)
        return StdioDefinition(name="box", command="ssh", args=args)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[_Daemon]:
    daemon = _Daemon(tmp_path / "ssh")
    yield daemon
    daemon.end()


async def test_nothing_is_lost_while_the_daemon_is_away(daemon: _Daemon, tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    here.mkdir()
    program, *rest = stream_command(there)
    command = ("echo $$ >", f"{there}/pid;", "exec", program, *rest)

    def cut() -> None:
        daemon.end()
        os.kill(int((there / "pid").read_text()), signal.SIGKILL)
        time.sleep(2)
        daemon.start()

    async with Engine(folder=here) as engine:
        await lose_nothing(engine, there, daemon.machine(command), cut)
