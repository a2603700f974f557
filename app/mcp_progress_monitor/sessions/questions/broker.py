"""All servers' questions, with the user's settings for each server."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.protocol.eras import ClientIdentity, Era
from mcp_progress_monitor.protocol.offers import ALL_LISTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.sessions.questions.questions import Questions
    from mcp_progress_monitor.sessions.questions.server_requests import ServerContext
    from mcp_progress_monitor.sessions.settings_file import SettingsFile
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.tracker.snapshot import JobId


class RequestBroker(NamedTuple):
    """All questions, all settings, and a way to find the job of a request by its frame.

    `lists` are read as soon as a server is connected, and again whenever they change if
    `follows_lists`.
    """

    questions: Questions
    settings: SettingsFile
    job_of: Callable[[int], JobId | None]
    lists: frozenset[str] = ALL_LISTS
    follows_lists: bool = True

    def context(self, definition: ServerDefinition, clock: Clock) -> ServerContext:
        from mcp_progress_monitor.sessions.questions.server_requests import ServerContext

        settings = functools.partial(self.settings.of, definition.fingerprint)
        return ServerContext(
            definition.name,
            self.questions,
            settings,
            self.job_of,
            clock,
            self.lists,
            self.follows_lists,
        )

    def identity(self, client: ClientIdentity, definition: ServerDefinition) -> ClientIdentity:
        rules = self.settings.of(definition.fingerprint).rules
        declared = {**client.capabilities, **rules.capabilities(Era.HANDSHAKE)}
        stamped = {**client.per_request, **rules.capabilities(Era.PER_REQUEST)}
        return ClientIdentity(client.info, declared, stamped)
