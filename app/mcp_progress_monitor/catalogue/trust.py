"""Approvals of the user: commands that may run, URLs that may be contacted.

An approval stores keyed digests of a definition's parts, to show later which ones have changed.
"""

from __future__ import annotations

import contextlib
import datetime
import hmac
import json
import os
import re
import secrets
import stat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.catalogue.documents import exclusive_lock, read_bytes, write_private
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.secrets.references import names_in
from mcp_progress_monitor.snapshots.definitions import ServerDefinition, StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from mcp_progress_monitor.snapshots.definitions import HttpDefinition


_STEERING: Final = re.compile(
    r"PATH|PATHEXT|CDPATH|IFS|SHELL|ENV|BASH_.*|ZDOTDIR|COMSPEC|HOME|USERPROFILE|APPDATA|XDG_.*"
    r"|LD_.*|DYLD_.*|GCONV_PATH|GLIBC_.*|MALLOC_.*|LOCPATH"
    r"|PYTHON.*|PIP_.*|UV_.*|UVX_.*|VIRTUAL_ENV|CONDA_.*|POETRY_.*|PIPX_.*"
    r"|NODE_.*|NPM_CONFIG_.*|YARN_.*|PNPM_.*|COREPACK_.*|BUN_.*|DENO_.*|TSX?_NODE_.*"
    r"|RUBY.*|GEM_.*|BUNDLE_.*|PERL.*|PHP.*|LUA_.*|R_.*|GO.*|CARGO_.*|RUST.*"
    r"|CLASSPATH|_?JAVA_.*|JDK_.*|JVM_.*|MAVEN_.*|GRADLE_.*|DOTNET_.*|COR_.*|CORECLR_.*"
    r"|DOCKER_.*|PODMAN_.*|CONTAINER_.*|KUBECONFIG|GIT_.*|SSH_ASKPASS|SUDO_ASKPASS"
    r"|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|TMPDIR|TEMP|TMP|SYSTEMROOT|WINDIR|PSMODULEPATH"
    r"|(?:PY|RB|NOD|GO)ENV_.*|NVM_.*|VOLTA_.*|ASDF_.*|MISE_.*|FNM_.*|PDM_.*|PIPENV_.*|HATCH_.*"
    r"|ELECTRON_.*|ERL_.*|ELIXIR_.*|MIX_.*|JULIA_.*|TCLLIBPATH|NIX_.*|MAKEFLAGS|TF_CLI_.*"
    r"|AWS_CONFIG_FILE|AWS_ENDPOINT_URL.*|BOTO_CONFIG|CLOUDSDK_.*"
    r"|EDITOR|VISUAL|(?:MAN)?PAGER|LESS(?:OPEN|CLOSE)|BROWSER"
    r"|(?:HTTPS?|ALL|NO|FTP)_PROXY|SSL_.*|SSLKEYLOGFILE|REQUESTS_CA_BUNDLE|CURL_.*|OPENSSL_.*"
    r"|HOSTALIASES|RES_OPTIONS|LOCALDOMAIN",
    re.IGNORECASE,
)
"""Variables that can change which code runs, or where traffic goes."""
_STRANGE_BLANK: Final = re.compile(
    "[\xa0\u034f\u115f\u1160\u1680\u2000-\u200d\u202f\u205f\u2800\u3000\u3164\uffa0]"
)
"""Characters other than spaces that look like one, or are invisible."""
_GAP: Final = re.compile(" {9,}")


class PassedValue(NamedTuple):
    """A variable or header; `references` are the kinds and names of its references.

    `value` is set for variables that can change what runs, and None for all others, which may be
    secrets.
    """

    name: str
    value: str | None
    references: tuple[tuple[str, str], ...]


def steers(name: str) -> bool:
    """Return whether a variable with that name can change what runs."""
    return _STEERING.fullmatch(name) is not None


def passed_values(definition: ServerDefinition) -> list[PassedValue]:
    """A server's variables or headers, sorted by name."""
    is_process = isinstance(definition, StdioDefinition)
    values = definition.env if isinstance(definition, StdioDefinition) else definition.headers
    return [
        PassedValue(name, value if is_process and steers(name) else None, tuple(names_in(value)))
        for name, value in sorted(values.items())
    ]


def referenced_in_arguments(definition: ServerDefinition) -> tuple[tuple[str, str], ...]:
    """Kinds and names of references in a command's arguments, resolved at each start."""
    if not isinstance(definition, StdioDefinition):
        return ()
    found = [reference for word in definition.args for reference in names_in(word)]
    return tuple(dict.fromkeys(found))


def with_visible_gaps(text: str) -> str:
    """Text to approve, with blanks shown so that they cannot hide the rest of it.

    A long run of spaces is replaced by its length; other blank characters are escaped.
    """
    plain = _STRANGE_BLANK.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return _GAP.sub(lambda found: f"[{formatting.count(len(found[0]), 'space')}]", plain)


def has_user(url: str) -> bool:
    """Return whether a URL contains a user name, and perhaps a password."""
    return "@" in url.partition("://")[2].partition("/")[0].partition("?")[0].partition("#")[0]


_NAME: Final = 60  # characters of the name of a variable or header that are shown
_ANYWHERE: Final = "anywhere"
"""The digest of a relative command without its folder, to revoke it in all folders."""
_TRANSPORT: Final = "transport"
_HIDDEN_IN_URL: Final = "url hidden"
_CLIENT_SECRET: Final = "client secret"  # noqa: S105  # its name
_NAMED: Final = ("variable", "header")
_LABELS: Final = {
    _TRANSPORT: "transport",
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
    """An approval of a different definition with the same name.

    `changes` describe which parts differ, without secrets; empty if an earlier version stored too
    little.
    """

    changes: tuple[str, ...]


def kept_parts(definition: ServerDefinition) -> dict[str, Any]:
    """The part of an approval to compare later: digests with a key of their own."""
    key = secrets.token_hex(16)
    kept = {"key": key, "parts": _digests(definition, key)}
    if definition.deciding_folder is None:
        return kept
    return {**kept, _ANYWHERE: _digest(key, _ANYWHERE, definition.fingerprint)}


def is_in_any_folder(kept: Mapping[str, Any], definition: ServerDefinition) -> bool:
    """Return whether an approval was for this relative command in any folder."""
    key, was = kept.get("key"), kept.get(_ANYWHERE)
    return (
        isinstance(key, str)
        and isinstance(was, str)
        and was == _digest(key, _ANYWHERE, definition.fingerprint)
    )


def changes_since(kept: Mapping[str, Any], definition: ServerDefinition) -> tuple[str, ...]:
    """Say how a definition differs from `kept`; empty if that cannot be read."""
    key, before = kept.get("key"), kept.get("parts")
    if not isinstance(key, str) or not isinstance(before, dict):
        return ()
    now = _digests(definition, key)
    if before.get(_TRANSPORT) != now[_TRANSPORT] and ("url" in before) != ("url" in now):
        return (_LABELS[_TRANSPORT],)
    names = [*now, *(name for name in before if isinstance(name, str) and name not in now)]
    differing = [name for name in names if before.get(name) != now.get(name)]
    if "url" in differing:
        differing = [name for name in differing if name != _HIDDEN_IN_URL]
    return tuple(_change_text(name, before, now) for name in differing)


def _change_text(part: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    kind, _, name = part.partition(" ")
    if kind not in _NAMED or not name:
        return _LABELS.get(part, formatting.one_line(part, _NAME))
    shown = formatting.one_line(name, _NAME)
    if part not in before:
        return f"{kind} {shown} added"
    if part not in now:
        return f"{kind} {shown} removed"
    if kind == "variable" and steers(name):  # its value is shown
        return f"{kind} {shown}"
    return f"hidden value of {shown} changed"


def _digests(definition: ServerDefinition, key: str) -> dict[str, str]:
    """Each part's digest, which includes its name so that equal values are not recognisable."""
    return {part: _digest(key, part, value) for part, value in _parts(definition)}


def _digest(key: str, part: str, value: Any) -> str:
    secret = key.encode("utf-8", "surrogatepass")  # the file may have been edited
    return hmac.digest(secret, json.dumps([part, value]).encode(), "sha256").hex()[:32]


def _parts(definition: ServerDefinition) -> Iterator[tuple[str, Any]]:
    yield _TRANSPORT, definition.transport
    if isinstance(definition, StdioDefinition):
        yield "command", definition.command
        yield "args", definition.args
        yield "cwd", definition.deciding_folder or definition.cwd
        for name, value in sorted(definition.env.items()):
            yield f"variable {name}", value
    else:
        yield from _url_parts(definition)
    yield "era", definition.era


def _url_parts(definition: HttpDefinition) -> Iterator[tuple[str, Any]]:
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
    """Approvals on disk, by digest of the definition; without a path, only in memory.

    A definition that differs in anything but its name and our own settings needs a new approval.
    The file is read for every query, since other instances write it too. A file that cannot be
    read, or that others can write, counts as empty, and the next approval replaces it.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._unsaved: dict[str, dict[str, Any]] = {}
        self.error: ErrorDetails | None = None
        """Why the file was ignored when it was last read."""

    def is_trusted(self, definition: ServerDefinition) -> bool:
        return definition.approval_key in self._read()

    def approve(self, *definitions: ServerDefinition) -> None:
        """Save the user's approval of each, in one write.

        Raises:
            UserError: it cannot be written; it still holds until the program ends.
        """
        when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        approved = {
            definition.approval_key: {
                "name": formatting.one_line(definition.name, _LONGEST_NAME),
                "when": when,
                **kept_parts(definition),
            }
            for definition in definitions
        }
        self._unsaved.update(approved)
        with self._locked():
            self._save(self._read())

    def earlier(self, definitions: Iterable[ServerDefinition]) -> list[EarlierApproval | None]:
        """For each, the newest approval under its name, if that is of another definition."""
        saved = self._read()
        newest: dict[str, dict[str, Any]] = {}
        for entry in saved.values():
            name = entry.get("name")
            if isinstance(name, str) and _when(entry) >= _when(newest.get(name, {})):
                newest[name] = entry
        return [
            None if definition.approval_key in saved else _earlier(definition, newest)
            for definition in definitions
        ]

    def forget(self, definition: ServerDefinition) -> None:
        """Revoke an approval, of a relative command in all folders.

        `UserError` if it cannot be written.
        """
        self._unsaved = _without(self._unsaved, definition)
        with self._locked():
            saved = self._read()
            remaining = _without(saved, definition)
            if remaining != saved:
                self._save(remaining)

    def _locked(self) -> contextlib.AbstractContextManager[None]:
        path = self._path
        return contextlib.nullcontext() if path is None else exclusive_lock(path, "your approvals")

    def _save(self, approvals: dict[str, dict[str, Any]]) -> None:
        if self._path is None:
            self._unsaved = approvals
            return
        content = json.dumps({"trusted": approvals}, indent=2)
        write_private(self._path, f"{content}\n".encode())
        self._unsaved = {}

    def _read(self) -> dict[str, dict[str, Any]]:
        """The approvals in the file, and those that could not be written to it."""
        self.error = None
        saved: dict[str, dict[str, Any]] = {}
        if self._path is not None:
            try:
                saved = _entries(self._path)
            except FileNotFoundError:
                pass
            except UserError as error:
                self.error = _unusable(self._path, error.details.detail or error.details.what)
            except (OSError, ValueError, RecursionError) as error:
                self.error = _unusable(self._path, str(error))
        return {**saved, **self._unsaved}


def _without(
    approvals: Mapping[str, dict[str, Any]], definition: ServerDefinition
) -> dict[str, dict[str, Any]]:
    return {
        key: entry
        for key, entry in approvals.items()
        if key != definition.approval_key and not is_in_any_folder(entry, definition)
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
    _refuse_unsafe(path)
    document = json.loads(read_bytes(path))
    found = document.get("trusted") if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise UserError(ErrorDetails('it has no "trusted" object'))
    return {key: value for key, value in found.items() if isinstance(value, dict)}


def _refuse_unsafe(path: Path) -> None:
    """Refuse a file that other users can write, who could approve servers in the user's place."""
    found = path.stat()
    if os.name != "posix":
        return  # permissions are those of the folder, which is in the user's profile
    if found.st_uid != os.geteuid():
        raise ValueError("it belongs to another user")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ValueError("other users can write to it")


def _unusable(path: Path, reason: str) -> ErrorDetails:
    hint = "Approving a server again replaces the file."
    what = "Cannot read your earlier approvals, so you will be asked again"
    return ErrorDetails(what, str(path), hint, formatting.one_line(reason, 300))
