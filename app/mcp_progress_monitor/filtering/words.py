"""A text searched in any case: in a message's bytes, and in the strings decoded from them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SHORT: Final = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PLAIN: Final = re.compile(r"[^\x00-\x1f\"\\/\x7f-\U0010ffff]+")
_LETTERS: Final = re.compile(r"[A-Za-z_]{2,}")
_ESCAPE_OF_ASCII: Final = b"\\u00"


class Word:
    r"""A text, ready to be searched for whatever its case.

    In bytes a character is found as UTF-8 and as the escapes JSON has for it: `ü`, `Ü`,
    `\u00fc`; `"` and `\"`. A character stands for itself, its lower and its upper case, no more.
    """

    def __init__(self, text: str) -> None:
        self._is_plain = _PLAIN.fullmatch(text) is not None or not text
        self._is_ascii = text.isascii()
        self._lower = text.lower()
        self._bytes = self._lower.encode(errors="replace")
        self._in_bytes = re.compile(b"".join(map(_in_bytes, text)), re.IGNORECASE)
        self._in_text = re.compile("".join(map(_in_text, text)))
        # Letters alone: numbers and white space are not written as they came.
        self._hint = max(_LETTERS.findall(text), key=len, default="").lower().encode()
        self.has_hint = bool(self._hint)
        """Whether `may_be_in` tells anything."""
        self.overlap = 12 * len(text)
        """Most bytes that the text takes in a message."""

    def is_in(self, raw: bytes, lowered: bytes) -> bool:
        """Whether the text is in a message's bytes, given also in lower case."""
        if self._is_ascii and self._bytes in lowered:
            return True
        if self._is_plain or (b"\\" not in raw and (self._is_ascii or raw.isascii())):
            return False
        return self._in_bytes.search(raw) is not None

    def chosen(
        self, hits: Iterable[int], raws: Sequence[bytes], lowered: Sequence[bytes]
    ) -> list[int]:
        """Those `hits` among messages, given also in lower case, that have the text."""
        if self._is_plain:
            wanted = self._bytes
            return [hit for hit in hits if wanted in lowered[hit]]
        return [hit for hit in hits if self.is_in(raws[hit], lowered[hit])]

    def is_in_text(self, text: str) -> bool:
        """Whether it is in a decoded string."""
        if self._is_ascii and text.isascii():
            return self._lower in text.lower()
        return self._in_text.search(text) is not None

    def may_be_in(self, raw: bytes) -> bool:
        """Whether a string in the message, which is JSON, can have the text, however escaped."""
        return self._hint in raw.lower() or _ESCAPE_OF_ASCII in raw


def _forms(character: str) -> list[str]:
    return sorted({character, character.lower(), character.upper()})


def _in_text(character: str) -> str:
    return "(?:" + "|".join(map(re.escape, _forms(character))) + ")"


def _in_bytes(character: str) -> bytes:
    forms = {form for cased in _forms(character) for form in (cased, _escaped(cased))}
    forms.add(_SHORT.get(character, character))
    encoded = sorted(form.encode(errors="replace") for form in forms)
    return b"(?:" + b"|".join(map(re.escape, encoded)) + b")"


def _escaped(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    units = text.encode("utf-16-be", errors="replace")
    return "".join(rf"\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))
