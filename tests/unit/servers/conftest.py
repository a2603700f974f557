"""What tests of the test servers share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.demo.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _closed_servers() -> Iterator[None]:
    """No server goes on after its test."""
    yield
    Client.close_all()
