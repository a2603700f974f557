"""`servers`: list, add, remove and enable saved servers, their approval and sign-in."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import click
from pydantic import ValidationError

from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.catalogue.documents import UnwritableError
from mcp_progress_monitor.cli.asking.approval import approve, ask_approval, earlier_of, trust_of
from mcp_progress_monitor.cli.asking.terminal import confirm, terminal_of_user
from mcp_progress_monitor.cli.calls.configured import (
    address,
    config_server,
    document,
    placed,
    saved_servers,
)
from mcp_progress_monitor.cli.calls.target import check_target, named_servers
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.output.stdout import (
    StandardOutput,
    aligned,
    as_json,
    print_out,
    show_warnings,
)
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import count, one_line, visible
from mcp_progress_monitor.path_checks import expanded, is_there
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.protocol.secrets import shown_url
from mcp_progress_monitor.secrets.system_keyring import SERVICE, SystemKeyring
from mcp_progress_monitor.snapshots.definitions import (
    HttpDefinition,
    ServerDefinition,
    StdioDefinition,
)
from mcp_progress_monitor.wording import approval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcp_progress_monitor.catalogue.catalogue import Catalogue
    from mcp_progress_monitor.catalogue.trust import EarlierApproval, Trust
    from mcp_progress_monitor.cli.common import CommonOptions

_NAME: Final = 200


def settle_secrets(names: Sequence[str], *, are_unwanted: bool | None) -> None:
    """Delete secrets from the keyring, or report that they stay; with None, ask on a terminal.

    `CommandFailed` if the keyring does not delete one.
    """
    if not names:
        return
    if are_unwanted is None:
        keyboard = terminal_of_user()
        question = "Delete these secrets from the system keyring? No saved server uses them."
        shown = [one_line(name, _NAME) for name in names]
        are_unwanted = keyboard is not None and confirm(
            keyboard, question, shown, "Delete?", default="no"
        )
    if are_unwanted:
        _delete(names)
        return
    errors = StandardOutput(sys.stderr)
    errors.text(f"No saved server uses {count(len(names), 'secret')} any more.")
    errors.text(f" Kept in the system keyring under {SERVICE}:\n")
    for name in names:
        errors.text(f"  {one_line(name, _NAME)}\n")


def _delete(names: Sequence[str]) -> None:
    keyring, output = SystemKeyring(), StandardOutput(sys.stdout)
    for name in names:
        with failing(ExitCode.UNWRITABLE):
            keyring.forget(name)
        output.text(f"Deleted the secret {one_line(name, _NAME)}.\n")
    output.check()


_TITLES = ("NAME", "KIND", "STATE", "COMMAND OR URL")
_NONE = "No saved servers. To save some: servers add --help, servers import --help\n"


def list_servers(common: CommonOptions, *, in_json: bool) -> ExitCode:
    """Print the saved servers; errors in entries go to standard error."""
    catalogue = saved_servers(common)
    trust = trust_of(common)
    entries = [(entry, trust.is_trusted(entry.definition)) for entry in catalogue.entries()]
    show_warnings(*catalogue.errors, trust.error)
    if in_json:
        content = {
            "servers": [document(entry, is_trusted=trusted) for entry, trusted in entries],
            "problems": [error._asdict() for error in catalogue.errors],
        }
        print_out(f"{as_json(content, indent=2)}\n")
    else:
        rows = [_row(entry, is_trusted=trusted) for entry, trusted in entries]
        print_out(aligned(_TITLES, rows) if rows else _NONE)
    return ExitCode.DONE


def _row(entry: CatalogueEntry, *, is_trusted: bool) -> tuple[str, ...]:
    states = (
        "disabled" if entry.is_disabled else "",
        "" if is_trusted else "not approved",
        "connects at start" if entry.connects_at_start else "",
    )
    state = ", ".join(filter(None, states)) or "ready"
    return entry.name, entry.definition.transport, state, address(entry.definition)


def add_server(common: CommonOptions, name: str, *, connects_at_start: bool) -> ExitCode:
    if common.demo or common.config is not None or common.server is not None:
        raise click.UsageError(
            "Give the server's command after --, or use --url URL. To save servers from a file:"
            " servers import FILE."
        )
    check_target(common)
    found = named_servers(common)
    if not found:
        raise click.UsageError("Give the server's command after --, or use --url URL.")
    if not name.strip():
        raise CommandFailed(ExitCode.USAGE, ErrorDetails("The server needs a name"))
    catalogue = saved_servers(common)
    if any(entry.name == name for entry in catalogue.entries()):
        hint = f"Choose another name, or remove it first: servers remove {shlex.quote(name)}"
        raise CommandFailed(
            ExitCode.USAGE, ErrorDetails(f"A saved server {name!r} already exists", hint=hint)
        )
    try:
        definition = type(found[0]).model_validate({**found[0].model_dump(), "name": name})
    except ValidationError as error:
        what = "The server's name is not valid UTF-8"
        raise CommandFailed(ExitCode.USAGE, ErrorDetails(what)) from error
    try:
        definition = _settled(definition)
    except UserError as error:  # the current folder was deleted
        raise CommandFailed(ExitCode.USAGE, error.details) from error
    entry = CatalogueEntry(definition, connects_at_start=connects_at_start)
    approve(trust_of(common), definition)
    # Report the name returned by `add`: an unusable entry may already have the requested one.
    return _changed(lambda: [catalogue.add(entry)], "Saved")


def _settled(definition: ServerDefinition) -> ServerDefinition:
    """The definition with the current folder, if a relative path in it depends on that."""
    if not isinstance(definition, StdioDefinition) or definition.cwd is not None:
        return definition
    paths = [word for word in definition.args if word and not word.startswith("-")]
    is_here = any(not Path(word).is_absolute() and is_there(word) for word in paths)
    return placed(definition) if is_here or definition.deciding_folder else definition


def remove_servers(
    common: CommonOptions, names: tuple[str, ...], *, with_secrets: bool | None
) -> ExitCode:
    """Remove saved servers, their approvals, and the secrets that only they use.

    With `with_secrets` None the user is asked about the secrets; without an answer they stay.
    """
    catalogue, trust = saved_servers(common), trust_of(common)
    left: list[str] = []
    try:
        alone = [*catalogue.unshared_secrets(names)]
        before = [entry for entry in catalogue.entries() if entry.name in names]
        _changed(lambda: _removed(catalogue, names), "Removed")
        left = alone
        _forget(trust, before, catalogue.entries())
    finally:
        settle_secrets(left, are_unwanted=with_secrets)
    return ExitCode.DONE


def _forget(
    trust: Trust, before: Iterable[CatalogueEntry], after: Iterable[CatalogueEntry]
) -> None:
    """Remove the approvals of removed servers, unless a copy of one is still saved."""
    kept = {entry.definition.approval_key for entry in after}
    gone = {entry.definition.approval_key: entry.definition for entry in before}
    for key, definition in gone.items():
        if key not in kept:
            trust.forget(definition)


def enable_servers(common: CommonOptions, names: tuple[str, ...], *, is_disabled: bool) -> ExitCode:
    catalogue = saved_servers(common)

    def enable() -> Sequence[str]:
        entries = [catalogue.entry(name) for name in dict.fromkeys(names)]
        changed = [dataclasses.replace(entry, is_disabled=is_disabled) for entry in entries]
        catalogue.save_all([(entry.name, entry) for entry in changed])
        return names

    return _changed(enable, "Disabled" if is_disabled else "Enabled")


def _removed(catalogue: Catalogue, names: Sequence[str]) -> Sequence[str]:
    catalogue.remove_all(names)
    return names


def _changed(change: Callable[[], Sequence[str]], done: str) -> ExitCode:
    """Make one change and report it; `CommandFailed` if it cannot be made or written."""
    try:
        names = change()
    except UserError as error:
        is_of_disk = isinstance(error, UnwritableError)
        code = ExitCode.UNWRITABLE if is_of_disk else ExitCode.USAGE
        raise CommandFailed(code, error.details) from error
    print_out("".join(f"{done} {visible(name)}.\n" for name in dict.fromkeys(names)))
    return ExitCode.DONE


def trust_server(common: CommonOptions, name: str, *, is_agreed: bool) -> ExitCode:
    """Show a server, ask unless `is_agreed`, and save the approval; `CommandFailed` without one."""
    definition = definition_of(common, name)
    source = "the saved servers" if common.config is None else str(common.config)
    trust = trust_of(common)
    if not is_agreed and trust.is_trusted(definition):
        print_out(f"{visible(name)} is already approved:\n{_shown(definition)}")
        return ExitCode.DONE
    if not is_agreed:
        show_warnings(trust.error)
        _ask(definition, source, earlier_of(trust, definition))
    approve(trust, definition)
    print_out(f"Approved {visible(name)}:\n{_shown(definition)}")
    return ExitCode.DONE


def definition_of(common: CommonOptions, name: str) -> ServerDefinition:
    """A saved server, also a disabled one, or one of `--config`; `CommandFailed` without it."""
    with failing(ExitCode.USAGE):
        if common.config is None:
            return saved_servers(common).entry(name).definition
        return placed(config_server(expanded(common.config), name).definition)


def _ask(definition: ServerDefinition, source: str, earlier: EarlierApproval | None) -> None:
    keyboard = terminal_of_user()
    if keyboard is None:
        error = ErrorDetails(
            "Cannot ask for approval without a terminal; nothing was approved",
            f"server {definition.name!r}, {source}",
            "To approve it without being asked, add --yes.",
            _shown(definition, earlier).rstrip(),
        )
        raise CommandFailed(ExitCode.USAGE, error)
    if not ask_approval(definition, source, keyboard, earlier):
        raise CommandFailed(
            ExitCode.USAGE, ErrorDetails("The server was not approved", definition.name)
        )


def _shown(definition: ServerDefinition, earlier: EarlierApproval | None = None) -> str:
    return "".join(f"  {visible(line)}\n" for line in approval.lines(definition, earlier))


def sign_out_server(common: CommonOptions, name: str) -> ExitCode:
    """Delete the credentials of a sign-in, by a server's name or by URL.

    `CommandFailed` for a server that is not HTTP.
    """
    # Late: the HTTP client takes 0.2 s to import.
    from mcp_progress_monitor.sessions.transport.http.oauth import sign_out

    definition: ServerDefinition
    if name.startswith(("https://", "http://")):
        with failing(ExitCode.USAGE):
            definition = HttpDefinition(name=name, url=name, auth="oauth")
    else:
        definition = definition_of(common, name)
    if not isinstance(definition, HttpDefinition):
        error = ErrorDetails("Only HTTP servers use sign-in", name)
        raise CommandFailed(ExitCode.USAGE, error)
    with failing(ExitCode.UNWRITABLE):
        was_signed_in = sign_out(definition, data_dir(common.data_dir))
    result = "Signed out of" if was_signed_in else "You were not signed in to"
    print_out(f"{result} {shown_url(visible(name))}\n")
    return ExitCode.DONE


def print_client_metadata(url: str) -> ExitCode:
    """Write the client ID metadata document for `url`; `CommandFailed` for an unsuitable URL."""
    # Late: the HTTP client takes 0.2 s to import.
    from mcp_progress_monitor.sessions.transport.http.oauth import client_metadata

    try:
        parts = urlsplit(url)
        is_possible = parts.scheme == "https" and parts.hostname and parts.path not in {"", "/"}
    except ValueError:
        is_possible = False
    if not is_possible:
        what = "A client ID metadata document needs an https URL with a path"
        hint = "Example: https://example.com/mcp-client.json"
        raise CommandFailed(ExitCode.USAGE, ErrorDetails(what, visible(url), hint))
    print_out(f"{json.dumps(client_metadata(url), indent=2)}\n")
    return ExitCode.DONE
