"""What tests of models and other parts without a window share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QCoreApplication, QEvent

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _gone() -> Iterator[None]:
    """Delete what a test has let go: no event loop comes by that would.

    Else timers of hundreds of models go off in all later tests.
    """
    yield
    if QCoreApplication.instance() is not None:
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
