"""The server's requests during a job, and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QModelIndex, Signal, Slot
from PySide6.QtWidgets import QHeaderView, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.tables import PlainTable, fill
from mcp_progress_monitor.gui.jobs.history import FIRST_FRAME, PlainTableModel
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.wording.jobs import moment
from mcp_progress_monitor.wording.questions import answer_text, request_text, result_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobId, ServerRequestSnapshot

TITLES: Final = ("Asked", "Question", "Answer", "Answered after")
TEXT_COLUMNS: Final = (0, 1, 2)
_CHILDREN: Final = 200
"""Newest requests of a server that are listed: each needs a look-up of its job."""


class ServerRequestRow(NamedTuple):
    """One question: the number of the frame that asked, the time, and texts as in `TITLES`."""

    number: int
    at: float
    texts: tuple[str, ...]


def server_request_rows(
    detail: JobDetail, detail_of: Callable[[JobId], JobDetail | None]
) -> list[ServerRequestRow]:
    """All questions of a job, in the order asked, including one that is the job itself."""
    return sorted(_rows(detail, detail_of), key=_place)


def _place(row: ServerRequestRow) -> tuple[float, int]:
    return row.at, row.number


def _rows(
    detail: JobDetail, detail_of: Callable[[JobId], JobDetail | None]
) -> Iterator[ServerRequestRow]:
    job = detail.snapshot
    now = job.started_at + job.elapsed_s
    if job.sender is Side.SERVER:
        yield _of_child(detail)
    for child in detail.children[-_CHILDREN:]:
        found = detail_of(child)
        if found is not None:
            yield _of_child(found)
    for shown in detail.server_requests:
        yield _of_reply(shown, now, is_over=job.state.is_over)


def _of_child(detail: JobDetail) -> ServerRequestRow:
    job = detail.snapshot
    answer = answer_text(detail.answer)
    if not answer:
        answer = job.state.value if job.state.is_over else "open"
    texts = (moment(job.started_when), request_text(job.method, detail.params), answer)
    return ServerRequestRow(
        job.request, job.started_at, (*texts, formatting.duration(job.elapsed_s))
    )


def _of_reply(shown: ServerRequestSnapshot, now: float, *, is_over: bool) -> ServerRequestRow:
    """A question in a reply that required input, or of a task."""
    if shown.answered_at is not None:
        answer, after = result_text(shown.answer), shown.answered_at - shown.at
    else:
        answer, after = "not answered" if is_over else "open", now - shown.at
    texts = (moment(shown.when), request_text(shown.method, shown.params), answer)
    return ServerRequestRow(shown.number, shown.at, (*texts, formatting.duration(max(after, 0.0))))


_TIME: Final = 25  # digits: with a date
_AFTER: Final = 12


class ServerRequestsSection(QWidget):
    """One row for each question, oldest first; read-only."""

    frame_followed = Signal(object)  # the number of the frame that asked

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = PlainTableModel(TITLES, self, text_columns=TEXT_COLUMNS)
        self.table = PlainTable(self.model, "Questions from the server", self)
        self.table.setToolTip("Show the question in Traffic (Enter)")
        self.table.activated.connect(self._on_activated)
        header = self.table.horizontalHeader()
        for column in (1, 2):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        digit = self.table.fontMetrics().horizontalAdvance("0")
        self.table.setColumnWidth(0, digit * _TIME)
        self.table.setColumnWidth(3, digit * _AFTER)
        fill(self, self.table)

    def show_detail(
        self, detail: JobDetail, detail_of: Callable[[JobId], JobDetail | None]
    ) -> None:
        """Show the questions of a job; `detail_of` finds those that are jobs."""
        rows = server_request_rows(detail, detail_of)
        self.model.show_rows([row.texts for row in rows], [row.number for row in rows])

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        number = index.data(FIRST_FRAME)
        if number is not None:
            self.frame_followed.emit(number)
