"""`servers`: the saved servers listed, added, removed, enabled and disabled."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pydantic

from mcp_progress_monitor.catalogue.entry import CatalogueEntry
from mcp_progress_monitor.catalogue.text_file import UnwritableError
from mcp_progress_monitor.cli.consent import agree, tell_unusable, trust_of
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.reply import as_json
from mcp_progress_monitor.cli.saved_servers import saved_servers
from mcp_progress_monitor.cli.server_words import address, document
from mcp_progress_monitor.cli.servers_secrets import settle_secrets
from mcp_progress_monitor.cli.table import aligned
from mcp_progress_monitor.cli.target import check_target, named_servers, placed
from mcp_progress_monitor.looking import is_there
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.sessions.definitions import StdioDefinition
from mcp_progress_monitor.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_progress_monitor.catalogue.catalogue import Catalogue
    from mcp_progress_monitor.catalogue.trust import Trust
    from mcp_progress_monitor.cli.options import CommonOptions
    from mcp_progress_monitor.sessions.definitions import ServerDefinition

_TITLES = ("NAME", "KIND", "STATE", "COMMAND OR URL")
_NONE = "No server is saved. See: servers import --help, servers add --help\n"


def list_servers(common: CommonOptions, *, in_json: bool) -> ExitCode:
    """Print the saved servers; what is wrong with entries goes to standard error as well."""
    catalogue = saved_servers(common)
    trust = trust_of(common)
    entries = [(entry, trust.is_trusted(entry.definition)) for entry in catalogue.entries()]
    tell_problems(catalogue.problems)
    tell_unusable(trust)
    output = Output(sys.stdout)
    if in_json:
        content = {
            "servers": [document(entry, is_trusted=trusted) for entry, trusted in entries],
            "problems": [problem._asdict() for problem in catalogue.problems],
        }
        output.text(f"{as_json(content, indent=2)}\n")
    else:
        rows = [_row(entry, is_trusted=trusted) for entry, trusted in entries]
        output.text(aligned(_TITLES, rows) if rows else _NONE)
    output.check()
    return ExitCode.DONE


def _row(entry: CatalogueEntry, *, is_trusted: bool) -> tuple[str, ...]:
    states = (
        "disabled" if entry.is_disabled else "",
        "" if is_trusted else "not agreed to",
        "connects at start" if entry.connects_at_start else "",
    )
    state = ", ".join(filter(None, states)) or "ready"
    return entry.name, entry.definition.transport, state, address(entry.definition)


def tell_problems(problems: tuple[Problem, ...]) -> None:
    """Write what is wrong, and keeps nothing from going on, to standard error."""
    errors = Output(sys.stderr)
    for problem in problems:
        errors.text(f"{visible(problem.as_text(), keep_line_ends=True)}\n")


def add_server(common: CommonOptions, name: str, *, connects_at_start: bool) -> ExitCode:
    """Save the server that the options name; what was typed is agreed to."""
    if common.demo or common.config is not None or common.server is not None:
        raise click.UsageError(
            "Give the server's command after two dashes, or --url. From a file: servers import."
        )
    check_target(common)
    found = named_servers(common)
    if not found:
        raise click.UsageError("Give the server's command after two dashes, or --url URL.")
    if not name.strip():
        raise CommandFailed(ExitCode.USAGE, Problem("The server needs a name"))
    catalogue = saved_servers(common)
    if any(entry.name == name for entry in catalogue.entries()):
        hint = f"Choose another name, or remove that one: servers remove {shlex.quote(name)}"
        raise CommandFailed(
            ExitCode.USAGE, Problem(f"There is a saved server {name!r} already", hint=hint)
        )
    try:
        definition = type(found[0]).model_validate({**found[0].model_dump(), "name": name})
    except pydantic.ValidationError as error:
        what = "The server's name is no text in UTF-8"
        raise CommandFailed(ExitCode.USAGE, Problem(what)) from error
    try:
        definition = _settled(definition)
    except ProblemError as error:  # the folder that we are in was deleted
        raise CommandFailed(ExitCode.USAGE, error.problem) from error
    entry = CatalogueEntry(definition, connects_at_start=connects_at_start)
    agree(trust_of(common), definition)
    return _changed(catalogue, _Add(entry))


def _settled(definition: ServerDefinition) -> ServerDefinition:
    """What was typed with the folder that it was typed in, where a path in it counts from there."""
    if not isinstance(definition, StdioDefinition) or definition.cwd is not None:
        return definition
    paths = [word for word in definition.args if word and not word.startswith("-")]
    is_here = any(not Path(word).is_absolute() and is_there(word) for word in paths)
    return placed(definition) if is_here or definition.deciding_folder else definition


def remove_servers(
    common: CommonOptions, names: tuple[str, ...], *, with_secrets: bool | None
) -> ExitCode:
    """Forget saved servers, that the user agreed to them, and what the keyring has for them alone.

    Without `with_secrets` the user is asked for the last, and nothing of it deleted without an
    answer.
    """
    catalogue, trust = saved_servers(common), trust_of(common)
    left: list[str] = []
    try:
        alone = [*catalogue.secrets_of_alone(names)]
        before = [entry for entry in catalogue.entries() if entry.name in names]
        _changed(catalogue, _Remove(names))
        left = alone
        _forget(trust, before, catalogue.entries())
    finally:
        settle_secrets(left, are_unwanted=with_secrets)
    return ExitCode.DONE


def _forget(
    trust: Trust, before: Iterable[CatalogueEntry], after: Iterable[CatalogueEntry]
) -> None:
    """Take back the consents to servers that are gone, unless a copy of one is still there."""
    kept = {entry.definition.consent_key for entry in after}
    gone = {entry.definition.consent_key: entry.definition for entry in before}
    for key, definition in gone.items():
        if key not in kept:
            trust.forget(definition)


def enable_servers(common: CommonOptions, names: tuple[str, ...], *, is_disabled: bool) -> ExitCode:
    """Let saved servers be used, or not; none of them when one is not there."""
    return _changed(saved_servers(common), _Enable(names, is_disabled=is_disabled))


@dataclasses.dataclass(frozen=True)
class _Add:
    entry: CatalogueEntry

    def __call__(self, catalogue: Catalogue) -> str:
        # Not by the name that was wanted: an entry that cannot be used may have it.
        return _each([catalogue.add(self.entry)], "is saved")


@dataclasses.dataclass(frozen=True)
class _Remove:
    names: tuple[str, ...]

    def __call__(self, catalogue: Catalogue) -> str:
        catalogue.remove_all(self.names)
        return _each(self.names, "is removed")


@dataclasses.dataclass(frozen=True)
class _Enable:
    names: tuple[str, ...]
    is_disabled: bool

    def __call__(self, catalogue: Catalogue) -> str:
        entries = [catalogue.entry(name) for name in dict.fromkeys(self.names)]
        changed = [dataclasses.replace(entry, is_disabled=self.is_disabled) for entry in entries]
        catalogue.save_all([(entry.name, entry) for entry in changed])
        return _each(self.names, "is disabled" if self.is_disabled else "is enabled")


def _each(names: Iterable[str], what: str) -> str:
    """What became of servers, a line for each."""
    return "\n".join(f"{visible(name)} {what}." for name in dict.fromkeys(names))


def _changed(catalogue: Catalogue, change: _Add | _Remove | _Enable) -> ExitCode:
    """Make one change and say so; `CommandFailed` when it cannot be made, or not be written."""
    try:
        said = change(catalogue)
    except ProblemError as error:
        is_of_disk = isinstance(error, UnwritableError)
        code = ExitCode.UNWRITABLE if is_of_disk else ExitCode.USAGE
        raise CommandFailed(code, error.problem) from error
    output = Output(sys.stdout)
    output.text(f"{said}\n")
    output.check()
    return ExitCode.DONE
