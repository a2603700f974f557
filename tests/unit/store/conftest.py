"""An open store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_progress_monitor.store.resumes import ResumeStore
from tests.unit.store.samples import opened


@pytest.fixture
async def store(data_dir: Path) -> AsyncIterator[ResumeStore]:
    """A new store, closed after the test."""
    async with opened(data_dir) as store:
        yield store
