"""Reports servers that end by themselves: why, what was lost, and how to go on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import count, one_line
from mcp_progress_monitor.gui.jobs.commands import REISSUE
from mcp_progress_monitor.gui.notice_bar import NoticeAction
from mcp_progress_monitor.gui.servers.commands import STDERR
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.gui.common.commands import Commands
    from mcp_progress_monitor.gui.feed import Feed
    from mcp_progress_monitor.gui.notice_bar import NoticeBar
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

_DOWN = frozenset({ServerState.WAITING, ServerState.FAILED})


class _Crash(NamedTuple):
    """The notice about a server that ended, and the connections that it took along."""

    notice: ErrorDetails
    connections: frozenset[str]
    is_pending: bool
    """True until it is known whether the server could be restarted."""
    has_failed: bool
    """True if it could not be started again."""


class CrashNotices(QObject):
    """Shows one notice for each server that ended; a server that ends again replaces its own."""

    def __init__(self, bar: NoticeBar, engine: Engine, feed: Feed, commands: Commands) -> None:
        super().__init__(bar)
        self._bar = bar
        self._engine = engine
        self._commands = commands
        self._connected: dict[str, str] = {}
        self._shown: dict[str, _Crash] = {}
        feed.servers_changed.connect(self._on_servers_changed)

    @Slot(object)
    def _on_servers_changed(self, changed: frozenset[str]) -> None:
        there = changed.intersection(self._engine.servers.names())
        for name in changed - there:
            self._connected.pop(name, None)
            self._shown.pop(name, None)
        for name in there:
            self._look_at(self._engine.servers.snapshot(name))

    def _look_at(self, server: ServerSnapshot) -> None:
        name, connection, crash = server.name, server.connection, self._shown.get(server.name)
        if crash is not None and crash.notice not in self._bar.errors():
            self._shown.pop(name)  # it was dismissed
            crash = None
        if server.state is ServerState.CONNECTED and connection is not None:
            self._connected[name] = connection
            if crash is not None and crash.is_pending:
                self._show(server, crash.notice, crash.connections, "The server was restarted.")
            elif crash is not None and crash.has_failed and server.on_save is not None:
                self._bar.withdraw(crash.notice)  # the author has fixed it
        elif server.state is ServerState.CLOSED:
            self._connected.pop(name, None)
        elif server.state in _DOWN or server.retry is not None:
            ended = self._connected.pop(name, None)
            has_given_up = crash is not None and server.state is ServerState.FAILED
            if ended is not None or has_given_up:
                # It may be gone again already if the server is reconnected at once.
                error = server.error or ErrorDetails("The server exited unexpectedly")
                connections = frozenset() if crash is None else crash.connections
                connections |= frozenset(() if ended is None else (ended,))
                is_pending = server.retry is not None
                then = "The server is being restarted." if is_pending else error.hint
                self._show(server, error, connections, then, is_pending=is_pending)

    def _show(
        self,
        server: ServerSnapshot,
        error: ErrorDetails,
        connections: frozenset[str],
        then: str,
        *,
        is_pending: bool = False,
    ) -> None:
        """Show why a server ended, in place of what was shown of it before."""
        lost, resumable = self._jobs_of(connections)
        parts = [f"{count(len(lost), 'job')} lost"] if lost else []
        parts += [f"{count(resumable, 'job')} can be resumed"] if resumable else []
        hint = f"{', '.join(parts) or 'No jobs were lost'}. {then}"
        notice = error._replace(where=one_line(server.name), hint=hint)
        before = self._shown.get(server.name)
        has_failed = server.state is ServerState.FAILED
        self._shown[server.name] = _Crash(notice, connections, is_pending, has_failed)
        actions = tuple(self._actions(server, notice, lost))
        self._bar.show_error(notice, actions, instead_of=before and before.notice)

    def _actions(
        self, server: ServerSnapshot, notice: ErrorDetails, lost: Sequence[JobId]
    ) -> list[NoticeAction]:
        actions = []
        if lost:
            again = partial(self._reissue, notice, tuple(lost))
            tip = "Send the requests of the lost jobs again from the start"
            actions.append(NoticeAction(f"Re-&issue {len(lost):,} lost", tip, again))
        if isinstance(server.definition, StdioDefinition):
            show = partial(self._commands.run, STDERR, server.name)
            actions.append(NoticeAction("Show &stderr", "Show the server's standard error", show))
        return actions

    def _reissue(self, notice: ErrorDetails, lost: tuple[JobId, ...]) -> None:
        self._bar.withdraw(notice)
        there = (job for job in lost if self._engine.jobs.snapshot(job) is not None)
        self._commands.run(REISSUE, tuple(there))

    def _jobs_of(self, connections: frozenset[str]) -> tuple[list[JobId], int]:
        """Our own jobs that these connections took along, and how many can be resumed."""
        found = map(self._engine.jobs.snapshot, self._engine.jobs.ids())
        ended = [job for job in found if job is not None and _went_with(job, connections)]
        lost = [job.id for job in ended if job.state is JobState.LOST]
        return lost, len(ended) - len(lost)


def _went_with(job: JobSnapshot, connections: frozenset[str]) -> bool:
    is_ours = job.sender is Side.CLIENT and job.watched_client is None
    is_ended = job.state in {JobState.LOST, JobState.RESUMABLE}
    return is_ours and is_ended and job.connection in connections
