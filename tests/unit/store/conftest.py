"""An open store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.store.samples import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mcp_progress_monitor.store.resumes import ResumeStore


@pytest.fixture
async def store(data_dir: Path) -> AsyncIterator[ResumeStore]:
    """A new store, closed after the test."""
    async with opened(data_dir) as store:
        yield store
