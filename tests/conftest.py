"""What every test gets: no display, a home of its own, and no warning that passes unnoticed.

And what keeps eight thousand of them quick: few examples unless more are asked for, and folders
made without counting those there are.
"""

import contextlib
import gc
import itertools
import logging
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from pytestqt.qtbot import QtBot

from tests.patience import PATIENCE_S

NOBODY = 65_534
"""The user whom file rights bind, as they do not bind the superuser."""

# A shell's background ignores Ctrl+C and Ctrl+\, nohup the end of a terminal, and so would our
# programs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if os.name == "posix":
    for _ending in (signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(_ending) is signal.SIG_IGN:
            signal.signal(_ending, signal.SIG_DFL)

# Before anything loads Qt, and inherited by the programs that tests start.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

for _name, _examples in {"brief": 15, "thorough": 500}.items():
    hypothesis.settings.register_profile(
        _name,
        max_examples=_examples,
        # A busy machine is not a defect of the code under test.
        deadline=None,
        # A change is judged by the same examples each time; developers' own runs go on searching.
        derandomize="CI" in os.environ and _name == "brief",
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
# `--hypothesis-profile=thorough` is loaded later than this.
hypothesis.settings.load_profile("brief")

# What Qt is to do is soon or never; five seconds are neither on a busy machine.
for _wait in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitSignals, QtBot.waitExposed):
    (_wait.__kwdefaults__ or {})["timeout"] = round(1000 * PATIENCE_S)

_numbers = itertools.count(1)
_running = ""


def pytest_collection() -> None:
    """Collect tests without looking for garbage: ten thousand of them are a million objects."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Spare every later look for garbage the tests, pytest, and the modules there are."""
    gc.enable()
    gc.freeze()


def pytest_runtest_logstart(nodeid: str) -> None:
    """Remember which test is running."""
    global _running
    _running = nodeid


def pytest_keyboard_interrupt() -> None:
    """Name the test that a limit of the whole run, or a person, ended."""
    print(f"\ninterrupted in {_running or 'the collection of tests'}", file=sys.__stderr__)


@pytest.fixture(scope="session")
def _session_folders() -> Iterator[Path]:
    """One cache and runtime folder for the run: font caches are slow to rebuild for every test."""
    with tempfile.TemporaryDirectory(prefix="mcp-progress-monitor-tests-") as folder:
        runtime = Path(folder, "runtime")
        runtime.mkdir(mode=0o700)
        Path(folder, "cache").mkdir()
        Path(folder, "homes").mkdir()
        yield Path(folder)


@pytest.fixture(autouse=True)
def isolated_home(_session_folders: Path) -> Iterator[Path]:
    """A home folder of the test's own, so that no test reads or writes the developer's settings."""
    # pytest's own factory looks through all folders it made before it makes the next.
    home = f"{_session_folders}/homes/{next(_numbers)}"
    os.mkdir(home, 0o700)  # noqa: PTH102  # ten thousand times
    # Not by `monkeypatch`: the next test sets them again.
    os.environ |= {
        "HOME": home,
        "USERPROFILE": home,
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "APPDATA": f"{home}/AppData/Roaming",
        "LOCALAPPDATA": f"{home}/AppData/Local",
        "XDG_CACHE_HOME": f"{_session_folders}/cache",
        "XDG_RUNTIME_DIR": f"{_session_folders}/runtime",
    }
    yield Path(home)
    with contextlib.suppress(OSError):  # most have nothing in it; ten thousand are slow to remove
        os.rmdir(home)  # noqa: PTH106


@pytest.fixture
def thawed() -> Iterator[None]:
    """Python's collector as a program finds it: nothing is frozen yet."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture
def data_dir(isolated_home: Path) -> Path:
    """An empty folder for ``--data-dir``."""
    folder = isolated_home / "monitor-data"
    folder.mkdir()
    return folder


@pytest.fixture
def unprivileged_dir() -> Iterator[Path]:
    """An empty folder of a user's own, while the test runs as that user.

    File rights do not bind the superuser, as which tests run in containers.
    """
    if not hasattr(os, "setresuid"):
        pytest.skip("file rights are another matter there")
    folder = Path(tempfile.mkdtemp(prefix="monitor-rights-"))
    is_superuser = os.geteuid() == 0
    if is_superuser:
        os.chown(folder, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, 0)  # the real one, too: os.access asks for that
    yield folder
    if is_superuser:
        os.setresuid(0, 0, 0)
    for closed in (folder, folder / "closed"):
        with contextlib.suppress(FileNotFoundError):
            closed.chmod(0o700)
    shutil.rmtree(folder)


@pytest.fixture
def closed_dir(unprivileged_dir: Path) -> Path:
    """A folder that the test's user may not enter; something is in it."""
    folder = unprivileged_dir / "closed"
    folder.mkdir()
    (folder / "within").touch(0o700)
    folder.chmod(0)
    return folder


@pytest.fixture(scope="module")
def anyio_backend(request: pytest.FixtureRequest) -> str | tuple[str, dict[str, Any]]:
    """The event loop of coroutine tests: Qt's own under ``tests/gui``, asyncio's elsewhere.

    In coroutine tests on the Qt loop never use ``qtbot.waitSignal``: it nests a second loop.
    """
    if "gui" not in request.path.parts:
        return "asyncio"
    qapp = request.getfixturevalue("qapp")
    from mcp_progress_monitor.gui.aio import QtLoop

    return "asyncio", {"loop_factory": lambda: QtLoop(qapp)}


class _Loud(logging.Handler):
    """Keeps every record at WARNING or above."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record."""
        self.records.append(record)


def _log_verdict(messages: list[str], announced: list[str]) -> str | None:
    """Say what is wrong between the messages that were logged and those announced."""
    surprises = [m for m in messages if not any(re.search(p, m) for p in announced)]
    missing = [p for p in announced if not any(re.search(p, m) for m in messages)]
    if surprises:
        return "unannounced log records (see the marker announces_log): " + "; ".join(surprises)
    if missing:
        return "announced but never logged: " + "; ".join(missing)
    return None


_loud = _Loud()


# Hooks, because a fixture costs ten thousand tests ten seconds.
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Listen to what is logged from now on."""
    _loud.records.clear()
    logging.getLogger().addHandler(_loud)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Fail a test that logs at WARNING or above without ``@pytest.mark.announces_log(pattern)``.

    Python's collector runs again after a test of what switches it off for a window.
    """
    try:
        yield
    finally:
        gc.enable()
        logging.getLogger().removeHandler(_loud)
    announced = [mark.args[0] for mark in item.iter_markers("announces_log")]
    messages = [f"{r.levelname} {r.name}: {r.getMessage()}" for r in _loud.records]
    verdict = _log_verdict(messages, announced)
    if verdict is not None:
        pytest.fail(verdict, pytrace=False)
