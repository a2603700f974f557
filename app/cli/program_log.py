"""Our own log records on standard error, for a command without a window."""

from __future__ import annotations

import logging


def log_to_stderr(level: str | None) -> None:
    """Show records of `level` and above, warnings by default."""
    logging.basicConfig(
        level=(level or "warning").upper(), format="%(levelname)s %(name)s: %(message)s"
    )
