"""What the user has approved: which commands may run and which URLs may be asked.

An approval is kept part by part as keyed digests, to tell later what has changed since.
"""

from __future__ import annotations

import contextlib
import datetime
import hmac
import json
import os
import secrets
import stat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.catalogue.files import exclusive_lock, read_bytes, write_private
from mcp_progress_monitor.catalogue.passed_values import steers
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.snapshots.definitions import StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from mcp_progress_monitor.snapshots.definitions import HttpDefinition, ServerDefinition

_NAME: Final = 60  # characters of a name of a variable or a header that are told
_ANYWHERE: Final = "anywhere"
"""What a relative command is whatever the folder, to be forgotten in all of them."""
_HOW: Final = "transport"
_HIDDEN_IN_URL: Final = "url hidden"
_CLIENT_SECRET: Final = "client secret"  # noqa: S105  # what it is called
_GIVEN: Final = ("variable", "header")
_WORDS: Final = {
    _HOW: "transport",
    "command": "command",
    "args": "arguments",
    "cwd": "folder",
    "url": "URL",
    _HIDDEN_IN_URL: "hidden part of the URL changed",
    "auth": "sign-in",
    _CLIENT_SECRET: "hidden sign-in secret changed",
    "era": "protocol",
}


class EarlierApproval(NamedTuple):
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
        return _WORDS.get(part, formatting.one_line(part, _NAME))
    shown = formatting.one_line(name, _NAME)
    if part not in before:
        return f"{kind} {shown} added"
    if part not in now:
        return f"{kind} {shown} removed"
    if kind == "variable" and steers(name):  # its value is shown
        return f"{kind} {shown}"
    return f"hidden value of {shown} changed"


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


FILE_NAME: Final = "trusted-servers.json"
_LONGEST_NAME: Final = 200


class Trust:
    """Consents on disk, by digests of what they are for; without a path as long as the program.

    A definition that differs in anything but its name and how we treat it needs another consent.
    The file is read whenever it is asked, since other programs of ours write it too. One that
    cannot be read, or that others may write, holds no consent: the user is asked again, and the
    next consent is written in its place.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._held: dict[str, dict[str, Any]] = {}
        self.problem: ErrorDetails | None = None
        """Why the file, when it was read last, was taken to hold no consent."""

    def is_trusted(self, definition: ServerDefinition) -> bool:
        return definition.approval_key in self._read()

    def approve(self, *definitions: ServerDefinition) -> None:
        """Keep the user's consent to each, in one writing.

        Raises:
            UserError: it cannot be written; it holds until the program ends all the same.
        """
        when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        agreed = {
            definition.approval_key: {
                "name": formatting.one_line(definition.name, _LONGEST_NAME),
                "when": when,
                **kept_parts(definition),
            }
            for definition in definitions
        }
        self._held.update(agreed)  # until it is written
        with self._alone():
            self._keep(self._read())

    def earlier(self, definitions: Iterable[ServerDefinition]) -> list[EarlierApproval | None]:
        """For each what was agreed to last under its name, if this is another definition."""
        held = self._read()
        newest: dict[str, dict[str, Any]] = {}
        for entry in held.values():
            name = entry.get("name")
            if isinstance(name, str) and _when(entry) >= _when(newest.get(name, {})):
                newest[name] = entry
        return [
            None if definition.approval_key in held else _earlier(definition, newest)
            for definition in definitions
        ]

    def forget(self, definition: ServerDefinition) -> None:
        """Take a consent back, of a relative command those in all folders; nothing without one.

        `UserError` when it cannot be written.
        """
        self._held = _without(self._held, definition)
        with self._alone():
            held = self._read()
            left = _without(held, definition)
            if left != held:
                self._keep(left)

    def _alone(self) -> contextlib.AbstractContextManager[None]:
        """While no other program writes the file: what each of two agrees to is kept."""
        path = self._path
        return contextlib.nullcontext() if path is None else exclusive_lock(path, "your approvals")

    def _keep(self, held: dict[str, dict[str, Any]]) -> None:
        if self._path is None:
            self._held = held
            return
        content = json.dumps({"trusted": held}, indent=2)
        write_private(self._path, f"{content}\n".encode())
        self._held = {}

    def _read(self) -> dict[str, dict[str, Any]]:
        """What the file says, and what could not be written into it."""
        self.problem = None
        held: dict[str, dict[str, Any]] = {}
        if self._path is not None:
            try:
                held = _entries(self._path)
            except FileNotFoundError:
                pass
            except UserError as error:
                self.problem = _unusable(self._path, error.details.detail or error.details.what)
            except (OSError, ValueError, RecursionError) as error:
                self.problem = _unusable(self._path, str(error))
        return {**held, **self._held}


def _without(
    held: Mapping[str, dict[str, Any]], definition: ServerDefinition
) -> dict[str, dict[str, Any]]:
    return {
        key: entry
        for key, entry in held.items()
        if key != definition.approval_key and not is_in_some_folder(entry, definition)
    }


def _when(entry: Mapping[str, Any]) -> str:
    when = entry.get("when")
    return when if isinstance(when, str) else ""


def _earlier(
    definition: ServerDefinition, newest: Mapping[str, Mapping[str, Any]]
) -> EarlierApproval | None:
    entry = newest.get(formatting.one_line(definition.name, _LONGEST_NAME))
    return None if entry is None else EarlierApproval(changes_since(entry, definition))


def _entries(path: Path) -> dict[str, dict[str, Any]]:
    _refuse_foreign(path)
    document = json.loads(read_bytes(path))
    found = document.get("trusted") if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise UserError(ErrorDetails('it has no "trusted" object'))
    return {key: value for key, value in found.items() if isinstance(value, dict)}


def _refuse_foreign(path: Path) -> None:
    """Whoever may write the file could agree in the user's place."""
    found = path.stat()
    if os.name != "posix":
        return  # rights are the folder's there, which is in the user's profile
    if found.st_uid != os.geteuid():
        raise ValueError("it belongs to another user")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ValueError("other users can write to it")


def _unusable(path: Path, reason: str) -> ErrorDetails:
    hint = "Approving a server again replaces the file."
    what = "Cannot read your earlier approvals, so you will be asked again"
    return ErrorDetails(what, str(path), hint, formatting.one_line(reason, 300))
