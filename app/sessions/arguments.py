"""Do arguments fit a tool's schema? Asked before a call is made, never in its way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app import text
from app.sessions.schema_errors import schema_errors

if TYPE_CHECKING:
    from jsonschema import ValidationError

    from app.protocol.facts import JsonObject

_MOST: Final = 20
_LOOKED_AT: Final = 100
_WORDS: Final = 300


def argument_problems(schema: JsonObject, arguments: JsonObject) -> list[str]:
    """What of `arguments` breaks `schema`: each with the path of its field; empty if all fits."""
    found = schema_errors(schema, arguments, _LOOKED_AT)
    return [_words(error) for error in sorted(found, key=_place)[:_MOST]]


def _place(error: ValidationError) -> str:
    return str(error.json_path)


def _words(error: ValidationError) -> str:
    """The field by its path from the arguments' root, and what is wrong with it."""
    path = str(error.json_path).removeprefix("$").removeprefix(".")
    message = text.elide(str(error.message), _WORDS)
    return f"{path}: {message}" if path else message
