"""Checks values against a server's JSON schema, and the schema itself, within a time limit.

Arguments are checked before a call, but never prevent it.
"""

from __future__ import annotations

import contextvars
import functools
import itertools
import json
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import timed_regex
from mcp_progress_monitor.formatting import elide, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jsonschema import ValidationError

QUICK_S: Final = 0.04  # for work between two events of the window
PATIENT_S: Final = 3.0  # for work in a thread, while the program continues


class TimeUpError(Exception):
    """The time limit was reached."""


class Stopwatch:
    """Ends work that calls `tick` often. Counts the processor time of the thread that created it.

    Processor time, so that a busy machine does not change results.
    """

    __slots__ = ("_end", "_is_cancelled")

    def __init__(self, limit_s: float = QUICK_S) -> None:
        self._end = time.thread_time() + limit_s
        self._is_cancelled = False

    @property
    def left_s(self) -> float:
        return 0.0 if self._is_cancelled else max(0.0, self._end - time.thread_time())

    def tick(self) -> None:
        """Check the time. `TimeUpError` if none is left."""
        if self._is_cancelled or time.thread_time() > self._end:
            raise TimeUpError

    def cancel(self) -> None:
        """End the time now; from any thread."""
        self._is_cancelled = True


_TYPES: Final = frozenset(
    {"array", "boolean", "integer", "null", "number", "object", "string", "any"}
)
_FAULT_LIMIT: Final = 80


class SchemaShape(NamedTuple):
    """The properties of a schema. `fault` says why it is not a JSON schema, empty if it is."""

    fault: str
    has_inner_dialect: bool = False
    """A part has its own dialect, or is itself the schema of one."""
    has_references: bool = False
    has_name_patterns: bool = False


class _Subschema(NamedTuple):
    """A value in a schema, with the path to it."""

    value: Any
    path: str

    def below(self, step: str) -> str:
        return f"{self.path}.{step}" if self.path else step


def shape_of(schema: Any, watch: Stopwatch) -> SchemaShape:
    """Read a schema. `TimeUpError` if `watch` runs out."""
    return SchemaShape(_fault(schema, watch), *_flags(schema, watch))


def names_dialect(member: tuple[str, Any]) -> bool:
    """Whether a member of a schema would make `jsonschema` choose another validator for it."""
    name, value = member
    if not isinstance(value, str):
        return False
    return name == "$schema" or (name in {"$id", "id"} and "json-schema.org" in value)


def _flags(schema: Any, watch: Stopwatch) -> tuple[bool, bool, bool]:
    dialect = references = patterns = False
    stack = [*_parts(schema)] if isinstance(schema, dict) else []
    if isinstance(schema, dict):
        references = "$ref" in schema or "$dynamicRef" in schema
        patterns = "patternProperties" in schema
    while stack:
        watch.tick()
        part = stack.pop()
        if isinstance(part, dict):
            dialect = dialect or any(map(names_dialect, part.items()))
            references = references or "$ref" in part or "$dynamicRef" in part
            patterns = patterns or "patternProperties" in part
        stack.extend(_parts(part))
    return dialect, references, patterns


def _parts(value: Any) -> Iterator[Any]:
    members = value.values() if isinstance(value, dict) else value
    return (each for each in members if isinstance(each, dict | list))


def _fault(schema: Any, watch: Stopwatch) -> str:
    """The first faulty keyword; empty if there is none."""
    stack = [_Subschema(schema, "")]
    while stack:
        watch.tick()
        part = stack.pop()
        if isinstance(part.value, bool):
            continue
        if not isinstance(part.value, dict):
            return f"{part.path}: {_brief(part.value)} is not a schema".removeprefix(": ")
        for keyword, value in part.value.items():
            rule = _RULES.get(keyword)
            if rule is None:
                continue
            if not rule.fits(value):
                return f"{part.below(keyword)}: {_brief(value)} is not {rule.due}"
            stack.extend(
                _Subschema(each, part.below(step)) for step, each in rule.parts(keyword, value)
            )
    return ""


def _brief(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value[:_FAULT_LIMIT] if isinstance(value, str) else value)
    return text if len(text) <= _FAULT_LIMIT else f"{text[:_FAULT_LIMIT]}…"


def _no_parts(_keyword: str, _value: Any) -> Iterator[tuple[str, Any]]:
    return iter(())


def _itself(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    yield keyword, value


def _listed(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    return ((f"{keyword}[{index}]", each) for index, each in enumerate(value))


def _members(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    return ((f"{keyword}.{name}", each) for name, each in value.items())


def _one_or_listed(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    return _listed(keyword, value) if isinstance(value, list) else _itself(keyword, value)


def _dependent(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    return (each for each in _members(keyword, value) if not isinstance(each[1], list))


def _is_any(_value: Any) -> bool:
    return True


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_bound(value: Any) -> bool:
    return isinstance(value, int | float)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and float(value).is_integer()


def _is_type(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, str) and each in _TYPES for each in value)
    return isinstance(value, str) and value in _TYPES


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


class _ShapeRule(NamedTuple):
    """What the value of a keyword has to be, and which schemas it contains."""

    fits: Callable[[Any], bool]
    due: str
    parts: Callable[[str, Any], Iterator[tuple[str, Any]]] = _no_parts


_KINDS: Final = (
    (_ShapeRule(_is_type, "a JSON Schema type, or a list of them"), ("type",)),
    (_ShapeRule(_is_list, "a list"), ("enum",)),
    (_ShapeRule(_is_names, "a list of names"), ("required",)),
    (_ShapeRule(_is_truth, "true or false"), ("uniqueItems",)),
    (_ShapeRule(_is_number, "a number"), ("minimum", "maximum")),
    # True and false in draft 4.
    (_ShapeRule(_is_bound, "a number"), ("exclusiveMinimum", "exclusiveMaximum")),
    (_ShapeRule(_is_positive, "a number greater than 0"), ("multipleOf",)),
    (
        _ShapeRule(_is_count, "a non-negative integer"),
        ("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"),
    ),
    (_ShapeRule(_is_count, "a non-negative integer"), ("minProperties", "maxProperties")),
    (
        _ShapeRule(_is_text, "a text"),
        ("pattern", "$ref", "$id", "$schema", "$anchor", "$dynamicRef"),
    ),
    (_ShapeRule(_is_text, "a text"), ("title", "description", "format")),
    (
        _ShapeRule(_is_object, "an object of schemas", _members),
        ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"),
    ),
    (_ShapeRule(_is_object, "an object", _dependent), ("dependencies",)),
    (_ShapeRule(_is_object, "an object"), ("dependentRequired",)),
    (
        _ShapeRule(_is_schemas, "a list of schemas", _listed),
        ("allOf", "anyOf", "oneOf", "prefixItems"),
    ),
    (_ShapeRule(_is_any, "a schema", _one_or_listed), ("items",)),
    (
        _ShapeRule(_is_any, "a schema", _itself),
        ("not", "if", "then", "else", "contains", "propertyNames", "additionalProperties"),
    ),
    (
        _ShapeRule(_is_any, "a schema", _itself),
        ("additionalItems", "unevaluatedItems", "unevaluatedProperties"),
    ),
)
_RULES: Final = {name: rule for rule, names in _KINDS for name in names}


_PATTERN_S: Final = 0.01
_LONGEST_MATCHED: Final = 1_000_000
_LARGEST: Final = 2_000_000  # characters and parts of a value; messages quote values
_DEEPEST: Final = 150
"""Keywords within keywords.

Far below Python's own recursion limit, at which the library that resolves references crashes the
program.
"""
_SHOWN: Final = 50
_FINDING_LIMIT: Final = 200
_MOST_UNCHECKED: Final = 20
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
TOOK_TOO_LONG: Final = "validation took too long and was stopped"


_ABSENT: Final = object()
_MANY: Final = 50
_PLAIN_DEPTH: Final = 3
_DIALECTS: Final = (
    "https://json-schema.org/draft/2020-12/schema",
    "http://json-schema.org/draft-07/schema#",
)
_ANNOTATIONS: Final = frozenset({"title", "description", "default", "examples"})


def holds_plainly(schema: Any, value: object, depth: int = _PLAIN_DEPTH) -> bool:
    """Whether `value` certainly satisfies `schema`, and both are small and plain.

    Most tools have types, members, bounds and choices only, which mean the same in every dialect.
    To load the library takes 60 ms, a seventh of a call's processor time. False proves nothing.
    """
    if not isinstance(schema, dict) or not depth or len(schema) > _MANY:
        return False
    if schema.get("$schema", _DIALECTS[0]) not in _DIALECTS:
        return False
    rest = schema.keys() - _ANNOTATIONS - {"$schema"}
    if not rest <= _PLAIN.keys():
        return False
    return all(_PLAIN[name](schema[name], value, schema, depth) for name in rest)


def _holds_type(name: Any, value: object, _schema: Any, _depth: int) -> bool:
    kinds = PLAIN_TYPES.get(name) if isinstance(name, str) else None
    is_bool = isinstance(value, bool) and name != "boolean"
    return kinds is not None and (value is _ABSENT or (isinstance(value, kinds) and not is_bool))


def _holds_members(members: Any, value: object, _schema: Any, depth: int) -> bool:
    if not isinstance(members, dict) or len(members) > _MANY:
        return False
    given = value if isinstance(value, dict) else {}
    return all(
        holds_plainly(part, given.get(name, _ABSENT), depth - 1) for name, part in members.items()
    )


def _holds_required(names: Any, value: object, _schema: Any, _depth: int) -> bool:
    if not isinstance(names, list) or len(names) > _MANY or not all(map(_is_text, names)):
        return False
    return not isinstance(value, dict) or all(name in value for name in names)


def _holds_additional(allowed: Any, value: object, schema: Any, _depth: int) -> bool:
    known = schema.get("properties", {})
    is_closed = allowed is False and isinstance(value, dict)
    return isinstance(allowed, bool) and (not is_closed or _is_within(value, known))


def _is_within(value: Any, known: Any) -> bool:
    return isinstance(known, dict) and len(value) <= _MANY and value.keys() <= known.keys()


def _holds_least(bound: Any, value: object, _schema: Any, _depth: int) -> bool:
    return _is_number(bound) and (not _is_number(value) or value >= bound)


def _holds_most(bound: Any, value: object, _schema: Any, _depth: int) -> bool:
    return _is_number(bound) and (not _is_number(value) or value <= bound)


def _holds_choice(allowed: Any, value: object, _schema: Any, _depth: int) -> bool:
    if not isinstance(allowed, list) or not 0 < len(allowed) <= _MANY:
        return False
    is_known = value is _ABSENT or (isinstance(value, str) and value in allowed)
    return all(map(_is_text, allowed)) and is_known


PLAIN_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}
_PLAIN: Final[dict[str, Callable[[Any, object, Any, int], bool]]] = {
    "type": _holds_type,
    "properties": _holds_members,
    "required": _holds_required,
    "additionalProperties": _holds_additional,
    "minimum": _holds_least,
    "maximum": _holds_most,
    "enum": _holds_choice,
}


class Findings(NamedTuple):
    """The results of a check. `unchecked` says what could not be determined."""

    errors: list[ValidationError]
    unchecked: tuple[str, ...] = ()


class _Check:
    """One running check: its time, and what it could not do."""

    def __init__(self, watch: Stopwatch) -> None:
        self.watch = watch
        self.unchecked: dict[str, None] = {}
        self._depth = 0

    def enter(self) -> None:
        """Enter a keyword; paired with `leave`."""
        self.watch.tick()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise RecursionError

    def leave(self) -> None:
        self._depth -= 1

    def note(self, text: str) -> None:
        """Record what is not checked, once."""
        if len(self.unchecked) < _MOST_UNCHECKED:
            self.unchecked[elide(text, _FINDING_LIMIT)] = None

    def has_match(self, pattern: Any, text: str) -> bool | None:
        """Whether a pattern of the server matches; None if that cannot be determined."""
        self.watch.tick()
        if not isinstance(pattern, str):
            return None
        shown = elide(pattern, 60)
        if len(text) > _LONGEST_MATCHED:
            self.note(f"the text is too long to match against the pattern {shown!r}")
            return None
        try:
            return timed_regex.is_match(pattern, text, min(_PATTERN_S, self.watch.left_s))
        except TimeoutError:
            self.note(f"matching the pattern {shown!r} took too long")
        except timed_regex.BadPatternError as error:
            self.note(f"the pattern {shown!r} is not supported: {error}")
        return None


_running: contextvars.ContextVar[_Check] = contextvars.ContextVar("check")


def _started() -> Stopwatch:
    """Start a stopwatch once the library is loaded, which takes longer than a quick check may."""
    import jsonschema  # noqa: F401
    import referencing  # noqa: F401

    return Stopwatch()


def find_errors(
    schema: Any,
    value: object,
    most: int,
    watch: Stopwatch | None = None,
    shape: SchemaShape | None = None,
) -> Findings:
    """The first `most` errors of `value` against `schema`, within the time of `watch`.

    `shape` is that of the schema, for schemas used often; by default it is read first.

    An invalid schema proves nothing against the value, nor does one that refers to another place
    (nothing is ever fetched) or endlessly to itself. Raises nothing.
    """
    if holds_plainly(schema, value):
        return Findings([])
    check = _Check(watch or _started())
    errors: list[ValidationError] = []
    token = _running.set(check)
    try:
        check.watch.tick()
        errors.extend(itertools.islice(_errors(schema, value, check, shape), most))
    except TimeUpError:
        check.note(TOOK_TOO_LONG)
    except RecursionError:
        check.note("it is nested too deeply, or its references form a loop")
    except Exception as error:  # noqa: BLE001  # a server's schema can be wrong in any way there is
        check.note(elide(str(error), _FINDING_LIMIT) or type(error).__name__)
    finally:
        _running.reset(token)
    return Findings(errors, tuple(check.unchecked))


def schema_error(schema: Any) -> str:
    """Why `schema` is no JSON schema, in words; empty when it is one, or is too large to tell."""
    try:
        return shape_of(schema, Stopwatch()).fault
    except TimeUpError:
        return ""


def _errors(
    schema: Any, value: object, check: _Check, known: SchemaShape | None
) -> Iterator[ValidationError]:
    import jsonschema  # 50 ms, and most sessions do not need it
    import referencing

    shape = known or shape_of(schema, check.watch)
    if shape.fault:
        check.note(f"the schema is not valid JSON Schema: {shape.fault}")
        return
    if _is_too_large(value, check.watch):
        check.note("the value is too large")
        return
    chosen = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    # A named dialect would be checked by a validator without a time limit.
    checked = _without_dialect(schema)
    if shape.has_inner_dialect:
        checked = _without_dialects(checked, check.watch)
    # Unevaluated members are found by following references and patterns without a limit.
    evaluates = not (shape.has_references or shape.has_name_patterns)
    yield from _timed(chosen, evaluates=evaluates)(
        checked, registry=referencing.Registry()
    ).iter_errors(value)


@functools.lru_cache(maxsize=16)
def _timed(chosen: Any, *, evaluates: bool) -> Any:
    """The validator of a dialect, which checks its stopwatch at every keyword."""
    import jsonschema

    keywords = {**chosen.VALIDATORS}
    own = {
        "additionalProperties": _additional_properties,
        "const": _const,
        "enum": _enum,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "required": _required,
        "uniqueItems": _unique_items,
    }
    keywords.update((name, keyword) for name, keyword in own.items() if name in keywords)
    if not evaluates:
        skipped = ("unevaluatedProperties", "unevaluatedItems")
        keywords.update((name, _unevaluated) for name in skipped if name in keywords)
    keywords.update((name, _within(keywords[name])) for name in _REFERENCES if name in keywords)
    timed = {name: _ticking(keyword) for name, keyword in keywords.items()}
    return jsonschema.validators.extend(chosen, timed)


def _ticking(keyword: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    def ticking(checker: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        check = _running.get()
        try:
            check.enter()
            yield from keyword(checker, value, instance, schema) or ()
        finally:
            check.leave()

    return ticking


def _within(keyword: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    def within(checker: Any, reference: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(reference, str) and reference.startswith("#"):
            yield from keyword(checker, reference, instance, schema) or ()
        else:
            _running.get().note(
                f"the reference {reference!r} is not followed: it leads out of the schema"
            )

    return within


# Keywords that run patterns of the server, compare without end, or name all members in each error


def _pattern(_checker: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(instance, str) and _running.get().has_match(pattern, instance) is False:
        yield ValidationError(f"{_quoted(instance)} does not match {pattern!r}")


def _pattern_properties(checker: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    check = _running.get()
    for pattern, part in patterns.items():
        for name, value in instance.items():
            if check.has_match(pattern, name):
                yield from checker.descend(value, part, path=name, schema_path=pattern)


def _additional_properties(checker: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not isinstance(instance, dict):
        return
    extras = [name for name in instance if _is_additional(name, schema)]
    if isinstance(allowed, dict):
        for name in extras:
            yield from checker.descend(instance[name], allowed, path=name)
    elif not allowed and extras:
        names = ", ".join(repr(name) for name in sorted(extras)[:_SHOWN])
        verb = "was" if len(extras) == 1 else "were"
        yield ValidationError(f"Additional properties are not allowed ({names} {verb} unexpected)")


def _is_additional(name: str, schema: Any) -> bool:
    """Whether a member is neither named nor matched; uncertain ones count as matched."""
    if name in schema.get("properties", {}):
        return False
    check = _running.get()
    patterns = schema.get("patternProperties", {})
    return all(check.has_match(pattern, name) is False for pattern in patterns)


def _required(_checker: Any, names: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    for name in names if isinstance(instance, dict) and isinstance(names, list) else ():
        if name not in instance:
            yield ValidationError(
                f"{name!r} is a required property", validator="required", validator_value=[name]
            )


def _const(_checker: Any, const: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if _identity(const) != _identity(instance):
        yield ValidationError(f"{_quoted(const)} was expected")


def _enum(_checker: Any, allowed: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(instance, str):
        fits = instance in allowed
    else:
        wanted = _identity(instance)
        fits = any(_identity(each) == wanted for each in allowed)
    if not fits:
        is_short = len(allowed) <= _SHOWN
        shown = repr(allowed) if is_short else f"the {number(len(allowed))} allowed values"
        yield ValidationError(f"{_quoted(instance)} is not one of {shown}")


def _unique_items(_checker: Any, is_wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if is_wanted and isinstance(instance, list):
        seen = {_identity(each) for each in instance}
        if len(seen) < len(instance):
            yield ValidationError(f"{_quoted(instance)} has non-unique elements")


def _unevaluated(_checker: Any, _value: Any, _instance: Any, _schema: Any) -> None:
    _running.get().note("unevaluatedProperties and unevaluatedItems beside $ref or patterns")


def _identity(value: Any) -> Any:
    """A key that is equal for equal JSON values: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        _running.get().watch.tick()
        return frozenset((name, _identity(each)) for name, each in value.items())
    if isinstance(value, list):
        _running.get().watch.tick()
        return tuple(_identity(each) for each in value)
    return (bool, value) if isinstance(value, bool) else value


def _quoted(value: Any) -> str:
    return elide(repr(value[:_LARGEST] if isinstance(value, str) else value), 2 * _FINDING_LIMIT)


def _is_too_large(value: object, watch: Stopwatch) -> bool:
    size, stack = 0, [value]
    while stack:
        watch.tick()
        part = stack.pop()
        if isinstance(part, dict):
            size += len(part) + sum(map(len, part))
            stack.extend(part.values())
        elif isinstance(part, list):
            size += len(part)
            stack.extend(part)
        elif isinstance(part, str):
            size += len(part)
        if size > _LARGEST:
            return True
    return False


def _without_dialect(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    return {name: part for name, part in schema.items() if not names_dialect((name, part))}


def _without_dialects(schema: Any, watch: Stopwatch) -> Any:
    watch.tick()
    if isinstance(schema, list):
        return [_without_dialects(part, watch) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = _without_dialect(schema).items()
    return {name: _without_dialects(part, watch) for name, part in parts}
