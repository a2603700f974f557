"""How the state of a job looks in a report: a word, a sign, a tone, a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import text
from mcp_progress_monitor.exports.html_parts import Html, render
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

_TONES: Final = {
    JobState.RUNNING: "accent",
    JobState.STALLED: "warning",
    JobState.NEEDS_YOU: "warning",
    JobState.CANCELLING: "quiet",
    JobState.RESUMABLE: "accent",
    JobState.DONE: "good",
    JobState.FAILED: "bad",
    JobState.CANCELLED: "quiet",
    JobState.TIMED_OUT: "bad",
    JobState.LOST: "bad",
}
_SIGNS: Final = {
    JobState.RUNNING: "●",
    JobState.STALLED: "◐",
    JobState.NEEDS_YOU: "?",
    JobState.CANCELLING: "◌",
    JobState.RESUMABLE: "▶",
    JobState.DONE: "✔",
    JobState.FAILED: "✖",
    JobState.CANCELLED: "◼",
    JobState.TIMED_OUT: "◔",
    JobState.LOST: "⚡",
}


def tone(job: JobSnapshot) -> str:
    """The class of a job's colours; one that was let go on purpose is quiet."""
    is_wanted = job.failure is not None and job.failure.is_wanted and job.state is JobState.LOST
    return "quiet" if is_wanted else _TONES[job.state]


def state_words(job: JobSnapshot, *, is_last: bool) -> Html:
    """The state with its sign; where nothing follows, that it is not known how it went on."""
    is_cut = is_last and not job.state.is_over
    words = f"{_SIGNS[job.state]} {job.state.value}{'; the recording ends here' if is_cut else ''}"
    return render("state", words, tone(job))


def job_bar(job: JobSnapshot) -> Html:
    """The bar, with its numbers in words for those who do not see it."""
    words = text.percent(job.fraction) if job.fraction is not None else "the total is not known"
    # Rounded down, so that only the end looks like the end.
    width = None if job.fraction is None else int(job.fraction * 1000) / 10
    return render("bar", width, tone(job), words)


def amount(job: JobSnapshot) -> str:
    """`632 / 1,000 · 63.2 %`."""
    known = text.amount(job.progress, job.total)
    return f"{known} · {text.percent(job.fraction)}" if job.fraction is not None else known
