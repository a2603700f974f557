"""What happened to a job, told to somebody who was not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import text
from mcp_progress_monitor.exports.html_parts import Html, joined, render
from mcp_progress_monitor.exports.html_stream import told as stream_told
from mcp_progress_monitor.tracker import naming
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.exports.evidence import Close, Evidence
    from mcp_progress_monitor.exports.html_parts import Words
    from mcp_progress_monitor.tracker.snapshot import Failure, JobDetail, JobSnapshot, Mark

_LONG: Final = 2000
_MEANINGS: Final = {
    JobState.RUNNING: "The request is open, and the server is expected to go on.",
    JobState.STALLED: (
        "The request is still open, but nothing has been heard of it for much longer than between "
        "its ticks before. The server may be busy, or may hang; it has said neither."
    ),
    JobState.NEEDS_YOU: "The server has asked a question and waits for its answer.",
    JobState.CANCELLING: "The server was asked to stop and has not confirmed it yet.",
    JobState.RESUMABLE: (
        "The work stopped before its end, but the server had handed out a resume token: sent "
        "again with it, the request goes on from there."
    ),
    JobState.DONE: "The server answered with a result: the work is complete.",
    JobState.FAILED: (
        "The answer was an error, which ends the request: nothing more will come of it by itself."
    ),
    JobState.CANCELLED: "The request was given up on purpose, before its end.",
    JobState.TIMED_OUT: (
        "This side stopped waiting. The server did not answer in time; whether it went on with "
        "the work, it did not say."
    ),
    JobState.LOST: (
        "The connection ended while the request was open: no answer can come any more, and how "
        "far the work went after the last tick is unknown."
    ),
}
_CUT: Final = "The request was open then. What became of it is not in the recording."
_CODES: Final = {
    -32700: "the server could not read the message as JSON",
    -32600: "the server took the message for no valid request",
    -32601: "the server knows no such method",
    -32602: "the parameters were not accepted",
    -32603: "an error within the server",
    -32002: "the resource was not found",
    -32042: "the server wants a web page to be visited first",
}


def meaning(state: JobState) -> str:
    """What a state says, in a sentence or two."""
    return _MEANINGS[state]


def summary(detail: JobDetail, words: Words) -> str:
    """The arguments on one line, made anew from those without secrets."""
    params = words.redaction.value(detail.params)
    return naming.summary(_Request(detail.snapshot.method, params))


class _Request:
    """What a summary is made of."""

    def __init__(self, method: str, params: dict[str, object]) -> None:
        self.method = method
        self.params = params


def story(detail: JobDetail, evidence: Evidence, words: Words) -> list[Html]:
    """Paragraphs: what was asked, how far it got, how it ended, what that means."""
    paragraphs = (_asked, _course, _stream, _end, _aftermath, _marks)
    told = (joined(tell(detail, evidence, words), " ") for tell in paragraphs)
    return [paragraph for paragraph in told if paragraph]


def _asked(detail: JobDetail, _: Evidence, words: Words) -> Iterator[str]:
    job = detail.snapshot
    arguments = summary(detail, words)
    asker = "This program asked the server" if job.sender.name == "CLIENT" else "The server"
    yield joined(
        (
            f"{asker} ",
            render("bold", words.line(job.server)),
            " for " if job.sender.name == "CLIENT" else " asked for ",
            render("bold", words.line(job.name)),
            f" ({job.method})" if job.name != job.method else "",
            f" on {text.date_and_clock(job.started_when)}",
        )
    )
    if arguments:
        yield joined(("with ", render("code", words.line(arguments))))
    yield "and wanted no progress." if job.token is None else "and wanted to be told of progress."
    if job.attempt_count > 1:
        yield f"It took {text.count(job.attempt_count, 'attempt')}: the request was resumed."


def _course(detail: JobDetail, _: Evidence, words: Words) -> Iterator[str]:
    job = detail.snapshot
    if job.last_tick_at is None:
        yield "No progress was ever reported."
        return
    yield f"It got to {_amount(job)}, told in {text.count(job.tick_count, 'tick')}."
    after = text.duration(max(job.last_tick_at - job.started_at, 0.0))
    if job.message:
        said = _sentence(f"The last one came {after} after the start and said ", job.message, words)
        yield said
    else:
        yield f"The last one came {after} after the start, without a message."
    if len(detail.phases) > 1 and detail.phases[-1].message != job.message:
        yield _sentence("By its messages it was then at ", detail.phases[-1].message, words)


def _stream(detail: JobDetail, _: Evidence, __: Words) -> Iterator[str]:
    if detail.snapshot.stream is not None:
        yield stream_told(detail.snapshot)


def _sentence(begin: str, said: str, words: Words) -> Html:
    """A sentence that ends with somebody's words."""
    return joined((begin, words.said(said), "" if said.endswith((".", "!", "?")) else "."))


def _amount(job: JobSnapshot) -> str:
    known = text.amount(job.progress, job.total).replace(" / ", " of ") or "an unknown place"
    if job.fraction is not None:
        return f"{known} ({text.percent(job.fraction)})"
    return f"{known} of an unknown total" if job.total is None else known


def _end(detail: JobDetail, evidence: Evidence, words: Words) -> Iterator[str]:
    job = detail.snapshot
    if job.last_tick_at is not None:
        yield _silence(job)
    state = render("bold_state", job.state.value)
    verb = "ended as" if job.state.is_over else "is"
    end = ", while the recording ends here, it" if evidence.is_cut else " it"
    yield joined((f"{_after(job)}{end} {verb} ", state, "."))
    if job.failure is not None and job.state is not JobState.DONE:
        yield from _failure(detail, job.failure, words)
    if job.resume_note:
        yield _sentence("Of its stop was noted: ", job.resume_note, words)
    told = _CUT if evidence.is_cut else meaning(job.state)
    yield render("muted", told)


def _silence(job: JobSnapshot) -> str:
    """How long nothing came before the end, or until now."""
    if job.ended_at is not None and (job.last_tick_at or 0.0) > job.ended_at:
        return "Its last ticks came after the end."
    if job.silent_s >= 1.0 or not job.state.is_over:
        return f"Then there was silence for {text.duration(job.silent_s)}."
    if job.silent_s >= 0.1:
        return f"The end came {text.duration(job.silent_s)} later."
    return "The end came at once after it."


def _after(job: JobSnapshot) -> str:
    worked = text.duration(job.elapsed_s)
    if job.attempt_count < 2 or job.ended_at is None:
        return f"After {worked} in all"
    whole = text.duration(max(job.ended_at - job.started_at, 0.0))
    return f"After {worked} of work, {whole} from the first request to the last reply,"


def _failure(detail: JobDetail, failure: Failure, words: Words) -> Iterator[str]:
    """The error in its sender's words, and what its code says."""
    told_by = f"{_teller(detail, failure)}: "
    if "\n" in failure.message:
        yield joined((told_by, words.block(failure.message, _LONG)))
    else:
        yield _sentence(told_by, failure.message, words)
    if failure.data is not None:
        yield joined(("It sent along: ", words.json(failure.data, _LONG)))


def _teller(detail: JobDetail, failure: Failure) -> str:
    if failure.where == "local":
        return "This program noted"
    if failure.code is None and _is_of_tool(detail):
        return "The tool itself reported an error, in its result"
    code = "" if failure.code is None else f" with code {failure.code}{_code_words(failure.code)}"
    return f"The server answered with an error{code}"


def _is_of_tool(detail: JobDetail) -> bool:
    result = None if detail.answer is None else detail.answer.result
    return result is not None and result.get("isError") is True


def _code_words(code: int) -> str:
    known = _CODES.get(code)
    return "" if known is None else f" ({known})"


def _aftermath(detail: JobDetail, evidence: Evidence, words: Words) -> Iterator[str]:
    """How the connection ended, and the server's last words on standard error."""
    job, close = detail.snapshot, evidence.close
    if job.state is JobState.DONE:
        return
    if close is not None and _belongs_to_end(job, close):
        yield _closing(job, close.at, words.line(close.reason), close.exit_code)
    if evidence.stderr:
        count = text.count(len(evidence.stderr), "line")
        yield f"On standard error the server wrote, at last ({count}):"
        lines = "\n".join(line.text for line in evidence.stderr)
        yield words.block(lines, 2 * _LONG)
        if evidence.stderr_before:
            yield f"{text.count(evidence.stderr_before, 'line')} came before."
    elif job.state in {JobState.FAILED, JobState.LOST, JobState.TIMED_OUT}:
        yield "The server wrote nothing on standard error meanwhile."


def _belongs_to_end(job: JobSnapshot, close: Close) -> bool:
    """Whether the connection's end has to do with the job's.

    It was not wanted, or ended the job: who disconnects after an answer only tidies up.
    """
    return not close.is_wanted or job.ended_at is None or close.at <= job.ended_at


def _closing(job: JobSnapshot, at: float, reason: Html, exit_code: int | None) -> Html:
    end_at = job.ended_at if job.ended_at is not None else at
    later = text.duration(max(at - end_at, 0.0))
    when = "At that moment" if at - end_at < 0.1 else f"{later} later"
    code = "" if exit_code is None else f" The server's process ended with exit code {exit_code}."
    return joined(
        (when, " the connection closed", joined((": ", reason, ".")) if reason else ".", code)
    )


def _marks(detail: JobDetail, _: Evidence, words: Words) -> Iterator[str]:
    marks = detail.snapshot.marks
    if not marks:
        return
    yield "Not in order with the protocol, or worth a look:"
    yield render("listed", [_mark(mark, words) for mark in marks])


def _mark(mark: Mark, words: Words) -> tuple[Html, str]:
    often = "" if mark.count == 1 else f", {text.number(mark.count)} times"
    return words.line(mark.text), f"{often} (message no. {mark.first})."
