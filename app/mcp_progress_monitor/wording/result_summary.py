"""A result in one line: what it says, how much it lists, and the sizes of what is no text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.protocol.messages import NEXT_CURSOR
from mcp_progress_monitor.wording.content import compact

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject

_LISTS: Final = {
    "tools": "tool",
    "resources": "resource",
    "resourceTemplates": "resource template",
    "prompts": "prompt",
    "tasks": "task",
    "roots": "root",
    "events": "event",
    "skills": "skill",
    "messages": "message",
}
"""Members of results that list things, and the name of one of them."""
_SUMMED_UP: Final = 4  # parts that a summary names


def result_summary(result: JsonObject, limit: int) -> str:
    """One line for a result: its text, sizes of other parts, or how much it lists; else empty."""
    server = result.get("serverInfo")
    if isinstance(server, dict) and "protocolVersion" in result:
        names = (server.get("title") or server.get("name"), server.get("version"))
        texts = [str(each) for each in (*names, result["protocolVersion"]) if each is not None]
        return " ".join(formatting.one_line(each, 80) for each in texts)
    for key, noun in _LISTS.items():
        if isinstance(result.get(key), list):
            more = " and more" if result.get(NEXT_CURSOR) else ""
            return formatting.count(len(result[key]), noun) + more
    found = result.get("content", result.get("contents"))
    blocks = found if isinstance(found, list) else [found] if isinstance(found, dict) else []
    if not blocks:
        return ""
    mark = "isError: " if result.get("isError") is True else ""
    left = len(blocks) - _SUMMED_UP
    named = [_block_summary(block, limit) for block in blocks[:_SUMMED_UP]]
    return mark + ", ".join([*named, *([f"{left} more"] if left > 0 else [])])


def _block_summary(block: Any, limit: int) -> str:
    """A block's text, or its kind and size."""
    if not isinstance(block, dict):
        return compact(block, limit)
    inner = block.get("resource")
    source = inner if isinstance(inner, dict) else block
    if isinstance(source.get("text"), str):
        return formatting.one_line(source["text"], limit)
    kind, data = block.get("type"), source.get("data", source.get("blob"))
    if isinstance(data, str):
        mime = source.get("mimeType")
        of_mime = mime.partition("/")[0] if isinstance(mime, str) else ""
        known = next((each for each in (kind, of_mime) if each in {"image", "audio"}), "data")
        return f"{known} {formatting.size(len(data) * 3 // 4)}"
    if isinstance(source.get("uri"), str):
        return f"link {formatting.one_line(source['uri'], 80)}"
    return compact(block, limit)
