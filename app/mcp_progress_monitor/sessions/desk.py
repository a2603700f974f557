"""Where all servers' questions come together, with what the user has set for each of them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.protocol.eras import ClientIdentity, Era
from mcp_progress_monitor.protocol.messages import ALL_LISTS
from mcp_progress_monitor.sessions.call_clock import Hold
from mcp_progress_monitor.sessions.questions import Questions
from mcp_progress_monitor.sessions.settings_file import SettingsFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.sessions.clock import Clock
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.incoming import Context
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.tracker.snapshot import JobId


class Desk(NamedTuple):
    """All questions, all settings, and how to find the job of a request by its frame.

    `lists` are those that are read as soon as a server is connected, and again whenever they change
    if `follows_lists`.
    """

    questions: Questions
    settings: SettingsFile
    job_of: Callable[[int], JobId | None]
    lists: frozenset[str] = ALL_LISTS
    follows_lists: bool = True

    @classmethod
    def alone(cls) -> Desk:
        """A desk that nobody looks at."""
        return cls(Questions(_tell_nobody, _hold_nothing), SettingsFile(), _no_job)

    def context(self, definition: ServerDefinition, clock: Clock) -> Context:
        """What all connections with a server share."""
        from mcp_progress_monitor.sessions.incoming import (
            Context,  # no start of the window waits for it
        )

        settings = functools.partial(self.settings.of, definition.fingerprint)
        return Context(
            definition.name,
            self.questions,
            settings,
            self.job_of,
            clock,
            self.lists,
            self.follows_lists,
        )

    def identity(self, client: ClientIdentity, definition: ServerDefinition) -> ClientIdentity:
        """`client` with the capabilities that the rules for a server leave it."""
        rules = self.settings.of(definition.fingerprint).rules
        declared = {**client.capabilities, **rules.capabilities(Era.HANDSHAKE)}
        stamped = {**client.per_request, **rules.capabilities(Era.PER_REQUEST)}
        return ClientIdentity(client.info, declared, stamped)


def _tell_nobody(_questions: frozenset[int]) -> None:
    pass


def _hold_nothing(_question: Question) -> Hold:
    return Hold((), float)


def _no_job(_request: int) -> None:
    pass
