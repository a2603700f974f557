"""Values that come from outside (a file, an option, a form): frozen pydantic models, and errors.

A model refuses a value with pydantic's `ValidationError`; users read `violations` of it.
"""

from __future__ import annotations

import contextlib
import re
import sys
import types
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import ValidationError

EMPTY: Final = "must not be empty"
NOT_UTF8: Final = "must be valid UTF-8"
_MESSAGES: Final = {
    "missing": "missing",
    "extra_forbidden": "unknown",
    "string_too_short": EMPTY,
    "string_unicode": NOT_UTF8,
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "value_error": "{error}",
    "json_invalid": "not valid JSON: {error}",
}
"""Our messages by pydantic's types of errors, rendered with their context."""
_TYPES: Final = {
    "string_": "must be a string",
    "float_": "must be a number",
    "int_": "must be an integer",
    "bool_": "must be true or false",
}
"""The same for all errors of a type of values."""
_OF_KEY: Final = "[key]"  # how pydantic ends the place of a key that is refused


_PLUGINS: Final = "pydantic.plugin._loader"


@contextlib.contextmanager
def without_plugins() -> Iterator[None]:
    """Build models without looking for plugins of pydantic.

    Looking reads the metadata of every installed package, a tenth of `servers list`; and a plugin
    sees what is validated, such as secrets.
    """
    known = sys.modules.get(_PLUGINS)
    sys.modules[_PLUGINS] = types.SimpleNamespace(get_plugins=tuple)  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[_PLUGINS]
        if known is not None:
            sys.modules[_PLUGINS] = known


class Validated(BaseModel):
    """The base of models: immutable, and compiled when first used, as most commands use few.

    Unknown fields are ignored, as a newer version may have saved them. Defaults that are models are
    made by `model_construct`: validating them would compile their models at each start.
    """

    model_config = ConfigDict(
        frozen=True,
        allow_inf_nan=False,
        str_min_length=0,  # any limit makes pydantic refuse strings that no file can hold
        defer_build=True,
        hide_input_in_errors=True,
    )

    @classmethod
    def model_rebuild(cls, **choices: Any) -> bool | None:
        with without_plugins():
            return super().model_rebuild(**choices | {"_types_namespace": {}})


class Violation(NamedTuple):
    """The violation of one value; `place` is its path: fields, keys and positions."""

    place: tuple[str, ...]
    message: str


def violations(error: ValidationError) -> Iterator[Violation]:
    """Each value that was refused, in the order of the fields."""
    for each in error.errors(include_url=False, include_input=False):
        kind, context = each["type"], each.get("ctx", {})
        place = tuple(str(part) for part in each["loc"] if part != _OF_KEY)
        template = _MESSAGES.get(kind) or next(
            (message for prefix, message in _TYPES.items() if kind.startswith(prefix)), None
        )
        message = each["msg"].replace("Input should be", "must be")
        yield Violation(place, message if template is None else template.format_map(context))


def described(error: ValidationError) -> str:
    """All violations, a line each: "restart.limit: must be an integer"."""
    found = ((".".join(place), message) for place, message in violations(error))
    return "\n".join(": ".join(filter(None, each)) for each in found)


def matching(pattern: str, message: str) -> AfterValidator:
    """Refuse text that does not match all of `pattern`."""
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise ValueError(message)
        return value

    return AfterValidator(check)


def of_kind(kind: type | tuple[type, ...], message: str) -> BeforeValidator:
    """Refuse values of other types with a message that says what they contain."""

    def check(value: Any) -> Any:
        if not isinstance(value, kind):
            raise ValueError(message)  # noqa: TRY004  # pydantic collects these
        return value

    return BeforeValidator(check)
