"""Do arguments fit a tool's schema? Asked before a call is made, never in its way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app import text
from app.problem import Problem, ProblemError
from app.sessions.schema_errors import schema_errors

if TYPE_CHECKING:
    from jsonschema import ValidationError

    from app.protocol.facts import JsonObject
    from app.protocol.messages import Tool
    from app.sessions.snapshot import ServerSnapshot

_MOST: Final = 20
_LOOKED_AT: Final = 100
_WORDS: Final = 300


def argument_problems(schema: JsonObject, arguments: JsonObject) -> list[str]:
    """What of `arguments` breaks `schema`: each with the path of its field; empty if all fits."""
    found = schema_errors(schema, arguments, _LOOKED_AT)
    return [_words(error) for error in sorted(found, key=_place)[:_MOST]]


def named_tool(server: ServerSnapshot, name: str) -> Tool:
    """The server's tool of that name; `ProblemError` with names like it when there is none."""
    found = next((tool for tool in server.tools if tool.name == name), None)
    if found is None:
        import difflib  # for who mistypes a name

        near = difflib.get_close_matches(name, [tool.name for tool in server.tools], n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "See the list of its tools."
        raise ProblemError(Problem(f"The server has no tool {name!r}", server.name, hint))
    return found


def _place(error: ValidationError) -> str:
    return str(error.json_path)


def _words(error: ValidationError) -> str:
    """The field by its path from the arguments' root, and what is wrong with it."""
    path = str(error.json_path).removeprefix("$").removeprefix(".")
    message = text.elide(str(error.message), _WORDS)
    missing = _missing(error)
    if missing is not None:
        path, message = f"{path}.{missing}".removeprefix("."), "a value is required"
    return f"{path}: {message}" if path else message


def _missing(error: ValidationError) -> str | None:
    """The member that is missing, if that is the error and its name can stand in a path."""
    if error.validator != "required":
        return None
    names = [name for name in error.validator_value if error.message.startswith(f"{name!r} is ")]
    return names[0] if names and names[0].isidentifier() else None
