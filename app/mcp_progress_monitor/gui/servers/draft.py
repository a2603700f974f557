"""A server as entered in the editor, and the definition or errors read from it."""

from __future__ import annotations

import dataclasses
import enum
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import ValidationError

from mcp_progress_monitor.gui.common.typed_input import JsonInputError, off_word, read_limit
from mcp_progress_monitor.path_checks import PathKind, expanded, is_closed, path_kind
from mcp_progress_monitor.protocol.secrets import is_secret_setting
from mcp_progress_monitor.snapshots.definitions import StdioDefinition, made_definition
from mcp_progress_monitor.snapshots.limits import UsualLimit
from mcp_progress_monitor.tap.naming import name_of
from mcp_progress_monitor.validation import violations

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
    from mcp_progress_monitor.snapshots.definitions import Era, ServerDefinition


def split_command(line: str) -> list[str]:
    """The words of a command line, quoted as in a shell (on Windows, backslashes stay).

    Raises:
        JsonInputError: the line is empty, or a quote is not closed.
    """
    try:
        words = shlex.split(line, posix=os.name == "posix")
    except ValueError as error:
        raise JsonInputError(f"Cannot parse the command line: {error}") from error
    if os.name != "posix":
        words = [word.strip('"') for word in words]
    if not words or not words[0]:
        raise JsonInputError("Enter the command that starts the server.")
    return words


def joined_command(words: Iterable[str]) -> str:
    """A command line that `split_command` reads as `words`."""
    if os.name == "posix":
        return shlex.join(words)
    return " ".join(f'"{word}"' if not word or " " in word else word for word in words)


def usual_name(line: str, url: str, *, is_url: bool) -> str:
    """The default name of a server; empty if there is none yet."""
    if is_url:
        return url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
    try:
        words = split_command(line)
    except JsonInputError:
        return ""
    name = name_of(words)
    return name if any(map(str.isalnum, name)) else ""


_REFERENCE: Final = re.compile(r"((?:Bearer|Basic|Token) )?\$\{(env|keyring|ask):([^${}]+)\}")
"""A value that is one reference, perhaps after the scheme of an `Authorization` header."""
_NO_NAME: Final = re.compile(r"[${}\x00-\x1f]")


class ValueKind(enum.Enum):
    """The source of a value; the enum values are those of references."""

    TEXT = "text"
    ENVIRONMENT = "env"
    KEYRING = "keyring"
    ASK = "ask"


class EnteredValue(NamedTuple):
    """A variable or a header as entered.

    `value` is the text, the name of the variable that has it, its name in the keyring, or the name
    to ask for. `scheme` precedes a reference ("Bearer "). `secret` is to be stored in the keyring;
    None keeps what is there.
    """

    name: str
    kind: ValueKind = ValueKind.TEXT
    value: str = ""
    scheme: str = ""
    secret: str | None = None

    @property
    def written(self) -> str:
        """The value as written in a definition."""
        if self.kind is ValueKind.TEXT:
            return self.scheme + self.value
        return f"{self.scheme}${{{self.kind.value}:{self.value}}}"


def kind_word(kind: ValueKind) -> str:
    text = {
        ValueKind.TEXT: "Text",
        ValueKind.ENVIRONMENT: "From environment",
        ValueKind.KEYRING: "From keyring",
        ValueKind.ASK: "Ask at connect",
    }
    return text[kind]


def entered(name: str, written: str) -> EnteredValue:
    """The entered form of a value that is `written` in a definition."""
    found = _REFERENCE.fullmatch(written)
    if found is not None:
        return EnteredValue(name, ValueKind(found[2]), found[3], found[1] or "")
    if name.casefold() == "authorization" and written.startswith("Bearer "):
        return EnteredValue(name, ValueKind.TEXT, written[len("Bearer ") :], "Bearer ")
    return EnteredValue(name, ValueKind.TEXT, written)


def all_entered(values: Mapping[str, str]) -> tuple[EnteredValue, ...]:
    """The entered form of the variables, or headers, of a definition."""
    return tuple(entered(name, written) for name, written in values.items())


def to_ask(value: EnteredValue) -> EnteredValue:
    """`value` with its own name to ask for: nothing that was typed is saved."""
    return value._replace(kind=ValueKind.ASK, value=_NO_NAME.sub("_", value.name), secret=None)


def for_keyring(server: str, value: EnteredValue) -> EnteredValue:
    """`value` with a name for its new secret: the server's and its own.

    Not the name of the previous secret: a copy of this server may use it.
    """
    if value.kind is not ValueKind.KEYRING or not value.secret:
        return value
    return value._replace(value=_NO_NAME.sub("_", f"{server}/{value.name}"))


def secrets_of(values: Iterable[EnteredValue]) -> dict[str, str]:
    """The secrets to store in the keyring, by the names that `for_keyring` gave."""
    return {v.value: v.secret for v in values if v.kind is ValueKind.KEYRING and v.secret}


def readable_secrets(values: Iterable[EnteredValue]) -> list[str]:
    """Names of values that look like secrets and would be readable in the file."""
    return [
        v.name
        for v in values
        if v.kind is ValueKind.TEXT
        and v.value
        and is_secret_setting(v.name)
        and "${" not in v.value
    ]


def error_of(value: EnteredValue, *, has_keyring: bool) -> str:
    """The error of one row; empty if it is valid."""
    if not value.name:
        return "Enter a name, or remove the row."
    if value.kind is ValueKind.ENVIRONMENT and not value.value:
        return "Enter the name of the environment variable that has the value."
    if value.kind is not ValueKind.KEYRING:
        return ""
    if not value.value and not value.secret:
        return "Enter the secret to store in the keyring."
    if value.secret and not has_keyring:
        return (
            "No keyring is available. Use an environment variable, or keep the value as "
            "text, which is readable in the catalogue file."
        )
    return ""


def doubled(values: Iterable[EnteredValue], *, ignores_case: bool) -> set[int]:
    """Rows whose name already occurs above."""
    seen: set[str] = set()
    found = set()
    for row, value in enumerate(values):
        name = value.name.casefold() if ignores_case else value.name
        if name and name in seen:
            found.add(row)
        seen.add(name)
    return found


_FIELDS: Final = {
    "args": "command",
    "cwd": "folder",
    "env": "variables",
    "connect_timeout_s": "connect_timeout",
    "idle_timeout_s": "idle",
    "total_timeout_s": "total",
    "ping_interval_s": "ping",
    "watch": "paths",
    "oauth": "client_id",
}
"""Fields of definitions with other names in the editor."""
_NO_SECRET: Final = EnteredValue("OAuth client secret")


class ServerKind(enum.Enum):
    """Way a server is reached."""

    COMMAND = "command"
    URL = "url"


@dataclasses.dataclass(frozen=True, slots=True)
class Draft:
    """All fields of the editor as entered; not validated."""

    kind: ServerKind = ServerKind.COMMAND
    name: str = ""
    command: str = ""
    folder: str = ""
    variables: tuple[EnteredValue, ...] = ()
    url: str = ""
    is_legacy_sse: bool = False
    headers: tuple[EnteredValue, ...] = ()
    signs_in: bool = False
    client_id: str = ""
    client_secret: EnteredValue = _NO_SECRET
    scope: str = ""
    era: Era = "auto"
    connect_timeout_s: float | None = None
    idle: str = ""
    total: str = ""
    ping_s: float = 30.0
    connects_at_start: bool = False
    restarts: bool = True
    restart_limit: int = 5
    first_delay_s: float = 1.0
    longest_delay_s: float = 60.0
    watches: bool = False
    watch_paths: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


class DraftResult(NamedTuple):
    """The result of reading a draft: a definition, or errors by field.

    A field is named as in `Draft` without its unit; rows of variables and headers `variables.0`.
    `secrets` are to be stored in the keyring before the definition is used.
    """

    definition: ServerDefinition | None
    errors: dict[str, str]
    secrets: dict[str, str]


class EditedServer(NamedTuple):
    """The server to save: `entry` instead of the server `was`, or as a new one.

    `secrets` are to be stored in the keyring first, by name.
    """

    entry: CatalogueEntry
    secrets: dict[str, str]
    was: str = ""
    is_to_connect: bool = False


def draft_of(entry: CatalogueEntry) -> Draft:
    found = entry.definition
    common = Draft(
        name=found.name,
        era=found.era,
        connect_timeout_s=found.connect_timeout_s,
        idle=_limit_text(found.idle_timeout_s),
        total=_limit_text(found.total_timeout_s),
        ping_s=found.ping_interval_s,
        connects_at_start=entry.connects_at_start,
        restarts=found.restart.is_on,
        restart_limit=found.restart.limit,
        first_delay_s=found.restart.first_delay_s,
        longest_delay_s=found.restart.longest_delay_s,
        watches=found.watch.is_on,
        watch_paths=found.watch.paths,
        patterns=found.watch.patterns,
    )
    if isinstance(found, StdioDefinition):
        return dataclasses.replace(
            common,
            command=joined_command((found.command, *found.args)),
            folder=found.cwd or "",
            variables=all_entered(found.env),
        )
    return dataclasses.replace(
        common,
        kind=ServerKind.URL,
        url=found.url,
        is_legacy_sse=found.transport == "sse",
        headers=all_entered(found.headers),
        signs_in=found.auth == "oauth",
        client_id=found.oauth.client_id or "",
        client_secret=entered(_NO_SECRET.name, found.oauth.client_secret or ""),
        scope=found.oauth.scope or "",
    )


def read_draft(
    draft: Draft,
    base: ServerDefinition | None = None,
    names: Collection[str] = (),
    *,
    has_keyring: bool = True,
) -> DraftResult:
    """Read `draft`; what it does not mention is taken from `base`, the previous server.

    `names` are those of the other servers.
    """
    return _Reader(draft, base, has_keyring=has_keyring).read(names)


class _Reader:
    """Reads one draft and collects its errors."""

    def __init__(self, draft: Draft, base: ServerDefinition | None, *, has_keyring: bool) -> None:
        self._draft = draft
        self._base = base
        self._has_keyring = has_keyring
        self._errors: dict[str, str] = {}
        self._secrets: dict[str, str] = {}

    def read(self, names: Collection[str]) -> DraftResult:
        draft = self._draft
        is_url = draft.kind is ServerKind.URL
        name = draft.name.strip() or usual_name(draft.command, draft.url, is_url=is_url)
        if name in names:
            self._errors["name"] = "Another server has this name."
        fields = {
            "name": name,
            **self._common(),
            **(self._of_url(name) if is_url else self._of_command(name)),
        }
        definition = self._made(fields)
        if not name:
            self._errors.pop("name", None)
            if ("url" if is_url else "command") not in self._errors:  # it provides the default
                self._errors["name"] = "Enter a name."
        return DraftResult(None if self._errors else definition, self._errors, self._secrets)

    def _common(self) -> dict[str, Any]:
        draft, base = self._draft, self._base
        restart = base.restart.model_dump() if base is not None else {}
        if draft.first_delay_s > draft.longest_delay_s:
            self._errors["longest_delay"] = "Enter at least the first delay."
        watch: dict[str, Any] = {"is_on": draft.watches, "paths": draft.watch_paths}
        if draft.patterns:
            watch["patterns"] = draft.patterns
        return {
            "era": draft.era,
            "connect_timeout_s": draft.connect_timeout_s,
            "idle_timeout_s": self._limit("idle", draft.idle),
            "total_timeout_s": self._limit("total", draft.total),
            "ping_interval_s": draft.ping_s,
            "restart": restart
            | {
                "is_on": draft.restarts,
                "limit": draft.restart_limit,
                "first_delay_s": draft.first_delay_s,
                "longest_delay_s": draft.longest_delay_s,
            },
            "watch": watch,
        }

    def _of_command(self, name: str) -> dict[str, Any]:
        draft = self._draft
        folder = draft.folder.strip()
        if folder and (refusal := _no_folder(folder)):
            self._errors["folder"] = refusal
        words = self._command()
        return {
            "transport": "stdio",
            "command": words[0],
            "args": tuple(words[1:]),
            "cwd": str(expanded(Path(folder))) if folder else None,
            "env": self._values("variables", name, draft.variables),
        }

    def _command(self) -> list[str]:
        base, line = self._base, self._draft.command
        if isinstance(base, StdioDefinition):
            words = [base.command, *base.args]
            if line == joined_command(words):
                return words  # unchanged, whatever quoting would make of them
        try:
            return split_command(line)
        except JsonInputError as error:
            self._errors["command"] = str(error)
            return ["?"]

    def _of_url(self, name: str) -> dict[str, Any]:
        draft = self._draft
        if not draft.url.strip():
            self._errors["url"] = "Enter the URL of the server's MCP endpoint."
        fields: dict[str, Any] = {
            "transport": "sse" if draft.is_legacy_sse else "http",
            "url": draft.url.strip(),
            "headers": self._values("headers", name, draft.headers),
            "auth": "oauth" if draft.signs_in else "headers",
        }
        secret = for_keyring(name, draft.client_secret)
        if draft.signs_in and (secret.value or secret.secret):
            wrong = error_of(secret, has_keyring=self._has_keyring)
            if wrong:
                self._errors["client_secret"] = wrong
            self._secrets |= secrets_of([secret])
        client = {
            "client_id": draft.client_id.strip() or None,
            "client_secret": secret.written if secret.value else None,
            "scope": draft.scope.strip() or None,
        }
        return fields | {"oauth": client}

    def _values(self, field: str, server: str, rows: tuple[EnteredValue, ...]) -> dict[str, str]:
        named = [for_keyring(server, row) for row in rows]
        for row, value in enumerate(rows):
            wrong = error_of(value, has_keyring=self._has_keyring)
            if wrong:
                self._errors[f"{field}.{row}"] = wrong
        for row in doubled(rows, ignores_case=field == "headers"):
            self._errors[f"{field}.{row}"] = "This name is already used above."
        self._secrets |= secrets_of(named)
        return {value.name: value.written for value in named if value.name}

    def _limit(self, field: str, line: str) -> float | None:
        """The limit in a line for a definition: 0 for none, None for the default."""
        try:
            limit = read_limit(line)
        except JsonInputError as error:
            self._errors[field] = str(error)
            return None
        return None if isinstance(limit, UsualLimit) else limit or 0.0

    def _made(self, fields: dict[str, Any]) -> ServerDefinition | None:
        try:
            return made_definition(fields)
        except ValidationError as error:
            for place, text in violations(error):
                self._errors.setdefault(self._field(place), f"{text[:1].upper()}{text[1:]}")
            return None

    def _field(self, place: tuple[str, ...]) -> str:
        """The field of the editor for a place in a definition."""
        field, *inner = place
        if field in {"env", "headers"} and inner:
            table = _FIELDS.get(field, field)
            rows = getattr(self._draft, table)
            return next(
                (f"{table}.{n}" for n, row in enumerate(rows) if row.name == inner[0]), table
            )
        if field == "restart" and inner:
            within = inner[0].removesuffix("_s")
            return "restart_limit" if within == "limit" else within
        return _FIELDS.get(field, field)


def _limit_text(limit: float | None) -> str:
    if limit is None:
        return ""
    return f"{limit:g}" if limit else off_word()


def kind_of(definition: ServerDefinition) -> ServerKind:
    return ServerKind.COMMAND if definition.transport == "stdio" else ServerKind.URL


def _no_folder(entered: str) -> str:
    """Say why no server can be started in a folder; empty if one can."""
    folder = expanded(Path(entered))
    seen = path_kind(folder)
    if seen is PathKind.HIDDEN or is_closed(folder):
        return "You have no permission to open this folder."
    return "" if seen is PathKind.FOLDER else "This folder does not exist."
