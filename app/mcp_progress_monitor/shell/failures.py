"""The one exception hook: our own errors are logged each time and told to the user once."""

from __future__ import annotations

import logging
import sys
import traceback
from typing import TYPE_CHECKING

from mcp_progress_monitor.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

_log = logging.getLogger(__name__)


class Failures:
    """Collects programming errors.

    An exception in a model's `data` reaches the hook once per cell and repaint (measured), hence
    each place in the code is logged and told once.
    """

    def __init__(self, log_file: Path, tell: Callable[[Problem], None]) -> None:
        self._log_file = log_file
        self._tell = tell
        self._seen: set[str] = set()

    def install(self) -> None:
        """Take the place of `sys.excepthook`."""
        sys.excepthook = self._hook

    def note(self, error: BaseException) -> None:
        """Log `error` and tell the user, unless the same place failed before."""
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        key = f"{type(error).__name__} {place}"
        if key in self._seen:
            return
        self._seen.add(key)
        _log.error("a defect of this program", exc_info=error)
        self._tell(
            Problem(
                "Something in MCP Progress Monitor itself went wrong; it goes on",
                where=f"{type(error).__name__}: {error}"[:500],
                hint=f"The details are in {self._log_file}. Please report them.",
            )
        )

    def _hook(
        self, _kind: type[BaseException], error: BaseException, _trace: TracebackType | None
    ) -> None:
        self.note(error)
