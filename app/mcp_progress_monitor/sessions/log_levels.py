"""The levels of log messages, by name: known without loading what reads settings."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

LogLevel: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]
LOG_LEVELS: Final[tuple[str, ...]] = get_args(LogLevel)
"""Levels of log messages, the chattiest first (RFC 5424)."""
