"""One HTTP exchange as its events tell it, gathered until it ends."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frame import Frame

BODY_KEPT: Final = 32 * 1024 * 1024
"""Bytes of one response's body that are exported; what follows is left out, and that is said."""
_HEADERS_KEPT: Final = 500


class Exchange:
    """A request with what came of it. Values are those of the recording, checked for their types.

    `message` is the frame with the request's body, None for one without.
    """

    def __init__(self, begun: Frame, fields: JsonObject, message: Frame | None) -> None:
        self.begun = begun
        self.number = fields.get("exchange")
        self.method = text_of(fields, "method") or "POST"
        self.url = text_of(fields, "url")
        self.purpose = text_of(fields, "purpose")
        self.headers = headers_of(fields)
        self.message = message
        self.is_chosen = False
        self.answered: Frame | None = None
        self.status = 0
        self.reason = ""
        self.version = ""
        self.answer_headers: list[tuple[str, str]] = []
        self.parts: list[bytes] = []
        self.kept = 0
        self.left_out = 0
        self.last_at = begun.at
        self.ended: Frame | None = None
        self.ending = ""
        self.size: int | None = None

    def answer(self, frame: Frame, fields: JsonObject) -> None:
        """Take the status and the headers."""
        status = fields.get("status")
        self.answered = frame
        self.status = status if type(status) is int and 0 <= status <= 999 else 0
        self.reason = text_of(fields, "reason")
        self.version = text_of(fields, "version")
        self.answer_headers = headers_of(fields)

    def add(self, part: bytes, at: float) -> None:
        """Take bytes of the body."""
        self.last_at = max(self.last_at, at)
        if self.kept + len(part) > BODY_KEPT or self.left_out:
            self.left_out += len(part)
            return
        self.kept += len(part)
        self.parts.append(part)

    def add_body(self, frame: Frame, fields: JsonObject, said: bytes) -> None:
        """Take a body that is no message; `said` is what is told of it."""
        self.add(said, frame.at)
        whole = fields.get("bytes")
        if fields.get("is_cut") is True and type(whole) is int:
            self.left_out += max(whole - len(said), 0)

    def end(self, frame: Frame, fields: JsonObject) -> None:
        """Take how it ended."""
        size = fields.get("bytes")
        self.ended, self.ending = frame, text_of(fields, "reason")
        self.size = size if type(size) is int and size >= 0 else None


def body_of(fields: JsonObject) -> bytes:
    """The body that an event tells, as text or in base64."""
    text, coded = fields.get("text"), fields.get("base64")
    if isinstance(text, str):
        return text.encode(errors="replace")
    if isinstance(coded, str):
        try:
            return base64.b64decode(coded, validate=True)
        except (binascii.Error, ValueError):
            return b""
    return b""


def text_of(fields: JsonObject, name: str) -> str:
    """A member that should be a string."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def headers_of(fields: JsonObject) -> list[tuple[str, str]]:
    """Names and values, in order, of those that are what they should be."""
    found: Any = fields.get("headers")
    pairs: list[tuple[str, str]] = []
    for pair in found[:_HEADERS_KEPT] if isinstance(found, list) else ():
        match pair:
            case [str(name), str(value)]:
                pairs.append((name, value))
            case _:
                pass
    return pairs
