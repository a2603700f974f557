"""The consent gate: nothing connects without approval."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mcp_progress_monitor.catalogue.trust import EarlierApproval, Trust
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition


class Consents:
    """Approvals on disk, and those that are valid until the program exits.

    The file is opened on first use: not at startup without saved servers.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._now: set[str] = set()
        self._trust: Trust | None = None

    @property
    def problem(self) -> ErrorDetails | None:
        """Why approvals on disk could not be read the last time."""
        return None if self._trust is None else self._trust.problem

    def is_approved(self, definition: ServerDefinition) -> bool:
        """Whether exactly this is approved."""
        return definition.approval_key in self._now or self._opened().is_trusted(definition)

    def approve(self, definitions: Iterable[ServerDefinition]) -> None:
        """Save the approval of each.

        Raises:
            UserError: it cannot be written; it is valid until the program exits nevertheless.
        """
        wanted = tuple(definitions)
        self._now.update(each.approval_key for each in wanted)
        if wanted:
            self._opened().approve(*wanted)

    def approve_once(self, definition: ServerDefinition) -> None:
        """Approve what the user named on the command line, for this run."""
        self._now.add(definition.approval_key)

    def earlier(self, definitions: Iterable[ServerDefinition]) -> list[EarlierApproval | None]:
        """The earlier approval of each name, if its definition differs."""
        return self._opened().earlier(definitions)

    def forget(self, definition: ServerDefinition) -> None:
        """Revoke the approval. `UserError` if that cannot be saved."""
        self._now.discard(definition.approval_key)
        self._opened().forget(definition)

    def _opened(self) -> Trust:
        if self._trust is None:
            from mcp_progress_monitor.catalogue.trust import (  # not at startup without servers
                FILE_NAME,
                Trust,
            )

            self._trust = Trust(self._folder / FILE_NAME)
        return self._trust
