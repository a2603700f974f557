"""A fresh story for each test of the tracker."""

from __future__ import annotations

import pytest

from tests.unit.tracker.story import Story


@pytest.fixture
def story() -> Story:
    return Story()
