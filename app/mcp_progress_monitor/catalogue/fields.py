"""From the members of a server's entry to its definition, or to what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pydantic

from mcp_progress_monitor import text
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.sessions.definitions import StdioDefinition, made_definition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.sessions.definitions import ServerDefinition

EXAMPLE: Final = (
    'A configuration looks like {"mcpServers": {"files": {"command": "npx", '
    '"args": ["-y", "some-server"]}, "web": {"url": "https://example.com/mcp"}}}.'
)
TRANSPORTS: Final = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamablehttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
"""What clients call the ways to reach a server, in small letters, and what we call them."""
LONGEST: Final = 100_000
"""Characters of a command with its arguments and variables, or of a URL with its headers."""
_LONGEST_WORD: Final = 60
_PATTERNS: Final = {
    r"^[^\x00]*$": "it holds a NUL character, which no program can be given",
    r"^[^=\x00]+$": "the name of a variable has no equals sign and no NUL character",
    r"^[^\r\n\x00]*$": "the value of a header is on one line, without a NUL character",
    r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$": "the name of a header has no spaces and colons",
}
"""What the patterns of `sessions.definitions` ask for, in words."""
_KINDS: Final = {
    "string_type": "it is no text",
    "tuple_type": "it is no list of texts",
    "dict_type": "it is no object with texts",
    "missing": "it is missing",
    "string_too_short": "it is empty",
    "bool_parsing": "it is neither true nor false",
    "bool_type": "it is neither true nor false",
    "float_parsing": "it is no number",
    "float_type": "it is no number",
    "int_parsing": "it is no whole number",
    "int_type": "it is no whole number",
    "int_from_float": "it is no whole number",
}
"""What else is wrong with members, by pydantic's names for that, in words."""


def place(where: str, name: str) -> str:
    """Where a server stands, for a problem with it."""
    return f"{where}, server {text.elide(name, _LONGEST_WORD)!r}"


def transport_of(entry: Mapping[str, Any], url: str, without_type: str) -> str:
    """How the server of an entry is reached: as its `type` says, else as its members do.

    `url` is the URL that was found, "" if there is none; it is spoken to `without_type` as that
    says. `ProblemError`, without a place, for a type that is none.
    """
    said = entry.get("type", entry.get("transportType", entry.get("transport")))
    if said is None:
        return without_type if url and "command" not in entry else "stdio"
    known = TRANSPORTS.get(str(said).lower()) if isinstance(said, str) else None
    if known is None:
        shown = text.one_line(str(said), _LONGEST_WORD)
        kinds = "stdio, http and sse"
        raise ProblemError(Problem(f"type: {shown!r} is no way to reach a server ({kinds} are)"))
    return known


def definition_of(fields: Mapping[str, Any], where: str) -> ServerDefinition:
    """The definition with these fields; `ProblemError` tells what is wrong with the first.

    One that nobody could look through before agreeing to it is refused as well.
    """
    try:
        definition = made_definition(fields)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        steps = [str(step) for step in first["loc"][1:]]  # the first step is the transport
        field = text.one_line(".".join(steps), _LONGEST_WORD) or "entry"
        said = _PATTERNS.get(str(first.get("ctx", {}).get("pattern")))
        said = said or _KINDS.get(first["type"]) or _plainly(first["msg"])
        raise ProblemError(Problem(f"{field}: {said}", where, EXAMPLE)) from error
    if _length(definition) > LONGEST:
        what = f"It is longer than {text.number(LONGEST)} characters"
        raise ProblemError(Problem(what, where, "Let the server read a file instead."))
    return definition


def _plainly(said: str) -> str:
    """What pydantic says of a value, as it goes on behind the member's name."""
    return said.removeprefix("Value error, ").replace("Input should be", "it must be", 1)


def _length(definition: ServerDefinition) -> int:
    if isinstance(definition, StdioDefinition):
        words, values = (definition.command, *definition.args), definition.env
    else:
        words, values = (definition.url,), definition.headers
    return sum(map(len, words)) + len(words) + sum(map(len, (*values, *values.values())))
