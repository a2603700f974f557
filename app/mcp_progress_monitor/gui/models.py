"""The item models of the panes: each created once, all fed by one feed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.gui.common.labels import ServerTitle, ServerTitles
from mcp_progress_monitor.gui.feed import Feed
from mcp_progress_monitor.gui.findings.model import FindingsModel
from mcp_progress_monitor.gui.followed import JobsFollowed
from mcp_progress_monitor.gui.jobs.filter_model import GroupsModel, JobFilter
from mcp_progress_monitor.gui.jobs.model import JobsModel
from mcp_progress_monitor.gui.questions.model import QuestionsModel
from mcp_progress_monitor.gui.server_log.model import ServerLogModel
from mcp_progress_monitor.gui.servers.model import ServersModel
from mcp_progress_monitor.gui.servers.watched import WatchedModel
from mcp_progress_monitor.gui.traffic.model import TrafficModel, TrafficNotes
from mcp_progress_monitor.recording.notes import notes_path
from mcp_progress_monitor.wording import watched as watched_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from PySide6.QtCore import QObject

    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.playback.playback import Playback
    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.snapshots.watched import WatchedSnapshot


class Models:
    """The window's models: the messages of `timeline`, and a source from `follow` to `detach`."""

    def __init__(self, timeline: Timeline, parent: QObject) -> None:
        self.followed = JobsFollowed()
        self._joins: list[Callable[[Engine | Playback], object]] = []
        self.feed = Feed(parent)
        self.jobs = JobsModel(parent)
        self.shown_jobs = JobFilter(self.jobs, parent)
        self.groups = GroupsModel(self.jobs, parent)
        self.servers = ServersModel(parent)
        self.watched = WatchedModel(parent)
        self.questions = QuestionsModel(parent)
        self.titles = ServerTitles(parent)
        self.server_log = ServerLogModel(self.titles, parent)
        self.traffic = TrafficModel(timeline, self.followed.requests_of, self.titles, parent)
        self.notes = TrafficNotes(parent=parent)
        self.findings = FindingsModel(self.titles, parent)
        self.feed.jobs_changed.connect(self.jobs.apply)
        self.feed.servers_changed.connect(self.servers.apply)
        self.feed.servers_changed.connect(self.watched.apply)
        self.watched.shown.connect(self._on_watched_shown)
        self.feed.messages_logged.connect(self.server_log.add)
        self.feed.questions_changed.connect(self.questions.apply)
        self.feed.frames_marked.connect(self.traffic.mark)
        self.feed.frames_marked.connect(self.servers.count_again)
        self.feed.frames_added.connect(self.traffic.refresh)
        self.findings.badges_changed.connect(self._on_badges_changed)

    def follow(self, source: Engine | Playback, before: Callable[[], object] | None = None) -> None:
        """Show the content and updates of `source`, whose timeline it is.

        `before` is called each time before anything is shown.
        """
        self.followed.source = source
        self.jobs.set_source(source.jobs)
        self.servers.set_source(source.servers, source.jobs.unattached_ticks, source.now)
        self.questions.set_source(source.questions.open, source.jobs.snapshot, source.now)
        for join in self._joins:
            join(source)
        self._joins.clear()
        self.feed.attach(source, before)
        self.findings.watch.follow(source)
        self._on_badges_changed()

    def when_followed(self, join: Callable[[Engine | Playback], object]) -> None:
        """Call `join` with the source once there is one, possibly now."""
        if self.followed.source is None:
            self._joins.append(join)
        else:
            join(self.followed.source)

    def keep_notes_beside(self, recording: Path | None) -> None:
        """Keep marks and notes on messages beside the recording, once there is one."""
        self.notes.open(None if recording is None else notes_path(recording))

    def detach(self) -> None:
        """Stop following; pending updates are shown first."""
        self.feed.detach()
        self.jobs.close()
        self.findings.watch.detach()

    def _on_watched_shown(self, servers: Sequence[WatchedSnapshot]) -> None:
        titles = {
            each.name: ServerTitle(
                watched_texts.server_of_client(each), watched_texts.processes(each)
            )
            for each in servers
        }
        self.titles.set_titles(titles)

    def _on_badges_changed(self) -> None:
        findings = self.findings
        self.jobs.set_badges(findings.job_badges)
        self.servers.set_badges(findings.server_badges)
        self.watched.set_badges(findings.server_badges)
