"""Which dialogs are opened, and what they lead to."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QCheckBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.engine.origins import ServerChangedError
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.confirmations import ForgetQuestion, ReissueQuestion
from mcp_progress_monitor.gui.jobs.controller import JobDialogs
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.servers.consent import SavedServerDialog
from mcp_progress_monitor.gui.user_settings import UserSettings
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.job_stand_ins import FakeJobs, job, resumable

SAVED = StdioDefinition(name="db", command="python", args=("one.py",))


class Engine(FakeJobs):
    """Jobs, and one server that was changed since."""

    def __init__(self, *jobs: Any) -> None:
        super().__init__(*jobs)
        self.jobs = self.servers = self
        self.now: StdioDefinition | None = SAVED.model_copy(update={"args": ("two.py",)})

    def snapshots(self) -> list[ServerSnapshot]:
        return [ServerSnapshot(name="db", definition=self.now)] if self.now else []


class Resuming(QObject):
    """Notes what was agreed to."""

    server_requested = Signal(object, object)

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, Any]] = []

    def remove(self, jobs: Any) -> None:
        self.asked.append(("remove", tuple(jobs)))

    def forget(self, jobs: Any) -> None:
        self.asked.append(("forget", tuple(jobs)))

    def reissue(self, jobs: Any) -> None:
        self.asked.append(("reissue", tuple(jobs)))

    def resume_as_saved(self, jobs: Any) -> None:
        self.asked.append(("as saved", jobs))


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.fixture
def resuming(qtbot: QtBot) -> Resuming:
    return Resuming()


@pytest.fixture
def engine() -> Engine:
    return Engine(resumable(1), resumable(2), job(id=3, state=JobState.DONE))


@pytest.fixture
def dialogs(window: QWidget, engine: Any, resuming: Resuming, tmp_path: Path) -> JobDialogs:
    fake: Any = resuming
    return JobDialogs(window, engine, fake, fake, UserSettings(Preferences(tmp_path)))


def approve(box: QWidget, message: str) -> None:
    next(b for b in box.findChildren(QPushButton) if message in b.text().replace("&", "")).click()


def test_removing_asks_about_what_can_be_resumed(
    window: QWidget, dialogs: JobDialogs, resuming: Resuming
) -> None:
    dialogs.remove((1, 3))
    assert resuming.asked == [("remove", (3,))]
    approve(window.findChildren(ForgetQuestion)[0], "Forget")
    assert resuming.asked[1:] == [("forget", (1,))]


def test_forgetting_is_asked_about(
    window: QWidget, dialogs: JobDialogs, resuming: Resuming
) -> None:
    dialogs.ask_to_forget((1, 2, 77))
    assert resuming.asked == []
    approve(window.findChildren(ForgetQuestion)[0], "Forget")
    assert resuming.asked == [("forget", (1, 2))]


def test_forgetting_is_asked_about_until_that_is_switched_off(
    window: QWidget, dialogs: JobDialogs, resuming: Resuming
) -> None:
    dialogs.ask_to_forget((1,))
    (question,) = window.findChildren(ForgetQuestion)
    question.findChildren(QCheckBox)[0].click()
    approve(question, "Forget")
    dialogs.ask_to_forget((2,))
    assert resuming.asked == [("forget", (1,)), ("forget", (2,))]


def test_jobs_that_are_gone_are_not_asked_about(
    window: QWidget, dialogs: JobDialogs, resuming: Resuming
) -> None:
    dialogs.ask_to_forget((77,))
    assert window.findChildren(ForgetQuestion) == []
    assert resuming.asked == []


@pytest.mark.parametrize("kind", [ForgetQuestion, ReissueQuestion])
def test_an_open_question_leaves_out_jobs_it_no_longer_concerns(
    qtbot: QtBot,
    window: QWidget,
    dialogs: JobDialogs,
    engine: Engine,
    resuming: Resuming,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[ForgetQuestion | ReissueQuestion],
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.gui.common.dialog_watch._INTERVAL_MS", 10)
    ask = dialogs.ask_to_forget if kind is ForgetQuestion else dialogs.ask_to_reissue
    ask((1, 2))
    (question,) = window.findChildren(kind)
    assert " 2 " in question.text()
    del engine.held[1]
    qtbot.waitUntil(lambda: " 2 " not in question.text())
    assert question.jobs == (2,)
    with qtbot.waitSignal(question.rejected):
        del engine.held[2]
    assert resuming.asked == []


def test_the_warning_before_reissuing_comes_until_it_is_switched_off(
    qtbot: QtBot, window: QWidget, dialogs: JobDialogs, resuming: Resuming
) -> None:
    for expected in (1, 2):
        dialogs.ask_to_reissue((1,))
        question = window.findChildren(ReissueQuestion)[-1]
        question.never_again.setChecked(expected == 2)
        with qtbot.waitSignal(question.destroyed):
            approve(question, "Re-issue")
        assert resuming.asked == [("reissue", (1,))] * expected
    dialogs.ask_to_reissue((2, 1, 77))
    assert window.findChildren(ReissueQuestion) == []
    assert resuming.asked[-1] == ("reissue", (2, 1))


def test_many_requests_are_asked_about_once(
    window: QWidget, dialogs: JobDialogs, resuming: Resuming
) -> None:
    dialogs.ask_to_reissue((1, 77, 2))
    (question,) = window.findChildren(ReissueQuestion)
    approve(question, "Re-issue")
    assert resuming.asked == [("reissue", (1, 2))]
    dialogs.ask_to_reissue((77,))
    assert resuming.asked == [("reissue", (1, 2))]


def test_not_asking_again_takes_agreement(
    qtbot: QtBot, window: QWidget, dialogs: JobDialogs, resuming: Resuming
) -> None:
    dialogs.ask_to_reissue((1,))
    question = window.findChildren(ReissueQuestion)[0]
    question.never_again.setChecked(True)
    with qtbot.waitSignal(question.destroyed):
        approve(question, "Cancel")
    dialogs.ask_to_reissue((1,))
    assert len(window.findChildren(ReissueQuestion)) == 1
    assert resuming.asked == []


def test_jobs_of_one_changed_server_share_one_question(
    qtbot: QtBot, window: QWidget, dialogs: JobDialogs, resuming: Resuming
) -> None:
    changed = ServerChangedError(
        ErrorDetails("definition of the job's server has changed", "db"), SAVED
    )
    for number in (1, 2):
        resuming.server_requested.emit(number, changed)
    (dialog,) = window.findChildren(SavedServerDialog)
    assert "now:   python two.py" in dialog.text.toPlainText()
    with qtbot.waitSignal(dialog.destroyed):
        dialog.use.click()
    assert resuming.asked == [("as saved", (1, 2))]
    resuming.server_requested.emit(1, changed)
    assert len(window.findChildren(SavedServerDialog)) == 1


def test_an_open_question_about_a_changed_server_follows_it_and_its_jobs(
    qtbot: QtBot,
    window: QWidget,
    dialogs: JobDialogs,
    engine: Engine,
    resuming: Resuming,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.gui.common.dialog_watch._INTERVAL_MS", 10)
    changed = ServerChangedError(ErrorDetails("changed", "db"), SAVED)
    for number in (1, 2):
        resuming.server_requested.emit(number, changed)
    (dialog,) = window.findChildren(SavedServerDialog)
    engine.now = SAVED.model_copy(update={"args": ("three.py",)})
    qtbot.waitUntil(lambda: "now:   python three.py" in dialog.text.toPlainText())
    assert "db was changed" in dialog.news.text()
    engine.now = None
    qtbot.waitUntil(lambda: "db was removed" in dialog.news.text())
    del engine.held[1]
    qtbot.waitUntil(lambda: dialog.jobs == (2,))
    with qtbot.waitSignal(dialog.rejected):
        del engine.held[2]
    assert resuming.asked == []
