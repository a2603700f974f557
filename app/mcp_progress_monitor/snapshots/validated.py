"""Frozen values whose fields are checked wherever they come from: a file, an option, a form.

Importing it takes half a millisecond, pydantic a hundred: every command that reads a saved server
would pay that. The methods have pydantic's names, which readers know. Nor is code generated for
each class, as `dataclasses` does: a class takes 30 us instead of 500, and commands load twelve.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    NamedTuple,
    NoReturn,
    Self,
    TypeAlias,
    TypeVar,
    dataclass_transform,
)

if TYPE_CHECKING:
    import re

Check: TypeAlias = Callable[[Any], Any]
"""Returns the value to store; `ValueError` describes the violation: "must be …"."""

MISSING: Final = "missing"
EMPTY: Final = "must not be empty"
NOT_UTF8: Final = "must be valid UTF-8"
_TRUE: Final = frozenset({"true", "yes", "on", "1", "t", "y"})
_FALSE: Final = frozenset({"false", "no", "off", "0", "f", "n"})
_V = TypeVar("_V", bound="Validated")


class FieldError(NamedTuple):
    """The violation of one value; `place` is its path: fields, keys and positions."""

    place: tuple[str, ...]
    message: str


class InvalidValueError(ValueError):
    """A value was refused. All violations are in `errors`, in the order of its fields."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(": ".join(_parts(error)) for error in self.errors))


def _parts(error: FieldError) -> list[str]:
    place = ".".join(error.place)
    return [place, error.message] if place else [error.message]


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,)
)
class Validated:
    """The base of values whose fields are checked and converted when created.

    Its subclasses are written like frozen dataclasses, without the decorator. `checks` has a check
    for each field that needs one. Fields with other names are ignored, as a newer version may have
    saved them, unless the class `forbids_others`.
    """

    defaults: ClassVar[Mapping[str, Any]] = {}
    """The fields in order, with their defaults: `MISSING`, or a `Field` with a factory."""
    checks: ClassVar[Mapping[str, Check]] = {}
    forbids_others: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Find the fields, those of the base class first."""
        own = {
            name: vars(cls).get(name, dataclasses.MISSING)
            for name, kind in inspect.get_annotations(cls).items()
            if not kind.startswith("ClassVar")
        }
        cls.defaults = {**cls.defaults, **own}

    def __init__(self, **values: Any) -> None:
        """Check every field; `InvalidValueError` with all violations."""
        made = {name: _made(default) for name, default in self.defaults.items()}
        vars(self).update(made, **values)
        unknown = values.keys() - self.defaults.keys()
        missing = [name for name, value in vars(self).items() if value is dataclasses.MISSING]
        if unknown or missing:
            raise TypeError(f"{type(self).__name__}: {missing=}, {unknown=}")
        self.__post_init__()

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({shown})"

    def __post_init__(self) -> None:
        """Check the fields; a subclass may check more."""
        errors: list[FieldError] = []
        for name, check in self.checks.items():
            value = getattr(self, name)
            checked = _checked(check, value, (name,), errors)
            if checked is not value:
                vars(self)[name] = checked
        if errors:
            raise InvalidValueError(errors)

    @classmethod
    def model_validate(cls, fields: object) -> Self:
        """The value with these fields, a mapping; `InvalidValueError` if that is not possible."""
        if isinstance(fields, cls):
            return fields
        if not isinstance(fields, Mapping):
            raise InvalidValueError([FieldError((), "must be an object")])
        known = cls.defaults
        errors = [
            FieldError((name,), MISSING)
            for name, default in known.items()
            if default is dataclasses.MISSING and name not in fields
        ]
        if cls.forbids_others:
            errors += [FieldError((str(name),), "unknown") for name in fields if name not in known]
        if errors:
            raise InvalidValueError(errors)
        return cls(**{name: fields[name] for name in known if name in fields})

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        """The value from the output of `model_dump_json`; `InvalidValueError` if invalid."""
        return cls.model_validate(decoded_json(text))

    def model_copy(self, update: Mapping[str, Any]) -> Self:
        """A copy with other values in some fields, which are not checked."""
        copied = object.__new__(type(self))
        vars(copied).update(vars(self), **update)
        return copied

    def model_dump(
        self,
        *,
        mode: str = "python",
        exclude: Iterable[str] = (),
        exclude_defaults: bool = False,
        exclude_none: bool = False,
    ) -> dict[str, Any]:
        """The fields as plain values; in the mode "json", tuples are lists."""
        plain = functools.partial(
            _plain, mode=mode, exclude_defaults=exclude_defaults, exclude_none=exclude_none
        )
        return {
            name: plain(value)
            for name, value in vars(self).items()
            if name not in exclude
            and not (value is None and exclude_none)
            and not (exclude_defaults and value == _made(self.defaults[name]))
        }

    def model_dump_json(self, *, exclude_defaults: bool = False, indent: int | None = None) -> str:
        """The fields as JSON, compact unless indented."""
        return json.dumps(
            self.model_dump(mode="json", exclude_defaults=exclude_defaults),
            ensure_ascii=False,
            indent=indent,
            separators=(",", ":") if indent is None else None,
        )


def _made(default: Any) -> Any:
    factory: Any = default.default_factory if isinstance(default, dataclasses.Field) else None
    return default if factory is None else factory()


def _plain(value: Any, **choices: Any) -> Any:
    if isinstance(value, Validated):
        return value.model_dump(**choices)
    if isinstance(value, dict):
        return {key: _plain(inner, **choices) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        items = [_plain(inner, **choices) for inner in value]
        is_tuple = isinstance(value, tuple) and choices["mode"] != "json"
        return tuple(items) if is_tuple else items
    return value


def decoded_json(text: str | bytes) -> Any:
    """The value of a JSON text; `InvalidValueError` if it is invalid, or nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise InvalidValueError([FieldError((), "nested too deep")]) from None
    except ValueError as error:
        raise InvalidValueError([FieldError((), f"not valid JSON: {error}")]) from error


def _checked(check: Check, value: Any, place: tuple[str, ...], errors: list[FieldError]) -> Any:
    """The value as checked; violations are added to `errors`."""
    try:
        return check(value)
    except InvalidValueError as error:
        errors += [FieldError((*place, *inner.place), inner.message) for inner in error.errors]
    except ValueError as error:
        errors.append(FieldError(place, str(error)))
    return value


def optional(check: Check) -> Check:
    """None, or what `check` accepts."""
    return lambda value: None if value is None else check(value)


def text(
    pattern: re.Pattern[str] | None = None, message: str = "", *, is_needed: bool = False
) -> Check:
    """A string that can be written as UTF-8 and matches all of `pattern`, or else `message`."""

    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError("must be a string")  # noqa: TRY004  # as all that is refused
        if is_needed and not value:
            raise ValueError(EMPTY)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(NOT_UTF8) from None
        if pattern is not None and not pattern.fullmatch(value):
            raise ValueError(message)
        return value

    return check


def number(
    *, least: float | None = None, most: float = math.inf, above: float | None = None
) -> Check:
    """A finite number; strings that are numbers are converted."""

    def check(value: Any) -> float:
        try:
            found = float(value)
        except (TypeError, ValueError):
            raise ValueError("must be a number") from None
        except OverflowError:
            found = math.inf
        if not math.isfinite(found):
            raise ValueError("must be a finite number")
        _check_range(found, least, most)
        if above is not None and found <= above:
            raise ValueError(f"must be greater than {above:g}")
        return found

    return check


def integer(*, least: int, most: int) -> Check:
    """An integer; strings and floats that are integers are converted."""

    def check(value: Any) -> int:
        try:
            found = int(value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError("must be an integer") from None
        if isinstance(value, float) and value != found:
            raise ValueError("must be an integer")
        _check_range(found, least, most)
        return found

    return check


def _check_range(found: float, least: float | None, most: float) -> None:
    if least is not None and found < least:
        raise ValueError(f"must be greater than or equal to {least:.12g}")
    if found > most:
        raise ValueError(f"must be less than or equal to {most:.12g}")


def flag(value: Any) -> bool:
    """True or false; the usual spellings are converted."""
    if isinstance(value, bool):
        return value
    word = str(value).lower() if isinstance(value, str | int) else ""
    if word not in _TRUE | _FALSE:
        raise ValueError("must be true or false")
    return word in _TRUE


def one_of(*choices: str) -> Check:
    def check(value: Any) -> str:
        for choice in choices:
            if isinstance(value, str) and value == choice:
                return choice
        *others, last = map(repr, choices)
        raise ValueError(f"must be {', '.join(others)} or {last}" if others else f"must be {last}")

    return check


def items_of(check: Check, message: str) -> Check:
    def check_all(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise ValueError(message)  # noqa: TRY004  # as all that is refused
        errors: list[FieldError] = []
        found = [_checked(check, each, (str(n),), errors) for n, each in enumerate(value)]
        if errors:
            raise InvalidValueError(errors)
        return value if isinstance(value, tuple) and found == [*value] else tuple(found)

    return check_all


def entries_of(key: Check, value: Check, message: str) -> Check:
    """A copied dictionary whose keys and values are accepted."""

    def check_all(given: Any) -> dict[str, Any]:
        if not isinstance(given, Mapping):
            raise ValueError(message)  # noqa: TRY004  # as all that is refused
        errors: list[FieldError] = []
        found = {
            _checked(key, name, (str(name),), errors): _checked(value, each, (str(name),), errors)
            for name, each in given.items()
        }
        if errors:
            raise InvalidValueError(errors)
        return found

    return check_all


def anything(value: Any) -> Any:
    return value


def nested(cls: type[_V]) -> Check:
    """A value of another class, or its fields."""
    return cls.model_validate
