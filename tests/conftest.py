"""What every test gets: no display, a home of its own, and no warning that passes unnoticed."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

# Before anything loads Qt, and inherited by the programs that tests start.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

hypothesis.settings.register_profile(
    "shared-machine",
    # A busy machine is not a defect of the code under test.
    deadline=None,
    # A change is judged by the same examples each time; developers' own runs go on searching.
    derandomize="CI" in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("shared-machine")


@pytest.fixture(scope="session")
def _session_folders() -> Iterator[Path]:
    """One cache and runtime folder for the run: font caches are slow to rebuild for every test."""
    with tempfile.TemporaryDirectory(prefix="mcp-progress-monitor-tests-") as folder:
        runtime = Path(folder, "runtime")
        runtime.mkdir(mode=0o700)
        Path(folder, "cache").mkdir()
        yield Path(folder)


@pytest.fixture(autouse=True)
def isolated_home(
    tmp_path_factory: pytest.TempPathFactory,
    _session_folders: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A home folder of the test's own, so that no test reads or writes the developer's settings."""
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name, below in {
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
        "APPDATA": "AppData/Roaming",
        "LOCALAPPDATA": "AppData/Local",
    }.items():
        monkeypatch.setenv(name, str(home / below))
    monkeypatch.setenv("XDG_CACHE_HOME", str(_session_folders / "cache"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(_session_folders / "runtime"))
    return home


@pytest.fixture
def data_dir(isolated_home: Path) -> Path:
    """An empty folder for ``--data-dir``."""
    folder = isolated_home / "monitor-data"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def anyio_backend(request: pytest.FixtureRequest) -> str | tuple[str, dict[str, Any]]:
    """The event loop of coroutine tests: Qt's own under ``tests/gui``, asyncio's elsewhere.

    In coroutine tests on the Qt loop never use ``qtbot.waitSignal``: it nests a second loop.
    """
    if "gui" not in request.path.parts:
        return "asyncio"
    qapp = request.getfixturevalue("qapp")
    from qasync import QEventLoop

    return "asyncio", {"loop_factory": lambda: QEventLoop(qapp)}


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


@pytest.fixture(autouse=True)
def _loud_logs_fail(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that logs at WARNING or above without ``@pytest.mark.announces_log(pattern)``."""
    handler = _Loud()
    root = logging.getLogger()
    root.addHandler(handler)
    yield
    root.removeHandler(handler)
    announced = [mark.args[0] for mark in request.node.iter_markers("announces_log")]
    messages = [f"{r.levelname} {r.name}: {r.getMessage()}" for r in handler.records]
    verdict = _log_verdict(messages, announced)
    if verdict is not None:
        pytest.fail(verdict, pytrace=False)
