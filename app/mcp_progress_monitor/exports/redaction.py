"""Redaction: exports are given away, so secrets are taken out of them unless asked for.

What goes: members whose names say that they hold a secret, resume tokens, the values of
environment variables and headers, arguments of commands that carry such, and what looks like a
key within any text. Names, numbers, progress tokens and ids stay, so that the story still reads.
It is a net, not a proof: a secret under an innocent name that looks like a word stays.
"""

from __future__ import annotations

import json
from typing import Any, Final, TypeVar

from mcp_progress_monitor.exports.secret_members import SecretRemover
from mcp_progress_monitor.exports.secret_words import REMOVED, may_have_secrets, without_secrets
from mcp_progress_monitor.protocol.reading import Elided
from mcp_progress_monitor.text import size

_Given = TypeVar("_Given", bytes, str)

__all__ = ["NOTE", "REMOVED", "Redaction"]

NOTE: Final = f"Secrets and resume tokens were taken out: {REMOVED} stands in their place."
"""To be said in whatever was redacted."""

_DEEPEST: Final = 4
"""How often JSON within a string of JSON is looked into."""
_OPENING: Final = ("{", "[")
_BOM: Final = b"\xef\xbb\xbf"


class Redaction:
    """Takes secrets out of bytes, texts and JSON values, or leaves all as it is.

    `count` is how many of the things it was given had any. The same input gives the same output.
    """

    def __init__(self, *, with_secrets: bool = False) -> None:
        self.with_secrets = with_secrets
        self.count = 0

    def raw(self, raw: bytes) -> bytes:
        """A frame's bytes; JSON stays JSON, and bytes that hold no secret stay the same object."""
        if self.with_secrets or not may_have_secrets(raw):
            return raw
        return self._counted(raw, _raw(raw))

    def text(self, words: str) -> str:
        """Words for people, such as a message or a line of standard error."""
        if self.with_secrets:
            return words
        return self._counted(words, _text(words))

    def value(self, value: Any) -> Any:
        """A JSON value, copied where it changes; what was not decoded becomes words."""
        plain = _plain(value)
        if self.with_secrets:
            return plain
        raw = json.dumps(plain).encode()
        clean = self._counted(raw, _members(raw, 0))
        return plain if clean is raw else json.loads(clean)

    def member(self, name: str, value: Any) -> Any:
        """The value of one member of an object."""
        return self.value({name: value})[name]

    def _counted(self, before: _Given, after: _Given) -> _Given:
        if before == after:
            return before
        self.count += 1
        return after


def _raw(raw: bytes) -> bytes:
    start = raw.removeprefix(_BOM).lstrip()[:1]
    if start not in (b"{", b"[", b'"'):
        return _encoded(_text(_decoded(raw)))
    clean = _members(raw, 0)
    # What is no JSON after all is a text as well: a log line may begin with a bracket.
    return clean if _is_json(clean.removeprefix(_BOM)) else _encoded(_words(_decoded(clean)))


def _text(words: str, depth: int = 0) -> str:
    """A text, which may be JSON itself, as servers like to send it."""
    if depth < _DEEPEST and words.lstrip()[:1] in _OPENING and _is_json(words):
        # In valid JSON, half a surrogate pair can only stand in a string, where an escape means
        # the same; `backslashreplace` writes one.
        raw = words.encode("utf-8", "backslashreplace")
        clean = _members(raw, depth)
        return words if clean is raw else clean.decode()
    return _words(words)


def _words(words: str) -> str:
    has_any = may_have_secrets(words.encode("utf-8", "replace"))
    return without_secrets(words) if has_any else words


def _members(raw: bytes, depth: int) -> bytes:
    def text(words: str) -> str:
        return _text(words, depth + 1)

    return SecretRemover(raw, text).run()


def _is_json(text: str | bytes) -> bool:
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _encoded(words: str) -> bytes:
    """The bytes of what `_decoded` made, with secrets taken out."""
    return words.encode("utf-8", "surrogateescape")


def _plain(value: Any) -> Any:
    """The value with words for what was left undecoded for its size or depth."""
    if isinstance(value, Elided):
        return f"({size(value.size)}, not decoded: see the message itself)"
    if isinstance(value, dict):
        return {str(name): _plain(member) for name, member in value.items()}
    return [_plain(element) for element in value] if isinstance(value, list | tuple) else value
