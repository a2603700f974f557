"""The program as its users start it: a command of its own, to its end or in the background."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mcp_progress_monitor.demo.tools import TOOLS
from tests.event_lines import read_events
from tests.integration.forked import CAN_FORK, Forked
from tests.patience import PATIENCE_S
from tests.servers.definition import COMMAND

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (sys.executable, "-m", "mcp_progress_monitor")
DEMO = (sys.executable, "-m", "mcp_progress_monitor.demo")

linux_only = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="signals, terminals and processes of Linux"
)


_ARGUMENTS = {tool.name: tool.schema["properties"].keys() for tool in TOOLS}


def calling(*arguments: str) -> tuple[str, ...]:
    """The command that calls a tool of the demo server, or else of the test server."""
    given = {word.partition("=")[0] for option, word in pairwise(arguments) if option == "--arg"}
    if any(given <= _ARGUMENTS[word] for word in arguments if word in _ARGUMENTS):
        return ("call", "--demo", *arguments)
    return ("call", *arguments, "--", *COMMAND)


class Run(NamedTuple):
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    def events(self) -> list[dict[str, Any]]:
        """Standard output as events."""
        return read_events(self.out)

    def only(self, event: str) -> list[dict[str, Any]]:
        """The events of one kind."""
        return [found for found in self.events() if found["event"] == event]


def run(
    *arguments: str,
    before: Callable[[], None] | None = None,
    folder: Path = ROOT,
    **environment: str,
) -> Run:
    """Run one command in `folder` to its end; `before` is called in its process, as it begins.

    It runs in a process that has all of the command line imported already, and `before` as well.
    """
    environ = {**os.environ, **environment}
    is_forked = not any(name.startswith("PYTHON") for name in environment)
    how = {"cwd": folder, "env": environ, "preexec_fn": before}
    with _begun(arguments, is_forked=is_forked, **how) as process:
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert "Traceback" not in err
    return Run(process.returncode, out, complaints(err))


def complaints(err: str) -> str:
    """What was written to standard error, but for what only a busy machine is the reason of."""
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("Still connecting"))


def start(*arguments: str, is_forked: bool = True) -> subprocess.Popen[str]:
    """Start a command in the background."""
    return _begun(arguments, is_forked=is_forked, cwd=ROOT)


def _begun(arguments: tuple[str, ...], *, is_forked: bool, **how: Any) -> subprocess.Popen[str]:
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    streams: dict[str, Any] = {"stdin": null, "stdout": pipe, "stderr": pipe, "encoding": "utf-8"}
    if is_forked and CAN_FORK:
        return Forked(arguments, **streams, **how)
    return subprocess.Popen([*PROGRAM, *arguments], **streams, **how)


@contextmanager
def on_terminal(
    arguments: Sequence[str], **environment: str
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A command whose streams are all one terminal, and that terminal's other end."""
    import pty

    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "LINES": "40", **environment}
    try:
        process = Forked(
            arguments,
            cwd=ROOT,
            env=environ,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            encoding="utf-8",
        )
        os.close(theirs)
        with process:
            try:
                yield process, ours
            finally:
                process.kill()
    finally:
        os.close(ours)


def run_on_terminal(*arguments: str) -> tuple[int, str]:
    """Run a command with a terminal as all its streams; return its code and what it showed."""
    shown = b""
    with on_terminal(arguments, COLUMNS="120") as (process, terminal):
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # how Linux tells of a terminal's end
                break
            if not piece:
                break
            shown += piece
        code = process.wait(PATIENCE_S)
    return code, shown.decode()
