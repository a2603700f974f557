"""JSON values and the content of replies for display: texts, images, JSON, errors.

Reads `CallToolResult`, `ReadResourceResult`, `GetPromptResult` and `CreateMessageResult` of every
MCP revision leniently: an unexpected shape is shown as JSON.
"""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.formatting import size, visible
from mcp_progress_monitor.protocol.jsonrpc import Elided
from mcp_progress_monitor.protocol.secrets import without_tokens
from mcp_progress_monitor.wording.jobs import line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered

_DEPTH = 6


def compact(value: Any, limit: int) -> str:
    """Format `value` as one line of JSON of at most `limit` characters, safe to show.

    Reads only as much of the value as fits: a long array costs no more than a short one.
    """
    parts: list[str] = []
    room = limit
    for part in _parts(value, limit, _DEPTH):
        parts.append(part)
        room -= len(part)
        if room < 0:
            return "".join(parts)[: max(0, limit - 1)] + "…"
    return "".join(parts)


def _parts(value: Any, limit: int, depth: int) -> Iterator[str]:
    if isinstance(value, Elided):
        yield f"… {size(value.size)} …"
    elif isinstance(value, dict):
        yield from _members(value, limit, depth)
    elif isinstance(value, list | tuple):
        yield from _elements(value, limit, depth)
    else:
        yield scalar(value, limit)


def _members(value: dict[Any, Any], limit: int, depth: int) -> Iterator[str]:
    if not depth and value:
        yield "{…}"
        return
    yield "{"
    for index, (name, member) in enumerate(value.items()):
        yield (", " if index else "") + scalar(name, limit) + ": "
        yield from _parts(member, limit, depth - 1)
    yield "}"


def _elements(value: list[Any] | tuple[Any, ...], limit: int, depth: int) -> Iterator[str]:
    if not depth and value:
        yield "[…]"
        return
    yield "["
    for index, element in enumerate(value):
        if index:
            yield ", "
        yield from _parts(element, limit, depth - 1)
    yield "]"


def scalar(value: Any, limit: int) -> str:
    """Format a string in quotes, a number, or a literal such as `null`, cut to about `limit`."""
    if isinstance(value, str):
        cut = value[:limit]
        return '"' + visible(cut) + ('…"' if len(value) > limit else '"')
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return number(value, limit) if isinstance(value, int | float) else visible(str(value)[:limit])


def number(value: float, limit: int = 4_000) -> str:
    """Format a number; an integer that is too long is described by its number of digits."""
    if isinstance(value, int) and value.bit_length() > 3 * limit:
        return f"integer of about {int(value.bit_length() * 0.30103):,} digits"
    return repr(value) if isinstance(value, int) else json.dumps(value)


def pretty(value: Any) -> str:
    """Format `value` as complete, indented JSON."""
    return json.dumps(_with_elisions(value), indent=2, ensure_ascii=False)


def searchable(value: Any) -> str:
    """Format `value` as it appears in a message's bytes, a string without its quotes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text[1:-1] if isinstance(value, str) else text


def _with_elisions(value: Any) -> Any:
    """Replace each value elided from a large message by a text that says so."""
    if isinstance(value, Elided):
        return f"… {value.size:,} bytes omitted …"
    if isinstance(value, dict):
        return {name: _with_elisions(member) for name, member in value.items()}
    return [_with_elisions(element) for element in value] if isinstance(value, list) else value


_RANGES: Final = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
)


def schema_limits(schema: Mapping[str, Any]) -> list[str]:
    """A schema's limits for a value, such as `["1 to 500"]` or `["at least 3 characters"]`."""
    bounds = [(_bound(schema, low), _bound(schema, high), unit) for low, high, unit in _RANGES]
    found = [_span(low, high, unit) for low, high, unit in bounds if low or high]
    beyond = (("more than", "exclusiveMinimum"), ("less than", "exclusiveMaximum"))
    return [*found, *(f"{word} {bound}" for word, key in beyond if (bound := _bound(schema, key)))]


def _span(low: str, high: str, unit: str) -> str:
    unit = unit.removesuffix("s") if (high or low) == "1" else unit
    if low and high:
        return f"{low} to {high}{unit}"
    return f"at least {low}{unit}" if low else f"at most {high}{unit}"


def _bound(schema: Mapping[str, Any], key: str) -> str:
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return formatting.number(value)


_PARTS_AT_MOST: Final = 200


class PartKind(enum.Enum):
    """How a part is shown."""

    TEXT = "text"
    IMAGE = "image"
    JSON = "json"


class ResultPart(NamedTuple):
    """One part: its title, and a string (text, or an image in base64) or a JSON value."""

    kind: PartKind
    title: str
    value: Any
    is_error: bool = False


def parts(answer: RequestAnswered) -> list[ResultPart]:
    """The parts of a reply, the full reply last; never empty, and of bounded length."""
    if answer.error is not None:
        return _error_parts(answer.error)
    result = answer.result or {}
    found = list(_content_parts(result))
    if len(found) > _PARTS_AT_MOST:
        left_out = formatting.number(len(found) - _PARTS_AT_MOST)
        note = f"The full reply has {left_out} more parts."
        found[_PARTS_AT_MOST:] = [ResultPart(PartKind.TEXT, "More", note)]
    whole = without_tokens(result)  # the attempts' section shows the token on request
    return [*found, ResultPart(PartKind.JSON, "Full reply", whole)]


def _error_parts(error: JsonObject) -> list[ResultPart]:
    code, message = error.get("code"), error.get("message")
    head = f"Error {line(str(code))}" if isinstance(code, int) else "Error"
    text = message if isinstance(message, str) else "The error has no message."
    return [
        ResultPart(PartKind.TEXT, head, text, is_error=True),
        ResultPart(PartKind.JSON, "Full error", without_tokens(error)),
    ]


def _content_parts(result: JsonObject) -> Iterator[ResultPart]:
    is_error = result.get("isError") is True
    for block in _blocks(result):
        yield block_part(block)._replace(is_error=is_error)
    if "structuredContent" in result:
        yield ResultPart(PartKind.JSON, "Structured", result["structuredContent"], is_error)


def _blocks(result: JsonObject) -> Iterator[Any]:
    """The content blocks of a tool's, resource's, prompt's or sampling's result."""
    for key in ("content", "contents"):
        value = result.get(key)
        yield from value if isinstance(value, list) else [value] if isinstance(value, dict) else []
    messages = result.get("messages")
    for message in messages if isinstance(messages, list) else []:
        yield message.get("content") if isinstance(message, dict) else message


def block_part(block: Any) -> ResultPart:
    """One content block of any type."""
    if not isinstance(block, dict):
        return ResultPart(PartKind.JSON, "Part", block)
    kind = block.get("type")
    if kind == "image" and isinstance(block.get("data"), str):
        return ResultPart(PartKind.IMAGE, "Image", block["data"])
    if kind == "resource_link":
        return ResultPart(PartKind.TEXT, "Link", _link_text(block))
    if kind == "resource" and isinstance(block.get("resource"), dict):
        return _resource_part(block["resource"])
    if isinstance(block.get("text"), str):
        title = "Text" if kind == "text" else _resource_title(block)
        return ResultPart(PartKind.TEXT, title, block["text"])
    if isinstance(block.get("blob"), str):
        return _resource_part(block)
    return ResultPart(PartKind.JSON, line(str(kind)) if kind else "Part", block)


def _resource_part(resource: JsonObject) -> ResultPart:
    mime = resource.get("mimeType")
    if isinstance(resource.get("text"), str):
        return ResultPart(PartKind.TEXT, _resource_title(resource), resource["text"])
    blob = resource.get("blob")
    if isinstance(blob, str) and isinstance(mime, str) and mime.startswith("image/"):
        return ResultPart(PartKind.IMAGE, _resource_title(resource), blob)
    return ResultPart(PartKind.JSON, _resource_title(resource), resource)


def _resource_title(resource: JsonObject) -> str:
    uri = resource.get("uri")
    return formatting.one_line(uri, 80) if isinstance(uri, str) else "Resource"


def _link_text(link: JsonObject) -> str:
    """A link as plain text, one member per line: it cannot be clicked."""
    keys = ("title", "name", "uri", "mimeType", "description")
    found = ((key, link.get(key)) for key in keys)
    return "\n".join(f"{key}: {value}" for key, value in found if isinstance(value, str))
