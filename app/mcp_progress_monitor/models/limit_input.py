"""A limit as typed by a user: seconds, off, or nothing for the usual one."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from mcp_progress_monitor.models.json_input import InputError, read_number
from mcp_progress_monitor.sessions.limits import LONGEST_LIMIT_S, USUAL, LimitChoice


def off_word() -> str:
    """What stands for no limit, in the user's language."""
    return QCoreApplication.translate("Limits", "off")


def read_limit(text: str) -> LimitChoice:
    """Return the limit that `text` says; 0 and "off" are none.

    Raises:
        InputError: it is no number, or none that a clock can count down.
    """
    entered = text.strip().casefold()
    if not entered:
        return USUAL
    if entered in {"off", off_word().casefold()}:
        return None
    seconds = read_number(text, is_integer=False)
    if not 0 <= seconds <= LONGEST_LIMIT_S:
        raise InputError(f"enter 0 for no limit, or at most {LONGEST_LIMIT_S:,.0f} seconds")
    return float(seconds) or None
