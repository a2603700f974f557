"""`tap install`, `tap remove` and `tap list`: taps in the configurations of other clients."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from mcp_progress_monitor.catalogue.catalogue import likely
from mcp_progress_monitor.catalogue.clients import client_of
from mcp_progress_monitor.catalogue.tap_install import by_file, tapped, untapped
from mcp_progress_monitor.catalogue.taps import this_program
from mcp_progress_monitor.cli.asking.terminal import confirm, terminal_of_user
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.output.stdout import (
    StandardOutput,
    aligned,
    own_command,
    print_out,
    show_warnings,
)
from mcp_progress_monitor.engine.client_taps import LiveTap, apply, find_servers, live_taps
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import count, one_line, visible
from mcp_progress_monitor.path_checks import here
from mcp_progress_monitor.paths import chosen_data_dir
from mcp_progress_monitor.recording.settings import load_settings
from mcp_progress_monitor.wording.taps import (
    RECORDING_IS_OFF,
    done_text,
    next_steps,
    refusal_text,
    server_title,
    state_text,
)

if TYPE_CHECKING:
    from mcp_progress_monitor.catalogue.tap_install import ClientServer, FileChange
    from mcp_progress_monitor.cli.common import CommonOptions

_TITLES = ("CLIENT", "SERVER", "STATE", "FILE")
_WIDEST = 200
_NOTHING = "No client configuration files with servers were found.\n"


class TapsOrder(NamedTuple):
    """The options of `tap install` and `tap remove`; `client` is a client's key."""

    client: str | None = None
    names: tuple[str, ...] = ()
    takes_all: bool = False
    is_dry_run: bool = False


def install_taps(common: CommonOptions, order: TapsOrder) -> ExitCode:
    """Install taps in the files of other clients, showing the changes first."""
    folder = chosen_data_dir(common.data_dir)
    program = this_program(folder)
    found = _found(order)
    if not load_settings(folder)[0].is_on:
        show_warnings(ErrorDetails(RECORDING_IS_OFF))
    if not order.names and not order.takes_all and order.client is None:
        return _overview(common, found)
    wanted = _wanted(order, found)
    usable = [server for server in wanted if server.tap is not None or not server.why_not]
    _report_others(order, wanted, usable)
    with failing(ExitCode.UNWRITABLE):
        changes = [tapped(servers, program) for servers in by_file(usable)]
    return _change(order, changes, "Watch {}?")


def remove_taps(_common: CommonOptions, order: TapsOrder) -> ExitCode:
    """Remove taps from the files of other clients, showing the changes first."""
    if not order.names and not order.takes_all and order.client is None:
        raise click.UsageError("Name a client and its servers, or use --all.")
    servers = _found(order)
    wanted = _wanted(order, servers if order.names else [s for s in servers if s.tap is not None])
    with failing(ExitCode.UNWRITABLE):
        changes = [untapped(each) for each in by_file(s for s in wanted if s.tap is not None)]
    return _change(order, changes, "Stop watching {}?")


def list_taps(common: CommonOptions, *, in_json: bool) -> ExitCode:
    """List the installed and the running taps."""
    servers = [server for server in _found(TapsOrder()) if server.tap is not None]
    live = _live(common, servers)
    others = [tap for tap in live if not any(tap.is_of(server) for server in servers)]
    if in_json:
        print_out(json.dumps(_document(servers, live, others), indent=2) + "\n")
        return ExitCode.DONE
    rows = [_row(server, live) for server in servers]
    rows += [_row_of(tap) for tap in others]
    if rows:
        print_out(aligned(_TITLES, rows, _WIDEST))
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
        print_out(_NOTHING)
        return ExitCode.DONE
    live = _live(common, servers)
    can_be = [server for server in servers if server.tap is None and not server.why_not]
    example = can_be[0].client.key if can_be else servers[0].client.key
    hint = own_command("tap", "install", example, "--all", "--dry-run")
    rows = [_row(server, live) for server in servers]
    print_out(f"{aligned(_TITLES, rows, _WIDEST)}\nTo see what would be changed: {hint}\n")
    return ExitCode.DONE


def _live(common: CommonOptions, servers: list[ClientServer]) -> list[LiveTap]:
    taps = [server.tap for server in servers if server.tap is not None]
    folders = [tap.data_dir for tap in taps if tap.data_dir is not None]
    return live_taps([chosen_data_dir(common.data_dir), *folders])


def _row(server: ClientServer, live: list[LiveTap]) -> tuple[str, ...]:
    state = state_text(server, [tap.begun_when for tap in live if tap.is_of(server)])
    return server.client.title, server_title(server), state, str(server.path)


def _row_of(tap: LiveTap) -> tuple[str, ...]:
    """A running tap that is in no file: started by hand, or removed while it runs."""
    return (
        tap.client or "unknown client",
        one_line(tap.name, 60),
        f"running, process {tap.pid}",
        "-",
    )


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
    return {"name": tap.name, "client": tap.client, "pid": tap.pid, "recording": str(tap.path)}


def _wanted(order: TapsOrder, servers: list[ClientServer]) -> list[ClientServer]:
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


def _change(order: TapsOrder, changes: list[FileChange], question: str) -> ExitCode:
    """Show the changes and, if the options or the user agree, make them."""
    changes = [change for change in changes if change.servers]
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
        for change in changes:
            done = apply(change)
            text = done_text(change, done.kept, by_command=done.by_command)
            print_out(f"{text}\n")
    return ExitCode.DONE


def _is_agreed(order: TapsOrder, question: str) -> bool:
    if order.names or order.takes_all:
        return True
    keyboard = terminal_of_user()
    if keyboard is None:
        raise click.UsageError(
            "No servers chosen. Give their names, or --all; to see what would change, --dry-run."
        )
    return confirm(keyboard, question, (), "Change the files?")
