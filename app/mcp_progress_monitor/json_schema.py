"""Checks values against the JSON schemas of servers, without ever holding the program up.

jsonschema-rs does the checking: it fetches nothing, and its patterns run in linear time. But it
holds the interpreter's lock and cannot be interrupted, so everything that a check can visit is
counted first. What would take too long is not checked, and reported as unchecked.
"""

from __future__ import annotations

import functools
import itertools
import json
import marshal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.formatting import elide
from mcp_progress_monitor.json_pointer import part_at
from mcp_progress_monitor.timed_regex import LONGEST, unrolled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from jsonschema_rs import PatternOptionsType, ValidationError, Validator

QUICK: Final = 10_000
"""Visits to count between two events of the window: some 40 ms."""
PATIENT: Final = 200_000  # in a thread, while the program continues
_MOST_PARTS: Final = 10_000  # of a schema: compiling takes up to 4 µs each
_MOST_UNITS: Final = 500_000  # of 50 to 100 ns
_MOST_LISTED: Final = 5_000
"""Units up to which all errors are listed: each takes 6 µs, and copies its value."""
_MOST_COPIED: Final = 1_000_000  # bytes of up to 44 ns
_BACKTRACKS: Final = 1_000  # of a pattern with look-around: 0.2 ms
_LONGEST_BACKTRACKED: Final = 2_000  # characters
_LARGEST_PATTERN: Final = 1_000_000  # bytes, compiled
_COMPILED: Final = 64  # schemas that are kept compiled
_TOO_LONG: Final = "checking it would take too long"

_REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_IDENTIFIERS: Final = frozenset({"$id", "id"})
_NAMED: Final = _REFERENCES | _IDENTIFIERS | {"$anchor", "$dynamicAnchor"}
_ALTERNATIVES: Final = frozenset({"anyOf", "oneOf"})
_UNEVALUATED: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_NOTED: Final = _REFERENCES | _ALTERNATIVES | _UNEVALUATED
_DEPENDENT: Final = frozenset({"dependentSchemas", "dependencies"})
_IN_PLACE: Final = _ALTERNATIVES | _DEPENDENT | {"allOf", "not", "if", "then", "else"}
_OF_ITEMS: Final = frozenset({"prefixItems", "items", "additionalItems", "contains"})
_OF_MEMBERS: Final = _UNEVALUATED | _OF_ITEMS | {"patternProperties", "additionalProperties"}


class SchemaError(NamedTuple):
    """A violation: the path from the value's root, and the reason in words.

    `missing` names the required member that is absent at `path`.
    """

    path: tuple[str | int, ...]
    message: str
    missing: str | None = None

    @property
    def place(self) -> str:
        """The path as text, such as `content[0].text`; empty for the root."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return "".join(steps).removeprefix(".")


class Findings(NamedTuple):
    """The results of a check.

    `unchecked` says what could not be determined; of patterns, only if there are no errors.
    """

    errors: list[SchemaError]
    unchecked: tuple[str, ...] = ()


class _UncheckedError(ValueError):
    """The check is not made; the text says why."""


def find_errors(schema: Any, value: object, most: int, effort: int = QUICK) -> Findings:
    """The first `most` errors of `value` against `schema`, with `QUICK` or `PATIENT` effort.

    An invalid schema proves nothing against the value, nor does one that refers to another place
    (nothing is ever fetched) or endlessly to itself. Raises nothing.
    """
    try:
        return _compiled(schema).check(value, most, effort)
    except RecursionError:
        return Findings([], ("it is nested too deeply, or its references form a loop",))
    except Exception as error:  # noqa: BLE001  # a server's schema can be wrong in any way there is
        return Findings([], (elide(str(error), 200) or type(error).__name__,))


def schema_error(schema: Any) -> str:
    """Say why `schema` is not a JSON schema; empty when it is one, or is too large to tell."""
    return _compiled(schema).fault


class _CompiledSchema:
    """A schema of a server, compiled once, unless that would take too long."""

    def __init__(self, schema: Any) -> None:
        self.root = schema
        self.fault = ""  # why it is not a JSON schema
        self._refusal = ""  # why nothing can be checked
        self._anchors: dict[str, list[Any]] = {}
        self._keywords: set[str] = set()
        self._patterns: list[str] = []
        try:
            self._look_through()
            self._validator = compiled(schema)
        except ValueError as error:
            self._refusal, self.fault = _refusal(error)

    def check(self, value: object, most: int, effort: int) -> Findings:
        if self._refusal:
            raise _UncheckedError(self._refusal)
        units = self._units(value, effort)
        if units > _MOST_UNITS:
            raise _UncheckedError(_TOO_LONG)
        is_valid, value = _tested(self._validator, value)
        if is_valid:
            return Findings([])
        size = _size_of(value)
        if units <= _MOST_LISTED and units * size <= _MOST_COPIED:
            found = [*self._validator.iter_errors(value)]
        elif size <= _MOST_COPIED and self._keywords.isdisjoint(_ALTERNATIVES):
            found = [*filter(None, [first_error(self._validator, value)])]
        elif all(map(_is_linear, self._patterns)):
            # An error of alternatives may copy the value thousands of times.
            return Findings([SchemaError((), "it does not match the schema")])
        else:
            raise _UncheckedError(_TOO_LONG)
        errors = [as_error(error) for error in found if not _is_undecided(error)]
        is_unknown = len(errors) < len(found)
        errors.sort(key=lambda error: ([str(step) for step in error.path], error.message))
        return Findings(errors[:most], ("matching a pattern took too long",) * is_unknown)

    def _look_through(self) -> None:
        """Refuse what takes too long to compile or cannot be counted; note keywords and anchors."""
        left, stack = _MOST_PARTS, [self.root]
        while stack:
            part = stack.pop()
            if isinstance(part, str):
                left -= len(part) // 100
            elif isinstance(part, dict | list):
                left -= 1 + len(part) // 4
                stack += part
            if left < 0:
                raise _UncheckedError("the schema is too large")
            if isinstance(part, dict):
                left -= self._note(part)
                stack += part.values()
        if self._keywords & _REFERENCES and self._keywords & _UNEVALUATED:
            # Compiling takes time without limit.
            raise _UncheckedError("it has unevaluatedProperties or unevaluatedItems and references")

    def _note(self, part: dict[str, Any]) -> int:
        """Note a part; returns how many parts its patterns are worth."""
        self._keywords |= part.keys() & _NOTED
        texts = {name: part[name] for name in part.keys() & _NAMED if isinstance(part[name], str)}
        if part is not self.root and texts.keys() & _IDENTIFIERS:
            # References within it would lead somewhere else.
            raise _UncheckedError("a part of the schema has an identifier of its own")
        for name, text in texts.items():
            if name not in _REFERENCES:
                self._anchors.setdefault(f"#{text}", []).append(part)
            elif not text.startswith("#"):
                what = f"the reference {elide(text, 60)!r} is not followed"
                raise _UncheckedError(f"{what}: it leads out of the schema")
        named = part.get("patternProperties")
        patterns = [part.get("pattern"), *(named if isinstance(named, dict) else ())]
        patterns = [each for each in patterns if isinstance(each, str)]
        self._patterns += patterns
        return sum(map(_parts_of, patterns))

    def _units(self, value: object, effort: int) -> int:
        """Upper bound of the time of a check, in units of 50 to 100 ns, and of its errors.

        Raises:
            RecursionError: references form a loop, or the value is nested too deeply.
        """
        known: dict[tuple[int, int], int] = {}  # by the identities of a part and a value
        left = effort

        def units_of(part: Any, value: Any) -> int:
            nonlocal left
            left -= 1
            if left < 0:
                raise _UncheckedError(_TOO_LONG)
            if not isinstance(part, dict):
                return 1
            key = id(part), id(value)
            if key not in known:
                known[key] = 0  # while counting
                # What is in place is visited again to find out what was not evaluated.
                times = 1 if part.keys().isdisjoint(_UNEVALUATED) else 3
                units = _units_of_visit(part, value)
                left -= units // 50
                inner = sum(itertools.starmap(units_of, self._applied(part, value)))
                known[key] = times * (units + inner)
            if not known[key]:
                raise RecursionError
            return known[key]

        return units_of(self.root, value)

    def _applied(self, part: dict[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
        """Subschemas with the values that they may apply to."""
        members = value.values() if isinstance(value, dict) else value
        for keyword, found in part.items():
            if keyword in _REFERENCES:
                for target in self._anchors.get(found) or [part_at(found, self.root)]:
                    yield target, value
            elif keyword == "properties" and isinstance(value, dict):
                yield from ((found[name], value[name]) for name in found.keys() & value.keys())
            elif keyword == "propertyNames" and isinstance(value, dict):
                yield from itertools.product([found], value)
            elif keyword in _IN_PLACE:
                yield from itertools.product(_subschemas(keyword, found), [value])
            elif keyword in _OF_MEMBERS and isinstance(value, dict | list):
                yield from itertools.product(_subschemas(keyword, found), members)


def _units_of_visit(part: dict[str, Any], value: Any) -> int:
    units = 1 + len(part.get("properties", ())) + len(part.get("required", ()))
    units += sum(_size_of(part[name]) // 8 for name in ("enum", "const") if name in part)
    if isinstance(value, str):
        units += len(value) // 1_000 + _units_of_match(part.get("pattern", ""), value)
    elif isinstance(value, list) and part.get("uniqueItems"):
        units += _size_of(value) // 2
    elif isinstance(value, dict) and "patternProperties" in part:
        pairs = itertools.product(part["patternProperties"], value)
        units += sum(itertools.starmap(_units_of_match, pairs))
    return units


def _subschemas(keyword: str, found: Any) -> Collection[Any]:
    if keyword == "patternProperties" or keyword in _DEPENDENT:
        return [*found.values()]
    return found if isinstance(found, list) else [found]


def _units_of_match(pattern: str, text: str) -> int:
    """Units of a match: one for ten characters and elements of the pattern, multiplied."""
    if not pattern or _is_linear(pattern):
        return len(text) * unrolled(pattern) // 10
    if len(text) > _LONGEST_BACKTRACKED:
        what = f"the text is too long to match against the pattern {elide(pattern, 60)!r}"
        raise _UncheckedError(what)
    return 2 * _BACKTRACKS


def _parts_of(pattern: str) -> int:
    """Return how many ordinary parts of a schema take as long to compile, twice."""
    if len(pattern) > LONGEST:
        return _MOST_PARTS
    return 15 + unrolled(pattern) * (100 if r"\p" in pattern.lower() else 2)


@functools.lru_cache(maxsize=1_000)
def _is_linear(pattern: str) -> bool:
    from jsonschema_rs import RegexOptions

    try:
        compiled({"pattern": pattern}, RegexOptions(size_limit=_LARGEST_PATTERN))
    except ValueError:
        return False
    return True


def compiled(schema: Any, options: PatternOptionsType | None = None) -> Validator:
    """A validator that fetches nothing and backtracks little, in patterns with look-around only.

    Raises:
        ValueError: the schema is invalid, nested too deeply, or refers to another place.
    """
    import jsonschema_rs  # on first use: it takes 24 ms

    bounded = jsonschema_rs.FancyRegexOptions(_BACKTRACKS, size_limit=_LARGEST_PATTERN)
    return jsonschema_rs.validator_for(
        schema, pattern_options=options or bounded, validate_formats=False, offline=True
    )


def _refusal(error: Any) -> tuple[str, str]:
    """Return why a schema cannot be used, and its fault if it is not a JSON schema."""
    name = error.kind.name if hasattr(error, "kind") else ""
    if not name:  # ours, or it is nested too deeply
        return str(error), ""
    if name == "format":
        return f"the pattern {elide(str(error.instance), 60)!r} is not supported", ""
    if name == "$ref":  # it leads nowhere
        return elide(error.message, 200), ""
    found = as_error(deepest(error))
    fault = elide((f"{found.place}: " if found.path else "") + found.message, 163)
    return f"the schema is not valid JSON Schema: {fault}", fault


def first_error(validator: Validator, value: object) -> ValidationError | None:
    """The first error if there is one, which is far cheaper than all.

    Raises:
        ValueError: the value is nested too deeply.
    """
    is_valid, value = _tested(validator, value)
    if is_valid:
        return None
    from jsonschema_rs import ValidationError

    try:
        validator.validate(value)
    except ValidationError as error:
        return error
    return None


def _tested(validator: Validator, value: object) -> tuple[bool, Any]:
    """Test a value, and return it without halves of surrogate pairs, which JSON texts may hold."""
    try:
        return validator.is_valid(value), value
    except UnicodeEncodeError:
        value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
        return validator.is_valid(value), value


def as_error(error: ValidationError) -> SchemaError:
    return SchemaError(
        tuple(error.instance_path), error.message, getattr(error.kind, "property", None)
    )


def deepest(error: ValidationError) -> ValidationError:
    """The error in the alternative that was most likely intended, if none fits.

    That is the one with the fewest wrong types and constants, then with the fewest errors.
    """
    while branches := [*filter(None, _branches(error))]:
        error = min(branches, key=_distance)[0]
    return error


def _branches(error: ValidationError) -> list[list[ValidationError]]:
    return getattr(error.kind, "context", [])


def _distance(branch: list[ValidationError]) -> tuple[int, int]:
    return sum(each.kind.name in {"const", "enum", "type"} for each in branch), len(branch)


def _is_undecided(error: ValidationError) -> bool:
    """A pattern was given up, here or in an alternative."""
    from jsonschema_rs import ValidationErrorKind as Kind

    if isinstance(error.kind, Kind.BacktrackLimitExceeded | Kind.RegexEngineFailure):
        return True
    return any(_is_undecided(each) for branch in _branches(error) for each in branch)


def _size_of(value: Any) -> int:
    """Bytes of a JSON value. Marshalling takes a fifth of the time of writing JSON.

    Raises:
        ValueError: it is nested too deeply.
    """
    return len(marshal.dumps(value, 2))


_kept: dict[int, _CompiledSchema] = {}
"""Compiled schemas by the identity of their source, which each keeps so that it stays taken."""


def _compiled(schema: Any) -> _CompiledSchema:
    if id(schema) not in _kept:
        made = _CompiledSchema(schema)
        while len(_kept) >= _COMPILED:
            del _kept[next(iter(_kept))]
        _kept[id(schema)] = made
    return _kept[id(schema)]
