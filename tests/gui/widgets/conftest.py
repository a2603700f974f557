"""What every pane needs to open alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.widgets.appearance import Appearance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtWidgets import QApplication


@pytest.fixture
def appearance(qapp: QApplication) -> Iterator[Appearance]:
    made = Appearance(qapp.palette(), resource("icons"))
    yield made
    made.deleteLater()
