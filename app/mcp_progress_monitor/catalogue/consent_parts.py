"""What a consent was for, part by part as keyed digests, to tell later what has changed since."""

from __future__ import annotations

import hmac
import json
import secrets
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import text
from mcp_progress_monitor.catalogue.handed_on import steers
from mcp_progress_monitor.sessions.definitions import StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_progress_monitor.sessions.definitions import HttpDefinition, ServerDefinition

_NAME: Final = 60
"""Characters of a name of a variable or a header that are told."""
_ANYWHERE: Final = "anywhere"
"""What a relative command is whatever the folder, to be forgotten in all of them."""
_HOW: Final = "transport"
_HIDDEN_IN_URL: Final = "url hidden"
_CLIENT_SECRET: Final = "client secret"  # noqa: S105  # what it is called
_GIVEN: Final = ("variable", "header")
_WORDS: Final = {
    _HOW: "how it is reached",
    "command": "command",
    "args": "arguments",
    "cwd": "folder",
    "url": "URL",
    _HIDDEN_IN_URL: "what is hidden of the URL is another one",
    "auth": "sign-in",
    _CLIENT_SECRET: "the hidden secret of the sign-in is another one",
    "era": "protocol",
}


class Earlier(NamedTuple):
    """What was agreed to before under a name, and is another definition now.

    `changes` tell in words which parts differ, of what is hidden only that it does; empty where
    what an earlier version kept does not tell.
    """

    changes: tuple[str, ...]


def kept_parts(definition: ServerDefinition) -> dict[str, Any]:
    """What is kept with a consent, to be compared later: digests by a key of its own."""
    key = secrets.token_hex(16)
    kept = {"key": key, "parts": _digests(definition, key)}
    if definition.deciding_folder is None:
        return kept
    return {**kept, _ANYWHERE: _digest(key, _ANYWHERE, definition.fingerprint)}


def is_in_some_folder(kept: Mapping[str, Any], definition: ServerDefinition) -> bool:
    """Whether a consent was for this relative command, in whatever folder."""
    key, was = kept.get("key"), kept.get(_ANYWHERE)
    return (
        isinstance(key, str)
        and isinstance(was, str)
        and was == _digest(key, _ANYWHERE, definition.fingerprint)
    )


def changes_since(kept: Mapping[str, Any], definition: ServerDefinition) -> tuple[str, ...]:
    """How a definition differs from that of `kept_parts`; empty if that cannot be read."""
    key, before = kept.get("key"), kept.get("parts")
    if not isinstance(key, str) or not isinstance(before, dict):
        return ()
    now = _digests(definition, key)
    if before.get(_HOW) != now[_HOW] and ("url" in before) != ("url" in now):
        return (_WORDS[_HOW],)
    names = [*now, *(name for name in before if isinstance(name, str) and name not in now)]
    differing = [name for name in names if before.get(name) != now.get(name)]
    if "url" in differing:
        differing = [name for name in differing if name != _HIDDEN_IN_URL]
    return tuple(_words(name, before, now) for name in differing)


def _words(part: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    kind, _, name = part.partition(" ")
    if kind not in _GIVEN or not name:
        return _WORDS.get(part, text.one_line(part, _NAME))
    shown = text.one_line(name, _NAME)
    if part not in before:
        return f"{kind} {shown} added"
    if part not in now:
        return f"{kind} {shown} removed"
    if kind == "variable" and steers(name):  # its value is shown
        return f"{kind} {shown}"
    return f"the hidden value of {shown} is another one"


def _digests(definition: ServerDefinition, key: str) -> dict[str, str]:
    """Each part's digest. Under its name, so that equal values of two parts do not show."""
    return {part: _digest(key, part, value) for part, value in _parts(definition)}


def _digest(key: str, part: str, value: Any) -> str:
    secret = key.encode("utf-8", "surrogatepass")  # somebody may have edited the file
    return hmac.digest(secret, json.dumps([part, value]).encode(), "sha256").hex()[:32]


def _parts(definition: ServerDefinition) -> Iterator[tuple[str, Any]]:
    yield _HOW, definition.transport
    if isinstance(definition, StdioDefinition):
        yield "command", definition.command
        yield "args", definition.args
        yield "cwd", definition.deciding_folder or definition.cwd
        for name, value in sorted(definition.env.items()):
            yield f"variable {name}", value
    else:
        yield from _of_url(definition)
    yield "era", definition.era


def _of_url(definition: HttpDefinition) -> Iterator[tuple[str, Any]]:
    client = definition.oauth
    yield "url", definition.address
    yield _HIDDEN_IN_URL, definition.url
    for name, value in sorted(definition.headers.items()):
        yield f"header {name}", value
    yield "auth", [definition.auth, client.client_id, client.scope]
    yield _CLIENT_SECRET, client.client_secret
