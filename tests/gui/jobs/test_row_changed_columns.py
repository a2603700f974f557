"""Cells that look the same are not painted again: proved by painting them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QFont, QImage, QPainter

from mcp_progress_monitor.findings.finding import Level
from mcp_progress_monitor.gui.common.labels import Badge
from mcp_progress_monitor.gui.jobs.columns import COLUMNS, Column
from mcp_progress_monitor.gui.jobs.delegate import JobCells
from mcp_progress_monitor.gui.jobs.row import JobRow, changed_columns
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import Clocks, JobSnapshot, JobState
from tests.job_stand_ins import job, new_job, resumable

_CELL = QRect(0, 0, 300, 44)
_CELLS: list[JobCells] = []
_COLUMNS = [
    column for column in COLUMNS if column not in {Column.MARKS, Column.STARTED, Column.SAVED}
]
_BASES = st.sampled_from(
    [
        job(),
        new_job(1),
        resumable(1),
        job(total=None, fraction=None),
        job(state=JobState.DONE, ended_at=160.0),
        job(state=JobState.STALLED, silent_s=40.0),
    ]
)
_SECONDS = st.sampled_from([0.0, 0.4, 1.0, 1.2, 61.0])


def _clocks(idle_left_s: float) -> Clocks:
    return Clocks(idle_left_s, None, is_suspended=False, idle_s=9.0, total_s=None)


_CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "elapsed_s": _SECONDS,
        "silent_s": _SECONDS,
        "eta_s": _SECONDS,
        "last_tick_at": _SECONDS,
        "message": st.sampled_from([None, "Row 1", "Row 2 of 300"]),
        "fraction": st.sampled_from([None, 0.0, 0.5, 0.5004, 1.0]),
        "progress": st.sampled_from([None, 1, 2.5]),
        "total": st.sampled_from([None, 3, 4]),
        "tick_count": st.integers(0, 2),
        "late_count": st.integers(0, 1),
        "rate": st.sampled_from([None, 1.0, 1.01, 20.0]),
        "sparks": st.sampled_from([(), (0.1, 0.5, 1.0), (1.0, 0.5, 0.1)]),
        "state": st.sampled_from(list(JobState)),
        "name": st.sampled_from(["one", "two"]),
        "method": st.sampled_from(["tools/call", "prompts/get"]),
        "summary": st.sampled_from(["", "a=1"]),
        "server": st.sampled_from(["one", "two"]),
        "token": st.sampled_from([None, 7, "7", "8"]),
        "sender": st.sampled_from(Side),
        "parent": st.sampled_from([None, 1]),
        "watched_client": st.sampled_from([None, "Claude"]),
        "questions": st.sampled_from([(), (3,)]),
        "can_resume": st.booleans(),
        "is_automatic": st.booleans(),
        "attempt_count": st.integers(1, 2),
        "begun_by": st.sampled_from([None, "Claude"]),
        "cancel_state": st.sampled_from(["", "sent", "ignored"]),
        "cancel_s": st.sampled_from([None, 1.0, 2.0]),
        "clocks": st.sampled_from([None, _clocks(5.0), _clocks(4.0)]),
    },
)


@pytest.fixture(autouse=True)
def _cells(appearance: Appearance) -> None:
    _CELLS[:] = [JobCells(appearance)]


def _changed(before: JobSnapshot, after: JobSnapshot) -> list[int]:
    return list(changed_columns(JobRow(before, None), JobRow(after, None), _COLUMNS))


def _painted(column: int, shown: JobSnapshot, size: float = 9.0, ratio: float = 1.0) -> QImage:
    image = QImage(_CELL.size() * ratio, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(QColor("white"))
    painter, font = QPainter(image), QFont()
    font.setPointSizeF(size)
    _CELLS[0].paint(painter, _CELL, font, [(column, 0, _CELL.width())], JobRow(shown, None))
    painter.end()
    return image


@settings(deadline=None, max_examples=20)
@given(before=_BASES, changes=_CHANGES)
def test_a_cell_that_looks_the_same_is_painted_the_same(
    before: JobSnapshot, changes: dict[str, Any]
) -> None:
    after = before._replace(**changes)
    for column in set(_COLUMNS) - set(_changed(before, after)):
        assert _painted(column, before) == _painted(column, after), column


@pytest.mark.parametrize("size", [9.0, 10.5, 13.0])
@pytest.mark.parametrize("ratio", [1.0, 1.25, 2.0])
def test_texts_that_are_kept_look_as_when_they_were_first_painted(
    size: float, ratio: float
) -> None:
    shown = job(summary="fi 171 AVA", message="Zeile für Zeile, 日本語 עברית", sparks=(0.1, 1.0))
    for column in _COLUMNS:
        first = _painted(column, shown, size, ratio)
        assert first == _painted(column, shown, size, ratio) == _painted(column, shown, size, ratio)


def test_time_alone_changes_few_cells() -> None:
    before = job(elapsed_s=5.0, silent_s=0.1)
    assert _changed(before, before._replace(silent_s=0.4)) == []
    later = before._replace(elapsed_s=6.0)
    assert _changed(before, later) == [Column.STATUS, Column.ELAPSED]


def test_a_findings_badge_changes_the_cell_of_the_name() -> None:
    shown = job()
    marked = JobRow(shown, Badge(1, Level.WARNING))
    assert list(changed_columns(JobRow(shown, None), marked, _COLUMNS)) == [Column.JOB]


def test_the_age_of_a_token_is_of_the_moment_when_its_row_was_made() -> None:
    now = resumable(1)
    later = now._replace(saved_when=(now.saved_when or 0.0) - 5.0)
    assert Column.STATUS in _changed(now, later)
