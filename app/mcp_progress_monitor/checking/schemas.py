"""Checks messages against the official JSON schema of the negotiated revision."""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.checking.connection import Evidence
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.formatting import elide
from mcp_progress_monitor.json_schema import (
    PATIENT_S,
    PLAIN_TYPES,
    SchemaShape,
    Stopwatch,
    find_errors,
    shape_of,
)
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.protocol.eras import REVISIONS, as_object, offered_revision
from mcp_progress_monitor.protocol.facts import (
    NotificationReceived,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
    Side,
)
from mcp_progress_monitor.protocol.frames import FactRun, others_of, raw_of
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.protocol.lenient_json import NotJsonError, TooDeepError, read_value
from mcp_progress_monitor.protocol.messages import CANCELLED, META, OF_TASKS, PROGRESS, VERSION_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jsonschema import ValidationError

    from mcp_progress_monitor.checking.connection import JudgedConnection
    from mcp_progress_monitor.protocol.facts import Fact, JsonObject
    from mcp_progress_monitor.protocol.frames import Frame

    _Keyword = Callable[[Any, Any, JsonObject, "Definitions"], bool]

BUDGET_S: Final = 60.0
"""Processor time for all messages of a session; the rest is not checked."""
_MOST_CHARACTERS: Final = 160
_REFERENCE: Final = re.compile(r"#/(?:\$defs|definitions)/(.+)")
_SMALL: Final = 20_000  # bytes of a message that is compared without the library
_RESULT_OF_ERROR: Final = ("JSONRPCErrorResponse", "JSONRPCError")


class _Definition(NamedTuple):
    """One definition as a schema of its own, with the definitions that it refers to."""

    schema: JsonObject
    shape: SchemaShape


class OfficialSchema:
    """The schema of one revision, which finds the definition for a message."""

    def __init__(self, revision: str) -> None:
        path = resource(f"schemas/{revision}.json")
        whole = json.loads(path.read_text(encoding="utf-8"))
        self._key = "$defs" if "$defs" in whole else "definitions"
        self._dialect = whole["$schema"]
        self._all: JsonObject = whole[self._key]
        self._made: dict[str, _Definition] = {}
        self._names: dict[str, str] = {}
        for name, definition in self._all.items():
            method = as_object(as_object(definition.get("properties")).get("method")).get("const")
            if isinstance(method, str):
                self._names[method] = name

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

    def fits(self, name: str, value: object) -> bool:
        """Whether `value` certainly fits a definition; False proves nothing."""
        return Definitions(self._all).fits(self._all[name], value)

    def definition(self, name: str) -> _Definition:
        made = self._made.get(name)
        if made is None:
            needed = {each: self._all[each] for each in sorted(self._reached(name))}
            reference = f"#/{self._key}/{name}"
            schema = {"$schema": self._dialect, "$ref": reference, self._key: needed}
            made = self._made[name] = _Definition(schema, shape_of(schema, Stopwatch(PATIENT_S)))
        return made

    def _reached(self, name: str) -> set[str]:
        reached, waiting = set[str](), [name]
        while waiting:
            each = waiting.pop()
            if each not in reached:
                reached.add(each)
                waiting += _references(self._all[each])
        return reached


class Definitions(NamedTuple):
    """The definitions of a sound schema, and how deep a value may be that is compared with one."""

    parts: JsonObject
    depth: int = 50

    def fits(self, schema: JsonObject, value: Any) -> bool:
        """Whether `value` certainly fits, in a tenth of the library's time.

        False proves nothing.
        """
        within = Definitions(self.parts, self.depth - 1)
        for keyword, wanted in schema.items():
            if keyword not in _ANNOTATIONS:
                fits = _KEYWORDS.get(keyword)
                if fits is None or not self.depth or not fits(wanted, value, schema, within):
                    return False
        return True


def _fits_reference(reference: str, value: Any, _schema: JsonObject, within: Definitions) -> bool:
    found = _REFERENCE.fullmatch(reference)
    return found is not None and within.fits(within.parts[found[1]], value)


def _fits_type(
    name: str | list[str], value: Any, _schema: JsonObject, _within: Definitions
) -> bool:
    names = [name] if isinstance(name, str) else name
    return any(type(value) in PLAIN_TYPES[each] for each in names)


def _fits_members(
    members: JsonObject, value: Any, _schema: JsonObject, within: Definitions
) -> bool:
    given = as_object(value)
    return all(within.fits(members[name], given[name]) for name in given if name in members)


def _fits_others(wanted: Any, value: Any, schema: JsonObject, within: Definitions) -> bool:
    given, named = as_object(value), as_object(schema.get("properties"))
    wanted = {} if wanted is True else wanted
    others = given.keys() - named.keys()
    return not others if wanted is False else all(within.fits(wanted, given[n]) for n in others)


_KEYWORDS: Final[dict[str, _Keyword]] = {
    "$ref": _fits_reference,
    "type": _fits_type,
    "properties": _fits_members,
    "additionalProperties": _fits_others,
    "required": lambda names, value, *_: type(value) is not dict or value.keys() >= {*names},
    "items": lambda part, value, _, within: (
        type(value) is not list or all(within.fits(part, each) for each in value)
    ),
    "anyOf": lambda parts, value, _, within: any(within.fits(part, value) for part in parts),
    "allOf": lambda parts, value, _, within: all(within.fits(part, value) for part in parts),
    "const": lambda const, value, *_: type(value) is type(const) and value == const,
    "enum": lambda allowed, value, *_: type(value) is str and value in allowed,
    "minimum": lambda least, value, *_: type(value) in PLAIN_TYPES["number"] and value >= least,
    "maximum": lambda most, value, *_: type(value) in PLAIN_TYPES["number"] and value <= most,
}
"""The keywords of the official schemas, all but rare ones."""
_ANNOTATIONS: Final = frozenset({"description", "format", "default"})


def _references(part: Any) -> Iterator[str]:
    stack = [part]
    while stack:
        each = stack.pop()
        if isinstance(each, dict):
            found = _REFERENCE.fullmatch(str(each.get("$ref", "")))
            if found:
                yield found[1]
            stack.extend(each.values())
        elif isinstance(each, list):
            stack.extend(each)


@functools.cache
def official_schema(revision: str) -> OfficialSchema:
    return OfficialSchema(revision)


class SchemaChecks:
    """Checks the messages of a session within a budget of time."""

    def __init__(self, budget_s: float = BUDGET_S, patience_s: float = PATIENT_S) -> None:
        """Spend at most `budget_s` seconds of processor time, and `patience_s` on one message."""
        self._watch = Stopwatch(budget_s)
        self._patience_s = patience_s
        self.checked = 0  # messages compared with a schema
        self.unchecked = 0  # messages that were too large, or for which no time was left

    def take(
        self,
        connection_of: Callable[[str], JudgedConnection],
        frames: Sequence[Frame],
        facts: Sequence[Fact],
    ) -> Iterator[tuple[JudgedConnection, Evidence]]:
        """Check messages, except plain progress notifications, which fit by how they were read."""
        for number, due, raw in self.due(connection_of, frames, facts):
            found = self.check(number, due, raw)
            if found is not None:
                yield found

    def due(
        self,
        connection_of: Callable[[str], JudgedConnection],
        frames: Sequence[Frame],
        facts: Sequence[Fact],
    ) -> Iterator[tuple[int, Due, bytes]]:
        """The messages to check: the number of the frame, the definition, and the bytes."""
        others = others_of(facts)
        self.checked += len(facts) - len(others)  # plain ticks fit by how they were read
        if not others:
            return
        known: dict[object, Due | None] = {}
        is_run = type(facts) is FactRun  # of one connection's server
        for fact in others:
            if type(fact) is NotificationReceived:  # they come in floods of equal ones
                method = fact.method
                key = method if is_run else (method, fact.connection, fact.sender)
                if key not in known:
                    known[key] = _due(connection_of, fact)
                due = known[key]
            elif type(fact) is ProgressReceived and not fact.findings:
                self.checked += 1
                continue
            else:
                due = _due(connection_of, fact)
            raw = b"" if due is None else raw_of(frames, fact.number)
            if due is not None and raw:
                yield fact.number, due, raw

    def check(self, number: int, due: Due, raw: bytes) -> tuple[JudgedConnection, Evidence] | None:
        """Check one message; None if it fits, or cannot be checked."""
        found = self._check(due, raw)
        return found and (due.connection, Evidence(found, number, due.request, due.by))

    def _check(self, due: Due, raw: bytes) -> Finding | None:
        if len(raw) > OVERSIZED or not self._watch.left_s:
            self.unchecked += 1
            return None
        try:
            message = as_object(read_value(raw).value)
        except (NotJsonError, TooDeepError):
            return None  # another rule reports that
        value = message if due.member is None else message.get(due.member)
        self.checked += 1
        official = official_schema(due.revision)
        if len(raw) <= _SMALL and official.fits(due.name, value):
            return None
        schema, shape = official.definition(due.name)
        watch = Stopwatch(min(self._patience_s, self._watch.left_s))
        errors = find_errors(schema, value, 1, watch, shape).errors
        if not errors:
            return None
        return Finding(rules.SCHEMA, (due.name, _error_text(errors[0], due.member)))


class Due(NamedTuple):
    """The definition that a message, or its `member`, has to fit."""

    connection: JudgedConnection
    revision: str
    name: str
    member: str | None
    request: int | None
    by: Side


def _due(connection_of: Callable[[str], JudgedConnection], fact: Fact) -> Due | None:
    if not isinstance(
        fact,
        RequestMade | RequestAnswered | NotificationReceived | RequestCancelled | ProgressReceived,
    ):
        return None
    connection = connection_of(fact.connection)
    revision = _revision(connection, fact)
    if revision is None:
        return None
    schema = official_schema(revision)
    if isinstance(fact, RequestAnswered):
        return _due_of_answer(connection, schema, revision, fact)
    name = schema.of_message(_method(fact))
    request = fact.number if isinstance(fact, RequestMade) else getattr(fact, "request", None)
    if name is None:
        return None
    return Due(connection, revision, name, None, request, fact.sender)


def _due_of_answer(
    connection: JudgedConnection, schema: OfficialSchema, revision: str, fact: RequestAnswered
) -> Due | None:
    call = connection.call_of(fact.request)
    if call is None or fact.standing is RequestStanding.UNKNOWN:
        return None
    if call.method.startswith(OF_TASKS) and schema.of_message(call.method) is None:
        return None
    if fact.error is not None:
        name, member = schema.of_error(), None
    else:
        name, member = schema.of_result(call.method, call.params, fact.result or {}), "result"
    if name is None:
        return None
    return Due(connection, revision, name, member, call.number, fact.sender)


def _revision(connection: JudgedConnection, fact: Fact) -> str | None:
    """The revision that a message has to fit: the negotiated or else the offered one."""
    revision = connection.revision
    if revision is None and isinstance(fact, RequestMade):
        offered = offered_revision(fact.method, fact.params)
        stamped = as_object(fact.params.get(META)).get(VERSION_KEY)
        revision = offered or (stamped if isinstance(stamped, str) else None)
    return revision if revision in REVISIONS else None


def _method(fact: RequestMade | NotificationReceived | RequestCancelled | ProgressReceived) -> str:
    if isinstance(fact, RequestCancelled):
        return CANCELLED
    return PROGRESS if isinstance(fact, ProgressReceived) else fact.method


def _deepest(error: ValidationError) -> ValidationError:
    """The error in the alternative that was most likely intended, if none fits.

    That is the one with the fewest wrong types and constants, then with the fewest errors.
    """
    while error.context:
        branches: dict[object, list[ValidationError]] = {}
        for inner in error.context:
            branches.setdefault(inner.relative_schema_path[0], []).append(inner)
        error = min(branches.values(), key=_distance)[0]
    return error


def _distance(branch: Sequence[ValidationError]) -> tuple[int, int]:
    constants = [each for each in branch if each.validator in {"const", "enum", "type"}]
    return len(constants), len(branch)


def _error_text(error: ValidationError, member: str | None) -> str:
    """The place and the reason of an error, on one line."""
    deepest = _deepest(error)
    steps = [*([] if member is None else [member]), *deepest.absolute_path]
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    place = where.removeprefix(".") or "the message"
    return f"{place}: {elide(' '.join(deepest.message.split()), _MOST_CHARACTERS)}"
