"""What HTTP has to know of one of our messages, and the headers that 2026-07-28 mirrors it in."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.protocol.eras import PER_REQUEST, VERSION_KEY, as_object
from mcp_progress_monitor.protocol.header_marks import marked_arguments

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject

_NAMES: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that `Mcp-Name` has, by method (2026-07-28 "Standard Request Headers")."""
_PLAIN: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_CODED: Final = re.compile(r"=\?base64\?.*\?=", re.DOTALL)


class Letter(NamedTuple):
    """One message of ours: its exact bytes and the number of its frame."""

    raw: bytes
    frame: int
    method: str | None
    is_request: bool
    params: JsonObject

    @property
    def revision(self) -> str | None:
        """The revision it is stamped with; None in the handshake era."""
        found = as_object(self.params.get("_meta")).get(VERSION_KEY)
        return found if isinstance(found, str) else None

    @property
    def tool(self) -> str | None:
        """The tool that it calls."""
        name = self.params.get("name") if self.method == "tools/call" else None
        return name if isinstance(name, str) else None


def read_letter(raw: bytes, frame: int) -> Letter:
    """What is to be known of one of our own messages."""
    message = as_object(json.loads(raw))
    method = message.get("method")
    params = as_object(message.get("params"))
    return Letter(raw, frame, method, method is not None and "id" in message, params)


def mirrored(letter: Letter, agreed: str | None, schema: JsonObject | None) -> dict[str, str]:
    """The headers that repeat what a message says, where its revision has them.

    `schema` is that of the tool it calls, None if it is not known.
    """
    revision = letter.revision or agreed
    if revision is None or letter.method == "initialize":
        return {}
    headers = {"MCP-Protocol-Version": revision}
    if revision != PER_REQUEST or letter.method is None:
        return headers
    headers["Mcp-Method"] = encoded(letter.method)
    name = letter.params.get(_NAMES.get(letter.method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = encoded(name)
    if schema is not None:
        headers |= parameter_headers(schema, as_object(letter.params.get("arguments")))
    return headers


def parameter_headers(schema: JsonObject, arguments: JsonObject) -> dict[str, str]:
    """The `Mcp-Param-…` headers of a call: arguments that the tool's schema marks.

    None at all for a schema whose marks break the rules: each header would be a guess.
    """
    found = ((name, _text(value)) for name, value in marked_arguments(schema, arguments).items())
    return {f"Mcp-Param-{name}": encoded(text) for name, text in found if text is not None}


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | int | float):
        return None
    try:
        return str(value)
    except ValueError:  # thousands of digits: no number of JSON that anybody reads
        return None


def encoded(value: str) -> str:
    """A header's value, in base64 where it would not arrive as it is."""
    if not value or (_PLAIN.fullmatch(value) and not _CODED.fullmatch(value)):
        return value
    return f"=?base64?{base64.b64encode(value.encode(errors='replace')).decode()}?="
