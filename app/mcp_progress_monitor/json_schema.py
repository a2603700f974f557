"""Checks values against the JSON schemas of servers, without ever holding the program up.

jsonschema-rs does the checking: it fetches nothing, and its patterns run in linear time. But it
holds the interpreter's lock and cannot be interrupted, so everything that a check can visit is
counted first. What would take too long is not checked, and reported as unchecked.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote

from mcp_progress_monitor.formatting import elide
from mcp_progress_monitor.timed_regex import LONGEST, unrolled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from jsonschema_rs import ValidationError, Validator

QUICK: Final = 10_000
"""Pairs of schema and value to count between two events of the window: some 40 ms."""
PATIENT: Final = 200_000  # in a thread, while the program continues
_MOST_PARTS: Final = 20_000  # of a schema: compiling takes up to 4 µs each
_MOST_CHARACTERS: Final = 2_000_000  # of a schema, or of a value
_MOST_UNITS: Final = 1_000_000  # of 50 to 100 ns
_MOST_LISTED: Final = 2_000
"""Visits up to which all errors are listed: each takes up to 44 µs, and copies its value."""
_MOST_COPIED: Final = 10_000_000
_BACKTRACKS: Final = 1_000  # of a pattern with look-around: 0.2 ms
_LONGEST_BACKTRACKED: Final = 2_000  # characters
_LARGEST_PATTERN: Final = 1_000_000  # bytes, compiled
_DEEPEST: Final = 150  # far below Python's own recursion limit
_COMPILED: Final = 64  # schemas that are kept compiled
_FAULT_LIMIT: Final = 200
_INVALID: Final = "the schema is not valid JSON Schema: "
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SINGLE: Final = ("not", "if", "then", "else")
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
    except Exception as error:  # noqa: BLE001  # a server's schema can be wrong in any way there is
        return Findings([], (elide(str(error), _FAULT_LIMIT) or type(error).__name__,))


def schema_error(schema: Any) -> str:
    """Why `schema` is not a JSON schema; empty when it is one, or is too large to tell."""
    try:
        _compiled(schema)
    except _InvalidSchemaError as error:
        return str(error).removeprefix(_INVALID)
    except _UncheckedError:
        return ""
    return ""


class _CompiledSchema:
    """A schema of a server, compiled once. `_UncheckedError` if that would take too long."""

    def __init__(self, schema: Any) -> None:
        self.root = schema
        self.anchors: dict[str, list[Any]] = {}
        self._has_alternatives = self._has_references = self._is_evaluating = False
        self._look_through()
        self.is_backtracking = False
        try:
            try:
                self._validator = compiled(schema)
            except ValueError as error:
                if not _is_of_pattern(error):
                    raise
                self.is_backtracking = True
                self._validator = compiled(schema, _BACKTRACKS)
        except ValueError as error:
            raise _reason(error) from None

    def check(self, value: object, most: int, effort: int) -> Findings:
        work = _Work(self, effort)
        units, visits = work.of(self.root, value)
        if units > _MOST_UNITS:
            raise _UncheckedError("checking it would take too long")
        is_listed = visits <= _MOST_LISTED and visits * work.size(value) <= _MOST_COPIED
        try:
            if self._validator.is_valid(value):
                return Findings([])
        except UnicodeEncodeError:
            return self.check(_without_surrogates(value), most, effort)
        if self._has_alternatives and not is_listed:  # one error may copy thousands
            return Findings([SchemaError((), "it does not match the schema")])
        first = None if is_listed else first_error(self._validator, value)
        found = [first] if first is not None else list(self._validator.iter_errors(value))
        is_unknown = any(map(_is_undecided, found))
        errors = [as_error(error) for error in found if not _is_undecided(error)]
        unchecked = ("matching a pattern took too long",) if is_unknown else ()
        return Findings(sorted(errors, key=_order)[:most], unchecked)

    def _look_through(self) -> None:
        """Refuse what takes too long to compile or cannot be counted; collect anchors."""
        parts = characters = 0
        stack = [self.root]
        while stack:
            part = stack.pop()
            if isinstance(part, str):
                characters += len(part)
            elif isinstance(part, list):
                parts += 1 + len(part) // 4
                stack += part
            elif isinstance(part, dict):
                characters += sum(map(len, part))
                parts += 1 + self._noted(part)
                stack += part.values()
            if parts > _MOST_PARTS or characters > _MOST_CHARACTERS:
                raise _UncheckedError("the schema is too large")

    def _noted(self, part: dict[str, Any]) -> int:
        """How many ordinary parts the patterns of a part are worth."""
        if part is not self.root and any(isinstance(part.get(n), str) for n in ("$id", "id")):
            # References within it would lead somewhere else.
            raise _UncheckedError("a part of the schema has an identifier of its own")
        for keyword in _REFERENCES:
            reference = part.get(keyword)
            if isinstance(reference, str) and not reference.startswith("#"):
                what = f"the reference {elide(reference, 60)!r} is not followed"
                raise _UncheckedError(f"{what}: it leads out of the schema")
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := part.get(keyword), str):
                self.anchors.setdefault(f"#{name}", []).append(part)
        self._has_alternatives |= "anyOf" in part or "oneOf" in part
        self._has_references |= any(keyword in part for keyword in _REFERENCES)
        self._is_evaluating |= any(keyword in part for keyword in _UNEVALUATED)
        if self._has_references and self._is_evaluating:  # compiling takes time without limit
            raise _UncheckedError("it has unevaluatedProperties or unevaluatedItems and references")
        named = part.get("patternProperties")
        patterns = (part.get("pattern"), *(named if isinstance(named, dict) else ()))
        return sum(_parts_of(each) for each in patterns if isinstance(each, str))

    def targets(self, reference: str) -> list[Any]:
        """The parts of the schema that a reference may lead to."""
        if reference == "#":
            return [self.root]
        if reference.startswith("#/"):
            return [part_at(reference, self.root)]
        return self.anchors[reference]


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


def first_error(validator: Validator, value: object) -> ValidationError | None:
    """The first error if there is one, which is far cheaper than all.

    Raises:
        ValueError: the value is nested too deeply.
    """
    try:
        if validator.is_valid(value):
            return None
    except UnicodeEncodeError:
        value = _without_surrogates(value)
    from jsonschema_rs import ValidationError

    try:
        validator.validate(value)
    except ValidationError as error:
        return error
    return None


def _without_surrogates(value: object) -> Any:
    """Replace halves of surrogate pairs, which JSON texts may hold, but no Unicode text."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


def as_error(error: ValidationError) -> SchemaError:
    return SchemaError(
        tuple(error.instance_path), error.message, getattr(error.kind, "property", None)
    )


def deepest(error: ValidationError) -> ValidationError:
    """The error in the alternative that was most likely intended, if none fits.

    That is the one with the fewest wrong types and constants, then with the fewest errors.
    """
    while branches := [branch for branch in _branches(error) if branch]:
        error = min(branches, key=_distance)[0]
    return error


def _branches(error: ValidationError) -> list[list[ValidationError]]:
    return getattr(error.kind, "context", [])


def _distance(branch: Sequence[ValidationError]) -> tuple[int, int]:
    constants = [each for each in branch if each.kind.name in {"const", "enum", "type"}]
    return len(constants), len(branch)


def _order(error: SchemaError) -> tuple[list[str], str]:
    return [str(step) for step in error.path], error.message


def _is_of_pattern(error: ValueError) -> bool:
    from jsonschema_rs import ValidationErrorKind

    return isinstance(getattr(error, "kind", None), ValidationErrorKind.Format)


def _is_undecided(error: ValidationError) -> bool:
    """A pattern was given up, here or in an alternative."""
    from jsonschema_rs import ValidationErrorKind as Kind

    if isinstance(error.kind, Kind.BacktrackLimitExceeded | Kind.RegexEngineFailure):
        return True
    return any(_is_undecided(each) for branch in _branches(error) for each in branch)


def _reason(error: ValueError) -> _UncheckedError:
    """Why a schema could not be compiled."""
    from jsonschema_rs import ValidationError, ValidationErrorKind

    if _is_of_pattern(error):
        pattern = elide(str(getattr(error, "instance", "")), 60)
        return _UncheckedError(f"the pattern {pattern!r} is not supported")
    if not isinstance(error, ValidationError):  # nested too deeply
        return _UncheckedError(str(error))
    if isinstance(error.kind, ValidationErrorKind.Referencing):
        return _UncheckedError(elide(error.message, _FAULT_LIMIT))
    found = as_error(deepest(error))
    what = f"{found.place}: {found.message}" if found.path else found.message
    return _InvalidSchemaError(elide(_INVALID + what, _FAULT_LIMIT))


class _Work:
    """Counts what checking a value can visit, each pair of schema and value once."""

    def __init__(self, schema: _CompiledSchema, effort: int) -> None:
        self._schema = schema
        self._left = effort
        self._known: dict[tuple[int, int], tuple[int, int] | None] = {}  # None while counting
        self._sizes: dict[int, int] = {}
        self._depth = 0

    def of(self, part: Any, value: Any) -> tuple[int, int]:
        """Upper bounds of the units, and of the visits, for one part of the schema.

        Raises:
            RecursionError: its references form a loop, or the value is nested too deeply.
        """
        if not isinstance(part, dict):
            return 1, 1
        key = id(part), id(value)
        if key not in self._known:
            self._enter()
            self._known[key] = None
            self._known[key] = self._count(part, value)
            self._depth -= 1
        known = self._known[key]
        if known is None:
            raise RecursionError
        return known

    def size(self, value: Any) -> int:
        """Characters and parts of a value."""
        if isinstance(value, str):
            return len(value)
        if not isinstance(value, dict | list):
            return 1
        if id(value) not in self._sizes:
            self._enter()
            parts = [*value, *value.values()] if isinstance(value, dict) else value
            self._sizes[id(value)] = 1 + sum(map(self.size, parts))
            self._depth -= 1
        if self._sizes[id(value)] > _MOST_CHARACTERS:
            raise _UncheckedError("the value is too large")
        return self._sizes[id(value)]

    def _enter(self) -> None:
        self._left -= 1
        self._depth += 1
        if self._left < 0:
            raise _UncheckedError("checking it would take too long")
        if self._depth > _DEEPEST:
            raise RecursionError

    def _count(self, part: dict[str, Any], value: Any) -> tuple[int, int]:
        listed = [part[name] for name in ("enum", "const", "required") if name in part]
        units = 1 + len(part.get("properties", ())) + sum(map(self.size, listed))
        visits = 1
        if isinstance(value, str):
            units += len(value) // 10 + self._of_matches(part.get("pattern"), (value,))
        elif part.get("uniqueItems"):
            units += self.size(value)
        if isinstance(value, dict):
            for pattern in part.get("patternProperties", ()):
                units += len(value) + self._of_matches(pattern, value)
        for inner in self._in_place(part, value):
            more, visited = self.of(inner, value)
            units, visits = units + more, visits + visited
        if any(keyword in part for keyword in _UNEVALUATED):  # what is in place is visited again
            units, visits = 3 * units, 3 * visits
        for inner, member in _applied(part, value):
            more, visited = self.of(inner, member)
            units, visits = units + more, visits + visited
        return units, visits

    def _in_place(self, part: dict[str, Any], value: Any) -> Iterator[Any]:
        for keyword in _LISTS:
            yield from part.get(keyword, ())
        yield from (part[keyword] for keyword in _SINGLE if keyword in part)
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


def _applied(part: dict[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
    """Subschemas with the members or items that they apply to."""
    if isinstance(value, dict):
        named = part.get("properties", {})
        yield from ((inner, value[name]) for name, inner in named.items() if name in value)
        others = [member for name, member in value.items() if name not in named]
        yield from ((part.get("additionalProperties"), member) for member in others)
        every = (*part.get("patternProperties", {}).values(), part.get("unevaluatedProperties"))
        yield from ((inner, member) for inner in every for member in value.values())
        yield from ((part.get("propertyNames"), name) for name in value)
    elif isinstance(value, list):
        items = part.get("items")
        first = items if isinstance(items, list) else part.get("prefixItems", ())
        yield from zip(first, value, strict=False)
        rest = part.get("additionalItems") if isinstance(items, list) else items
        every = (rest, part.get("contains"), part.get("unevaluatedItems"))
        yield from ((inner, member) for inner in every for member in value)


def _parts_of(pattern: str) -> int:
    """How many ordinary parts of a schema take as long to compile: 4 µs each."""
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
