"""A fresh story and a fresh dialogue for each test of the tracker."""

import pytest

from tests.unit.tracker.dialogue import Dialogue
from tests.unit.tracker.story import Story


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.fixture
def wire() -> Dialogue:
    return Dialogue()
