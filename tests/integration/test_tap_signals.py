"""Signals that a client sends to its server reach it through a tap, and end both alike."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.commands import linux_only
from tests.integration.tapping import PYTHON, Tap
from tests.patience import PATIENCE_S

pytestmark = linux_only

_SERVER = """
import os, signal, sys
mode, number = sys.argv[1], int(sys.argv[2])
for each in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
    signal.signal(each, signal.SIG_DFL)
if mode == "ignores":
    signal.signal(number, signal.SIG_IGN)
if mode == "handles":
    signal.signal(number, lambda *_: (os.write(1, b"handled"), os._exit(7)))
os.write(1, b"ready\\n")
sys.stdin.read()
"""
_OF_LIBRARY = {32, 33}  # the C library keeps them to itself, and handles them in a tap
_SETTLED_S = 0.3
_STOPPING = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
_NOT_HANDLED = {signal.SIGKILL, signal.SIGCHLD, signal.SIGURG}  # two of them are the tap's own
_ALL = [number for number in range(1, 65) if number not in _STOPPING | _OF_LIBRARY]
_SOME = [signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGALRM, signal.SIGWINCH, 64]


def _ending(start: Callable[[], subprocess.Popen[bytes]], number: int) -> tuple[int, bytes]:
    """Send a signal, later close its input; how it ends, and what it wrote.

    Both reach the server through different threads of a tap.
    """
    with start() as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert os.read(process.stdout.fileno(), 6) == b"ready\n"
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):  # it has not ended
            process.wait(_SETTLED_S)
        process.stdin.close()
        out = process.stdout.read()
        return process.wait(PATIENCE_S), out


def _check(number: int, mode: str, data_dir: Path) -> None:
    """Compare how a server ends without and behind a tap."""
    server = [*PYTHON, "-c", _SERVER, mode, str(number)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    alone = _ending(lambda: subprocess.Popen(server, bufsize=0, **pipes), number)  # type: ignore[call-overload]
    assert _ending(lambda: Tap(data_dir, *server), number) == alone


@pytest.mark.parametrize("number", _SOME)
def test_a_signal_ends_a_server_as_without_a_tap(number: int, tmp_path: Path) -> None:
    _check(number, "dies", tmp_path)


@pytest.mark.parametrize("mode", ["ignores", "handles"])
def test_a_server_that_prepared_for_a_signal_gets_it(mode: str, tmp_path: Path) -> None:
    for number in (signal.SIGALRM, signal.SIGPIPE):
        _check(number, mode, tmp_path)


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_all_signals_end_all_servers_as_without_a_tap(tmp_path: Path) -> None:
    differing = list[tuple[int, str, str]]()
    for number in _ALL:
        modes = {"dies", "ignores", "handles"}
        if number in _NOT_HANDLED:
            modes = {"dies"}
        for mode in sorted(modes):
            try:
                _check(number, mode, tmp_path)
            except AssertionError as error:
                differing.append((number, mode, str(error)))
    print(f"{len(_ALL)} signals", file=sys.__stderr__)
    assert [each[:2] for each in differing] == []
