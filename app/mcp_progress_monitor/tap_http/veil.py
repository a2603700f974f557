"""Leaves out of what is recorded of a sign-in all values that are not known to be harmless."""

from __future__ import annotations

import base64
import contextlib
import json
from collections import deque
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, unquote

from mcp_progress_monitor.protocol.secrets import HIDDEN_VALUE, shown_url
from mcp_progress_monitor.sessions.transport.http.record import BODY_KEPT

if TYPE_CHECKING:
    Pairs = list[tuple[str, str]]
    Document = dict[str, Any]

_MOST_HIDDEN: Final = 1000
_MOST_FIELDS: Final = 100
_SHORTEST: Final = 6  # shorter values are too common to search for
_LONGEST: Final = 16 * 1024  # characters of a value that is searched for
_LONGEST_NAME: Final = 100
_KEPT: Final = BODY_KEPT + _LONGEST  # bytes of a document, of which the recording keeps the first
_SHOWN: Final = frozenset(
    {
        "application_type",
        "client_id",
        "client_id_issued_at",
        "client_name",
        "client_secret_expires_at",
        "client_uri",
        "code_challenge_method",
        "error",
        "error_description",
        "error_uri",
        "expires_in",
        "grant_type",
        "grant_types",
        "iss",
        "prompt",
        "redirect_uri",
        "redirect_uris",
        "resource",
        "response_type",
        "response_types",
        "scope",
        "software_id",
        "software_version",
        "token_endpoint_auth_method",
        "token_type",
        "token_type_hint",
    }
)


class Veil:
    """Makes texts for the recording. A value that was left out is so wherever it is repeated."""

    def __init__(self) -> None:
        self._hidden: deque[str] = deque(maxlen=_MOST_HIDDEN)

    def learn_basic(self, authorization: str) -> None:
        """Learn the secret of a client that authenticates itself (RFC 6749, 2.3.1)."""
        secret = basic_of(authorization).partition(":")[2]
        for value in (authorization.partition(" ")[2], secret, unquote(secret)):
            self._hide(value)

    def url(self, url: str) -> str:
        base, mark, query = url.partition("?")
        return f"{self.text(shown_url(base.partition('#')[0]))}{mark}{self.form(query)}"

    def form(self, text: str) -> str:
        """The fields of a form or a query, of most only their names."""
        pairs = fields_of(text)
        for name, value in pairs:
            if name not in _SHOWN:
                self._hide(value)
        return "&".join(f"{quote(self._name(n))}={self._field(n, v)}" for n, v in pairs)

    def body(self, body: bytes) -> bytes:
        """A JSON object with the names of its members, or the length of anything else."""
        found = json_object(body)
        if found is None:
            return f"(hidden, {len(body)} bytes)".encode() if body else b""
        for text in _texts({n: v for n, v in found.items() if n not in _SHOWN}):
            self._hide(text)
        members = {self._name(name): self._member(name, found[name]) for name in found}
        return json.dumps(members).encode()

    def document(self, body: bytes) -> bytes:
        """A document that everyone may read."""
        return self.text(body[:_KEPT].decode(errors="replace")).encode()

    def text(self, text: str) -> str:
        for value in self._hidden:
            text = text.replace(value, HIDDEN_VALUE)
        return text

    def _name(self, name: str) -> str:
        return self.text(name[:_LONGEST_NAME])

    def _field(self, name: str, value: str) -> str:
        if name not in _SHOWN:
            return HIDDEN_VALUE
        return quote(self.text(shown_url(value) if "://" in value else value), safe=":/*")

    def _member(self, name: str, value: object) -> object:
        if name not in _SHOWN:
            return HIDDEN_VALUE
        if isinstance(value, list):
            return [self._member(name, each) for each in value if isinstance(each, str)]
        if isinstance(value, str):
            return self.text(shown_url(value) if "://" in value else value)
        return value if isinstance(value, int | float | None) else HIDDEN_VALUE

    def _hide(self, value: str) -> None:
        for form in {value, quote(value, safe="")}:
            if _SHORTEST <= len(form) <= _LONGEST and form not in self._hidden:
                self._hidden.append(form)


def json_object(body: bytes) -> Document | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _texts(value: object) -> list[str]:
    """The texts in a JSON value, also in lists and objects."""
    texts: list[str] = []
    left = [value]
    while left:
        match left.pop():
            case dict() as members:
                left += members.values()
            case list() as items:
                left += items
            case str() as text:
                texts.append(text)
    return texts


def fields_of(text: str) -> Pairs:
    """The fields of a form or a query; `ValueError` for very many."""
    return parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)


def basic_of(authorization: str) -> str:
    """The ID and the secret in an `Authorization` header; empty for any but Basic."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() != "basic":
        return ""
    with contextlib.suppress(ValueError):
        return base64.b64decode(value.strip()).decode("latin-1")
    return ""
