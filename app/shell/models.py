"""The models that the panes look at, each built once, all fed by one feed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.models.feed import Feed
from app.models.filters import GroupsModel, JobFilter
from app.models.jobs import JobsModel
from app.models.log import LogModel
from app.models.log_notes import LogNotes
from app.models.messages import MessagesModel
from app.models.questions import QuestionsModel
from app.models.servers import ServersModel
from app.recording.notes import notes_path

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtCore import QObject

    from app.monitor import Monitor
    from app.playback.playback import Playback


class Models:
    """What the window shows, following `source` until `detach`."""

    def __init__(self, source: Monitor | Playback, parent: QObject) -> None:
        self.source = source
        self.feed = Feed(parent)
        self.jobs = JobsModel(parent)
        self.shown_jobs = JobFilter(self.jobs, parent)
        self.groups = GroupsModel(self.jobs, parent)
        self.servers = ServersModel(parent)
        self.questions = QuestionsModel(parent)
        self.messages = MessagesModel(parent)
        self.log = LogModel(source.timeline, source.requests_of, parent)
        self.notes = LogNotes(parent=parent)
        self.jobs.set_source(source)
        self.servers.set_source(source)
        self.questions.set_source(source)
        self.feed.jobs_changed.connect(self.jobs.apply)
        self.feed.servers_changed.connect(self.servers.apply)
        self.feed.messages_logged.connect(self.messages.add)
        self.feed.questions_changed.connect(self.questions.apply)
        self.feed.frames_marked.connect(self.log.mark)
        self.feed.frames_marked.connect(self.servers.count_again)
        self.feed.frames_added.connect(self.log.refresh)
        self.feed.attach(source)

    def keep_notes_beside(self, recording: Path | None) -> None:
        """Keep marks and notes on messages beside the recording, as soon as there is one."""
        self.notes.open(None if recording is None else notes_path(recording))

    def detach(self) -> None:
        """Stop following; what was gathered is shown first."""
        self.feed.detach()
