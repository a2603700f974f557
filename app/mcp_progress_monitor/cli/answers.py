"""What a result says to a person: text as text, everything else as JSON or in brackets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_progress_monitor.cli.reply import as_json, exact_member, exact_outcome
from mcp_progress_monitor.text import size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_progress_monitor.protocol.facts import JsonObject


def answer_text(raw: bytes) -> str:
    """The result in a reply's bytes as lines of text; empty when it has no content.

    Structured content is printed as it came, unless a text says the same in JSON.
    """
    exact = exact_outcome(raw)
    try:
        result = _read(exact)
    except (ValueError, RecursionError):  # nested too deeply, or with a number too long
        return f"{exact}\n"
    if not isinstance(result, dict):
        return f"{exact}\n"
    parts = list(_parts(result, exact))
    if not parts and not isinstance(result.get("content"), list):
        parts = [exact]
    return "".join(_lines(part) for part in parts if part)


def resource_text(raw: bytes) -> str:
    """What a resource holds, from the reply to `resources/read`: text, data named in brackets."""
    parts = contents_of(read_result(raw))
    if not parts:
        return answer_text(raw)
    return "".join(_lines(_content_text(part)) for part in parts)


def messages_text(raw: bytes) -> str:
    """The messages of a prompt, each below its role, from the reply to `prompts/get`."""
    result = read_result(raw)
    messages = result.get("messages") if isinstance(result, dict) else None
    if not isinstance(messages, list) or not messages:
        return answer_text(raw)
    return "\n".join(_message_text(message) for message in messages)


def contents_of(result: Any) -> list[dict[str, Any]]:
    """The contents of a resource that was read; empty where the result has none."""
    contents = result.get("contents") if isinstance(result, dict) else None
    return (
        [part for part in contents if isinstance(part, dict)] if isinstance(contents, list) else []
    )


def read_result(raw: bytes, exact: Callable[[bytes], str] = exact_outcome) -> Any:
    """The result in a reply's bytes, as `exact` finds it; None where it cannot be read."""
    try:
        return _read(exact(raw))
    except (ValueError, RecursionError):
        return None


def _content_text(part: dict[str, Any]) -> str:
    match part:
        case {"text": str(text)}:
            return text
        case {"blob": str(data), **more}:
            kind = str(more.get("mimeType") or "data")
            named = f"{more.get('uri', '')}, {_size_of(data)}"
            return f"[{kind}: {named}; -o FILE saves it, --json shows it]"
        case _:
            return as_json(part)


def _message_text(message: Any) -> str:
    if not isinstance(message, dict):
        return _lines(as_json(message))
    content = message.get("content")
    blocks = content if isinstance(content, list) else [content]
    return f"[{message.get('role')}]\n" + "".join(_lines(_block_text(each)) for each in blocks)


def _lines(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def _read(text: str) -> Any:
    """The value of a JSON text; one of many megabytes in a few times less than `json` takes."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):  # what `json` may take, as 1E400
        return json.loads(text)


def is_error(result: JsonObject | None) -> bool:
    """Whether a tool marked its result as an error."""
    return result is not None and result.get("isError") is True


def _parts(result: JsonObject, exact: str) -> Iterator[str]:
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    for block in blocks:
        yield _block_text(block)
    structured = result.get("structuredContent")
    if structured is not None and not any(_says(block, structured) for block in blocks):
        yield exact_member(exact.encode(), "structuredContent")


def _says(block: Any, structured: object) -> bool:
    """Whether a block's text is `structured` in JSON, as the specification asks servers to add.

    Or the only thing in it: the official SDKs wrap a plain text in `{"result": …}`.
    """
    text = block.get("text") if isinstance(block, dict) else None
    if not isinstance(text, str):
        return False
    if structured == {"result": text}:
        return True
    try:
        return bool(_read(text) == structured)
    except (ValueError, RecursionError):
        return False


def _block_text(block: Any) -> str:
    if not isinstance(block, dict):
        return as_json(block)
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data)}}:
            return _in_brackets("resource", uri, data)
        case {"type": "image" | "audio" as kind, "data": str(data), **more}:
            return _in_brackets(kind, str(more.get("mimeType", "")), data)
        case {"type": "resource_link", "uri": str(uri)}:
            return f"[resource link: {uri}]"
        case _:
            return as_json(block)


def _in_brackets(kind: str, name: str, base64: str) -> str:
    return f"[{kind}: {name}, {_size_of(base64)}; --json shows the data]"


def _size_of(base64: str) -> str:
    """The size of the data that `base64` encodes."""
    return size(len(base64.rstrip("=")) * 3 // 4)
