"""Checks messages against the official JSON schema of the negotiated revision."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.checking.connection import Evidence
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.formatting import elide
from mcp_progress_monitor.json_schema import as_error, compiled, deepest, first_error
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.protocol.eras import REVISIONS, as_object, offered_revision
from mcp_progress_monitor.protocol.facts import (
    NotificationReceived,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
)
from mcp_progress_monitor.protocol.frames import raw_of
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.protocol.lenient_json import (
    NotJsonError,
    TooDeepError,
    read_object,
    read_value,
)
from mcp_progress_monitor.protocol.messages import CANCELLED, META, OF_TASKS, PROGRESS, VERSION_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from typing import TypeAlias

    from jsonschema_rs import ValidationError, Validator

    from mcp_progress_monitor.checking.connection import JudgedConnection
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frames import FactRun, Frame

    _Sent: TypeAlias = RequestMade | NotificationReceived | RequestCancelled | ProgressReceived

_MOST_CHARACTERS: Final = 160
_RESULT_OF_ERROR: Final = ("JSONRPCErrorResponse", "JSONRPCError")
_MESSAGES: Final = (
    *(RequestMade, RequestAnswered, NotificationReceived, RequestCancelled),
    ProgressReceived,
)


class OfficialSchema:
    """The schema of one revision, which finds the definition for a message."""

    def __init__(self, revision: str) -> None:
        self._whole = json.loads(resource(f"schemas/{revision}.json").read_text(encoding="utf-8"))
        self._key = "$defs" if "$defs" in self._whole else "definitions"
        self._all: JsonObject = self._whole[self._key]
        self._made: dict[str, Validator] = {}
        self._names: dict[object, str] = {}  # by the methods of requests and notifications
        for name, definition in self._all.items():
            method = as_object(as_object(definition.get("properties")).get("method"))
            self._names[method.get("const")] = name

    def of_message(self, method: str) -> str | None:
        """The definition of a request or notification; None if the schema has none."""
        return self._names.get(method)

    def of_result(self, method: str, params: JsonObject, result: JsonObject) -> str | None:
        """The definition of the result of a request; None if the schema has none."""
        request = self._names.get(method)
        kind = result.get("resultType")
        if request is None or kind == "task":
            return None
        if kind == "input_required" and "InputRequiredResult" in self._all:
            return "InputRequiredResult"
        if "task" in params and "task" in result and "CreateTaskResult" in self._all:
            return "CreateTaskResult"
        name = f"{request.removesuffix('Request')}Result"
        return name if name in self._all else "EmptyResult"

    def of_error(self) -> str | None:
        """The definition of an error reply."""
        return next((name for name in _RESULT_OF_ERROR if name in self._all), None)

    def validator(self, name: str) -> Validator:
        """The validator of one definition, made in 1 to 5 ms when it is first needed."""
        if name not in self._made:
            self._made[name] = compiled({**self._whole, "$ref": f"#/{self._key}/{name}"})
        return self._made[name]


@functools.cache
def official_schema(revision: str) -> OfficialSchema:
    return OfficialSchema(revision)


class SchemaChecks:
    """Checks the messages of a session, each in a few microseconds."""

    def __init__(self) -> None:
        self.checked = 0  # messages compared with a schema
        self.unchecked = 0  # messages that were too large, or nested too deeply

    def take(
        self,
        connection_of: Callable[[str], JudgedConnection],
        frames: Sequence[Frame],
        facts: FactRun,
        known: Collection[int] = (),
    ) -> Iterator[tuple[JudgedConnection, Evidence]]:
        """Check messages, except plain progress notifications, which fit by how they were read.

        Frames in `known` violate another rule, which says more.
        """
        self.checked += len(facts.ticks)  # which fit by how they were read
        for fact in facts.others:
            if not isinstance(fact, _MESSAGES) or fact.number in known:
                continue
            if type(fact) is ProgressReceived and not fact.findings:
                self.checked += 1
                continue
            connection = connection_of(fact.connection)
            due = _due(connection, fact) if (raw := raw_of(frames, fact.number)) else None
            if due is not None and (found := self._check(due, raw)) is not None:
                yield connection, Evidence(found, fact.number, due.request, fact.sender)

    def _check(self, due: Due, raw: bytes) -> Finding | None:
        if len(raw) > OVERSIZED:
            self.unchecked += 1
            return None
        message = read_object(raw)
        if message is None:
            try:
                message = as_object(read_value(raw).value)
            except (NotJsonError, TooDeepError):
                return None  # another rule reports that
        value = message if due.member is None else message.get(due.member)
        try:
            found = first_error(due.schema.validator(due.name), value)
        except ValueError:  # nested too deeply
            self.unchecked += 1
            return None
        self.checked += 1
        if found is None:
            return None
        return Finding(rules.SCHEMA, (due.name, _error_text(found, due.member)))


class Due(NamedTuple):
    """The definition that a message, or its `member`, has to fit."""

    schema: OfficialSchema
    name: str
    request: int | None
    member: str | None


def _due(connection: JudgedConnection, fact: RequestAnswered | _Sent) -> Due | None:
    revision = _revision(connection, fact)
    if revision is None:
        return None
    schema = official_schema(revision)
    if isinstance(fact, RequestAnswered):
        call = connection.call_of(fact.request)
        if call is None or fact.standing is RequestStanding.UNKNOWN:
            return None
        if call.method.startswith(OF_TASKS) and schema.of_message(call.method) is None:
            return None
        if fact.error is not None:
            name, member = schema.of_error(), None
        else:
            name, member = schema.of_result(call.method, call.params, fact.result or {}), "result"
        request: int | None = call.number
    else:
        name, member = schema.of_message(_method(fact)), None
        request = fact.number if isinstance(fact, RequestMade) else getattr(fact, "request", None)
    return None if name is None else Due(schema, name, request, member)


def _revision(connection: JudgedConnection, fact: RequestAnswered | _Sent) -> str | None:
    """The revision that a message has to fit: the negotiated or else the offered one."""
    revision = connection.revision
    if revision is None and isinstance(fact, RequestMade):
        offered = offered_revision(fact.method, fact.params)
        stamped = as_object(fact.params.get(META)).get(VERSION_KEY)
        revision = offered or (stamped if isinstance(stamped, str) else None)
    return revision if revision in REVISIONS else None


def _method(fact: _Sent) -> str:
    if isinstance(fact, RequestCancelled):
        return CANCELLED
    return PROGRESS if isinstance(fact, ProgressReceived) else fact.method


def _error_text(error: ValidationError, member: str | None) -> str:
    """The place and the reason of an error, on one line."""
    found = as_error(deepest(error))
    steps = () if member is None else (member,)
    place = found._replace(path=(*steps, *found.path)).place or "the message"
    return f"{place}: {elide(' '.join(found.message.split()), _MOST_CHARACTERS)}"
