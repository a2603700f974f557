"""The commands on servers, our own and watched ones: when each applies, and where it is offered."""

from __future__ import annotations

from functools import partial
from typing import Final

from mcp_progress_monitor.gui.common.commands import Command, Takes, Words
from mcp_progress_monitor.gui.servers.model import ServerRow, lists_tasks
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.snapshots.watched import MachineSnapshot, MachineState, WatchedSnapshot
from mcp_progress_monitor.wording import watched as watched_texts

_RESTARTABLE: Final = frozenset({ServerState.CONNECTED, ServerState.CONNECTING})


def _is_there(row: ServerRow) -> bool:
    return row.is_there


def _is_connectable(row: ServerRow) -> bool:
    return row.is_there and not row.server.state.is_up and not row.is_disabled


def _is_disconnectable(row: ServerRow) -> bool:
    is_waiting = row.server.state is ServerState.WAITING
    return row.is_there and (row.server.state.is_up or is_waiting or row.awaits_turn)


def _disconnect(row: ServerRow) -> Words | None:
    """Describe what ends for a server alone that is not connected yet."""
    if row.standing.is_alone and row.awaits_turn:
        return Words("S&top waiting")
    is_restarting = row.standing.is_alone and row.server.state is ServerState.WAITING
    return Words("S&top restarting") if is_restarting else None


def _is_restartable(row: ServerRow) -> bool:
    return row.server.state in _RESTARTABLE


def _is_process(row: ServerRow) -> bool:
    return row.server.definition.transport == "stdio"


def _lists_tasks(row: ServerRow) -> bool:
    return row.is_there and lists_tasks(row.server)


def _may_be_signed_in(row: ServerRow) -> bool:
    """Return whether the user may have signed in to it in the browser."""
    definition = row.server.definition
    is_signed = definition.transport != "stdio" and definition.auth == "oauth"
    return row.standing.has_catalogue and row.is_there and is_signed


def _is_watchable(row: ServerRow) -> bool:
    return row.entry is not None and _is_process(row)


def _watch(row: ServerRow) -> Words:
    """Return where a server can be watched: in the client that it was imported from, if any."""
    from mcp_progress_monitor.catalogue.clients import KNOWN  # late: not needed for the first paint

    origin = "" if row.entry is None else row.entry.origin
    title = next((each.title for each in KNOWN if origin.startswith(each.title)), "a client")
    return Words(f"&Watch in {title}…")


def _can_restart_on_save(row: ServerRow) -> bool:
    is_up = row.server.state is ServerState.CONNECTED and _is_process(row)
    return row.is_there and (is_up or _restarts_on_save(row))


def _restarts_on_save(row: ServerRow) -> bool:
    return row.server.on_save is not None


def _restart_on_save(row: ServerRow) -> Words | None:
    """Announce the dialog that turns it on."""
    return None if _restarts_on_save(row) else Words("Restart on sa&ve and call again…")


def _has_catalogue(row: ServerRow) -> bool:
    return row.standing.has_catalogue


def _is_unsaved(row: ServerRow) -> bool:
    return row.standing.has_catalogue and row.entry is None


def _is_enabled(row: ServerRow) -> bool:
    return row.entry is not None and not row.is_disabled


def _is_disabled(row: ServerRow) -> bool:
    return row.is_disabled


def _connects_at_start(row: ServerRow) -> bool:
    return row.entry is not None and row.entry.connects_at_start


def _can_move_up(row: ServerRow) -> bool:
    return row.standing.can_move_up


def _can_move_down(row: ServerRow) -> bool:
    return row.standing.can_move_down


def _is_down(row: ServerRow) -> bool:
    return not row.server.state.is_up


_one = partial(Command, takes=Takes.ONE)
_live = partial(Command, takes=Takes.ONE, live_only=True)
_each = partial(Command, takes=Takes.EACH, live_only=True)

OPEN: Final = _one("servers.open", "&Open", keys=("Return", "Enter"), applies=_is_there)
CONNECT: Final = _each(
    "servers.connect", "&Connect", icon="connect", keys=("Ctrl+Return",), applies=_is_connectable
)
DISCONNECT: Final = _each(
    "servers.disconnect",
    "&Disconnect",
    icon="disconnect",
    keys=("Ctrl+D",),
    applies=_is_disconnectable,
    words=_disconnect,
)
RESTART: Final = _each(
    "servers.restart", "&Restart", icon="again", keys=("F5",), applies=_is_restartable
)
ON_SAVE: Final = _live(
    "servers.on-save",
    "Restart on sa&ve and call again",
    "Watch the server's files: each save restarts it between jobs and makes the last call again",
    keys=("Alt+F5",),
    applies=_can_restart_on_save,
    is_on=_restarts_on_save,
    words=_restart_on_save,
)
DOCTOR: Final = _live(
    "servers.doctor", "Connection d&octor", icon="doctor", keys=("Ctrl+I",), applies=_is_there
)
STDERR: Final = _live(
    "servers.stderr", "S&how stderr", icon="stderr", keys=("Ctrl+Shift+E",), applies=_is_process
)
FINDINGS: Final = _one("servers.findings", "Show fi&ndings", icon="warning")
JOBS: Final = _one("servers.jobs", "Show &jobs", icon="jobs")
TRAFFIC: Final = _one("servers.traffic", "Show in Tr&affic", icon="log")
COPY: Final = Command(
    "servers.copy", "Co&py details", icon="copy", keys=("Ctrl+C",), takes=Takes.MANY
)
RULES: Final = _live(
    "servers.rules", "Rules for &questions…", icon="state-needs-you", applies=_is_there
)
ROOTS: Final = _live("servers.roots", "&Folders (roots)…", icon="open", applies=_is_there)
TASKS: Final = _live("servers.tasks", "&Tasks on the server…", icon="task", applies=_lists_tasks)
SIGN_OUT: Final = _live(
    "servers.sign-out", "S&ign out", icon="server-sign-in", applies=_may_be_signed_in
)
WATCH: Final = _live(
    "servers.watch", "&Watch in a client…", icon="watched", applies=_is_watchable, words=_watch
)
INVITE_AGENT: Final = _live("servers.invite-agent", "&Let an agent read this…", icon="add")
EDIT: Final = _live("servers.edit", "&Edit…", icon="edit", keys=("F2",), applies=_has_catalogue)
CLONE: Final = _live(
    "servers.clone", "C&lone", icon="copy", keys=("Ctrl+Shift+C",), applies=_has_catalogue
)
KEEP: Final = _live(
    "servers.keep", "&Keep this server", icon="save", keys=("Ctrl+Alt+S",), applies=_is_unsaved
)
AT_START: Final = _live(
    "servers.at-start",
    "Connect at &start",
    keys=("Ctrl+T",),
    applies=_is_enabled,
    is_on=_connects_at_start,
)
DISABLE: Final = _each(
    "servers.disable", "Disa&ble", icon="server-disabled", keys=("Ctrl+B",), applies=_is_enabled
)
ENABLE: Final = _each(
    "servers.enable", "Ena&ble", icon="server", keys=("Ctrl+Shift+B",), applies=_is_disabled
)
UP: Final = _live(
    "servers.up", "Move &up", icon="previous", keys=("Ctrl+Up",), applies=_can_move_up
)
DOWN: Final = _live(
    "servers.down", "Move do&wn", icon="next", keys=("Ctrl+Down",), applies=_can_move_down
)
REMOVE: Final = _live("servers.remove", "Re&move", icon="remove", keys=("Del",), applies=_is_down)

SERVER_MENU: Final = (
    (CONNECT, DISCONNECT, RESTART, ON_SAVE, SIGN_OUT),
    (JOBS, TRAFFIC),
    (DOCTOR, STDERR, FINDINGS, COPY),
    (RULES, ROOTS, TASKS),
    (EDIT, CLONE, KEEP, AT_START, DISABLE, ENABLE),
    (WATCH, INVITE_AGENT),
    (UP, DOWN),
    (REMOVE,),
)
"""The menu of a row, in groups: all commands but `OPEN` and `ADD`."""
ADD: Final = Command(
    "servers.add",
    "Add a server",
    "Add a server; open the arrow for more options",
    keys=("Ins",),
    live_only=True,
)
SERVER_COMMANDS: Final = (OPEN, *(command for group in SERVER_MENU for command in group))


def _is_watched(row: WatchedSnapshot | MachineSnapshot) -> bool:
    return isinstance(row, WatchedSnapshot)


def _is_watched_process(row: WatchedSnapshot | MachineSnapshot) -> bool:
    return isinstance(row, WatchedSnapshot) and row.server.definition.transport == "stdio"


def _never(_row: WatchedSnapshot | MachineSnapshot) -> bool:
    return False


def _no_call(row: WatchedSnapshot | MachineSnapshot) -> Words:
    if isinstance(row, MachineSnapshot):
        return Words()
    return Words(why=watched_texts.why_no_call(row.client))


def _is_connectable_machine(row: WatchedSnapshot | MachineSnapshot) -> bool:
    states = (MachineState.WAITING, MachineState.STOPPED)
    return isinstance(row, MachineSnapshot) and row.state in states


def _is_running_machine(row: WatchedSnapshot | MachineSnapshot) -> bool:
    return isinstance(row, MachineSnapshot) and row.state is not MachineState.STOPPED


def _is_machine(row: WatchedSnapshot | MachineSnapshot) -> bool:
    return isinstance(row, MachineSnapshot)


_watched = partial(_one, applies=_is_watched)

WATCHED_TRAFFIC: Final = _watched(
    "watched.traffic", "Show in &Traffic", icon="log", keys=("Return",)
)
WATCHED_JOBS: Final = _watched("watched.jobs", "Show &jobs", icon="jobs")
WATCHED_STDERR: Final = _one(
    "watched.stderr",
    "S&how stderr",
    icon="stderr",
    keys=("Ctrl+Shift+E",),
    applies=_is_watched_process,
)
WATCHED_FINDINGS: Final = _watched("watched.findings", "Show &findings", icon="warning")
WATCHED_CALL: Final = _one(
    "watched.call", "&New call…", icon="new-call", applies=_never, words=_no_call
)
WATCHED_RECORDING: Final = _watched("watched.recording", "Open &recording", icon="open")
WATCHED_INVITE: Final = _watched("watched.invite-agent", "&Let an agent read this…", icon="add")
WATCHED_COPY: Final = _one("watched.copy", "Co&py details", icon="copy", keys=("Ctrl+C",))
WATCHED_DISMISS: Final = Command(
    "watched.dismiss", "Re&move ended sessions", icon="remove", keys=("Del",)
)
MACHINE_CONNECT: Final = _one(
    "watched.machine-connect", "&Connect now", icon="connect", applies=_is_connectable_machine
)
MACHINE_STOP: Final = _one(
    "watched.machine-stop", "S&top", icon="disconnect", applies=_is_running_machine
)
MACHINE_REMOVE: Final = _one(
    "watched.machine-remove", "Remove this &machine", icon="remove", applies=_is_machine
)
WATCHED_MENU: Final = (
    (MACHINE_CONNECT, MACHINE_STOP, MACHINE_REMOVE),
    (WATCHED_TRAFFIC, WATCHED_JOBS, WATCHED_STDERR, WATCHED_FINDINGS, WATCHED_CALL),
    (WATCHED_RECORDING, WATCHED_INVITE, WATCHED_COPY, WATCHED_DISMISS),
)
WATCHED_COMMANDS: Final = tuple(command for group in WATCHED_MENU for command in group)
