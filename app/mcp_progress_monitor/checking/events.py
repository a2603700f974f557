"""Checks on the events extension: its declaration, streams and what belongs to them, webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.checking.connection import ENDED_KEPT, EventStream, keep
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import RequestStanding, Side
from mcp_progress_monitor.protocol.ledger import key_of
from mcp_progress_monitor.protocol.lenient_json import shown
from mcp_progress_monitor.protocol.messages import (
    DISCOVER,
    EVENTS_EXTENSION,
    META,
    OF_EVENTS,
    STREAM_EVENTS,
    STREAM_TERMINATED,
    SUBSCRIBE_EVENTS,
    SUBSCRIPTION_KEY,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.checking.connection import Evidence, JudgedCall, JudgedConnection
    from mcp_progress_monitor.protocol.facts import (
        JsonObject,
        NotificationReceived,
        RequestAnswered,
        RequestMade,
    )

_SECURE: Final = "https://"
_LONGEST_NUMBER: Final = 18


def take_request(
    connection: JudgedConnection, call: JudgedCall, fact: RequestMade
) -> Iterator[Evidence]:
    """Check that the server has events at all; note a stream."""
    if fact.sender is not Side.CLIENT or not fact.method.startswith(OF_EVENTS):
        return
    if fact.method == STREAM_EVENTS:
        connection.streams.pop(key_of(fact.id), None)  # so that it is the newest
        keep(connection.streams, key_of(fact.id), EventStream(call))
    declared = as_object(connection.capabilities.get("extensions"))
    if connection.is_discovered and EVENTS_EXTENSION not in declared:
        named = shown(fact.method), EVENTS_EXTENSION
        yield call.breaks(rules.EVENTS_UNDECLARED, fact.number, *named, by=Side.CLIENT)


def take_answer(
    connection: JudgedConnection, call: JudgedCall, fact: RequestAnswered
) -> Iterator[Evidence]:
    """Note the end of a stream, and check what a webhook was granted."""
    if fact.standing is not RequestStanding.ACTIVE or call.by is not Side.CLIENT:
        return
    if call.method == DISCOVER:
        connection.is_discovered = fact.result is not None
    elif call.method == STREAM_EVENTS:
        _end(connection, key_of(call.id), fact.number)
    elif call.method == SUBSCRIBE_EVENTS and fact.result is not None:
        yield from _webhook(call, fact, fact.result)


def take_notification(
    connection: JudgedConnection, fact: NotificationReceived
) -> Iterator[Evidence]:
    """Check that a notification of a stream names one, and comes before its end.

    A cancelled stream counts as open: what follows may have crossed the cancel.
    """
    identity = as_object(fact.params.get(META)).get(SUBSCRIPTION_KEY)
    key = next((key for key in _keys_of(identity) if key in connection.streams), None)
    if key is None:
        is_complete = connection.is_opened and len(connection.streams) < ENDED_KEPT
        if identity is None or is_complete:  # else it may have been opened before the recording
            named = "no id" if identity is None else shown(identity)
            yield connection.breaks(rules.NO_STREAM, fact.number, fact.method, named)
        return
    stream = connection.streams[key]
    if stream.end is not None:
        yield stream.call.breaks(rules.STREAM_ENDED, fact.number, fact.method, stream.end)
    elif fact.method == STREAM_TERMINATED:
        _end(connection, key, fact.number)


def _keys_of(identity: Any) -> Iterator[Any]:
    """The keys of an id, the exact one first: some servers name a request by its id as a string."""
    yield key_of(identity)
    if type(identity) is int:
        yield key_of(str(identity))
    elif isinstance(identity, str) and len(identity) < _LONGEST_NUMBER:
        yield from (key_of(int(identity)),) if identity.isdecimal() else ()


def _end(connection: JudgedConnection, key: Any, number: int) -> None:
    stream = connection.streams.get(key)
    if stream is not None and stream.end is None:
        connection.streams[key] = stream._replace(end=number)


def _webhook(call: JudgedCall, fact: RequestAnswered, result: JsonObject) -> Iterator[Evidence]:
    url = as_object(call.params.get("delivery")).get("url")
    if isinstance(url, str) and not url.lower().startswith(_SECURE):
        yield call.breaks(rules.WEBHOOK_NOT_SECURE, fact.number, shown(url))
    is_endless = "refreshBefore" in result and result["refreshBefore"] is None
    if is_endless and call.params.get("ttlMs", 0) is not None:
        yield call.breaks(rules.WEBHOOK_ENDLESS, fact.number)
