"""What the checks share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.architecture import source

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="package", autouse=True)
def _one_parse() -> Iterator[None]:
    """Keep what was parsed from the first check to the last."""
    yield
    source.forget()
