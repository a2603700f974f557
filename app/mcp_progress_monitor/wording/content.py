"""The content of a reply in parts for display: texts, images, JSON, errors.

Reads `CallToolResult`, `ReadResourceResult`, `GetPromptResult` and `CreateMessageResult` of every
MCP revision leniently: an unexpected shape is shown as JSON.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.protocol.secrets import without_tokens
from mcp_progress_monitor.wording.jobs import line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered

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
