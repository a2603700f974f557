"""Checks on messages: ids, batches, errors, handshake, results, subscriptions, resume tokens."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.checking import capabilities
from mcp_progress_monitor.checking.connection import Listen, keep
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.eras import HANDSHAKE_REVISIONS, PER_REQUEST, as_object
from mcp_progress_monitor.protocol.facts import RequestStanding, Side
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.protocol.ledger import key_of
from mcp_progress_monitor.protocol.lenient_json import shown
from mcp_progress_monitor.protocol.messages import (
    ACKNOWLEDGED,
    CALLS,
    CREATE_MESSAGE,
    DISCOVER,
    ELICIT,
    INITIALIZE,
    INITIALIZED,
    LIST_ROOTS,
    LISTEN,
    LOG_LEVEL_KEY,
    LOG_MESSAGE,
    META,
    PING,
    PROGRESS_TOKEN,
    RESOURCE_UPDATED,
    SUBSCRIPTION_KEY,
    TASK_ID,
    TASKS_EXTENSION,
    VERSION_KEY,
    list_changed,
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
    from mcp_progress_monitor.protocol.frames import Frame


_BATCH_REVISION: Final = HANDSHAKE_REVISIONS[1]
_JSON_RPC_CODES: Final = frozenset({-32700, -32600, -32601, -32602, -32603})
_MCP_CODES: Final = frozenset({-32020, -32021, -32022})
_RETIRED: Final = {-32002: "-32602", -32042: "input_required"}
_RESERVED: Final = (range(-32768, -32099), range(-32099, -32019))
"""Reserved by JSON-RPC and by MCP; the other codes up to -32000 are legacy, and free to use."""
_DECLARED_AS: Final = {ELICIT: "elicitation", CREATE_MESSAGE: "sampling", LIST_ROOTS: "roots"}
_RESULT_TYPES: Final = frozenset({"complete", "input_required"})
_TOOLS_CHANGED: Final = list_changed("tools")
_REQUESTED_BY: Final = {
    _TOOLS_CHANGED: "toolsListChanged",
    list_changed("prompts"): "promptsListChanged",
    list_changed("resources"): "resourcesListChanged",
    RESOURCE_UPDATED: "resourceSubscriptions",
}
_FREE: Final = frozenset({PING, INITIALIZE, DISCOVER})
"""Requests that are allowed before the handshake."""
_MIGRATION: Final = {
    CREATE_MESSAGE: ("Sampling", "call the API of a model provider"),
    LIST_ROOTS: ("Roots", "pass folders as arguments or resource URIs"),
    LOG_MESSAGE: ("Logging", "standard error, or OpenTelemetry"),
}


def take_batch(connection: JudgedConnection, frame: Frame) -> Iterator[Evidence]:
    """Check for a batch, by its first element: only one revision has batches."""
    revision = connection.revision
    if revision in {None, _BATCH_REVISION} or frame.part is None or frame.part.index != 1:
        return
    if not frame.raw.startswith(b"{"):
        return  # a list of something other than messages, which another rule reports
    rule = rules.BATCH_EARLY if revision == HANDSHAKE_REVISIONS[0] else rules.BATCH
    by = Side.CLIENT if frame.channel is Channel.SENT else Side.SERVER
    yield connection.breaks(rule, frame.number - 1, frame.part.count, by=by)


def take_request(
    connection: JudgedConnection, call: JudgedCall, fact: RequestMade
) -> Iterator[Evidence]:
    """Check a request's id and its place in the handshake; note what it asks for."""
    key = (fact.sender, key_of(fact.id))
    before = connection.ids.get(key)
    is_open = any(each.rule is rules.ID_IN_USE for each in fact.findings)
    keep(connection.ids, key, fact.number)
    if before is not None and not is_open and connection.revision in HANDSHAKE_REVISIONS:
        yield call.breaks(rules.ID_REUSED, fact.number, shown(fact.id), before, by=fact.sender)
    if fact.method == LISTEN:
        requested = as_object(fact.params.get("notifications"))
        keep(connection.listens, key_of(fact.id), Listen(call, requested))
    if LOG_LEVEL_KEY in call.meta:
        connection.logging.add(fact.number)
        connection.was_logging = True
        if call.meta.get(VERSION_KEY) == PER_REQUEST:
            what = _MIGRATION[LOG_MESSAGE]
            yield call.breaks(rules.DEPRECATED, fact.number, *what, by=fact.sender)
    if fact.method == INITIALIZE:
        connection.client_capabilities = as_object(fact.params.get("capabilities"))
    yield from _order(connection, call, fact)
    yield from capabilities.take_request(connection, call, fact)


def _order(connection: JudgedConnection, call: JudgedCall, fact: RequestMade) -> Iterator[Evidence]:
    """Check the place of a request in the handshake, if that was recorded from the start."""
    is_modern = call.meta.get(VERSION_KEY) == PER_REQUEST or connection.is_per_request
    if fact.method in _FREE or is_modern or not connection.is_opened:
        return
    method = shown(fact.method)
    if fact.sender is Side.SERVER:
        if not connection.is_initialized:
            yield call.breaks(rules.BEFORE_INITIALIZED, fact.number, method)
    elif not connection.is_initialize_answered:
        yield call.breaks(rules.BEFORE_INITIALIZE, fact.number, method, by=Side.CLIENT)
    elif not connection.is_initialized:
        yield call.breaks(rules.NOT_INITIALIZED, fact.number, method, by=Side.CLIENT)


def take_answer(
    connection: JudgedConnection, call: JudgedCall, fact: RequestAnswered
) -> Iterator[Evidence]:
    """Check a reply of 2026-07-28: error code, result type, required input."""
    if call.method == INITIALIZE and fact.result is not None:
        connection.is_initialize_answered = True
    if fact.standing is RequestStanding.ACTIVE and connection.is_per_request:
        if fact.error is not None:
            yield from _code(call, fact, fact.error.get("code"))
        elif fact.result is not None:
            yield from _result(call, fact, fact.result)


def _code(call: JudgedCall, fact: RequestAnswered, code: Any) -> Iterator[Evidence]:
    if type(code) is not int or code in _JSON_RPC_CODES | _MCP_CODES:
        return
    if code in _RETIRED:
        yield call.breaks(rules.RETIRED_CODE, fact.number, code, _RETIRED[code], by=fact.sender)
    elif any(code in each for each in _RESERVED):
        yield call.breaks(rules.RESERVED_CODE, fact.number, code, by=fact.sender)


def _result(call: JudgedCall, fact: RequestAnswered, result: JsonObject) -> Iterator[Evidence]:
    kind = result.get("resultType", "complete")
    has_tasks = TASKS_EXTENSION in as_object(call.capabilities.get("extensions"))
    is_task = kind == "task" and (has_tasks or TASK_ID in result)
    if not isinstance(kind, str) or (kind not in _RESULT_TYPES and not is_task):
        yield call.breaks(rules.RESULT_TYPE, fact.number, shown(kind), by=fact.sender)
    requests = as_object(result.get("inputRequests"))
    if kind == "input_required":
        if call.method not in CALLS:
            yield call.breaks(rules.INPUT_FOR_OTHER, fact.number, shown(call.method))
        yield from _input(call, fact, requests)
    elif requests and call.of_task is not None:
        yield from _input(call, fact, requests)


def _input(call: JudgedCall, fact: RequestAnswered, requests: JsonObject) -> Iterator[Evidence]:
    for key, each in requests.items():
        request = as_object(each)
        method, params = request.get("method"), as_object(request.get("params"))
        needed = _DECLARED_AS.get(method) if isinstance(method, str) else None
        if needed is None or needed not in call.capabilities:
            yield call.breaks(rules.INPUT_UNDECLARED, fact.number, shown(key), shown(method))
        if PROGRESS_TOKEN in as_object(params.get(META)):
            yield call.breaks(rules.TOKEN_IN_QUESTION, fact.number, shown(key))
        if isinstance(method, str) and method in _MIGRATION:
            yield call.breaks(rules.DEPRECATED, fact.number, *_MIGRATION[method])


def needs_no_check(connection: JudgedConnection, fact: NotificationReceived) -> bool:
    """Return whether `take_notification` would do nothing."""
    if fact.sender is Side.CLIENT or fact.method == _TOOLS_CHANGED or connection.is_per_request:
        return False
    return (fact.sender, fact.method) not in connection.undeclared


def take_notification(
    connection: JudgedConnection, fact: NotificationReceived
) -> Iterator[Evidence]:
    """Check a notification: what was declared, log messages and subscriptions of 2026-07-28."""
    yield from capabilities.take_notification(connection, fact)
    if fact.sender is Side.CLIENT:
        connection.is_initialized = connection.is_initialized or fact.method == INITIALIZED
        return
    if fact.method == _TOOLS_CHANGED:
        connection.is_change_announced = True
    if not connection.is_per_request:
        return
    if fact.method == LOG_MESSAGE:
        yield from _log(connection, fact)
        yield connection.breaks(rules.DEPRECATED, fact.number, *_MIGRATION[LOG_MESSAGE])
    elif fact.method == ACKNOWLEDGED or fact.method in _REQUESTED_BY:
        yield from _subscribed(connection, fact)


def _log(connection: JudgedConnection, fact: NotificationReceived) -> Iterator[Evidence]:
    if connection.logging:
        return
    rule = rules.LOG_LATE if connection.was_logging else rules.LOG_UNASKED
    yield connection.breaks(rule, fact.number)


def _subscribed(connection: JudgedConnection, fact: NotificationReceived) -> Iterator[Evidence]:
    identity = as_object(fact.params.get(META)).get(SUBSCRIPTION_KEY)
    listen = None if identity is None else connection.listens.get(key_of(identity))
    if listen is None:
        named = "no id" if identity is None else shown(identity)
        yield connection.breaks(rules.NO_SUBSCRIPTION, fact.number, fact.method, named)
        return
    if fact.method == ACKNOWLEDGED:
        keep(connection.listens, key_of(identity), listen._replace(is_acknowledged=True))
        return
    if not listen.is_acknowledged:
        yield listen.call.breaks(rules.NOT_ACKNOWLEDGED, fact.number, fact.method)
    if not listen.requested.get(_REQUESTED_BY[fact.method]):
        yield listen.call.breaks(rules.NOT_SUBSCRIBED, fact.number, fact.method)


MOST_ATTEMPTS: Final = 1000
_INVALID_PARAMS: Final = -32602
_JWT: Final = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]*")
_PATH: Final = re.compile(r"(?:[A-Za-z]:\\|/)[\w .~-]+[/\\][\w .~/\\-]*")
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://\S+|[\w.+-]+@[\w-]+\.[\w.-]+")


def take_resume_token(
    connection: JudgedConnection, call: JudgedCall, fact: RequestMade
) -> Iterator[Evidence]:
    """Check that a resume token is not that of a completed operation."""
    token, memory = fact.resume_token, connection.server
    if isinstance(token, str) and token in memory.completed:
        frame = memory.completed[token]
        yield call.breaks(rules.TOKEN_OF_COMPLETED, fact.number, frame, by=Side.CLIENT)


def take_next_token(
    connection: JudgedConnection, call: JudgedCall, fact: RequestAnswered
) -> Iterator[Evidence]:
    sent, token, memory = call.resume_token, fact.next_resume_token, connection.server
    if fact.standing is not RequestStanding.ACTIVE:
        return
    known = memory.chains.pop(sent, None) if isinstance(sent, str) else None
    if fact.error is not None:
        code = fact.error.get("code")
        if isinstance(sent, str) and code != _INVALID_PARAMS:
            if known is None:
                answer = f"the error {shown(code)}"
                yield call.breaks(rules.REFUSED_CODE, fact.number, answer)
            else:
                keep(memory.chains, sent, known)
        return
    if not isinstance(token, str) or not token:
        for each in known or ((sent,) if isinstance(sent, str) else ()):
            keep(memory.completed, each, fact.number)
        return
    what = appearance(token)
    if what:
        yield call.breaks(rules.TOKEN_READABLE, fact.number, what)
    tokens = [*(known or ()), token]
    if len(tokens) > MOST_ATTEMPTS:
        yield call.breaks(rules.CHAIN_LONG, fact.number, MOST_ATTEMPTS)
    keep(memory.chains, token, tokens)


def appearance(token: str) -> str:
    """The readable format of a token; empty if it is opaque."""
    if _JWT.fullmatch(token):
        return "a JSON Web Token"
    if _ADDRESS.fullmatch(token):
        return "an address"
    if _PATH.fullmatch(token):
        return "a path"
    return "JSON in base64" if _is_base64_json(token) else ""


def _is_base64_json(token: str) -> bool:
    padded = token + "=" * (-len(token) % 4)
    try:
        text = base64.b64decode(padded.replace("-", "+").replace("_", "/"), validate=True)
        return isinstance(json.loads(text), dict | list)
    except (binascii.Error, ValueError, RecursionError):
        return False
