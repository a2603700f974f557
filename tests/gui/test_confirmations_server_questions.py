"""Before a server is removed the user knows what is lost."""

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.confirmations import RemoveQuestion
from tests.job_stand_ins import job


class Heard:
    """What was agreed to, in order."""

    def __init__(self, question: RemoveQuestion) -> None:
        self.wishes: list[tuple[str, object]] = []
        question.remove_confirmed.connect(self.note)

    def note(self, name: str, secrets: object) -> None:
        self.wishes.append((name, secrets))


def test_what_is_lost_is_reported_and_only_the_yes_removes(qtbot: QtBot) -> None:
    question = RemoveQuestion("<b>db</b>", [job(id=1, name="<b>export"), job(id=2)], is_saved=True)
    qtbot.addWidget(question)
    assert question.textFormat() is Qt.TextFormat.PlainText
    assert "<b>db</b>" in question.text()
    assert "2 running jobs" in question.informativeText()
    assert "Will be lost (no resume token saved):\n• <b>export, local-db, 63.2\u00a0%" in (
        question.informativeText()
    )
    assert "settings will be deleted" in question.informativeText()
    assert "ask again" in question.checkBox().text()
    heard = Heard(question)
    question.reject()
    assert heard.wishes == []
    question.accept()
    assert heard.wishes == [("<b>db</b>", ())]


def test_secrets_of_the_keyring_go_only_when_that_is_ticked(qtbot: QtBot) -> None:
    secrets = tuple(f"db/<i>{number}" for number in range(12))
    question = RemoveQuestion("db", [], is_saved=True, secrets=secrets)
    qtbot.addWidget(question)
    heard = Heard(question)
    box = question.checkBox()
    assert not box.isChecked()
    assert "12 secrets" in box.text()
    assert "db/&lt;i&gt;0" in box.toolTip()
    assert "and 2 more" in box.toolTip()
    question.accept()
    box.setChecked(True)
    question.accept()
    assert heard.wishes == [("db", ()), ("db", secrets)]


def test_what_is_not_lost_is_not_threatened(qtbot: QtBot) -> None:
    question = RemoveQuestion("db", [job(chain=7)], is_saved=False)
    qtbot.addWidget(question)
    assert question.informativeText().splitlines() == [
        "The server will be disconnected, which ends 1 running job.",
        "Can be resumed later:",
        "• export_orders, local-db, 63.2\u00a0%",
    ]
