"""Counts messages and findings, and turns connections into spans.

`note` runs for every chunk of every server, so that it only counts.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import telemetry_names as names
from mcp_progress_monitor.protocol.facts import (
    ConnectionClosed,
    ConnectionNegotiated,
    ConnectionOpened,
    NotificationReceived,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
    Side,
    UnreadableReceived,
)
from mcp_progress_monitor.protocol.frames import server_name
from mcp_progress_monitor.telemetry.signals import Attributes, SpanEnd, Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcp_progress_monitor.findings.finding import Finding
    from mcp_progress_monitor.protocol.frames import FactRun
    from mcp_progress_monitor.telemetry.signals import Signal
    from mcp_progress_monitor.telemetry.span_ids import SpanIds

_KINDS: Final[dict[type, str]] = {
    RequestMade: "request",
    RequestAnswered: "reply",
    RequestCancelled: "notification",
    NotificationReceived: "notification",
    ProgressReceived: "progress",
    UnreadableReceived: "unreadable",
}
_SERVER: Final = Side.SERVER  # looking up an enum member takes ten times as long as a global
_LATE: Final = frozenset({RequestStanding.CANCELLED, RequestStanding.GIVEN_UP})
_ROLES_KEPT: Final = 1_000


class _Session(NamedTuple):
    opened: ConnectionOpened
    negotiated: ConnectionNegotiated | None = None


class TrafficSignals:
    """Counts by role, direction and kind; spans of connections, and late results, are offered."""

    def __init__(
        self,
        ids: SpanIds,
        texts: Texts,
        offer: Callable[[Signal], object],
        role_of: Callable[[str], str],
        note_late: Callable[[RequestAnswered], None],
    ) -> None:
        self._ids = ids
        self._texts = texts
        self._offer = offer
        self._role_of = role_of
        self._note_late = note_late
        self._roles: dict[str, str] = {}
        self._sessions: dict[str, _Session] = {}
        self._messages: defaultdict[tuple[str, bool, str], int] = defaultdict(int)
        self._findings: defaultdict[str, int] = defaultdict(int)

    def note(self, facts: FactRun, marked: Iterable[tuple[Finding, ...]]) -> None:
        """Count the messages of a chunk, all of one connection, and their findings."""
        counts = self._messages
        if facts.ticks:
            counts[self._role(facts.ticks[0][1][0]), True, "progress"] += len(facts.ticks)
        if facts.others:
            role = self._role(facts.others[0].connection)
            for fact in facts.others:
                kind = _KINDS.get(type(fact))
                if kind is not None:
                    counts[role, fact.sender is _SERVER, kind] += 1  # type: ignore[union-attr]  # all have one
                    if type(fact) is RequestAnswered and fact.standing in _LATE:
                        self._note_late(fact)
                else:
                    self._note_session(fact)
        for findings in marked:
            for finding in findings:
                self._findings[finding.rule.id] += 1

    def counted(self) -> dict[tuple[str, str, str], int]:
        """The messages by role, direction and kind; may be called on another thread."""
        return {
            (role, "received" if is_received else "sent", kind): count
            for (role, is_received, kind), count in dict(self._messages).items()
        }

    def counted_findings(self) -> dict[str, int]:
        """The findings by rule; may be called on another thread."""
        return dict(self._findings)

    def of_connection(self, connection: str) -> dict[str, str]:
        """The attributes of a connection's requests, as far as its beginning was seen."""
        session = self._sessions.get(connection)
        if session is None:
            return {}
        found = {names.TRANSPORT: _transport(session.opened.detail)}
        if session.negotiated is not None:
            found[names.PROTOCOL_VERSION] = self._texts.name(session.negotiated.revision)
        return found

    def _role(self, connection: str) -> str:
        role = self._roles.get(connection)
        if role is None:
            if len(self._roles) >= _ROLES_KEPT:
                self._roles.clear()
            role = self._roles[connection] = self._role_of(connection)
        return role

    def _note_session(self, fact: object) -> None:
        if type(fact) is ConnectionOpened:
            self._sessions[fact.connection] = _Session(fact)
        elif type(fact) is ConnectionNegotiated:
            session = self._sessions.get(fact.connection)
            if session is not None:
                self._sessions[fact.connection] = session._replace(negotiated=fact)
        elif type(fact) is ConnectionClosed:
            session = self._sessions.get(fact.connection)
            if session is not None:
                self._offer(self._span(session, fact))
                del self._sessions[fact.connection]

    def _span(self, session: _Session, closed: ConnectionClosed) -> SpanEnd:
        opened = session.opened
        attributes: Attributes = {
            names.ROLE: self._role(opened.connection),
            names.SERVER: self._texts.name(server_name(opened.connection)),
            names.REASON: self._texts.text(closed.reason),
            **self.of_connection(opened.connection),
        }
        return SpanEnd(
            f"mcp session {attributes[names.SERVER]}",
            self._ids.span(f"{opened.connection} session"),
            None,
            is_client=False,
            began_when=opened.when,
            ended_when=max(closed.when, opened.when),
            attributes=attributes,
            error=None if closed.is_wanted else self._texts.text(closed.reason),
        )


def _transport(detail: Mapping[str, object]) -> str:
    return "pipe" if "command" in detail else "tcp"
