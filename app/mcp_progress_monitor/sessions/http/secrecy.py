"""What is told of credentials instead: everywhere but on the wire.

Which headers and parameters are credentials is in `protocol.secret_names`. What a server says
in messages is recorded as it came; elsewhere a credential that it repeats is hidden as well.
"""

from __future__ import annotations

import re
import urllib.parse
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.protocol.secret_names import HIDDEN_VALUE, is_secret_header, shown_url
from mcp_progress_monitor.sessions.references import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Secrecy", "hidden", "shown_url"]

_SCHEME: Final = re.compile(r"(?:Bearer|Basic|Digest|Negotiate|ApiKey|Token|DPoP) +", re.IGNORECASE)
_SHORTEST: Final = 8
"""Shorter values are too common to be looked for in texts."""
_ADDRESSES: Final = frozenset({"location", "content-location", "link", "referer", "refresh"})


def hidden(value: str) -> str:
    """What is told of a credential: how long it is, and its scheme."""
    scheme = _SCHEME.match(value)
    begin = scheme[0] if scheme else ""
    return f"{begin}(hidden, {len(value) - len(begin)} characters)"


class Secrecy:
    """What is secret of one connection: by the names of headers, and by values that are known."""

    def __init__(self, header_names: Iterable[str] = ()) -> None:
        """Headers called `header_names` are hidden, beside those of known names."""
        self._names = {name.lower() for name in header_names}
        self._values: list[str] = []

    def learn(self, written: Mapping[str, str], sent: Mapping[str, str], url: str) -> None:
        """Know the values that are sent: headers as they were written, and are; and the URL's."""
        found = _of_url(url)
        for name, value in sent.items():
            found += _referred(written.get(name, ""), value)
            if is_secret_header(name):
                found.append(_SCHEME.sub("", value, count=1))
        long = {value for value in found if len(value) >= _SHORTEST}
        forms = {form for value in long for form in (value, urllib.parse.quote(value, safe=""))}
        self._values = sorted(forms, key=len, reverse=True)

    def url(self, url: str) -> str:
        """A URL as it may be told."""
        return self.words(shown_url(url))

    def words(self, words: str) -> str:
        """A text without the values that are known to be secret."""
        for value in self._values:
            words = words.replace(value, HIDDEN_VALUE)
        return words

    def body(self, body: bytes) -> bytes:
        """Bytes that are no message, without these values."""
        for value in self._values:
            body = body.replace(value.encode(), HIDDEN_VALUE.encode())
        return body

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Headers as they may be recorded."""
        return [(name, self._header(name, value)) for name, value in headers]

    def _header(self, name: str, value: str) -> str:
        if name.lower() in self._names or is_secret_header(name):
            return hidden(value)
        return self.url(value) if name.lower() in _ADDRESSES else self.words(value)


def _referred(written: str, sent: str) -> list[str]:
    """What the references in a value stand for."""
    parts = REFERENCE.split(written)[::3]  # kind and name stand between
    if len(parts) == 1:
        return []
    found = re.fullmatch("(.*?)".join(map(re.escape, parts)), sent, re.DOTALL)
    return list(found.groups()) if found else []


def _of_url(url: str) -> list[str]:
    """The password, and the values of secret parameters, as they are written in a URL."""
    shown = shown_url(url)
    if shown == url:
        return []
    parts = urllib.parse.urlsplit(url)
    pairs = (part.partition("=") for part in re.split("[&;]", parts.query))
    kept = {part.partition("=")[2] for part in re.split("[&;]", urllib.parse.urlsplit(shown).query)}
    values = [value for _, _, value in pairs if value not in kept]
    password = parts.netloc.rpartition("@")[0].partition(":")[2]
    return [form for value in (*values, password) for form in (value, urllib.parse.unquote(value))]
