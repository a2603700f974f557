"""The parts of a reply, for display and to be saved: what each is, and a name for its file.

Reads `CallToolResult`, `ReadResourceResult`, `GetPromptResult` and `CreateMessageResult` of every
MCP revision leniently: an unexpected shape is shown as JSON. What a part is depends on its first
bytes; the type that its server names only counts where these say nothing.
"""

from __future__ import annotations

import base64
import binascii
import enum
import itertools
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote

from mcp_progress_monitor import formatting
from mcp_progress_monitor.path_checks import file_name
from mcp_progress_monitor.protocol.secrets import without_tokens
from mcp_progress_monitor.wording.content import pretty
from mcp_progress_monitor.wording.jobs import line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered

_PARTS_AT_MOST: Final = 200
_NAME: Final = 80


class PartKind(enum.Enum):
    """How a part is shown."""

    TEXT = "text"
    IMAGE = "image"
    AUDIO = "audio"
    TABLE = "table"
    LINK = "link"
    DATA = "data"
    JSON = "json"

    @property
    def is_encoded(self) -> bool:
        """True if the value of such a part is base64."""
        return self in _ENCODED


_ENCODED: Final = frozenset({PartKind.IMAGE, PartKind.AUDIO, PartKind.DATA})


class ResultPart(NamedTuple):
    """One part: its title, and its value.

    The value is a string (a text, a link's members, or base64), a list of objects for a table, or
    any JSON value. `mime` is the type that the server names, `source` the URI.
    """

    kind: PartKind
    title: str
    value: Any
    is_error: bool = False
    mime: str = ""
    source: str = ""

    @property
    def text(self) -> str:
        """The part as text; of encoded data its type and size."""
        if self.kind.is_encoded:
            return ", ".join(filter(None, (line(self.mime), formatting.size(self.size))))
        return self.value if isinstance(self.value, str) else pretty(self.value)

    @property
    def size(self) -> int:
        """The bytes of encoded data, about, and of a text; 0 for values."""
        if not isinstance(self.value, str):
            return 0
        return len(self.value) * 3 // 4 if self.kind.is_encoded else len(self.content())

    @property
    def about(self) -> str:
        """Type, rows and size in one line, such as `image/png, 12 kB`."""
        rows = f"{formatting.count(len(self.value), 'row')}" if self.kind is PartKind.TABLE else ""
        size = formatting.size(self.size) if self.size and self.kind is not PartKind.LINK else ""
        return ", ".join(filter(None, (formatting.one_line(self.mime, _NAME), rows, size)))

    def content(self) -> bytes:
        """The bytes of a text or of encoded data.

        Raises:
            ValueError: the data is not base64.
        """
        if not self.kind.is_encoded:
            return self.text.encode(errors="replace")
        try:
            return base64.b64decode("".join(self.value.split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError("The data is not valid base64.") from error

    @property
    def file_name(self) -> str:
        """A name to save the part by: of the server's, what is harmless, and the part's suffix."""
        path = re.split(r"[?#]", self.source)[0].rstrip("/")
        name = file_name(unquote(path[-600:].rpartition("/")[2])) or file_name(self.title)
        stem, dot, own = name.rpartition(".")
        suffix = self.suffix
        is_same = bool(dot) and own.casefold() in {suffix, *_ALSO.get(suffix, ())}
        return f"{stem if is_same and stem else name or 'part'}.{own if is_same else suffix}"

    @property
    def suffix(self) -> str:
        """The suffix for what the part is, without a dot."""
        known = {PartKind.TABLE: "csv", PartKind.JSON: "json", PartKind.LINK: "txt"}
        if self.kind in known:
            return known[self.kind]
        if self.kind is PartKind.TEXT:
            return _TEXTS.get(_plain_mime(self.mime), "txt")
        form = _form_of(self.value)
        return _DATA.get(_plain_mime(self.mime), "bin") if form is None else form.suffix

    @property
    def is_prose(self) -> bool:
        """True for a text that may be Markdown, as texts without a type often are."""
        return self.kind is PartKind.TEXT and self.suffix in {"txt", "md"}

    @property
    def opened_as(self) -> str:
        """The suffix of a file that any program may open; empty if none should.

        A text is opened as plain text, so that no markup of it is run.
        """
        if self.kind in {PartKind.TEXT, PartKind.JSON}:
            return "txt"
        is_known = self.kind in {PartKind.IMAGE, PartKind.AUDIO} and self.suffix != "bin"
        return self.suffix if is_known else ""


class _Form(NamedTuple):
    """A format of files, known by its first bytes."""

    kind: PartKind
    suffix: str
    start: re.Pattern[bytes]


_FORMS: Final = tuple(
    _Form(kind, suffix, re.compile(start, re.DOTALL))
    for kind, suffix, start in (
        (PartKind.IMAGE, "png", rb"\x89PNG\r\n\x1a\n"),
        (PartKind.IMAGE, "jpg", rb"\xff\xd8\xff"),
        (PartKind.IMAGE, "gif", rb"GIF8[79]a"),
        (PartKind.IMAGE, "webp", rb"RIFF....WEBP"),
        (PartKind.IMAGE, "bmp", rb"BM....\0\0\0\0"),
        (PartKind.AUDIO, "wav", rb"RIFF....WAVE"),
        (PartKind.AUDIO, "ogg", rb"OggS"),
        (PartKind.AUDIO, "flac", rb"fLaC"),
        (PartKind.AUDIO, "mp3", rb"ID3|\xff[\xf2\xf3\xfb]"),
    )
)
_HEAD: Final = 32  # characters of base64: three quarters as many bytes
_TEXTS: Final = {
    "text/markdown": "md",
    "text/html": "html",
    "text/csv": "csv",
    "text/xml": "xml",
    "application/json": "json",
    "application/xml": "xml",
    "image/svg+xml": "svg",
}
_DATA: Final = {
    "application/pdf": "pdf",
    "application/zip": "zip",
    "application/gzip": "gz",
    "video/mp4": "mp4",
}
_ALSO: Final = {"jpg": ("jpeg",), "md": ("markdown",), "html": ("htm",)}
_TEXT_MIME: Final = re.compile(r"text/.*|.*[/+](json|xml|yaml|javascript|x-sh)")


def _plain_mime(mime: str) -> str:
    return mime.partition(";")[0].strip().lower()[:_NAME]


def _form_of(encoded: str) -> _Form | None:
    """The format of data in base64, by its beginning."""
    head = "".join(encoded[: 2 * _HEAD].split())[:_HEAD]
    try:
        start = base64.b64decode(head[: len(head) // 4 * 4])
    except (binascii.Error, ValueError):
        return None
    return next((form for form in _FORMS if form.start.match(start)), None)


def parts(answer: RequestAnswered) -> list[ResultPart]:
    """The parts of a reply, the full reply last; never empty, and of bounded length."""
    if answer.error is not None:
        return _error_parts(answer.error)
    result = answer.result or {}
    whole = without_tokens(result)  # the attempts' section shows the token on request
    return [*content_parts(result), ResultPart(PartKind.JSON, "Full reply", whole)]


def content_parts(result: JsonObject) -> list[ResultPart]:
    """The parts of a result's content, of bounded length."""
    left_out = sum(1 for _ in itertools.islice(_blocks(result), _PARTS_AT_MOST, None))
    found = list(_content_parts(result))
    if left_out:
        note = f"The full reply has {formatting.number(left_out)} more parts."
        found.append(ResultPart(PartKind.TEXT, "More", note))
    return found


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
    for block in itertools.islice(_blocks(result), _PARTS_AT_MOST):
        yield block_part(block)._replace(is_error=is_error)
    if "structuredContent" in result:
        structured = result["structuredContent"]
        yield from _tables(structured)
        yield ResultPart(PartKind.JSON, "Structured", structured, is_error)


def _blocks(result: JsonObject) -> Iterator[Any]:
    """The content blocks of a tool's, resource's, prompt's or sampling's result."""
    for key in ("content", "contents"):
        value = result.get(key)
        yield from value if isinstance(value, list) else [value] if isinstance(value, dict) else []
    messages = result.get("messages")
    for message in messages if isinstance(messages, list) else []:
        yield message.get("content") if isinstance(message, dict) else message


def _tables(structured: Any) -> Iterator[ResultPart]:
    """The arrays of objects in structured content: the value itself, or its members."""
    members = structured.items() if isinstance(structured, dict) else [("", structured)]
    for name, value in members:
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            yield ResultPart(PartKind.TABLE, formatting.one_line(name, _NAME) or "Table", value)


def columns(rows: Sequence[JsonObject], most: int) -> list[str]:
    """The names of a table's members, in the order of their first row; at most `most`."""
    found: dict[str, None] = {}
    for row in rows:
        if not row.keys() <= found.keys():
            found.update(dict.fromkeys(row))
        if len(found) >= most:
            break
    return list(found)[:most]


def block_part(block: Any) -> ResultPart:
    """One content block of any type."""
    if not isinstance(block, dict):
        return ResultPart(PartKind.JSON, "Part", block)
    kind = block.get("type")
    if kind in ("image", "audio") and isinstance(block.get("data"), str):
        return _encoded_part(kind.capitalize(), block["data"], block, PartKind(kind))
    if kind == "resource_link":
        named = next((block[key] for key in ("title", "name", "uri") if block.get(key)), "Link")
        link = ResultPart(PartKind.LINK, formatting.one_line(str(named), _NAME), _link_text(block))
        return link._replace(mime=_mime(block), source=_uri(block))
    if kind == "resource" and isinstance(block.get("resource"), dict):
        return _resource_part(block["resource"])
    if kind == "text" and isinstance(block.get("text"), str):
        return ResultPart(PartKind.TEXT, "Text", block["text"], mime=_mime(block))
    if isinstance(block.get("text"), str) or isinstance(block.get("blob"), str):
        return _resource_part(block)
    return ResultPart(PartKind.JSON, line(str(kind)) if kind else "Part", block)


def _encoded_part(title: str, encoded: str, block: JsonObject, claimed: PartKind) -> ResultPart:
    """A part of base64, by its first bytes; what is text, such as a drawing in SVG, as text."""
    part = ResultPart(claimed, title, encoded, mime=_mime(block), source=_uri(block))
    form = _form_of(encoded)
    if form is not None:
        return part._replace(kind=form.kind)
    if _TEXT_MIME.fullmatch(_plain_mime(part.mime)):
        try:
            return part._replace(kind=PartKind.TEXT, value=part.content().decode())
        except ValueError:
            return part._replace(kind=PartKind.DATA)
    return part


def _resource_part(resource: JsonObject) -> ResultPart:
    title, text, blob = _resource_title(resource), resource.get("text"), resource.get("blob")
    if isinstance(text, str):
        part = ResultPart(PartKind.TEXT, title, text)
        return part._replace(mime=_mime(resource), source=_uri(resource))
    if not isinstance(blob, str):
        return ResultPart(PartKind.JSON, title, resource)
    is_image = _mime(resource).startswith("image/")
    return _encoded_part(title, blob, resource, PartKind.IMAGE if is_image else PartKind.DATA)


def _mime(block: JsonObject) -> str:
    mime = block.get("mimeType")
    return mime if isinstance(mime, str) else ""


def _uri(block: JsonObject) -> str:
    uri = block.get("uri")
    return uri if isinstance(uri, str) else ""


def _resource_title(resource: JsonObject) -> str:
    uri = resource.get("uri")
    return formatting.one_line(uri, _NAME) if isinstance(uri, str) else "Resource"


def _link_text(link: JsonObject) -> str:
    """A link as plain text, one member per line: it cannot be clicked."""
    keys = ("title", "name", "uri", "mimeType", "description")
    found = ((key, link.get(key)) for key in keys)
    return "\n".join(f"{key}: {value}" for key, value in found if isinstance(value, str))
