"""The pane of findings: empty, filtered, ignored, and all by keyboard."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.checking import results
from mcp_progress_monitor.checking.connection import Evidence
from mcp_progress_monitor.checking.report import ReportedResult
from mcp_progress_monitor.gui.common.commands import Commands
from mcp_progress_monitor.gui.common.labels import ServerTitle
from mcp_progress_monitor.gui.findings.commands import IGNORE, JOB, OPEN, RULE, SERVER
from mcp_progress_monitor.gui.findings.model import FindingsModel, Ignored
from mcp_progress_monitor.gui.findings.pane import FindingsPane
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.frames import Channel
from tests.golden_sessions import FOLDER
from tests.gui.exposure import expose
from tests.gui.findings.test_model import BLANK, FLOOD, result
from tests.unit.recording.written import Written


@pytest.fixture
def pane(qtbot: QtBot, appearance: Appearance) -> FindingsPane:
    model = FindingsModel()
    made = FindingsPane(model, appearance, Commands())
    model.setParent(made)
    return expose(qtbot, made, 900, 260)


@pytest.fixture
def busy(pane: FindingsPane) -> FindingsPane:
    """Three findings on two servers."""
    found = [result(FLOOD, 5, "db", job=7), result(BLANK, 3, "db"), result(BLANK, 4, "a b")]
    pane.model.watch.changed.emit(found)
    return pane


def rules(pane: FindingsPane) -> list[tuple[str, str]]:
    shown = pane.shown
    return [
        (shown.index(row, 1).data(), shown.index(row, 3).data()) for row in range(shown.rowCount())
    ]


def test_an_empty_pane_says_what_will_be_there(pane: FindingsPane) -> None:
    assert pane.empty.isVisible()
    assert pane.empty.text().startswith("No rule was tested yet.")
    assert not pane.details.isVisible()
    assert not pane.ignored.isVisible()


def test_the_gravest_is_chosen_and_explained(busy: FindingsPane) -> None:
    assert busy.tree.isVisible()
    assert rules(busy) == [("JR-2", "db"), ("JR-2", "a b"), ("PROG-9", "db")]
    text = busy.details.toPlainText()
    for part in (
        "JR-2",
        "Observed",
        "Expected",
        "Confidence",
        "How to fix it",
        "Python",
        "TypeScript",
    ):
        assert part in text


def test_a_pane_behind_another_explains_what_is_seen_again_once_in_front(
    busy: FindingsPane,
) -> None:
    first = busy.model.result(1)
    before = busy.details.toPlainText()
    busy.set_watched(False)
    first.add(Evidence(first.finding, 9, None, Side.SERVER))
    busy.model.watch.changed.emit([first])
    assert busy.details.toPlainText() == before
    busy.set_watched(True)
    assert busy.details.toPlainText() != before


def test_enter_and_double_click_ask_for_the_first_message(busy: FindingsPane, qtbot: QtBot) -> None:
    wanted: list[ReportedResult] = []
    busy.commands.commands.carry_out(OPEN, wanted.append)
    busy.tree.setFocus()
    QTest.keyClick(busy.tree, Qt.Key.Key_Return)
    assert [each.frames[0] for each in wanted] == [3]
    place = busy.tree.visualRect(busy.shown.index(1, 1)).center()
    QTest.mouseClick(busy.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    QTest.mouseDClick(busy.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert [each.frames[0] for each in wanted] == [3, 4]


def test_a_filter_is_applied_by_enter_and_its_mistake_explained(busy: FindingsPane) -> None:
    busy.field.setText("level >= error and server == db")
    QTest.keyClick(busy.field, Qt.Key.Key_Return)
    assert rules(busy) == [("JR-2", "db")]
    assert busy.counts.text() == "1 of 3 findings"
    busy.field.setText("levl == error")
    QTest.keyClick(busy.field, Qt.Key.Key_Return)
    assert "Did you mean level?" in busy.notice.text()
    assert busy.field.mistake is not None
    assert rules(busy) == [("JR-2", "db")]
    busy.field.clear()
    QTest.keyClick(busy.field, Qt.Key.Key_Return)
    assert len(rules(busy)) == 3
    assert not busy.notice.isVisible()


def test_a_filter_is_applied_a_moment_after_typing(busy: FindingsPane, qtbot: QtBot) -> None:
    busy.field.setText("rule == PROG-9")
    qtbot.waitUntil(lambda: rules(busy) == [("PROG-9", "db")], timeout=10_000)


def test_a_filter_that_hides_all_says_so(busy: FindingsPane) -> None:
    busy.set_filter("rule == CAN-1")
    assert busy.empty.text() == "No finding matches the filter."
    assert busy.current() is None or not busy.details.isVisible()


def test_only_this_rule_or_server_is_a_filter(busy: FindingsPane) -> None:
    busy.tree.setCurrentIndex(busy.shown.index(1, 0))
    busy.commands[SERVER].trigger()
    assert busy.field.text() == 'server == "a b"'
    assert rules(busy) == [("JR-2", "a b")]
    busy.commands[RULE].trigger()
    assert busy.field.text() == "rule == JR-2"


def test_a_rule_is_ignored_by_key_shown_and_taken_back(busy: FindingsPane) -> None:
    busy.ignored_changed.connect(busy.model.set_ignored)
    busy.tree.setFocus()
    QTest.keyClick(busy.tree, Qt.Key.Key_Delete)
    assert rules(busy) == [("JR-2", "a b"), ("PROG-9", "db")]
    assert busy.ignored.isVisible()
    assert busy.ignored.text() == "1 ignored"
    show, _line, stop = busy.ignored_menu.actions()
    show.trigger()
    assert len(rules(busy)) == 3
    assert stop.text() == "Stop ignoring JR-2 for db"
    stop.trigger()
    assert not busy.ignored.isVisible()
    assert busy.model.ignored == ()


def test_ignoring_again_takes_it_back(busy: FindingsPane) -> None:
    asked: list[tuple[Ignored, ...]] = []
    busy.model.set_ignored([("JR-2", "db"), ("X-1", "gone")])
    busy.shown.set_shows_ignored(True)
    busy.tree.setCurrentIndex(busy.shown.index(0, 0))
    busy.ignored_changed.connect(asked.append)
    assert busy.commands[IGNORE].text() == "Stop &ignoring it"
    busy.commands[IGNORE].trigger()
    assert asked == [(("X-1", "gone"),)]


def test_when_all_is_ignored_the_pane_says_so(busy: FindingsPane) -> None:
    busy.model.set_ignored([("JR-2", "db"), ("JR-2", "a b"), ("PROG-9", "db")])
    assert busy.empty.text().startswith("All findings are ignored.")
    assert busy.ignored.text() == "3 ignored"


def test_the_job_can_be_shown_where_there_is_one(busy: FindingsPane) -> None:
    opened: list[ReportedResult] = []
    busy.commands.commands.carry_out(JOB, opened.append)
    assert not busy.commands[JOB].isEnabled()
    busy.tree.setCurrentIndex(busy.shown.index(2, 0))
    busy.commands[JOB].trigger()
    assert [each.job for each in opened] == [7]


def test_the_rules_of_each_server_are_a_table(pane: FindingsPane) -> None:
    playback = Playback(FOLDER / "PROG-3.broken.mcprec")
    pane.model.watch.follow(playback)
    while playback.advance(0.05):
        pass
    pane.rules_button.click()
    assert pane.rules_table.isVisible()
    server, _revisions, tried, passed, broken, _others = (
        pane.rules.index(0, column).data() for column in range(6)
    )
    assert (server, broken) == ("example", "1")
    assert int(tried) == int(passed) + int(broken) > 10
    assert "Violated (1)" in pane.details.toPlainText()
    pane.rules_button.click()
    assert not pane.rules_table.isVisible()


def test_findings_beyond_the_most_are_counted_and_reported(
    pane: FindingsPane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "MOST_RESULTS", 1)
    made = Written()
    made.line(Channel.RECEIVED, b"not JSON", connection="a#1")
    made.line(Channel.RECEIVED, b"not JSON", 1.0, connection="b#1")
    playback = Playback(made.save(tmp_path / "two.mcprec"))
    pane.model.watch.follow(playback)
    while playback.advance(0.05):
        pass
    pane.model.watch.publish()
    assert pane.counts.text() == "1 finding, 1 more counted but not listed"


def test_text_of_a_server_is_shown_as_plain_text(pane: FindingsPane) -> None:
    hostile = result(BLANK, 3, "<img src=x>\u202e\x1b")
    pane.model.watch.changed.emit([hostile])
    assert "<img src=x>" in pane.details.toPlainText()
    assert "\u202e" not in pane.details.toPlainText()
    pane.commands[SERVER].trigger()
    assert pane.shown.count == 1


def test_every_control_has_a_name_and_a_place_in_the_order(busy: FindingsPane) -> None:
    for part in (busy.field, busy.rules_button, busy.tree, busy.rules_table, busy.details):
        assert part.accessibleName()
        assert part.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_a_watched_server_is_called_as_in_traffic(busy: FindingsPane) -> None:
    titles = busy.model.titles
    titles.set_titles({"a b": ServerTitle("a (Agent)", "a b: run by Agent")})
    titles.set_titles({"db": ServerTitle("db (Agent)", "db: run by Agent")})
    assert {server for _rule, server in rules(busy)} == {"db (Agent)", "a (Agent)"}
    assert "Server db (Agent)" in busy.details.toPlainText()
    busy.group_button.click()
    shown = [busy.shown.index(row, 3).data() for row in range(busy.shown.rowCount())]
    assert sorted(shown) == ["2 servers", "db (Agent)"]
