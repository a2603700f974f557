"""An open store, and a user whom file rights bind."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.unit.store.samples import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from app.store.resumes import ResumeStore

NOBODY = 65_534


@pytest.fixture
async def store(data_dir: Path) -> AsyncIterator[ResumeStore]:
    """A new store, closed after the test."""
    async with opened(data_dir) as store:
        yield store


@pytest.fixture
def unprivileged_dir() -> Iterator[Path]:
    """An empty folder of a user's own, while the test runs as that user.

    File rights do not bind the superuser, as which tests run in containers.
    """
    if os.name != "posix":
        pytest.skip("file rights are another matter there")
    folder = Path(tempfile.mkdtemp(prefix="monitor-rights-"))
    is_superuser = os.geteuid() == 0
    if is_superuser:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    yield folder
    if is_superuser:
        os.seteuid(0)
    folder.chmod(0o700)
    shutil.rmtree(folder)
