"""How far a command without a job is: one line on standard error, if that is a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.cli.output.stdout import StandardOutput
from mcp_progress_monitor.formatting import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EVERY_S: Final = 0.2
_NAME: Final = 60


@contextlib.contextmanager
def share_line(what: str) -> Iterator[Callable[[float], None]]:
    """A function that shows shares from 0 to 1 behind `what`, such as "Exporting a.csv".

    The line appears after a moment, and is gone at the end.
    """
    errors = StandardOutput(sys.stderr)
    words = one_line(what, _NAME)
    shown_at = time.monotonic()
    length = 0

    def show(share: float) -> None:
        nonlocal shown_at, length
        now = time.monotonic()
        if errors.is_terminal and now - shown_at >= _EVERY_S:
            line = f"{words}: {share * 100:.0f} %"
            errors.text(f"\r{line.ljust(length)}")
            shown_at, length = now, len(line)

    try:
        yield show
    finally:
        if length:
            errors.text(f"\r{' ' * length}\r")
