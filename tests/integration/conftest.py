"""What tests of running programs share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.resumable import Place

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path


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
