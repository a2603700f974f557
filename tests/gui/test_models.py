"""What the feed says reaches every model that wants it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.gui.models import Models
from mcp_progress_monitor.gui.servers.model import ABOUT
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.findings import finding
from tests.gui.traffic.frames import ticks
from tests.server_stand_ins import FakeServers, server


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def models(qapp: QApplication, engine: Engine) -> Iterator[Models]:
    parent = QObject(qapp)
    made = Models(engine.timeline, parent)
    made.follow(engine)
    yield made
    parent.deleteLater()


def test_marks_reach_traffic(models: Models, engine: Engine) -> None:
    facts = Conversation("local-db#1").read(ticks(0, 2))
    engine.recording.take(ticks(0, 2), facts)
    assert models.traffic.rowCount() == 0
    models.feed.frames_marked.emit({1: (finding("late"),)})
    models.feed.frames_added.emit(2)
    assert [models.traffic.mark_of(row) for row in range(2)] == ["", "late"]


def test_notes_are_kept_beside_the_recording_once_there_is_one(
    models: Models, tmp_path: Path
) -> None:
    models.keep_notes_beside(None)
    models.notes.set_note(1, "from before")
    for _ in range(2):
        models.keep_notes_beside(tmp_path / "one.mcprec")
    models.notes.toggle([2])
    kept = json.loads((tmp_path / "one.mcprec.notes.json").read_bytes())
    assert kept["frames"] == {
        "1": {"mark": False, "note": "from before"},
        "2": {"mark": True, "note": ""},
    }


def test_ticks_for_unknown_tokens_are_counted_when_there_are_marks(models: Models) -> None:
    source = FakeServers(server("a", state=ServerState.CONNECTED, connection="a#1"))
    models.servers.set_source(source, source.unattached_ticks)
    source.stray["a#1"] = 2
    models.feed.frames_marked.emit({1: (finding("late"),)})
    assert "2 ticks for unknown tokens" in models.servers.index(0).data(ABOUT)
