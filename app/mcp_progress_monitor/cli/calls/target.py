"""Resolves the shared options to the servers that they name, and asks for their approval."""

from __future__ import annotations

import shlex
import urllib.parse
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from mcp_progress_monitor.catalogue.secrets import bare_url, replaced
from mcp_progress_monitor.catalogue.trust import FILE_NAME, EarlierApproval, Trust
from mcp_progress_monitor.cli.asking.terminal import confirm, terminal_of_user
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.output.stdout import own_command, show_warnings
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.path_checks import absolute, expanded
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.protocol.secrets import is_secret_setting
from mcp_progress_monitor.snapshots.definitions import (
    HttpDefinition,
    OAuthClient,
    ServerDefinition,
    StdioDefinition,
    demo_definition,
    made_definition,
)
from mcp_progress_monitor.snapshots.validated import EMPTY, NOT_UTF8, InvalidValueError
from mcp_progress_monitor.wording import approval

if TYPE_CHECKING:
    from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
    from mcp_progress_monitor.cli.asking.terminal import Keyboard
    from mcp_progress_monitor.cli.common import CommonOptions

_HIDDEN = "(hidden)"


def address(definition: ServerDefinition) -> str:
    """The command or the URL on one line, with secrets hidden."""
    if isinstance(definition, StdioDefinition):
        shown = replaced(definition, _hide, is_secret_setting)
        return shlex.join([definition.command, *getattr(shown, "args", ())])
    return bare_url(definition.url)[0]


def document(entry: CatalogueEntry, *, is_trusted: bool) -> dict[str, Any]:
    """A saved server as JSON, without the values of variables and headers."""
    definition = entry.definition
    return {
        "name": entry.name,
        "transport": definition.transport,
        **_target(definition),
        "era": definition.era,
        "disabled": entry.is_disabled,
        "connectAtStart": entry.connects_at_start,
        "trusted": is_trusted,
        "origin": entry.origin or None,
    }


def _target(definition: ServerDefinition) -> dict[str, Any]:
    if isinstance(definition, StdioDefinition):
        shown = replaced(definition, _hide, is_secret_setting)
        return {
            "command": definition.command,
            "args": list(getattr(shown, "args", ())),
            "cwd": definition.cwd,
            "env": sorted(definition.env),
        }
    return {
        "url": bare_url(definition.url)[0],
        "headers": sorted(definition.headers),
        "auth": definition.auth,
    }


def _hide(_name: str, _value: str) -> str:
    return _HIDDEN


_LONGEST_NAME = 100


def trust_of(common: CommonOptions) -> Trust:
    """The approvals in the data folder; `CommandFailed` if that folder cannot be used."""
    with failing(ExitCode.USAGE):
        return Trust(data_dir(common.data_dir) / FILE_NAME)


def require_approval(
    definition: ServerDefinition,
    common: CommonOptions,
    source: str,
    hint: str | None = None,
    note: str = "",
) -> None:
    """Require the user's approval of exactly this definition; ask for it on a terminal.

    `source` says where the definition is from, and `note` what it is for. `hint` says how to
    approve a definition without a terminal that is neither saved nor in a file. `CommandFailed`
    without approval.
    """
    trust = trust_of(common)
    if trust.is_trusted(definition):
        return
    show_warnings(trust.error)
    keyboard = terminal_of_user()
    earlier = earlier_of(trust, definition)
    if keyboard is None:
        hint = hint or f"To review and approve it: {trust_command(definition.name, common)}"
        shown = "\n".join(f"  {line}" for line in approval.lines(definition, earlier))
        error = approval.not_approved(definition.name, hint, source, shown)
        raise CommandFailed(ExitCode.USAGE, error)
    if not ask_approval(definition, source, keyboard, earlier, note):
        raise CommandFailed(ExitCode.USAGE, approval.not_approved(definition.name, ""))
    approve(trust, definition)


def earlier_of(trust: Trust, definition: ServerDefinition) -> EarlierApproval | None:
    """What the user approved before under the same name, if it differs."""
    return trust.earlier([definition])[0]


def ask_approval(
    definition: ServerDefinition,
    source: str,
    keyboard: Keyboard,
    earlier: EarlierApproval | None,
    note: str = "",
) -> bool:
    """Ask the user; True if they approve."""
    lines = (
        *filter(None, [note]),
        f"Server: {one_line(definition.name, _LONGEST_NAME)}",
        *approval.lines(definition, earlier),
        approval.PROMISE,
    )
    return confirm(keyboard, approval.question(definition, source), lines, "Approve?")


def approve(trust: Trust, definition: ServerDefinition) -> None:
    """Save the user's approval; `CommandFailed` if it cannot be written."""
    with failing(ExitCode.UNWRITABLE):
        trust.approve(definition)


def trust_command(name: str, common: CommonOptions) -> str:
    """The command that shows a server and asks for approval, quoted for a shell."""
    is_like_option = name.startswith("-")
    arguments = ["servers", "trust", *([] if is_like_option else [name])]
    if common.config is not None:
        arguments += ["--config", str(common.config)]
    if common.data_dir is not None:
        arguments += ["--data-dir", str(common.data_dir)]
    return own_command(*arguments, *(["--", name] if is_like_option else []))


_TARGETS = "-- COMMAND [ARG]..., --url URL, --server NAME, --config FILE [--server NAME] or --demo"


class _Named(NamedTuple):
    """A server as found, and with the command line's changes."""

    found: ServerDefinition
    definition: ServerDefinition


def one_server(common: CommonOptions) -> ServerDefinition:
    """The one server that a command connects to.

    A usage error if the options name none or several; `CommandFailed` for an invalid configuration
    or without approval.
    """
    definition = server_if_named(common)
    if definition is None:
        raise click.UsageError(f"No server given. Choose one with {_TARGETS}.")
    return definition


def server_if_named(common: CommonOptions) -> ServerDefinition | None:
    """As `one_server`, but None if the options name no server."""
    named = _named(common)
    if len(named) > 1:
        names = ", ".join(one.definition.name for one in named)
        raise click.UsageError(
            f"The configuration has several servers. Choose one with --server: {names}."
        )
    if not named:
        return None
    if common.config is not None or common.server is not None:
        source = "the saved servers" if common.config is None else str(common.config)
        require_approval(named[0].found, common, source)
    return named[0].definition


def named_servers(common: CommonOptions) -> tuple[ServerDefinition, ...]:
    """Every server that the options name, not yet approved."""
    return tuple(one.definition for one in _named(common))


def _named(common: CommonOptions) -> list[_Named]:
    check_target(common)
    try:
        return [_Named(found, _adapted(found, common)) for found in _found(common)]
    except UserError as error:
        raise CommandFailed(ExitCode.USAGE, error.details) from error
    except InvalidValueError as error:
        raise CommandFailed(ExitCode.USAGE, _wrong(error)) from error


def _wrong(error: InvalidValueError) -> ErrorDetails:
    first = error.errors[0]  # without the value: it may be a secret
    where = first.place[-1] if first.place else ""
    if first.message == NOT_UTF8:
        return ErrorDetails("The server's command or URL is not valid UTF-8")
    if first.message == EMPTY:
        word = "URL" if where == "url" else where
        return ErrorDetails(f"The server's {word} is empty", hint=f"Choose one with {_TARGETS}.")
    return ErrorDetails("Invalid server settings", where, detail=first.message)


def check_target(common: CommonOptions) -> None:
    """Refuse, as a usage error, options that contradict each other."""
    is_saved = common.server is not None and common.config is None
    ways = [common.command, common.url, common.config, common.demo or None, is_saved or None]
    given = sum(way is not None for way in ways)
    if given > 1:
        raise click.UsageError(f"Several servers given. Choose one with {_TARGETS}.")
    starting = common.cwd or common.env or common.era or common.connect_timeout
    if starting and not given:
        raise click.UsageError(
            f"--cwd, --env, --era and --connect-timeout need a server. Choose one with {_TARGETS}."
        )
    signs_in = common.oauth or common.oauth_client_id is not None
    if common.url is None and (signs_in or common.transport):
        raise click.UsageError("--oauth and --transport need --url URL.")
    is_process = common.command is not None or common.demo
    if common.header and (is_process or not given):
        raise click.UsageError("--header needs a server with a URL: add --url URL.")
    if common.url is not None and (common.cwd or common.env):
        raise click.UsageError("--cwd and --env cannot be used with --url.")


def _found(common: CommonOptions) -> list[ServerDefinition]:
    if common.command is not None:
        command, *args = common.command
        return [StdioDefinition(name=_name_of(command), command=command, args=tuple(args))]
    if common.url is not None:
        return [url_definition(common, common.url)]
    if common.config is not None or common.server is not None:
        from mcp_progress_monitor.cli.calls import configured  # late: 40 ms that others need not

        if common.config is not None:
            return configured.configured_servers(expanded(common.config), common.server)
        return [configured.saved_server(common, str(common.server)).definition]
    return [demo_definition()] if common.demo else []


def url_definition(common: CommonOptions, url: str) -> HttpDefinition:
    """The server that `--url` and its options name; `InvalidValueError` if invalid."""
    return HttpDefinition(
        name=_host_of(url),
        url=url,
        transport="sse" if common.transport == "sse" else "http",
        headers=dict(common.header),
        auth="oauth" if common.oauth or common.oauth_client_id else "headers",
        oauth=OAuthClient(client_id=common.oauth_client_id),
    )


def _host_of(url: str) -> str:
    """A short name for a URL: its host, and its port if not the default."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "server", parts.port
    except ValueError:
        return "server"
    return f"{host}:{port}" if port else host


def _name_of(command: str) -> str:
    """A short name for a command: its file name without folder and extension."""
    base = command.replace("\\", "/").rstrip("/").rpartition("/")[2]
    stem = base[:-4] if base.lower().endswith((".exe", ".cmd", ".bat")) else base
    return stem or command or "server"


def _adapted(found: ServerDefinition, common: CommonOptions) -> ServerDefinition:
    changes: dict[str, Any] = {}
    if common.cwd is not None and isinstance(found, StdioDefinition):
        changes["cwd"] = str(absolute(common.cwd))
    if common.env and isinstance(found, StdioDefinition):
        changes["env"] = {**found.env, **dict(common.env)}
    if common.header and isinstance(found, HttpDefinition):
        changes["headers"] = {**found.headers, **dict(common.header)}
    if common.era is not None:
        changes["era"] = common.era
    if common.connect_timeout is not None:
        changes["connect_timeout_s"] = common.connect_timeout
    return made_definition({**found.model_dump(), **changes})
