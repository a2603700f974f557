"""What tests of the demo server share."""

from collections.abc import Iterator

import pytest

from tests.unit.demo.client import Client


@pytest.fixture(autouse=True)
def _closed_servers() -> Iterator[None]:
    """No server goes on after its test."""
    yield
    Client.close_all()
