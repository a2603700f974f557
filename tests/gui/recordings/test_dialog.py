"""The list of recordings: what is in it, what is asked before it is deleted, and the limits."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.recordings.dialog import RecordingsDialog
from mcp_progress_monitor.gui.recordings.summaries import RecordingSummary
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.user_settings import RecordingChoices
from mcp_progress_monitor.recording.folder import RecordingEntry
from tests.gui.jobs.job_lists import heard

FOLDER = Path("/data/recordings")
SMALL = RecordingEntry(FOLDER / "a.mcprec", (FOLDER / "a.mcprec",), 900, 1_700_000_000.0, False)
LARGE = RecordingEntry(
    FOLDER / "b.mcprec",
    (FOLDER / "b.mcprec", FOLDER / "b.2.mcprec"),
    8_000_000_000,
    1_600_000_000.0,
    False,
)
WRITTEN = RecordingEntry(FOLDER / "c.mcprec", (FOLDER / "c.mcprec",), 70, 1_800_000_000.0, True)


@pytest.fixture
def dialog(qtbot: QtBot, appearance: Appearance) -> RecordingsDialog:
    choices = RecordingChoices(keep_days=7, keep_bytes=2_400_000_000)
    made = RecordingsDialog(FOLDER, choices, appearance)
    qtbot.addWidget(made)
    made.show_entries([SMALL, LARGE, WRITTEN])
    with qtbot.waitExposed(made):
        made.show()
    return made


def rows(dialog: RecordingsDialog, column: int) -> list[str]:
    tree = dialog.tree
    return [
        tree.topLevelItem(row).text(column)  # type: ignore[union-attr]
        for row in range(tree.topLevelItemCount())
    ]


def select(dialog: RecordingsDialog, *names: str) -> None:
    for row, name in enumerate(rows(dialog, 4)):
        item = dialog.tree.topLevelItem(row)
        assert item is not None
        item.setSelected(name in names)


def question(dialog: RecordingsDialog) -> QMessageBox:
    (box,) = (box for box in dialog.findChildren(QMessageBox) if box.isVisible())
    return box


def test_the_newest_is_first_with_size_parts_and_whether_it_is_written(
    dialog: RecordingsDialog,
) -> None:
    assert rows(dialog, 4) == ["c.mcprec", "a.mcprec", "b.mcprec"]
    assert rows(dialog, 1) == ["70 B", "900 B", "8.0 GB"]
    assert rows(dialog, 2) == ["1", "1", "2"]
    assert rows(dialog, 3) == ["in progress", "", ""]


def test_every_word_can_be_read(dialog: RecordingsDialog) -> None:
    header, message = dialog.tree.header(), dialog.tree.fontMetrics()
    for column in range(4):
        widest = max(message.horizontalAdvance(text) for text in rows(dialog, column))
        assert header.sectionSize(column) > widest


def test_sizes_are_sorted_as_numbers(dialog: RecordingsDialog) -> None:
    dialog.tree.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    assert rows(dialog, 4) == ["b.mcprec", "a.mcprec", "c.mcprec"]


def test_the_total_is_reported(dialog: RecordingsDialog) -> None:
    assert "3 recordings, 8.0 GB in total" in dialog.total.text()
    assert str(FOLDER) in dialog.total.text()


def test_nothing_can_be_done_with_nothing(dialog: RecordingsDialog) -> None:
    assert not dialog.open_button.isEnabled()
    assert not dialog.delete_button.isEnabled()
    dialog.show_entries([])
    assert "0 recordings" in dialog.total.text()


def test_enter_and_the_button_open_what_is_selected(dialog: RecordingsDialog) -> None:
    opened = heard(dialog.open_requested)
    select(dialog, "a.mcprec", "b.mcprec")
    dialog.open_button.click()
    assert sorted(map(str, opened)) == [str(SMALL.path), str(LARGE.path)]
    select(dialog, "a.mcprec")
    dialog.tree.setCurrentIndex(dialog.tree.model().index(1, 0))
    QTest.keyClick(dialog.tree, Qt.Key.Key_Return)
    assert opened[-1] == SMALL.path


def test_deleting_asks_first_and_enter_deletes_nothing(
    qtbot: QtBot, dialog: RecordingsDialog
) -> None:
    deleted = heard(dialog.delete_requested)
    select(dialog, "a.mcprec", "b.mcprec")
    dialog.delete_button.click()
    box = question(dialog)
    assert "2 recordings (8.0 GB)" in box.text()
    QTest.keyClick(box, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not box.isVisible())
    assert deleted == []


def test_what_was_approved_is_deleted_but_not_what_is_written(dialog: RecordingsDialog) -> None:
    deleted = heard(dialog.delete_requested)
    select(dialog, "a.mcprec", "c.mcprec")
    dialog.delete_button.click()
    (delete,) = (b for b in question(dialog).buttons() if b.text() == "&Delete")
    delete.click()
    assert deleted == [(SMALL,)]


def test_one_that_is_being_written_cannot_be_deleted(dialog: RecordingsDialog) -> None:
    select(dialog, "c.mcprec")
    assert dialog.open_button.isEnabled()
    assert not dialog.delete_button.isEnabled()


def test_reloading_the_list_keeps_the_selection(dialog: RecordingsDialog) -> None:
    select(dialog, "a.mcprec")
    dialog.show_entries([SMALL, WRITTEN])
    assert dialog.selected() == (SMALL,)


def test_limits_are_shown_and_reported_when_they_change(dialog: RecordingsDialog) -> None:
    reported = heard(dialog.limits.chosen)
    days, gigabytes, is_on = (
        dialog.limits.controls[name].widget for name in ("keep_days", "keep_bytes", "is_on")
    )
    assert (days.value(), gigabytes.value(), is_on.isChecked()) == (7, 2, True)
    days.setValue(90)
    assert reported[-1] == RecordingChoices(keep_days=90, keep_bytes=2_400_000_000)
    gigabytes.setValue(5)
    is_on.click()
    assert reported[-1] == RecordingChoices(is_on=False, keep_days=90, keep_bytes=5_000_000_000)


def test_the_folder_is_asked_for(qtbot: QtBot, dialog: RecordingsDialog) -> None:
    with qtbot.waitSignal(dialog.folder_requested):
        dialog.folder_button.click()


def test_what_a_recording_holds_is_shown_and_sorted(dialog: RecordingsDialog) -> None:
    dialog.show_summary(SMALL.path, RecordingSummary(("shop", "db"), 12, 0))
    dialog.show_summary(LARGE.path, None)
    dialog.show_summary(WRITTEN.path, RecordingSummary(("db",), 3, 1_204))
    assert rows(dialog, 5) == ["db", "shop, db", ""]
    assert rows(dialog, 6) == ["3", "12", "\N{EN DASH}"]
    assert rows(dialog, 7) == ["1,204", "0", "\N{EN DASH}"]
    dialog.tree.sortByColumn(6, Qt.SortOrder.DescendingOrder)
    assert rows(dialog, 4) == ["a.mcprec", "c.mcprec", "b.mcprec"]
