"""What the feed says reaches every model that wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QObject

from app.models.servers import ABOUT
from app.monitor import Monitor
from app.protocol.conversation import Conversation
from app.sessions.snapshot import ServerState
from app.shell.models import Models
from tests.server_stand_ins import FakeServers, server
from tests.unit.models.log_frames import ticks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtWidgets import QApplication


@pytest.fixture
def models(qapp: QApplication) -> Iterator[Models]:
    parent = QObject(qapp)
    yield Models(Monitor(), parent)
    parent.deleteLater()


def test_marks_reach_the_log(models: Models) -> None:
    facts = Conversation("local-db#1").read(ticks(0, 2))
    assert isinstance(models.source, Monitor)
    models.source.recorder.take(ticks(0, 2), facts)
    assert models.log.rowCount() == 0
    models.feed.frames_marked.emit({1: "late"})
    models.feed.frames_added.emit(2)
    assert [models.log.mark_of(row) for row in range(2)] == ["", "late"]


def test_ticks_for_unknown_tokens_are_counted_when_there_are_marks(models: Models) -> None:
    source = FakeServers(server("a", state=ServerState.CONNECTED, connection="a#1"))
    models.servers.set_source(source)
    source.stray["a#1"] = 2
    models.feed.frames_marked.emit({1: "late"})
    assert "2 ticks for unknown tokens" in models.servers.index(0).data(ABOUT)
