"""Configuration files of other clients: `servers import` and `export`, and `tap install`."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcp_progress_monitor.catalogue.catalogue import Catalogue, likely
from mcp_progress_monitor.catalogue.client_files import NoContainerError, found_files
from mcp_progress_monitor.catalogue.clients import client_of
from mcp_progress_monitor.catalogue.reading import (
    ConfigFile,
    ImportRow,
    ImportStatus,
    candidate_keyring_secrets,
    imported_entry,
    preview,
    read_file,
    renewed_secrets,
    rows_named,
    save_rows,
)
from mcp_progress_monitor.catalogue.secrets import asked_for, in_environment, in_keyring, secrets_of
from mcp_progress_monitor.catalogue.tap_install import FileChangedError, by_file, tapped, untapped
from mcp_progress_monitor.catalogue.taps import this_program
from mcp_progress_monitor.catalogue.variables import (
    WORKSPACE,
    Input,
    Variables,
    kept_answers,
    postponed_answers,
)
from mcp_progress_monitor.catalogue.writing import write_file
from mcp_progress_monitor.cli.asking.approval import trust_command
from mcp_progress_monitor.cli.asking.terminal import confirm, terminal_of_user
from mcp_progress_monitor.cli.calls.configured import address, saved_servers
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.orders import ImportOrder, ServersExportOrder, TapsOrder
from mcp_progress_monitor.cli.output.stdout import (
    StandardOutput,
    aligned,
    own_command,
    print_out,
    show_warnings,
)
from mcp_progress_monitor.engine.client_taps import LiveTap, apply, find_servers, live_taps
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import count, duration, one_line, size, visible
from mcp_progress_monitor.path_checks import absolute, expanded, here, home
from mcp_progress_monitor.paths import chosen_data_dir
from mcp_progress_monitor.recording.settings import load_settings
from mcp_progress_monitor.secrets.system_keyring import SystemKeyring
from mcp_progress_monitor.store.watched import UNKNOWN_CLIENT
from mcp_progress_monitor.wording.clients import (
    RECORDING_IS_OFF,
    done_text,
    next_steps,
    refusal_text,
    server_title,
    state_text,
)
from mcp_progress_monitor.wording.servers import replaced_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
    from mcp_progress_monitor.catalogue.reading import Known
    from mcp_progress_monitor.catalogue.tap_install import ClientServer, FileChange
    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_TITLES = ("NAME", "IS", "KIND", "COMMAND OR URL")
_FILE_TITLES = ("CLIENT", "SERVERS", "FILE")
_NOTHING = (
    "No configuration files of known clients found. To import another file: servers import FILE\n"
)
_HINT = 400
_IMPORTABLE = (ImportStatus.NEW, ImportStatus.CHANGED)


def import_servers(common: CommonOptions, order: ImportOrder) -> ExitCode:
    """Show the servers of a file and save those chosen; runs nothing.

    Without a file, list the configuration files on this computer.
    """
    if order.file is None:
        if vars(order) != vars(ImportOrder(is_dry_run=order.is_dry_run)):
            raise click.UsageError(
                "No file given: servers import FILE. Without arguments, this command lists the"
                " configuration files on this computer."
            )
        return _list_files()
    if order.with_secrets and order.asks_secrets:
        raise click.UsageError("--with-secrets and --ask-secrets exclude each other.")
    client = None if order.client is None else client_of(order.client)
    # First without the answers: the file's inputs say which of them are secrets.
    variables = Variables(workspace=None if order.workspace is None else absolute(order.workspace))
    catalogue = saved_servers(common)
    with failing(ExitCode.USAGE):
        config = read_file(expanded(order.file), variables, client)
    _check_answers(order, config)
    known = candidate_keyring_secrets(config, catalogue, SystemKeyring())
    rows = preview(config, catalogue, known)
    print_out(_table(config, rows))
    show_warnings(*config.errors)
    if order.is_dry_run:
        return ExitCode.DONE
    wanted = _wanted(order, rows)
    importer = _Importer(catalogue, config, order, variables)
    names = importer.save(wanted)
    if not names:
        print_out("Nothing was saved.\n")
        return ExitCode.DONE
    saved = ", ".join(one_line(name, 60) for name in names)
    hint = trust_command(names[0], common._replace(config=None))
    print_out(f"Saved: {saved}.\nApprove each server before it can run, for example: {hint}\n")
    return ExitCode.DONE


def _check_answers(order: ImportOrder, config: ConfigFile) -> None:
    """`CommandFailed` for an answer to an input that the file does not have."""
    known = list(dict.fromkeys(each.id for found in config.found for each in found.asks))
    for id_, _ in order.answers:
        if id_ not in known:
            asks = f"Its inputs: {', '.join(known)}." if known else "It has no inputs."
            error = ErrorDetails(
                f"The file has no input {id_!r} (--input)",
                str(config.path),
                one_line(f"{likely(id_, known)}{asks}", _HINT),
            )
            raise CommandFailed(ExitCode.USAGE, error)


def _list_files() -> ExitCode:
    files = found_files(home(), os.environ, sys.platform, here())
    rows = []
    for found in files:
        try:
            config = read_file(found.path, client=found.client)
        except NoContainerError:
            continue
        except UserError as error:
            rows.append((found.client.title, error.details.what, str(found.path)))
            continue
        rows.append((found.client.title, str(len(config.found)), str(found.path)))
    if not rows:
        print_out(_NOTHING)
        return ExitCode.DONE
    example = shlex.join(["servers", "import", rows[0][2], "--dry-run"])
    print_out(f"{aligned(_FILE_TITLES, rows)}\nTo see the servers in a file: {visible(example)}\n")
    return ExitCode.DONE


def _table(config: ConfigFile, rows: list[ImportRow]) -> str:
    lines = [_row(row) for row in rows]
    notes = [line for row in rows for line in _notes(row)]
    return f"{visible(config.title)}\n{aligned(_TITLES, lines)}{''.join(notes)}"


def _row(row: ImportRow) -> tuple[str, ...]:
    if row.found is None:
        return row.name, row.standing.value, "", row.error.what if row.error else ""
    definition = row.found.definition
    text = f"{row.standing.value}, disabled" if row.found.is_disabled else row.standing.value
    return definition.name, text, definition.transport, address(definition)


def _notes(row: ImportRow) -> list[str]:
    """Notes on a server: what changes, what it requires, whether it contains secrets."""
    if row.found is None:
        return []
    changes = f"changes: {', '.join(row.changes)}" if row.changes else ""
    other = f"saved as {row.name}" if row.name != row.found.definition.name else ""
    asks = [f"requires {each.id}: {each.description or 'a value'}" for each in row.found.asks]
    secrets = ", ".join(secrets_of(row.found.definition))
    kept = f"contains secrets: {secrets}" if secrets and not row.found.asks else ""
    text = filter(None, (changes, other, *asks, kept, *row.found.notes))
    name = one_line(row.found.definition.name, 60)
    return [f"  {name}: {one_line(word, 400)}\n" for word in text]


def _wanted(order: ImportOrder, rows: list[ImportRow]) -> list[ImportRow]:
    """The rows to save; asks for them if the options do not say."""
    if order.names:
        return [_named(name, rows) for name in order.names]
    importable = [row for row in rows if row.standing in _IMPORTABLE]
    if order.takes_all or not importable:
        return importable
    keyboard = terminal_of_user()
    if keyboard is None:
        raise click.UsageError(
            "No servers chosen. Give their names, or --all; to only list them, use --dry-run."
        )
    title = f"Save {count(len(importable), 'server')}?"
    return importable if confirm(keyboard, title, (), "Save?") else []


def _named(name: str, rows: list[ImportRow]) -> ImportRow:
    for row in rows:
        if row.found is not None and row.found.definition.name == name:
            return row
        if row.found is None and row.name == name and row.error is not None:
            raise CommandFailed(ExitCode.USAGE, row.error)
    names = [row.found.definition.name for row in rows if row.found is not None]
    hint = f"{likely(name, names)}Its servers: {', '.join(names)}."
    error = ErrorDetails(f"The file has no server {name!r}", hint=hint)
    raise CommandFailed(ExitCode.USAGE, error)


class _Importer:
    """Saves rows: asks for inputs and stores secrets."""

    def __init__(
        self, catalogue: Catalogue, config: ConfigFile, order: ImportOrder, variables: Variables
    ) -> None:
        self._catalogue = catalogue
        self._config = config
        self._order = order
        self._variables = variables
        self._keyring = SystemKeyring()
        self._errors = StandardOutput(sys.stderr)
        self._is_keyring_reported = False

    def save(self, rows: list[ImportRow]) -> list[str]:
        """Save all rows, or none without all answers; returns the names they are saved under."""
        asks = {ask.id: ask for row in rows if row.found is not None for ask in row.found.asks}
        if asks:
            rows = self._with_answers(rows, list(asks.values()))
        known = candidate_keyring_secrets(self._config, self._catalogue, self._keyring)
        with failing(ExitCode.UNWRITABLE):
            made = [
                (row, self._entry_of(row, known))
                for row in rows
                if row.standing is not ImportStatus.SAME
            ]
            return save_rows(made, self._catalogue) if made else []

    def _entry_of(self, row: ImportRow, known: Known) -> CatalogueEntry:
        for name, secret in renewed_secrets(row, self._catalogue, known).items():
            self._keyring.put(name, secret)
        entry = imported_entry(row, self._config, self._catalogue, known)
        if self._order.with_secrets:
            return entry
        return dataclasses.replace(entry, definition=self._without_secrets(entry.definition))

    def _without_secrets(self, definition: ServerDefinition) -> ServerDefinition:
        """The server with its secrets in the keyring, in environment variables, or to ask for."""
        if not secrets_of(definition):
            return definition
        if self._order.asks_secrets:
            return asked_for(definition)
        try:
            return in_keyring(definition, self._keyring)
        except UserError as error:
            self._report_keyring(error.details)
        kept, variables = in_environment(definition)
        for variable, name in variables.items():
            text = f"{definition.name}: {name} is read from the environment. Set {variable}."
            self._errors.text(f"{visible(text)}\n")
        return kept

    def _report_keyring(self, error: ErrorDetails) -> None:
        if not self._is_keyring_reported:
            self._is_keyring_reported = True
            text = "Secrets are not saved. To save them as plain text, use --with-secrets."
            self._errors.text(f"{visible(error.what)}. {text}\n")

    def _with_answers(self, rows: list[ImportRow], asks: list[Input]) -> list[ImportRow]:
        answers = dict(self._order.answers)
        if self._order.asks_secrets:
            answers = postponed_answers(asks, answers)
        answers |= self._inputs([each for each in asks if each.id not in answers])
        if not self._order.with_secrets:
            answers = self._stored(asks, answers)
        workspace = self._variables.workspace
        if WORKSPACE in answers:
            workspace = absolute(Path(answers[WORKSPACE]))
        variables = dataclasses.replace(self._variables, answers=answers, workspace=workspace)
        path = self._order.file or Path()
        again = read_file(expanded(path), variables, self._config.client)
        self._config = again
        wanted = {row.found.definition.name for row in rows if row.found is not None}
        with failing(ExitCode.USAGE):
            known = candidate_keyring_secrets(again, self._catalogue, self._keyring)
            return rows_named(preview(again, self._catalogue, known), wanted)

    def _stored(self, asks: list[Input], answers: dict[str, str]) -> dict[str, str]:
        try:
            return kept_answers(asks, answers, self._keyring, self._config.client.key)
        except UserError as error:
            secret = next(each.id for each in asks if each.is_secret)
            hint = (
                f"{error.details.hint} Use a reference: --input "
                f"{shlex.quote(f'{secret}=${{env:NAME}}')}. Or save the answers as plain text with"
                " --with-secrets."
            ).strip()
            raise CommandFailed(ExitCode.USAGE, error.details._replace(hint=hint)) from error

    def _inputs(self, asks: list[Input]) -> dict[str, str]:
        if not asks:
            return {}
        if terminal_of_user() is None:
            ids = " ".join(f"--input {each.id}=…" for each in asks)
            hint = f"Add {ids}"
            what = "The servers need input from you"
            raise CommandFailed(ExitCode.USAGE, ErrorDetails(what, str(self._config.path), hint))
        return {each.id: _typed(each) for each in asks}


def _typed(required: Input) -> str:
    choices = f" ({', '.join(required.choices)})" if required.choices else ""
    text = one_line(f"{required.id}: {required.description or 'value'}{choices}", 200)
    kind = click.Choice(required.choices) if required.choices else str
    answer: str = click.prompt(
        text,
        default=required.default,
        type=kind,
        hide_input=required.is_secret,
        show_choices=False,
        err=True,
    )
    return answer


def export_servers(common: CommonOptions, order: ServersExportOrder) -> ExitCode:
    """Write the servers to a file or standard output, and report what is left out."""
    catalogue = saved_servers(common)
    with failing(ExitCode.USAGE):
        entries = [catalogue.entry(name) for name in order.names] or list(catalogue.entries())
    client = client_of(order.to)
    with failing(ExitCode.UNWRITABLE):
        path = None if order.output is None else expanded(order.output)
        written = write_file(entries, client, path, with_secrets=order.with_secrets)
    errors = StandardOutput(sys.stderr)
    for text in written.left_out:
        errors.text(f"skipped: {visible(text)}\n")
    if written.kept is not None:
        errors.text(f"{replaced_text(written.kept)}\n")
    if order.output is None:
        output = StandardOutput(sys.stdout)
        output.write(written.text.encode())
        output.check()
    return ExitCode.DONE


_TAP_TITLES = ("CLIENT", "SERVER", "STATE", "FILE")
_WIDEST = 200
_TRIES = 50  # to change a file that others change as well
_NO_SERVERS = "No client configuration files with servers were found.\n"


def install_taps(common: CommonOptions, order: TapsOrder) -> ExitCode:
    """Install taps in the files of other clients, showing the changes first."""
    folder = chosen_data_dir(common.data_dir)
    program = this_program(folder)._replace(requests_progress=order.requests_progress)
    found = _found(order)
    if not load_settings(folder)[0].is_on:
        show_warnings(ErrorDetails(RECORDING_IS_OFF))
    if not order.names and not order.takes_all and order.client is None:
        return _overview(common, found)

    def plan(found: list[ClientServer]) -> list[FileChange]:
        wanted = _wanted_taps(order, found)
        usable = [server for server in wanted if server.tap is not None or not server.why_not]
        _report_others(order, wanted, usable)
        return [tapped(servers, program) for servers in by_file(usable)]

    return _change(order, plan, found, "Watch {}?")


def remove_taps(_common: CommonOptions, order: TapsOrder) -> ExitCode:
    """Remove taps from the files of other clients, showing the changes first."""
    if not order.names and not order.takes_all and order.client is None:
        raise click.UsageError("Name a client and its servers, or use --all.")

    def plan(found: list[ClientServer]) -> list[FileChange]:
        of_taps = [server for server in found if server.tap is not None]
        wanted = _wanted_taps(order, found if order.names else of_taps)
        return [untapped(each) for each in by_file(s for s in wanted if s.tap is not None)]

    return _change(order, plan, _found(order), "Stop watching {}?")


def list_taps(common: CommonOptions, *, in_json: bool) -> ExitCode:
    """List the installed and the running taps."""
    servers = [server for server in _found(TapsOrder()) if server.tap is not None]
    live = _live(common, servers)
    others = [tap for tap in live if not any(tap.is_of(server) for server in servers)]
    left = [tap for tap in live if tap.is_orphan and tap not in others]
    if in_json:
        print_out(json.dumps(_document(servers, live, others), indent=2) + "\n")
        return ExitCode.DONE
    rows = [_tap_row(server, live) for server in servers]
    rows += [_row_of(tap) for tap in (*left, *others)]
    if rows:
        print_out(aligned(_TAP_TITLES, rows, _WIDEST))
    else:
        hint = own_command("tap", "install")
        print_out(f"No client's servers are watched. To see which can be: {hint}\n")
    return ExitCode.DONE


def _found(order: TapsOrder) -> list[ClientServer]:
    client = None if order.client is None else client_of(order.client)
    found = find_servers(here())
    show_warnings(*found.errors)
    return [server for server in found.servers if client in {None, server.client}]


def _overview(common: CommonOptions, servers: list[ClientServer]) -> ExitCode:
    if not servers:
        print_out(_NO_SERVERS)
        return ExitCode.DONE
    live = _live(common, servers)
    can_be = [server for server in servers if server.tap is None and not server.why_not]
    example = can_be[0].client.key if can_be else servers[0].client.key
    hint = own_command("tap", "install", example, "--all", "--dry-run")
    rows = [_tap_row(server, live) for server in servers]
    print_out(f"{aligned(_TAP_TITLES, rows, _WIDEST)}\nTo see what would be changed: {hint}\n")
    return ExitCode.DONE


def _live(common: CommonOptions, servers: list[ClientServer]) -> list[LiveTap]:
    taps = [server.tap for server in servers if server.tap is not None]
    folders = [tap.data_dir for tap in taps if tap.data_dir is not None]
    return live_taps([chosen_data_dir(common.data_dir), *folders])


def _tap_row(server: ClientServer, live: list[LiveTap]) -> tuple[str, ...]:
    state = state_text(server, [tap.begun_when for tap in live if tap.is_of(server)])
    return server.client.title, server_title(server), state, str(server.path)


def _row_of(tap: LiveTap) -> tuple[str, ...]:
    """A running tap that is in no file, or whose client is gone."""
    state = f"running, process {tap.pid}"
    if tap.memory_bytes is not None:
        age, memory = duration(max(time.time() - tap.begun_when, 0.0)), size(tap.memory_bytes)
        state = f"left running by its client, process {tap.pid}, {age}, {memory}"
    client = tap.client or one_line(tap.starter, 60) or UNKNOWN_CLIENT
    return client, one_line(tap.name, 60), state, "-"


def _document(
    servers: list[ClientServer], live: list[LiveTap], others: list[LiveTap]
) -> dict[str, object]:
    entries: list[dict[str, object]] = [
        {
            "client": server.client.key,
            "server": server.name,
            "project": None if server.project is None else str(server.project),
            "file": str(server.path),
            "program": server.tap.program if server.tap else None,
            "program_found": bool(server.tap and server.tap.is_there),
            "running": [_running(tap) for tap in live if tap.is_of(server)],
        }
        for server in servers
    ]
    return {"watched": entries, "other": [_running(tap) for tap in others]}


def _running(tap: LiveTap) -> dict[str, object]:
    found = {"name": tap.name, "client": tap.client, "pid": tap.pid, "recording": str(tap.path)}
    return {**found, "client_is_gone": tap.is_orphan, "server_memory_bytes": tap.memory_bytes}


def _wanted_taps(order: TapsOrder, servers: list[ClientServer]) -> list[ClientServer]:
    """The servers that the order names, or all; `CommandFailed` for an unknown name."""
    if not order.names:
        return servers
    there = list(dict.fromkeys(server.name for server in servers))
    for name in order.names:
        if name not in there:
            title = "No client" if order.client is None else client_of(order.client).title
            hint = f"{likely(name, there)}Its servers: {', '.join(there) or 'none'}."
            error = ErrorDetails(f"{title} has no server {name!r}", hint=one_line(hint, 400))
            raise CommandFailed(ExitCode.USAGE, error)
    return [server for server in servers if server.name in order.names]


def _report_others(
    order: TapsOrder, wanted: list[ClientServer], usable: list[ClientServer]
) -> None:
    """Report servers that cannot be watched; `CommandFailed` if that leaves a name without any."""
    texts = [refusal_text(server) for server in wanted if server not in usable]
    there = {server.name for server in usable}
    if any(name not in there for name in order.names):
        what = "The server cannot be watched" if texts[1:] == [] else "Servers cannot be watched"
        raise CommandFailed(ExitCode.USAGE, ErrorDetails(what, hint="\n".join(texts)))
    errors = StandardOutput(sys.stderr)
    for text in texts:
        errors.text(f"skipped: {visible(text)}\n")


def _change(
    order: TapsOrder,
    plan: Callable[[list[ClientServer]], list[FileChange]],
    found: list[ClientServer],
    question: str,
) -> ExitCode:
    """Show the changes and, if the options or the user agree, make them.

    They are planned again if another program has changed a file meanwhile, unless the user agreed
    to what was shown.
    """
    with failing(ExitCode.UNWRITABLE):
        changes = [change for change in plan(found) if change.servers]
    if not changes:
        print_out("Nothing to change.\n")
        return ExitCode.DONE
    for change in changes:
        print_out("".join(f"{visible(line)}\n" for line in change.diff()))
    number = count(sum(len(change.servers) for change in changes), "server")
    if order.is_dry_run or not _is_agreed(order, question.format(number)):
        steps = "".join(f"After the change: {each}\n" for each in next_steps(changes))
        print_out(f"{steps}Nothing was changed.\n")
        return ExitCode.DONE
    with failing(ExitCode.UNWRITABLE):
        for _ in range(_TRIES):
            try:
                _apply(changes)
            except FileChangedError:
                if not (order.names or order.takes_all):
                    raise
                changes = [change for change in plan(_found(order)) if change.servers]
            else:
                return ExitCode.DONE
        _apply(changes)
    return ExitCode.DONE


def _apply(changes: list[FileChange]) -> None:
    for change in changes:
        done = apply(change)
        print_out(f"{done_text(change, done.kept, by_command=done.by_command)}\n")


def _is_agreed(order: TapsOrder, question: str) -> bool:
    if order.names or order.takes_all:
        return True
    keyboard = terminal_of_user()
    if keyboard is None:
        raise click.UsageError(
            "No servers chosen. Give their names, or --all; to see what would change, --dry-run."
        )
    return confirm(keyboard, question, (), "Change the files?")
