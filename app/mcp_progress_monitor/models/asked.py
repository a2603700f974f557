"""What was asked because of a job, as rows of words: when, what, the answer, how long it took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QT_TRANSLATE_NOOP

from mcp_progress_monitor import text
from mcp_progress_monitor.models.job_texts import moment, state_word, tr
from mcp_progress_monitor.models.question_texts import answer_words, asked, result_words
from mcp_progress_monitor.protocol.facts import Side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_progress_monitor.tracker.snapshot import AskedPicture, JobDetail, JobId

TITLES: Final = tuple(
    str(title)
    for title in (
        QT_TRANSLATE_NOOP("Jobs", "Asked"),
        QT_TRANSLATE_NOOP("Jobs", "Question"),
        QT_TRANSLATE_NOOP("Jobs", "Answer"),
        QT_TRANSLATE_NOOP("Jobs", "After"),
    )
)
TEXT_COLUMNS: Final = (0, 1, 2)
_CHILDREN: Final = 200
"""Newest requests of a server that are told of: each costs a look at its job."""


class AskedRow(NamedTuple):
    """One question: the number of the frame that asked, when, and its words as in `TITLES`."""

    number: int
    at: float
    words: tuple[str, ...]


def asked_rows(detail: JobDetail, detail_of: Callable[[JobId], JobDetail | None]) -> list[AskedRow]:
    """All questions of a job, in the order asked; of a question that is a job, itself."""
    return sorted(_rows(detail, detail_of), key=_place)


def _place(row: AskedRow) -> tuple[float, int]:
    return row.at, row.number


def _rows(detail: JobDetail, detail_of: Callable[[JobId], JobDetail | None]) -> Iterator[AskedRow]:
    job = detail.snapshot
    now = job.started_at + job.elapsed_s
    if job.sender is Side.SERVER:
        yield _of_child(detail)
    for child in detail.children[-_CHILDREN:]:
        found = detail_of(child)
        if found is not None:
            yield _of_child(found)
    for picture in detail.asked:
        yield _of_reply(picture, now, is_over=job.state.is_over)


def _of_child(detail: JobDetail) -> AskedRow:
    """A request of the server: a job of its own."""
    job = detail.snapshot
    answer = answer_words(detail.answer)
    if not answer:
        answer = state_word(job.state) if job.state.is_over else tr("open")
    words = (moment(job.started_when), asked(job.method, detail.params), answer)
    return AskedRow(job.request, job.started_at, (*words, text.duration(job.elapsed_s)))


def _of_reply(picture: AskedPicture, now: float, *, is_over: bool) -> AskedRow:
    """A question in a reply that required input, or of a task."""
    if picture.answered_at is not None:
        answer, after = result_words(picture.answer), picture.answered_at - picture.at
    else:
        answer, after = tr("not answered") if is_over else tr("open"), now - picture.at
    words = (moment(picture.when), asked(picture.method, picture.params), answer)
    return AskedRow(picture.number, picture.at, (*words, text.duration(max(after, 0.0))))
