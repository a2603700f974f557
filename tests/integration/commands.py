"""The program as its users start it: a command of its own, to its end or in the background."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from mcp_progress_monitor.demo.tools import TOOLS
from tests.integration.forked import CAN_FORK, run_forked
from tests.patience import PATIENCE_S
from tests.servers.definition import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (sys.executable, "-m", "mcp_progress_monitor")
DEMO = (sys.executable, "-m", "mcp_progress_monitor.demo")

linux_only = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="signals, terminals and processes of Linux"
)


_BUNDLED = {tool.name for tool in TOOLS}


def calling(*words: str) -> tuple[str, ...]:
    """The command that calls a tool of the demo server, or else of the test server."""
    if _BUNDLED.isdisjoint(words):
        return ("call", *words, "--", *COMMAND)
    return ("call", "--demo", *words)


class Run(NamedTuple):
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    def events(self) -> list[dict[str, Any]]:
        """Standard output as events."""
        return [json.loads(line) for line in self.out.splitlines()]

    def only(self, event: str) -> list[dict[str, Any]]:
        """The events of one kind."""
        return [found for found in self.events() if found["event"] == event]


def run(*words: str, before: Callable[[], None] | None = None, **environment: str) -> Run:
    """Run one command to its end; `before` is called in its process, just before it begins.

    Without `before` it runs in a process that has all of the command line imported already.
    """
    environ = {**os.environ, **environment}
    if before is None and CAN_FORK and not any(n.startswith("PYTHON") for n in environment):
        code, out, err = run_forked(words, str(ROOT), environ, PATIENCE_S)
    else:
        code, out, err = _run_fresh(words, environ, before)
    assert b"Traceback" not in err
    return Run(code, out.decode(), err.decode())


def _run_fresh(
    words: tuple[str, ...], environ: dict[str, str], before: Callable[[], None] | None
) -> tuple[int, bytes, bytes]:
    ran = subprocess.run(
        [*PROGRAM, *words],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env=environ,
        preexec_fn=before,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
    )
    return ran.returncode, ran.stdout, ran.stderr


def start(*words: str) -> subprocess.Popen[str]:
    """Start a command in the background."""
    return subprocess.Popen(
        [*PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )


def run_on_terminal(*words: str) -> tuple[int, str]:
    """Run a command with a terminal as all its streams; return its code and what it showed."""
    import pty

    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.environ.update(TERM="xterm", COLUMNS="120", LINES="40")
        os.execv(PROGRAM[0], [*PROGRAM, *words])  # noqa: S606
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # how Linux tells of a terminal's end
            break
        if not piece:
            break
        shown += piece
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), shown.decode()
