"""A client of the demo server, in each era that has tasks or in one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.demo.client import PER_REQUEST
from tests.unit.demo.host import CORE, Host

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=[CORE, PER_REQUEST])
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    """A client of each era that has tasks."""
    host = Host(request.param)
    yield host
    host.server.close()


@pytest.fixture
def core() -> Iterator[Host]:
    """A client of the era in which tasks are part of the core."""
    host = Host(CORE)
    yield host
    host.server.close()


@pytest.fixture
def extension() -> Iterator[Host]:
    """A client of the era in which tasks are an extension."""
    host = Host(PER_REQUEST)
    yield host
    host.server.close()
