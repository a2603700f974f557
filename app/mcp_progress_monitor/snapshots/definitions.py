"""How to reach each server: as entered by the user, or read from other clients' files."""

from __future__ import annotations

import hashlib
import json
import os
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias, get_args

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    ConfigDict,
    Field,
    model_validator,
)

from mcp_progress_monitor import paths
from mcp_progress_monitor.protocol.secrets import shown_arguments, shown_url
from mcp_progress_monitor.snapshots.limits import LONGEST_LIMIT_S
from mcp_progress_monitor.validation import Validated, matching, of_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

Era: TypeAlias = Literal["auto", "handshake", "per-request"]
"""How to open a connection; "auto" finds out (see `sessions.negotiation`)."""

_NO_NUL: Final = matching(r"[^\x00]*", "must not contain a NUL character")
_Needed = Annotated[str, Field(min_length=1)]
_Text = Annotated[str, _NO_NUL]
"""Text that an operating system accepts as an argument or a path."""
_Texts = Annotated[tuple[_Text, ...], of_kind((list, tuple), "must be a list of strings")]
_Limit = Annotated[float, Field(ge=0, le=LONGEST_LIMIT_S)]
_Seconds = Annotated[float, Field(ge=0, le=86_400)]
_STRING_VALUES: Final = of_kind(dict, "must be an object with string values")
_Variable = Annotated[
    str, matching(r"[^=\x00]+", "variable names must not contain an equals sign or a NUL character")
]
_HeaderName = Annotated[
    str, matching(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", "header names must not contain spaces or colons")
]
_HeaderValue = Annotated[
    str, matching(r"[^\r\n\x00]*", "header values must be on one line, without NUL characters")
]
_OURS: Final = {
    "name",
    "connect_timeout_s",
    "idle_timeout_s",
    "total_timeout_s",
    "restart",
    "watch",
    "ping_interval_s",
}
"""How we treat a server, not what it is: a saved job finds it by the rest."""


def _http_url(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("a URL must start with http:// or https:// and contain a host")
    if parts.port == 0:
        raise ValueError("port 0 is not valid")
    return url


def _in_files(field: str) -> str:
    first, *others = field.removeprefix("is_").removesuffix("_s").split("_")
    return first + "".join(map(str.capitalize, others))


def renamed(name: str, *earlier: str) -> Any:
    """A field by another name in files; those that `earlier` versions wrote are read as well."""
    return Field(validation_alias=AliasChoices(name, *earlier), serialization_alias=name)


class InFiles(Validated):
    """A model whose fields have names of their own in files: `first_delay_s` is `firstDelay`.

    Both are read; `model_dump(by_alias=True)` writes those of files.
    """

    model_config = ConfigDict(
        alias_generator=AliasGenerator(validation_alias=_in_files, serialization_alias=_in_files),
        validate_by_name=True,
        loc_by_alias=False,
    )

    @classmethod
    def members(cls) -> dict[str, Any]:
        """All names in files, each with the members of its object, if it is one."""
        found: dict[str, Any] = {}
        for field in cls.model_fields.values():
            alias, kind = field.validation_alias, field.annotation
            names = alias.choices if isinstance(alias, AliasChoices) else [alias]
            inside = None
            if isinstance(kind, type) and issubclass(kind, InFiles):
                inside = kind.members()
            found.update({str(name): inside for name in names})
        return found


class RestartPolicy(InFiles):
    """Reaction to a connected server that ends unexpectedly.

    It is reconnected after `first_delay_s`, then after twice as long each time, up to
    `longest_delay_s`; at most `limit` times in a row. A connection that lasts for `calm_s` resets
    the count.
    """

    is_on: bool = True
    first_delay_s: _Seconds = 1.0
    longest_delay_s: Annotated[_Seconds, renamed("maxDelay", "longestDelay")] = 60.0
    limit: Annotated[int, Field(ge=1, le=1000)] = 5
    calm_s: Annotated[_Seconds, renamed("stableAfter", "calm")] = 60.0


class FileWatch(InFiles):
    """Restarts a server when its files change: `paths` are files, and folders with their contents.

    Without paths these are the folder chosen to start it in, and the files among its arguments. In
    folders, only names that match one of `patterns` count (as in `fnmatch`).
    """

    is_on: bool = False
    paths: _Texts = ()
    patterns: _Texts = ("*.py", "*.js", "*.mjs", "*.cjs", "*.ts", "*.json", "*.toml")


class OAuthClient(InFiles):
    """Our identity at an authorization server. Without `client_id` we register dynamically.

    `client_secret` may be a reference (see `secrets.references`).
    """

    client_id: _Text | None = None
    client_secret: _Text | None = None
    scope: _Text | None = None


class _Definition(InFiles):
    """Fields that all definitions share.

    `connect_timeout_s` limits the time until negotiation has ended; None waits as long as the
    server seems to be starting (see `sessions.connect_limit`). `idle_timeout_s` and
    `total_timeout_s` are the limits of calls that set none: 0 is no limit, None the protocol's
    default (see `snapshots.limits`). If calls are pending and nothing arrives for
    `ping_interval_s`, the server is pinged; 0 never pings.
    """

    name: _Needed
    era: Era = "auto"
    connect_timeout_s: Annotated[float, Field(gt=0)] | None = None
    idle_timeout_s: _Limit | None = None
    total_timeout_s: _Limit | None = None
    ping_interval_s: _Seconds = 30.0
    restart: RestartPolicy = Field(default_factory=RestartPolicy.model_construct)
    watch: FileWatch = Field(default_factory=FileWatch.model_construct)

    @property
    def fingerprint(self) -> str:
        """The identity of this server, whatever its name: equal for equal commands and settings."""
        fields = self.model_dump(mode="json", exclude=_OURS)
        fields["era"] = fields.pop("era")  # last, as in what earlier versions saved
        return _fingerprint(fields)

    @property
    def approval_key(self) -> str:
        """The key of the approval: another one for any other command or URL.

        A digest, because values may be secrets.
        """
        return hashlib.sha256(self.job_key.encode()).hexdigest()

    @property
    def job_key(self) -> str:
        """The fingerprint, with the folder if that decides which program is run.

        A saved job finds its server by it, whatever folder this program is started in later.
        """
        return self.fingerprint

    @property
    def deciding_folder(self) -> str | None:
        """The folder of the command, if another folder would make it another program.

        None if the command or the definition's own folder decides that.
        """
        return None

    def settled(self) -> Self:
        """A copy with the current folder, so that it is started there later as well."""
        return self


def in_all_eras(fingerprint: str) -> Iterator[str]:
    """The fingerprints of definitions that differ only in their era, its own first."""
    yield fingerprint
    fields = json.loads(fingerprint)
    for era in get_args(Era):
        if era != fields["era"]:
            yield _fingerprint({**fields, "era": era})


def _fingerprint(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


_OLD_DEMO: Final = ("-m", "app.demo")


class StdioDefinition(_Definition):
    """A server that is started as a process, and uses its stdin and stdout.

    `command` is a program's name or path, found on PATH; no shell is involved. `env` is added to
    the environment of this program; its values, and `args`, may hold references (see
    `secrets.references`). `cwd` None means this program's own folder.
    """

    transport: Literal["stdio"] = "stdio"
    command: Annotated[_Needed, _NO_NUL]
    args: _Texts = ()
    env: Annotated[dict[_Variable, _Text], _STRING_VALUES] = Field(default_factory=dict)
    cwd: _Text | None = None

    @model_validator(mode="after")
    def _rename_demo(self) -> Self:
        """Give the demo server of version 0.1.0 its module's current name."""
        if self.args[:2] == _OLD_DEMO:
            command, *words = paths.internal_command(paths.DEMO)
            env = {name: value for name, value in self.env.items() if name != "PYTHONPATH"}
            vars(self).update(command=command, args=(*words, *self.args[2:]), env=env)
        return self

    @property
    def deciding_folder(self) -> str | None:
        """The folder from which a relative path leads to the command, or the definition's own."""
        is_path = bool(os.path.dirname(self.command))  # noqa: PTH120  # Path forgets that of "./x"
        is_open = is_path and not Path(self.command).is_absolute()
        if not (is_open if self.cwd is None else not Path(self.cwd).is_absolute()):
            return None
        try:
            return str(Path(self.cwd or "").absolute())
        except OSError:  # the current folder was deleted
            return self.cwd or "."

    @property
    def job_key(self) -> str:
        """In another folder, a relative path is another program."""
        folder = self.deciding_folder
        if folder is None:
            return self.fingerprint
        return self.model_copy(update={"cwd": folder}).fingerprint

    def settled(self) -> Self:
        """As above; unchanged if the current folder was deleted."""
        try:
            return self.model_copy(update={"cwd": str(Path(self.cwd or "").absolute())})
        except OSError:
            return self

    @property
    def address(self) -> str:
        """Command and arguments for display, without secrets; never to be run."""
        return " ".join((self.command, *shown_arguments(self.args)))


class HttpDefinition(_Definition):
    """A server that is reached by a URL: Streamable HTTP, or HTTP+SSE (2024-11-05).

    Values of `headers` may be references (see `secrets.references`). With `auth` "oauth" the user
    signs in at the server's authorization server when required.
    """

    transport: Literal["http", "sse"] = "http"
    url: Annotated[_Needed, AfterValidator(_http_url)]
    headers: Annotated[dict[_HeaderName, _HeaderValue], _STRING_VALUES] = Field(
        default_factory=dict
    )
    auth: Literal["headers", "oauth"] = "headers"
    oauth: OAuthClient = Field(default_factory=OAuthClient.model_construct)

    @property
    def address(self) -> str:
        """The URL for display, without credentials and other secrets."""
        return shown_url(self.url)

    @property
    def resource(self) -> str:
        """The URL that tokens of a sign-in are for: complete except for user name and password.

        It may contain secrets, and is never shown.
        """
        parts = urllib.parse.urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


ServerDefinition: TypeAlias = StdioDefinition | HttpDefinition


class _Kind(Validated):
    transport: Literal["stdio", "http", "sse"]

    @property
    def model(self) -> type[StdioDefinition | HttpDefinition]:
        return StdioDefinition if self.transport == "stdio" else HttpDefinition


def read_definition(written: str | bytes) -> ServerDefinition:
    """A definition from the output of `model_dump_json`; `ValidationError` if invalid."""
    return _Kind.model_validate_json(written).model.model_validate_json(written)


def made_definition(fields: object) -> ServerDefinition:
    """A definition from its fields, including `transport`; `ValidationError` if invalid."""
    return _Kind.model_validate(fields).model.model_validate(fields)


def demo_definition(
    *args: str, name: str = "demo", era: Era = "auto", connect_timeout_s: float | None = None
) -> StdioDefinition:
    """The bundled demo server, run by this program; `args` are those of `demo`."""
    command, *words = paths.internal_command(paths.DEMO)
    return StdioDefinition(
        name=name,
        command=command,
        args=(*words, *args),
        era=era,
        connect_timeout_s=connect_timeout_s,
    )
