"""A server in the catalogue: its definition, and what to do with it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.sessions.definitions import ServerDefinition


@dataclasses.dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One saved server.

    A disabled one is kept, shown and never connected. `origin` tells where it was imported from,
    in words, "" if it was made here. `unknown` are members of its entry in the file that mean
    nothing to us: they are kept as they are.
    """

    definition: ServerDefinition
    is_disabled: bool = False
    connects_at_start: bool = False
    origin: str = ""
    unknown: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """The server's name, unique in the catalogue."""
        return self.definition.name
