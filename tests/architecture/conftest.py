"""What the checks share."""

from collections.abc import Iterator

import pytest

from tests.architecture import source


@pytest.fixture(scope="package", autouse=True)
def _one_parse() -> Iterator[None]:
    """Keep what was parsed from the first check to the last."""
    yield
    source.forget()
