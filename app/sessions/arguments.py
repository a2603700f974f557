"""Do arguments fit a tool's schema? Asked before a call is made, never in its way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app import text

if TYPE_CHECKING:
    from jsonschema import ValidationError

    from app.protocol.facts import JsonObject

_MOST: Final = 20
_WORDS: Final = 300


def argument_problems(schema: JsonObject, arguments: JsonObject) -> list[str]:
    """What of `arguments` breaks `schema`: each with the path of its field; empty if all fits.

    A schema that is wrong itself proves nothing against the arguments, nor does one that refers
    to somewhere else: nothing is ever fetched.
    """
    import jsonschema  # takes long to import, and most calls are made without
    import referencing

    try:
        chosen = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
        chosen.check_schema(schema)
        # An empty registry: what the schema refers to elsewhere is never fetched.
        found = list(chosen(schema, registry=referencing.Registry()).iter_errors(arguments))
    except Exception:  # noqa: BLE001  # a server's schema can be wrong in any way there is
        return []
    return [_words(error) for error in sorted(found, key=_place)[:_MOST]]


def _place(error: ValidationError) -> str:
    return str(error.json_path)


def _words(error: ValidationError) -> str:
    """The field by its path from the arguments' root, and what is wrong with it."""
    path = str(error.json_path).removeprefix("$").removeprefix(".")
    message = text.elide(str(error.message), _WORDS)
    return f"{path}: {message}" if path else message
