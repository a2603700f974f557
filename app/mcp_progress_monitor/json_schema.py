"""Checks values against the JSON schemas of servers, without ever holding the program up.

jsonschema-rs does the checking: it fetches nothing, and its patterns run in linear time. But it
holds the interpreter's lock and cannot be interrupted, so everything that a check can visit is
counted first. What would take too long is not checked, and reported as unchecked.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote

from mcp_progress_monitor.formatting import elide
from mcp_progress_monitor.timed_regex import LONGEST, unrolled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from jsonschema_rs import ValidationError, Validator

QUICK: Final = 10_000
"""Pairs of schema and value to count between two events of the window: some 40 ms."""
PATIENT: Final = 200_000  # in a thread, while the program continues
_MOST_PARTS: Final = 20_000  # of a schema: compiling takes up to 4 µs each
_LARGEST: Final = 2_000_000  # characters of a schema, or of a value
_MOST_UNITS: Final = 1_000_000  # of 50 to 100 ns
_MOST_LISTED: Final = 2_000
"""Visits up to which all errors are listed: each takes up to 44 µs, and copies its value."""
_MOST_COPIED: Final = 10_000_000
_BACKTRACKS: Final = 1_000  # of a pattern with look-around: 0.2 ms
_LONGEST_BACKTRACKED: Final = 2_000  # characters
_LARGEST_PATTERN: Final = 1_000_000  # bytes, compiled
_DEEPEST: Final = 150  # far below Python's own recursion limit
_COMPILED: Final = 64  # schemas that are kept compiled
_TOO_LONG: Final = "checking it would take too long"
_UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")


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


class _UncheckedError(Exception):
    """The check is not made; the text says why."""


class _InvalidSchemaError(_UncheckedError):
    """The schema is not a JSON schema."""


def find_errors(schema: Any, value: object, most: int, effort: int = QUICK) -> Findings:
    """The first `most` errors of `value` against `schema`, with `QUICK` or `PATIENT` effort.

    An invalid schema proves nothing against the value, nor does one that refers to another place
    (nothing is ever fetched) or endlessly to itself. Raises nothing.
    """
    try:
        return _compiled(schema).check(value, most, effort)
    except RecursionError:
        return Findings([], ("it is nested too deeply, or its references form a loop",))
    except _InvalidSchemaError as error:
        return Findings([], (f"the schema is not valid JSON Schema: {error}",))
    except Exception as error:  # noqa: BLE001  # a server's schema can be wrong in any way there is
        return Findings([], (elide(str(error), 200) or type(error).__name__,))


def schema_error(schema: Any) -> str:
    """Say why `schema` is not a JSON schema; empty when it is one, or is too large to tell."""
    try:
        _compiled(schema)
    except _InvalidSchemaError as error:
        return str(error)
    except _UncheckedError:
        return ""
    return ""


class _CompiledSchema:
    """A schema of a server, compiled once. `_UncheckedError` if that would take too long."""

    def __init__(self, schema: Any) -> None:
        self.root = schema
        self.is_backtracking = False
        self._anchors: dict[str, list[Any]] = {}
        self._keywords: set[str] = set()
        self._look_through()
        try:
            self._validator = compiled(schema)
        except ValueError as error:
            self.is_backtracking = _is_of_pattern(error)
            self._validator = _compiled_patiently(schema, error)

    def check(self, value: object, most: int, effort: int) -> Findings:
        work = _Work(self, effort)
        units, visits = work.of(self.root, value)
        if units > _MOST_UNITS:
            raise _UncheckedError(_TOO_LONG)
        is_listed = visits <= _MOST_LISTED and visits * work.size(value) <= _MOST_COPIED
        is_valid, value = _tested(self._validator, value)
        if is_valid:
            return Findings([])
        if not is_listed and self._keywords & {"anyOf", "oneOf"}:  # one error may copy thousands
            return Findings([SchemaError((), "it does not match the schema")])
        first = None if is_listed else first_error(self._validator, value)
        found = [first] if first is not None else list(self._validator.iter_errors(value))
        errors = [as_error(error) for error in found if not _is_undecided(error)]
        is_unknown = len(errors) < len(found)
        errors.sort(key=lambda error: ([str(step) for step in error.path], error.message))
        return Findings(errors[:most], ("matching a pattern took too long",) * is_unknown)

    def _look_through(self) -> None:
        """Refuse what takes too long to compile or cannot be counted; collect anchors."""
        parts, characters, stack = 0, 0, [self.root]
        while stack:
            part = stack.pop()
            if isinstance(part, str):
                characters += len(part)
            elif isinstance(part, list):
                parts += 1 + len(part) // 4
                stack += part
            elif isinstance(part, dict):
                characters += sum(map(len, part))
                parts += 1 + self._note(part)
                stack += part.values()
            if parts > _MOST_PARTS or characters > _LARGEST:
                raise _UncheckedError("the schema is too large")
        if self._keywords.intersection(_REFERENCES) and self._keywords.intersection(_UNEVALUATED):
            # Compiling takes time without limit.
            raise _UncheckedError("it has unevaluatedProperties or unevaluatedItems and references")

    def _note(self, part: dict[str, Any]) -> int:
        """Note the keywords of a part; returns how many parts its patterns are worth."""
        self._keywords.update(part)
        texts = {name: each for name, each in part.items() if isinstance(each, str)}
        if part is not self.root and texts.keys() & {"$id", "id"}:
            # References within it would lead somewhere else.
            raise _UncheckedError("a part of the schema has an identifier of its own")
        for reference in (texts[name] for name in _REFERENCES if name in texts):
            if not reference.startswith("#"):
                what = f"the reference {elide(reference, 60)!r} is not followed"
                raise _UncheckedError(f"{what}: it leads out of the schema")
        for name in (texts[name] for name in ("$anchor", "$dynamicAnchor") if name in texts):
            self._anchors.setdefault(f"#{name}", []).append(part)
        named = part.get("patternProperties")
        patterns = (texts.get("pattern", ""), *(named if isinstance(named, dict) else ()))
        return sum(map(_parts_of, filter(None, patterns)))

    def targets(self, reference: str) -> list[Any]:
        """The parts of the schema that a reference may lead to."""
        if reference.startswith("#/") or reference == "#":
            return [part_at(reference, self.root)]
        return self._anchors[reference]


def compiled(schema: Any, backtracks: int | None = None) -> Validator:
    """A validator with linear patterns, or with bounded backtracking.

    Raises:
        ValueError: the schema is invalid, nested too deeply, or refers to another place.
    """
    import jsonschema_rs  # on first use: it takes 24 ms

    options: Any = jsonschema_rs.RegexOptions(size_limit=_LARGEST_PATTERN)
    if backtracks is not None:
        options = jsonschema_rs.FancyRegexOptions(backtracks, size_limit=_LARGEST_PATTERN)
    return jsonschema_rs.validator_for(
        schema, pattern_options=options, validate_formats=False, offline=True
    )


def _compiled_patiently(schema: Any, error: Any) -> Validator:
    """A validator for a schema that failed to compile; with backtracking, if a pattern needs it."""
    try:
        if _is_of_pattern(error):
            return compiled(schema, _BACKTRACKS)
    except ValueError as again:
        error = again
    if _is_of_pattern(error):
        pattern = elide(str(error.instance), 60)
        raise _UncheckedError(f"the pattern {pattern!r} is not supported")
    if not hasattr(error, "kind"):  # nested too deeply
        raise _UncheckedError(str(error))
    if error.kind.name == "$ref":  # it leads nowhere
        raise _UncheckedError(elide(error.message, 200))
    found = as_error(deepest(error))
    where = f"{found.place}: " if found.path else ""
    raise _InvalidSchemaError(elide(where + found.message, 163))


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
    while branches := list(filter(None, _branches(error))):
        error = min(branches, key=_distance)[0]
    return error


def _branches(error: ValidationError) -> list[list[ValidationError]]:
    return getattr(error.kind, "context", [])


def _distance(branch: list[ValidationError]) -> tuple[int, int]:
    return sum(each.kind.name in {"const", "enum", "type"} for each in branch), len(branch)


def _is_of_pattern(error: ValueError) -> bool:
    kind = getattr(error, "kind", None)
    return kind is not None and kind.name == "format"


def _is_undecided(error: ValidationError) -> bool:
    """A pattern was given up, here or in an alternative."""
    from jsonschema_rs import ValidationErrorKind as Kind

    if isinstance(error.kind, Kind.BacktrackLimitExceeded | Kind.RegexEngineFailure):
        return True
    return any(_is_undecided(each) for branch in _branches(error) for each in branch)


class _Work:
    """Counts what checking a value can visit, each pair of schema and value once."""

    def __init__(self, schema: _CompiledSchema, effort: int) -> None:
        self._schema = schema
        self._left = effort
        self._known: dict[tuple[int, int], tuple[int, int] | None] = {}  # None while counting
        self._depth = 0

    def of(self, part: Any, value: Any) -> tuple[int, int]:
        """Upper bounds of the units, and of the visits, for one part of the schema.

        Raises:
            RecursionError: its references form a loop, or the value is nested too deeply.
        """
        if not isinstance(part, dict):
            return 1, 1
        return self._once((id(part), id(value)), lambda: self._count(part, value))

    def size(self, value: Any) -> int:
        """Characters and parts of a value."""
        if isinstance(value, str):
            return len(value)
        if not isinstance(value, dict | list):
            return 1
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        size, _ = self._once((0, id(value)), lambda: (1 + sum(map(self.size, parts)), 0))
        if size > _LARGEST:
            raise _UncheckedError("the value is too large")
        return size

    def _once(self, key: tuple[int, int], count: Callable[[], tuple[int, int]]) -> tuple[int, int]:
        if key not in self._known:
            self._left -= 1
            self._depth += 1
            if self._left < 0:
                raise _UncheckedError(_TOO_LONG)
            if self._depth > _DEEPEST:
                raise RecursionError
            self._known[key] = None
            self._known[key] = count()
            self._depth -= 1
        known = self._known[key]
        if known is None:
            raise RecursionError
        return known

    def _count(self, part: dict[str, Any], value: Any) -> tuple[int, int]:
        # What is in place is visited again to find out what was not evaluated.
        times = 3 if any(keyword in part for keyword in _UNEVALUATED) else 1
        listed = [part[name] for name in ("enum", "const", "required") if name in part]
        units = 1 + len(part.get("properties", ())) + sum(map(self.size, listed))
        if isinstance(value, str):
            units += len(value) // 10 + self._of_matches(part.get("pattern"), (value,))
        elif part.get("uniqueItems"):
            units += self.size(value)
        if isinstance(value, dict):
            for pattern in part.get("patternProperties", ()):
                units += len(value) + self._of_matches(pattern, value)
        units, visits = times * units, times
        in_place = ((inner, value, times) for inner in self._in_place(part, value))
        for inner, member, factor in itertools.chain(in_place, _applied(part, value)):
            more, visited = self.of(inner, member)
            units, visits = units + factor * more, visits + factor * visited
        return units, visits

    def _in_place(self, part: dict[str, Any], value: Any) -> Iterator[Any]:
        for keyword in ("allOf", "anyOf", "oneOf"):
            yield from part.get(keyword, ())
        for keyword in ("not", "if", "then", "else"):
            if keyword in part:
                yield part[keyword]
        for keyword in ("dependentSchemas", "dependencies") if isinstance(value, dict) else ():
            yield from part.get(keyword, {}).values()
        for keyword in _REFERENCES:
            if isinstance(part.get(keyword), str):
                yield from self._schema.targets(part[keyword])

    def _of_matches(self, pattern: Any, texts: Collection[str]) -> int:
        """Units of matches: one for ten characters and elements of the pattern, multiplied."""
        if not isinstance(pattern, str):
            return 0
        if not self._schema.is_backtracking:
            return sum(map(len, texts)) * unrolled(pattern) // 10
        if max(map(len, texts), default=0) > _LONGEST_BACKTRACKED:
            what = f"the text is too long to match against the pattern {elide(pattern, 60)!r}"
            raise _UncheckedError(what)
        return 2 * _BACKTRACKS * len(texts)


def _applied(part: dict[str, Any], value: Any) -> Iterator[tuple[Any, Any, int]]:
    """Subschemas with the members or items that they apply to, each once."""
    if isinstance(value, dict):
        named = part.get("properties", {})
        yield from ((inner, value[name], 1) for name, inner in named.items() if name in value)
        if "propertyNames" in part:
            yield from ((part["propertyNames"], name, 1) for name in value)
        others = [member for name, member in value.items() if name not in named]
        every = (*part.get("patternProperties", {}).values(), part.get("unevaluatedProperties"))
        rest, members = part.get("additionalProperties"), list(value.values())
    elif isinstance(value, list):
        first, rest = part.get("prefixItems", ()), part.get("items")
        if isinstance(rest, list):
            first, rest = rest, part.get("additionalItems")
        yield from zip(first, value, itertools.repeat(1))
        every = (part.get("contains"), part.get("unevaluatedItems"))
        others = members = value
    else:
        return
    yield from ((rest, member, 1) for member in others)
    yield from ((inner, member, 1) for inner in every for member in members)


def _parts_of(pattern: str) -> int:
    """Return how many ordinary parts of a schema take as long to compile: 4 µs each."""
    if len(pattern) > LONGEST:
        return _MOST_PARTS
    return 40 + unrolled(pattern) + (1_000 if r"\p" in pattern.lower() else 0)


def part_at(reference: str, root: Any) -> Any:
    """The part of a schema that a pointer such as `#/$defs/a` leads to; None if there is none.

    Source: RFC 6901, section 6.
    """
    found = root
    for step in reference.removeprefix("#").split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found


_kept: dict[int, tuple[Any, _CompiledSchema | _UncheckedError]] = {}
"""Compiled schemas by the identity of their source, which is kept so that it stays taken."""


def _compiled(schema: Any) -> _CompiledSchema:
    if id(schema) not in _kept:
        try:
            made: _CompiledSchema | _UncheckedError = _CompiledSchema(schema)
        except _UncheckedError as error:
            made = error
        while len(_kept) >= _COMPILED:
            del _kept[next(iter(_kept))]
        _kept[id(schema)] = (schema, made)
    found = _kept[id(schema)][1]
    if isinstance(found, _UncheckedError):
        raise found
    return found
