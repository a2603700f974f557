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
    """Approvals on disk, and those that hold until the program ends.

    The file is opened when first asked: a start without saved servers does without it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._now: set[str] = set()
        self._trust: Trust | None = None

    @property
    def problem(self) -> ErrorDetails | None:
        """Why consents on disk could not be used when they were looked for last."""
        return None if self._trust is None else self._trust.problem

    def is_agreed(self, definition: ServerDefinition) -> bool:
        """Whether exactly this is approved."""
        return definition.approval_key in self._now or self._opened().is_trusted(definition)

    def approve(self, definitions: Iterable[ServerDefinition]) -> None:
        """Keep the consent to each.

        Raises:
            UserError: it cannot be written; it holds until the program ends all the same.
        """
        wanted = tuple(definitions)
        self._now.update(each.approval_key for each in wanted)
        if wanted:
            self._opened().approve(*wanted)

    def approve_once(self, definition: ServerDefinition) -> None:
        """Take note of what the user named on the command line, for this run."""
        self._now.add(definition.approval_key)

    def earlier(self, definitions: Iterable[ServerDefinition]) -> list[EarlierApproval | None]:
        """The earlier approval of each name, if its definition differs."""
        return self._opened().earlier(definitions)

    def forget(self, definition: ServerDefinition) -> None:
        """Take the consent back: it is asked for again. `UserError` when that is not kept."""
        self._now.discard(definition.approval_key)
        self._opened().forget(definition)

    def _opened(self) -> Trust:
        if self._trust is None:
            from mcp_progress_monitor.catalogue.trust import (  # not for a start without servers
                FILE_NAME,
                Trust,
            )

            self._trust = Trust(self._folder / FILE_NAME)
        return self._trust
