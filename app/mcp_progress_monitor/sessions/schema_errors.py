"""What of a value breaks a server's schema, found within a limit of time.

What could not be checked is said to be so: it proves nothing against the value, nor for it.
"""

from __future__ import annotations

import contextvars
import functools
import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import timed_regex
from mcp_progress_monitor.sessions.schema_shape import names_dialect, shape_of
from mcp_progress_monitor.sessions.stopwatch import Stopwatch, TimeUpError
from mcp_progress_monitor.text import elide, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jsonschema import ValidationError

_PATTERN_S: Final = 0.01
_LONGEST_MATCHED: Final = 1_000_000
_LARGEST: Final = 2_000_000
"""Characters and parts of a value; messages quote values."""
_DEEPEST: Final = 150
"""Keywords within keywords. Far below Python's own limit of recursion: at that limit the library
that keeps references ends the whole program."""
_SHOWN: Final = 50
_WORDS: Final = 200
_MOST_UNCHECKED: Final = 20
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
TOOK_TOO_LONG: Final = "the check took too long and was ended"


class Findings(NamedTuple):
    """What a check has found. `unchecked` says what it could not find out, empty when nothing."""

    errors: list[ValidationError]
    unchecked: tuple[str, ...] = ()


class _Check:
    """One check that runs: its time, and what it could not do."""

    def __init__(self, watch: Stopwatch) -> None:
        self.watch = watch
        self.unchecked: dict[str, None] = {}
        self._depth = 0

    def enter(self) -> None:
        """Go one keyword deeper; to be followed by `leave`."""
        self.watch.tick()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise RecursionError

    def leave(self) -> None:
        """Come back from a keyword."""
        self._depth -= 1

    def note(self, words: str) -> None:
        """Say what is not checked, once."""
        if len(self.unchecked) < _MOST_UNCHECKED:
            self.unchecked[elide(words, _WORDS)] = None

    def has_match(self, pattern: Any, text: str) -> bool | None:
        """Whether a pattern of the server has a match; None when that cannot be found out."""
        self.watch.tick()
        if not isinstance(pattern, str):
            return None
        shown = elide(pattern, 60)
        if len(text) > _LONGEST_MATCHED:
            self.note(f"the text for the pattern {shown!r} is too long")
            return None
        try:
            return timed_regex.is_match(pattern, text, min(_PATTERN_S, self.watch.left_s))
        except TimeoutError:
            self.note(f"the pattern {shown!r} took too long")
        except timed_regex.BadPatternError as error:
            self.note(f"the pattern {shown!r} cannot be used: {error}")
        return None


_running: contextvars.ContextVar[_Check] = contextvars.ContextVar("check")


def find_errors(schema: Any, value: object, most: int, watch: Stopwatch | None = None) -> Findings:
    """The first `most` errors of `value` against `schema`, within the time of `watch`.

    A schema that is wrong itself proves nothing against the value, nor does one that refers to
    somewhere else (nothing is ever fetched) or to itself without end. Raises nothing.
    """
    check = _Check(watch or Stopwatch())
    errors: list[ValidationError] = []
    token = _running.set(check)
    try:
        check.watch.tick()
        errors.extend(itertools.islice(_errors(schema, value, check), most))
    except TimeUpError:
        check.note(TOOK_TOO_LONG)
    except RecursionError:
        check.note("it is nested too deep, or refers to itself without end")
    except Exception as error:  # noqa: BLE001  # a server's schema can be wrong in any way there is
        check.note(elide(str(error), _WORDS) or type(error).__name__)
    finally:
        _running.reset(token)
    return Findings(errors, tuple(check.unchecked))


def schema_problem(schema: Any, watch: Stopwatch | None = None) -> str:
    """Why `schema` is no JSON schema, in words; empty when it is one, or is too large to tell."""
    try:
        return shape_of(schema, watch or Stopwatch()).fault
    except TimeUpError:
        return ""


def _errors(schema: Any, value: object, check: _Check) -> Iterator[ValidationError]:
    import jsonschema  # 50 ms, and most sessions make no use of it
    import referencing

    shape = shape_of(schema, check.watch)
    if shape.fault:
        check.note(f"the schema is no JSON schema: {shape.fault}")
        return
    if _is_too_large(value, check.watch):
        check.note("the value is too large")
        return
    chosen = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    # What names a dialect would be checked by a validator that has no limit of time.
    checked = _without_dialect(schema)
    if shape.has_inner_dialect:
        checked = _without_dialects(checked, check.watch)
    # What is evaluated elsewhere is found by following references and patterns without a limit.
    evaluates = not (shape.has_references or shape.has_name_patterns)
    yield from _timed(chosen, evaluates=evaluates)(
        checked, registry=referencing.Registry()
    ).iter_errors(value)


@functools.lru_cache(maxsize=16)
def _timed(chosen: Any, *, evaluates: bool) -> Any:
    """The validator of a dialect, which looks at its stopwatch at every keyword."""
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
            _running.get().note(f"it refers to {reference!r}: only references within it are used")

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
    """Whether a member is neither named nor matched; one that is unclear counts as matched."""
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
    _running.get().note("unevaluatedProperties and unevaluatedItems, beside $ref or patterns")


def _identity(value: Any) -> Any:
    """What is equal for equal JSON values: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        _running.get().watch.tick()
        return frozenset((name, _identity(each)) for name, each in value.items())
    if isinstance(value, list):
        _running.get().watch.tick()
        return tuple(_identity(each) for each in value)
    return (bool, value) if isinstance(value, bool) else value


def _quoted(value: Any) -> str:
    return elide(repr(value[:_LARGEST] if isinstance(value, str) else value), 2 * _WORDS)


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
