"""What tests of running programs share."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_progress_monitor.protocol import eras
from tests.integration.forked import fork_servers
from tests.integration.resumable import Place
from tests.patience import PATIENCE_S

fork_servers()


@pytest.fixture(autouse=True)
def _patient_discovery(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a server of the newer era found to be one however slowly it starts."""
    monkeypatch.setattr(eras, "DISCOVER_LIMIT_S", PATIENCE_S)


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that must not outlive the test."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Folders for the tokens and chunks of one test."""
    return Place(tmp_path)
