"""Results: the exact JSON of a message's member, or its text."""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from mcp_progress_monitor.cli.output.stdout import as_json
from mcp_progress_monitor.formatting import size
from mcp_progress_monitor.protocol.lenient_json import NotJsonError
from mcp_progress_monitor.protocol.messages import META, NEXT_RESUME_TOKEN, TASK_ID
from mcp_progress_monitor.protocol.outline import finish, object_spans
from mcp_progress_monitor.protocol.secrets import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_progress_monitor.protocol.facts import JsonObject

_UNSAFE = re.compile("[\n\r\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Line ends, and control and direction characters, which terminals interpret."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_HIDDEN = f'"{HIDDEN}"'


def exact_result(raw: bytes) -> str:
    """The JSON of a reply's result, see `exact_member`, without its resume token.

    Tokens stay out of terminals and files: anyone who has one can resume the job.
    """
    return _without_token(exact_member(raw, "result"))


def exact_outcome(raw: bytes) -> str:
    """The result of a call (see `exact_result`), also if it is part of a task.

    In 2026-07-28 the reply to `tasks/get` is the task, which contains the call's result.
    """
    exact = exact_result(raw)
    if not (exact.startswith("{") and f'"{TASK_ID}"' in exact):
        return exact
    names = {span.key for span in finish(object_spans(exact.encode()))}
    is_task = {TASK_ID, "status", "result"} <= names and "content" not in names
    return _without_token(exact_member(exact.encode(), "result")) if is_task else exact


def indented(exact: str) -> str:
    """The same JSON indented, every digit kept; unchanged if it cannot be parsed."""
    try:
        return msgspec.json.format(exact, indent=2)
    except (msgspec.DecodeError, RecursionError):
        return exact


def exact_data(error: bytes) -> str:
    """The JSON of an error's data, see `exact_member`, without a resume token."""
    return _without_token(exact_member(error, "data"))


def _without_token(value: str) -> str:
    may_have_one = NEXT_RESUME_TOKEN in value or "\\u" in value  # names may contain escapes
    if not may_have_one:
        return value
    return _with_hidden(_with_hidden(value, NEXT_RESUME_TOKEN), META, NEXT_RESUME_TOKEN)


def _with_hidden(text: str, name: str, *inner: str) -> str:
    """Valid JSON with the value of an object's member hidden; with `inner`, of a member of that."""
    raw = text.encode()
    if not text.startswith("{") or _member(raw, name) is None:
        return text
    for span in reversed(finish(object_spans(raw))):
        if span.key == name:
            value = raw[span.start : span.end].decode()
            hidden = _with_hidden(value, *inner) if inner else _HIDDEN
            raw = raw[: span.start] + hidden.encode() + raw[span.end :]
    return raw.decode()


def exact_member(raw: bytes, name: str) -> str:
    """The JSON of a message's member as sent, on one line, with numbers unchanged.

    Control and direction characters are escaped, which changes no value. Invalid JSON that Python
    can read is made valid: a string for `NaN`, U+FFFD for broken UTF-8, the last of duplicate
    members. `"null"` if the member is missing.
    """
    found = _member(raw, name)
    if found is None:
        return "null"
    return _on_one_line(found.decode("utf-8", "replace"))


def _member(raw: bytes, name: str) -> bytes | None:
    """The JSON of an object's member, valid except for its UTF-8; None if it is missing.

    Valid JSON is checked and sliced in one step, a hundred times faster than parsing replies of
    many megabytes; only invalid JSON is walked.
    """
    try:
        value = _decoder(name)(raw)
    except (msgspec.DecodeError, RecursionError):
        return _repaired_member(raw, name)
    return None if value is msgspec.UNSET else bytes(value)


@functools.lru_cache(maxsize=32)
def _decoder(name: str) -> Callable[[bytes], Any]:
    members = [("value", msgspec.Raw | msgspec.UnsetType, msgspec.UNSET)]
    kind = msgspec.defstruct("Found", members, rename={"value": name}, gc=False)
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)
    return lambda raw: decoder.decode(raw).value


def _repaired_member(raw: bytes, name: str) -> bytes | None:
    try:
        spans = [span for span in finish(object_spans(raw)) if span.key == name]
    except NotJsonError:
        return None
    if not spans:
        return None
    part = raw[spans[-1].start : spans[-1].end]
    return _valid(part.decode("utf-8", "replace")).encode()


def _valid(part: str) -> str:
    try:
        _CHECK.decode(_SURROGATE.sub(r"\\u0000", part))  # lone surrogates are valid JSON
    except RecursionError:
        return part  # its brackets match, but it is nested too deeply for Python
    except msgspec.DecodeError:
        pass
    else:
        return part
    try:
        _STRICT.decode(part)
    except RecursionError:
        return part
    except ValueError:
        return as_json(json.loads(part, strict=False))
    return part


def _on_one_line(text: str) -> str:
    """Escape unsafe characters, each in all places at the same time: there may be many."""
    at = 0
    while found := _UNSAFE.search(text, at):
        text = text.replace(found[0], (" " if found[0] in "\r\n" else f"\\u{ord(found[0]):04x}"))
        at = found.start()
    return text


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


# Numbers stay text: Python would reject very long ones.
_CHECK = msgspec.json.Decoder(msgspec.Raw)
_STRICT = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse)


def answer_text(raw: bytes) -> str:
    """The result in a reply's bytes as lines of text; empty when it has no content.

    Structured content is printed as sent, unless a text block contains the same JSON.
    """
    exact = exact_outcome(raw)
    try:
        result = _read(exact)
    except (ValueError, RecursionError):  # nested too deeply, or a number is too long
        return f"{exact}\n"
    if not isinstance(result, dict):
        return f"{exact}\n"
    parts = list(_parts(result, exact))
    if not parts and not isinstance(result.get("content"), list):
        parts = [exact]
    return "".join(_lines(part) for part in parts if part)


def resource_text(raw: bytes) -> str:
    """The contents in the reply to `resources/read`: text, or binary data in brackets."""
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
    """The contents in the result of `resources/read`; empty if it has none."""
    contents = result.get("contents") if isinstance(result, dict) else None
    return (
        [part for part in contents if isinstance(part, dict)] if isinstance(contents, list) else []
    )


def read_result(raw: bytes, exact: Callable[[bytes], str] = exact_outcome) -> Any:
    """The result in a reply's bytes, as found by `exact`; None if it cannot be parsed."""
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
            return f"[{kind}: {named}; save it with -o FILE, see it with --json]"
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
    """The value of a JSON text; for large texts several times faster than `json`."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):  # `json` accepts more, such as 1E400
        return json.loads(text)


def is_error(result: JsonObject | None) -> bool:
    return result is not None and result.get("isError") is True


def _parts(result: JsonObject, exact: str) -> Iterator[str]:
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    for block in blocks:
        yield _block_text(block)
    structured = result.get("structuredContent")
    if structured is not None and not any(_repeats(block, structured) for block in blocks):
        yield exact_member(exact.encode(), "structuredContent")


def _repeats(block: Any, structured: object) -> bool:
    """Return whether a block's text is `structured` as JSON, which the specification recommends.

    Or its only member: the official SDKs wrap a plain text in `{"result": …}`.
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
            return _placeholder("resource", uri, data)
        case {"type": "image" | "audio" as kind, "data": str(data), **more}:
            return _placeholder(kind, str(more.get("mimeType", "")), data)
        case {"type": "resource_link", "uri": str(uri)}:
            return f"[resource link: {uri}]"
        case _:
            return as_json(block)


def _placeholder(kind: str, name: str, base64: str) -> str:
    return f"[{kind}: {name}, {_size_of(base64)}; see it with --json]"


def _size_of(base64: str) -> str:
    return size(len(base64.rstrip("=")) * 3 // 4)
