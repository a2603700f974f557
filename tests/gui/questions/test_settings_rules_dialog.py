"""Rules for what a server asks."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.questions.settings import RulesDialog
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.snapshots.settings import QuestionRule, QuestionRules
from tests.gui.exposure import expose
from tests.gui.jobs.job_lists import CONTROL, heard

RULES = QuestionRules(
    sampling=QuestionRule(mode="decline", delay_s=5),
    form=QuestionRule(mode="answer", delay_s=2.5, answer={"name": "Ada"}),
    url=QuestionRule(mode="undeclared"),
)


def dialog_of(qtbot: QtBot, appearance: Appearance, rules: QuestionRules = RULES) -> RulesDialog:
    made = RulesDialog("demo", rules, appearance)
    return expose(qtbot, made)


def choose(dialog: RulesDialog, kind: str, mode: str) -> None:
    box = dialog.boxes[kind].mode
    box.setCurrentIndex(box.findData(mode))


@pytest.mark.parametrize("rules", [RULES, QuestionRules()])
def test_rules_that_are_not_touched_stay_as_they_are(
    qtbot: QtBot, appearance: Appearance, rules: QuestionRules
) -> None:
    dialog = dialog_of(qtbot, appearance, rules)
    said = heard(dialog.rules_chosen)
    dialog.accept()
    assert said == [("demo", rules)]


def test_only_what_a_rule_needs_is_asked_for(qtbot: QtBot, appearance: Appearance) -> None:
    dialog = dialog_of(qtbot, appearance, QuestionRules())
    box = dialog.boxes["form"]
    seen = []
    for mode in ("ask", "decline", "answer", "undeclared"):
        choose(dialog, "form", mode)
        seen.append((not box.delay.isHidden(), not box.editor.isHidden()))
    assert seen == [(False, False), (True, False), (True, True), (False, False)]
    choose(dialog, "url", "answer")
    assert dialog.boxes["url"].editor.isHidden()


def test_a_fixed_answer_that_is_no_json_is_reported_and_nothing_is_saved(
    qtbot: QtBot, appearance: Appearance
) -> None:
    dialog = dialog_of(qtbot, appearance)
    said = heard(dialog.rules_chosen)
    (editor,) = dialog.boxes["form"].editor.findChildren(QPlainTextEdit)
    editor.setPlainText('{"name": ')
    dialog.accept()
    assert said == []
    assert dialog.isVisible()
    assert "form" in dialog.note.text()


def test_escape_does_not_throw_away_what_was_changed(qtbot: QtBot, appearance: Appearance) -> None:
    dialog = dialog_of(qtbot, appearance)
    choose(dialog, "url", "ask")
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    assert "Save or Cancel" in dialog.note.text()
    untouched = dialog_of(qtbot, appearance)
    QTest.keyClick(untouched, Qt.Key.Key_Escape)
    assert not untouched.isVisible()


def test_control_and_enter_save(qtbot: QtBot, appearance: Appearance) -> None:
    dialog = dialog_of(qtbot, appearance)
    choose(dialog, "url", "ask")
    with qtbot.waitSignal(dialog.rules_chosen) as signal:
        QTest.keyClick(dialog, Qt.Key.Key_Return, CONTROL)
    assert signal.args is not None
    assert signal.args[1].url == QuestionRule()


def test_it_fits_a_small_screen(qtbot: QtBot, appearance: Appearance) -> None:
    dialog = dialog_of(qtbot, appearance)
    hint = dialog.minimumSizeHint()
    assert (hint.width() <= 900, hint.height() <= 600) == (True, True)
