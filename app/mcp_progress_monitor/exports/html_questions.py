"""What was asked because of a job, and what was answered, as a section of its report.

Questions and answers hold what people typed: everything here goes through the redaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import text
from mcp_progress_monitor.exports.html_parts import Html, joined, render, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_progress_monitor.exports.html_parts import Words
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.tracker.snapshot import AskedPicture, JobDetail, JobId

_TITLES: Final = ("After", "Asked", "Question", "Answer", "Took", "No.")
_MOST: Final = 200
"""Newest requests of a server that are told of."""
_TOLD: Final = frozenset({"message", "_meta"})
_SHOWN: Final = 600
"""Characters of a question, and of an answer."""


class _Asked(NamedTuple):
    """One question; `answer` is empty words, or markup, of what was answered."""

    at: float
    number: int
    method: str
    params: JsonObject
    answer: Html
    took_s: float | None


def questions(
    detail: JobDetail, detail_of: Callable[[JobId], JobDetail | None], words: Words
) -> Html:
    """All questions in the order asked; of a question that is a job, itself; or nothing."""
    begun_at = detail.snapshot.started_at
    rows = [
        _row(each, begun_at, words) for each in sorted(_found(detail, detail_of, words), key=_place)
    ]
    if not rows:
        return Html("")
    left_out = len(detail.children) - _MOST
    note = f"{text.count(left_out, 'earlier request')} of the server left out."
    made = table(_TITLES, rows, numbers=(0, 4, 5))
    return joined((made, render("note", note) if left_out > 0 else ""))


def _place(asked: _Asked) -> tuple[float, int]:
    return asked.at, asked.number


def _found(
    detail: JobDetail, detail_of: Callable[[JobId], JobDetail | None], words: Words
) -> Iterator[_Asked]:
    for child in detail.children[-_MOST:]:
        found = detail_of(child)
        if found is not None:
            yield _of_child(found, words)
    for picture in detail.asked:
        yield _of_reply(picture, words, is_over=detail.snapshot.state.is_over)


def _of_child(detail: JobDetail, words: Words) -> _Asked:
    """A request of the server, which is a job of its own."""
    job, answer = detail.snapshot, detail.answer
    if answer is None:
        said = render("muted", job.state.value.lower() if job.state.is_over else "open")
    elif answer.error is not None:
        said = joined(("refused: ", _json(answer.error, words)))
    else:
        said = _json(answer.result, words)
    took_s = job.elapsed_s if answer is not None else None
    return _Asked(job.started_at, job.request, job.method, detail.params, said, took_s)


def _of_reply(picture: AskedPicture, words: Words, *, is_over: bool) -> _Asked:
    """A question in a reply that required input, or of a task."""
    took_s = None
    if picture.answered_at is None:
        said = render("muted", "not answered" if is_over else "open")
    else:
        said, took_s = _json(picture.answer, words), picture.answered_at - picture.at
    return _Asked(picture.at, picture.number, picture.method, picture.params, said, took_s)


def _json(value: Any, words: Words) -> Html:
    return words.json(value, _SHOWN)


def _row(asked: _Asked, begun_at: float, words: Words) -> Sequence[str]:
    message = asked.params.get("message")
    rest = {key: value for key, value in asked.params.items() if key not in _TOLD}
    said = words.line(message, _SHOWN) if isinstance(message, str) else Html("")
    took = "" if asked.took_s is None else text.duration(max(asked.took_s, 0.0))
    return (
        text.duration(max(asked.at - begun_at, 0.0)),
        words.line(asked.method),
        joined((said, _json(rest, words) if rest else "")),
        asked.answer,
        took,
        text.number(asked.number) if asked.number > 0 else "",
    )
