"""A fresh story for each test of the tracker."""

import pytest

from tests.unit.tracker.story import Story


@pytest.fixture
def story() -> Story:
    return Story()
