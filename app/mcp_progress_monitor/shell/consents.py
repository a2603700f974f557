"""What the user agreed to: commands that may run, URLs that may be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mcp_progress_monitor.catalogue.consent_parts import Earlier
    from mcp_progress_monitor.catalogue.trust import Trust
    from mcp_progress_monitor.sessions.definitions import ServerDefinition


class Consents:
    """Consents on disk, and those that hold until the program ends.

    The file is opened when first asked: a start without saved servers does without it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._now: set[str] = set()
        self._trust: Trust | None = None

    @property
    def problem(self) -> Problem | None:
        """Why consents on disk could not be used when they were looked for last."""
        return None if self._trust is None else self._trust.problem

    def is_agreed(self, definition: ServerDefinition) -> bool:
        """Whether exactly this was agreed to."""
        return definition.consent_key in self._now or self._opened().is_trusted(definition)

    def agree(self, definitions: Iterable[ServerDefinition]) -> None:
        """Keep the consent to each.

        Raises:
            ProblemError: it cannot be written; it holds until the program ends all the same.
        """
        wanted = tuple(definitions)
        self._now.update(each.consent_key for each in wanted)
        if wanted:
            self._opened().agree(*wanted)

    def agree_for_now(self, definition: ServerDefinition) -> None:
        """Take note of what the user named on the command line, for this run."""
        self._now.add(definition.consent_key)

    def earlier(self, definitions: Iterable[ServerDefinition]) -> list[Earlier | None]:
        """For each what was agreed to before under its name, if this is another definition."""
        return self._opened().earlier(definitions)

    def forget(self, definition: ServerDefinition) -> None:
        """Take the consent back: it is asked for again. `ProblemError` when that is not kept."""
        self._now.discard(definition.consent_key)
        self._opened().forget(definition)

    def _opened(self) -> Trust:
        if self._trust is None:
            from mcp_progress_monitor.catalogue.trust import (  # not for a start without servers
                FILE_NAME,
                Trust,
            )

            self._trust = Trust(self._folder / FILE_NAME)
        return self._trust


def refusal(name: str) -> Problem:
    """Why a server is not connected that was not agreed to."""
    return Problem(
        "This server has not been agreed to: nothing of it runs before that",
        name,
        "Connect it from the list of servers: what it runs is shown first.",
    )
