"""Modules that an empty window does not need: loaded once it is painted, before they are wanted."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_FILTERS: Final = (
    "mcp_progress_monitor.filtering.completion",
    "mcp_progress_monitor.filtering.compiling",
    "mcp_progress_monitor.models.log_terms",
)
_SESSIONS: Final = (
    "mcp_progress_monitor.sessions.session",
    "mcp_progress_monitor.sessions.connection",
    "mcp_progress_monitor.sessions.stdio",
)

_SCHEMAS: Final = (
    "regex",
    "attrs",
    "rpds",
    "referencing.jsonschema",
    "jsonschema_specifications",
    "jsonschema.exceptions",
    "jsonschema",
)
"""In this order none of them takes long; the first form of a server would load all at once."""


def loading() -> tuple[Callable[[], object], ...]:
    """Steps that load one module each, with what it needs itself."""
    names = (*_SESSIONS, *_FILTERS, *_SCHEMAS)
    return tuple(functools.partial(importlib.import_module, name) for name in names)
