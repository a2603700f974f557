"""What a tool's result says to a person: text as text, everything else as JSON or in brackets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from app.cli.reply import as_json, exact_member, exact_outcome
from app.text import size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.protocol.facts import JsonObject


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
    return "".join(part if part.endswith("\n") else f"{part}\n" for part in parts if part)


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
    return f"[{kind}: {name}, {size(len(base64) * 3 // 4)}; --json shows the data]"
