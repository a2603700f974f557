"""The user's settings of servers: rules for their questions, roots, log level.

Each takes effect immediately as far as the connection allows, and is saved for the next ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.protocol.messages import CAPABILITIES_KEY, ROOTS_CHANGED
from mcp_progress_monitor.snapshots.limits import LOG_LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_progress_monitor.sessions.connection.manager import SessionManager
    from mcp_progress_monitor.sessions.questions.broker import RequestBroker
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.snapshots.settings import QuestionRules, Root


class Settings:
    """The settings of each server."""

    def __init__(self, manager: SessionManager, request_broker: RequestBroker) -> None:
        """Settings are kept in those of `request_broker`."""
        self._manager = manager
        self._request_broker = request_broker

    @property
    def error(self) -> ErrorDetails | None:
        """Why the settings could not be read, reported once."""
        return self._request_broker.settings.error

    def set_question_rules(self, server: str, rules: QuestionRules) -> None:
        """Answer a server's questions by `rules` from now on.

        The declared capabilities change with the next connection; in 2026-07-28 with the next
        request. `UserError` when this cannot be saved.
        """
        definition = self._definition(server)
        try:
            self._put(definition, rules=rules)
        finally:
            self._declare(server, definition)

    def set_roots(self, server: str, roots: Iterable[Root]) -> None:
        """Set a server's roots, and notify it if it is connected.

        `UserError` when this cannot be saved.
        """
        definition = self._definition(server)
        before = self._request_broker.settings.of(definition.fingerprint).roots
        try:
            self._put(definition, roots=tuple(roots))
        finally:
            if self._request_broker.settings.of(definition.fingerprint).roots != before:
                self._notify_roots(server)

    def set_log_level(self, server: str, level: str | None) -> None:
        """Request log messages from `level` on; None leaves it to the server, or requests none.

        In the handshake era a level stays set until the connection ends. `UserError` for an unknown
        level, or if this cannot be saved.
        """
        if level is not None and level not in LOG_LEVELS:
            hint = f"Use one of {', '.join(LOG_LEVELS)}."
            raise UserError(ErrorDetails(f"Unknown log level {level!r}", server, hint))
        try:
            self._put(self._definition(server), log_level=level)
        finally:
            session = self._manager.session(server)
            if session is not None and session.notifications is not None:
                session.notifications.update()

    def _definition(self, server: str) -> ServerDefinition:
        return self._manager.snapshot(server).definition

    def _put(self, definition: ServerDefinition, **changes: Any) -> None:
        settings = self._request_broker.settings
        before = settings.of(definition.fingerprint)
        try:
            settings.put(definition.fingerprint, before.model_copy(update=changes))
        finally:
            self._manager.changed(definition.name)

    def _declare(self, server: str, definition: ServerDefinition) -> None:
        """Declare the capabilities in the stamps of future requests."""
        session = self._manager.session(server)
        server_requests = None if session is None else session.server_requests
        if session is None or server_requests is None or server_requests.era is not Era.PER_REQUEST:
            return
        identity = self._manager.identity(definition)
        server_requests.declare(identity)
        if session.current is not None:
            peer = session.current.outbox.peer
            peer.stamps = {**peer.stamps, CAPABILITIES_KEY: identity.per_request}

    def _notify_roots(self, server: str) -> None:
        session = self._manager.session(server)
        if session is None or session.server_requests is None or session.current is None:
            return
        if session.server_requests.era is Era.HANDSHAKE and session.server_requests.has_declared(
            "roots"
        ):
            outbox = session.current.outbox
            outbox.post(outbox.peer.notify(ROOTS_CHANGED))
