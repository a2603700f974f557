"""Jobs and tasks as text, for window, terminal and report."""

from __future__ import annotations

import math
import operator
import re
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.lenient_json import Elided
from mcp_progress_monitor.protocol.messages import (
    CONTENT,
    EVENT,
    META,
    PARTIAL_RESULT,
    PROGRESS,
    STREAMS,
    is_terminal,
)
from mcp_progress_monitor.protocol.peer import is_generated
from mcp_progress_monitor.tracker.endings import BEFORE_REPLY
from mcp_progress_monitor.tracker.estimate import as_float
from mcp_progress_monitor.tracker.job_parts import BLOCKS_SHOWN
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording.statuses import status_source, status_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.protocol.facts import NotificationReceived, PartReceived
    from mcp_progress_monitor.tracker.snapshot import (
        Clocks,
        JobDetail,
        JobSnapshot,
        StreamSnapshot,
        StreamStep,
        TaskSnapshot,
        TaskStep,
    )

_LIMIT: Final = 400  # characters: wider than any column, cheap to measure
NEAR_S: Final = 60.0  # a limit that is nearer than this is shown in the list of jobs
_CLIENT: Final = 40
_NAME: Final = 80
SILENT_AFTER_S: Final = 2.0  # without a tick for longer, a running job shows when the last one came
_GIVEN_UP: Final = frozenset({JobState.CANCELLED, JobState.TIMED_OUT, JobState.LOST})
_ANSWERED: Final = frozenset({JobState.DONE, JobState.FAILED})
CANCEL_REQUESTED: Final = "cancel requested, still working"
"""A task decides itself when to stop."""
_HOUR: Final = 3600
_DAY: Final = 86_400
_CENTURY_S: Final = 3.2e9
_CONNECTION_ENDED: Final = re.compile(r"The connection ended before [^:(]*(?:: )?(?:The )?")
_EXIT_CODE: Final = re.compile(r"\(exit code (-?\d+)\)")
_UNITS: Final = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


_ERRORS: Final = {
    -32700: "parse error",
    -32600: "invalid request",
    -32601: "method not found",
    -32602: "invalid parameters",
    -32603: "internal error",
    -32002: "resource not found",
    -32042: "a web page must be opened first",
}


def answered_error(code: int | None) -> str:
    """`"The server answered with error -32601 (method not found)"`."""
    number = "an error" if code is None else f"error {code}"
    name = _ERRORS.get(code) if code is not None else None
    return f"The server answered with {number}{f' ({name})' if name else ''}"


def line(text: str) -> str:
    """Server text for one line: control and direction characters visible, bounded."""
    return formatting.one_line(text, _LIMIT)


def server(job: JobSnapshot) -> str:
    """The name of a job's server; of a watched one without its process id."""
    name, _, process = job.server.rpartition("@")
    return line(name if job.watched_client is not None and name and process else job.server)


def wire(value: object) -> str:
    """An id or a token as on the wire: strings unquoted, digits not grouped, bounded."""
    if isinstance(value, str):
        return line(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return formatting.number(value).replace(",", "")
    return formatting.summary({"": value}).removeprefix("=")


def name(job: JobSnapshot) -> str:
    return line(job.name) or line(job.method)


def direction(job: JobSnapshot) -> str:
    """`"from the server"` for a server request; empty for our own."""
    return "from the server" if job.sender is Side.SERVER else ""


def cause(job: JobSnapshot) -> str:
    """A note that several jobs may have caused a server's request, if so."""
    text = "The server does not say which of the running jobs it is for"
    return text if job.parent_is_unclear else ""


def summary(job: JobSnapshot) -> str:
    """The direction of a server's request, and the arguments."""
    return " · ".join(part for part in (direction(job), line(job.summary)) if part)


def token(job: JobSnapshot) -> str:
    """The progress token as on the wire: strings unquoted, "none" without one."""
    return "no token" if job.token is None else wire(job.token)


def chosen_token(job: JobSnapshot) -> str:
    """`"token nightly"` if a person or a client chose it; empty for what a program counted."""
    if job.sender is Side.SERVER or job.token is None or is_generated(job.token):
        return ""
    # SDKs use the request's id, which says nothing.
    return "" if job.token == job.request_id else f"token {token(job)}"


def percent(job: JobSnapshot) -> str:
    """`"63.2 %"`; empty if the fraction is unknown."""
    return "" if job.fraction is None else formatting.percent(job.fraction)


def count(job: JobSnapshot) -> str:
    """`"632 / 1,000"`, `"4,812"` without a total; empty before the first tick."""
    return formatting.amount(job.progress, job.total)


def progress(job: JobSnapshot) -> str:
    """`"632 / 1,000 (63.2 %)"`; the percentage only if the fraction is known."""
    return formatting.progress(job.progress, job.total, job.fraction)


def amount(job: JobSnapshot) -> str:
    """The text beside the bar: the percentage, or else the count."""
    return percent(job) or rounded_count(job)


def exact(job: JobSnapshot) -> str:
    """The count and the rate with all their digits."""
    rate = "" if job.rate is None else f"{job.rate:,.6g}/s"
    return " · ".join(part for part in (count(job), rate) if part)


def time_left(job: JobSnapshot) -> str:
    """`"31 s left"`, or a range while the estimate is rough; empty if unknown.

    Before the first tick, what is left of the usual time: `"about 40 s left"`.
    """
    if job.eta_s is None and not job.tick_count and not job.state.is_over:
        left_s = (job.usual_s or 0.0) - job.elapsed_s
        return f"about {formatting.time_left(left_s)}" if left_s >= 1 else ""
    if job.eta_s is None or job.state.is_over:
        return ""
    return formatting.time_left(job.eta_s, job.eta_span_s)


def elapsed(job: JobSnapshot) -> str:
    """Say how long the job has run, in whole seconds; exact once it has ended."""
    if job.state.is_over:
        return formatting.duration(job.elapsed_s)
    return formatting.duration(math.floor(job.elapsed_s)) if job.elapsed_s >= 1 else ""


def last_tick(job: JobSnapshot) -> str:
    """`"last tick 2 s ago"` or `"no tick yet"`; empty when the job is over."""
    if job.state.is_over:
        return ""
    if job.last_tick_at is None:
        return "" if job.task is not None else "no tick yet"  # a task may never tick
    return formatting.last_tick(job.silent_s)


def ticks(job: JobSnapshot) -> str:
    """`"812 ticks"`; empty for an earlier run of the program, which did not count them."""
    if not (job.tick_count > 0 or job.progress is None):
        return ""
    text = formatting.count(job.tick_count, "tick")
    late = f"{formatting.number(job.late_count)} late"
    return f"{text}, {late}" if job.late_count else text


def selection(jobs: Sequence[JobSnapshot]) -> str:
    """`"4 jobs selected · 12,345 ticks · 3 min 20 s"`; empty for fewer than two.

    For three or more, also the shortest, the median and the longest duration.
    """
    if len(jobs) < 2:
        return ""
    times = sorted(job.elapsed_s for job in jobs)
    total_ticks = formatting.count(sum(job.tick_count for job in jobs), "tick")
    spent = formatting.duration(math.fsum(times))
    if len(jobs) > 2:
        median = (times[(len(times) - 1) // 2] + times[len(times) // 2]) / 2
        least, middle, most = map(formatting.duration, (times[0], median, times[-1]))
        spent += f" ({least} to {most}, median {middle})" if least != most else ""
    return f"{formatting.number(len(jobs))} jobs selected · {total_ticks} · {spent}"


def attempts(job: JobSnapshot) -> str:
    """`"attempt 7"` while it is in flight, `"7 attempts"` afterwards; empty for the first.

    `"attempt 7 here"` for a job that another client began.
    """
    if job.attempt_count < 2:
        return ""
    if job.state.is_over:
        return formatting.count(job.attempt_count, "attempt")
    here = "" if job.begun_by is None else " here"
    return f"attempt {formatting.number(job.attempt_count)}{here}"


def begun_by(job: JobSnapshot) -> str:
    """`"started by Claude Code"` for another client's job that is resumed here; else empty."""
    return (
        "" if job.begun_by is None else f"started by {formatting.one_line(job.begun_by, _CLIENT)}"
    )


def age(seconds: float) -> str:
    """An age in its largest unit: `"12 s"`, `"4 min"`, `"3 h"`, `"2 d"`."""
    unit = next((unit for unit in _UNITS if seconds >= unit[1]), _UNITS[-1])
    return f"{formatting.number(max(math.floor(seconds), 0) // unit[1])} {unit[0]}"


def saved(job: JobSnapshot) -> str:
    """`"saved 4 min ago"`, by the computer's own clock; empty if no token is saved."""
    if job.saved_when is None:
        return ""
    seconds = time.time() - job.saved_when if job.saved_s is None else job.saved_s
    return f"saved {age(seconds)} ago"


def next_attempt(job: JobSnapshot) -> str:
    """`"attempt 8 in 4 s"` while automatic resuming waits; else empty."""
    if job.next_attempt_at is None or job.state is not JobState.RESUMABLE:
        return ""
    number = formatting.number(job.attempt_count + 1)
    left_s = math.ceil(job.next_attempt_at - time.monotonic())
    if left_s <= 0:
        return f"attempt {number} now"
    return f"attempt {number} in {formatting.duration(left_s)}"


def is_left_at_server(job: JobSnapshot) -> bool:
    """Return whether the job is a task that may still run on its server but is not followed."""
    return job.task is not None and not job.task.is_followed and not job.state.is_over


def task_left(job: JobSnapshot) -> str:
    """`"kept for 4 min 12 s more"` for a task, in whole seconds; empty if the limit is unknown."""
    left_s = None if job.task is None else job.task.ttl_left_s
    if left_s is None or left_s > _CENTURY_S:
        return ""
    if left_s <= 0:
        return "time to live expired"
    return f"kept for {formatting.duration(math.ceil(left_s))} more"


def moment(when: float) -> str:
    """A wall time, without the date if it is today."""
    dated = formatting.date_and_clock(when)
    is_today = dated[:10] == formatting.date_and_clock(time.time())[:10]
    return formatting.clock(when) if is_today else dated


def headline(job: JobSnapshot) -> str:
    """The state at a glance: the time left if it is known, else the state's name and reason."""
    left = time_left(job) if job.state is JobState.RUNNING else ""
    is_expected = job.tick_count == 0 or (job.eta_s is not None and not _is_silent(job))
    if left and is_expected:
        return f"{state(job)} · {left}" if job.is_slow else left
    asked = formatting.count(len(job.questions), "question") if job.questions else ""
    more = asked if job.state is JobState.NEEDS_YOU else why(job)
    return f"{state(job)} · {more}" if more else state(job)


def why(job: JobSnapshot) -> str:
    """Why we gave a job up, such as `"server exited, code 3"`; else empty."""
    failure = job.failure
    if failure is None or failure.where != "local" or job.state is not JobState.LOST:
        return ""
    text = _joined_lines(_CONNECTION_ENDED.sub("", failure.lasting)).partition(". ")[0]
    found = _EXIT_CODE.search(text)
    if found is None:
        return text[:1].lower() + text[1:]
    return f"{text[: found.start()].strip() or 'server exited'}, code {found[1]}"


def _is_silent(job: JobSnapshot) -> bool:
    is_expected = job.tick_count > 0 or not is_stream(job)
    return is_expected and (job.silent_s >= SILENT_AFTER_S or job.tick_count == 0)


def status(job: JobSnapshot) -> str:
    """The line below the headline: the rate and the time so far, or how the job ended."""
    if job.state is JobState.RESUMABLE:
        parts = [next_attempt(job) or saved(job), "" if next_attempt(job) else attempts(job)]
    elif is_left_at_server(job):
        here = "can be resumed here" if job.can_resume_here else "can be followed"
        parts = [task_left(job) or here]
    elif job.state.is_over:
        return ", ".join(part for part in (cancelling(job), elapsed(job), ticks(job)) if part)
    else:
        # The state of its cancel, or a near timeout, comes first.
        parts = [answered_in(job), cancelling(job) or near_limit(job), attempts(job)]
        parts.append(received_parts(job))
        parts.append(last_tick(job) if _is_silent(job) else rounded_rate(job))
        spent = elapsed(job)
        parts.append(f"{spent} so far" if spent else "")
    return " · ".join(part for part in parts if part)


def is_stream(job: JobSnapshot) -> bool:
    """Return whether a job stays open until one side ends it, however long it is silent."""
    return job.method in STREAMS


def received_parts(job: JobSnapshot) -> str:
    """`"streaming, 12 events"`, `"3 partial results"`; empty if none are expected or known."""
    if not is_stream(job):
        return formatting.count(job.part_count, "partial result") if job.part_count else ""
    return f"streaming, {formatting.count(job.part_count, 'event')}"


PART_TITLES: Final = ("Received before the reply", "At")


def part_text(part: PartReceived | NotificationReceived) -> str:
    """An event, a partial result or content in one line, such as `name="build.finished" data={}`.

    Of content the text is shown, and of images and the like the size: `image, 2.0 kB`.
    """
    content = part.params.get(CONTENT)
    if content is not None and part.method in {PROGRESS, PARTIAL_RESULT}:
        return line(_content(content))
    first = {key: part.params[key] for key in ("name", "data") if key in part.params}
    shown = {key: value for key, value in (first | part.params).items() if key != META}
    text = formatting.summary(shown)
    what = "" if part.method in {EVENT, PARTIAL_RESULT} else part.method.rpartition("/")[2]
    return line(" ".join(filter(None, (what, text))))


def _content(content: object) -> str:
    blocks = content if isinstance(content, list) else [content]
    shown = [_block(block) for block in blocks[:BLOCKS_SHOWN]]
    shown += [formatting.ELLIPSIS] if len(blocks) > BLOCKS_SHOWN else []
    return " · ".join(shown)


def _block(block: object) -> str:
    if isinstance(block, str):
        return block[:_LIMIT]
    whole = as_object(block)
    inner = as_object(whole.get("resource"))
    if inner:
        return _block({"type": "resource", **inner, "resource": None})
    if isinstance(whole.get("text"), str):
        return str(whole["text"][:_LIMIT])
    named = (whole.get("type") or "content", whole.get("name") or whole.get("uri"))
    parts = [formatting.one_line(each, _NAME) for each in named if isinstance(each, str)]
    data = whole.get("data") or whole.get("blob")
    if isinstance(data, str | Elided):
        length = data.size if isinstance(data, Elided) else len(data)
        parts.append(formatting.size(length * 3 // 4))  # it is in base64
    return ", ".join(parts)


def part_row(part: PartReceived, started_at: float) -> tuple[str, ...]:
    """The texts of an event or a partial result, in the order of `PART_TITLES`."""
    return part_text(part), formatting.duration(max(part.at - started_at, 0.0))


def answered_in(job: JobSnapshot) -> str:
    """Say where to answer the open question of another client's job; empty for our own."""
    if job.watched_client is None or job.state is not JobState.NEEDS_YOU:
        return ""
    return f"answer in {formatting.one_line(job.watched_client, _CLIENT)}"


def near_limit(job: JobSnapshot) -> str:
    """The next timeout if it is near, such as `"idle timeout in 42 s"`; else empty."""
    clocks = job.clocks
    if clocks is None or clocks.is_suspended or job.state.is_over:
        return ""
    left = (clocks.total_left_s, "total"), (clocks.idle_left_s, "idle")
    near = [(left_s, limit) for left_s, limit in left if left_s is not None and left_s < NEAR_S]
    if not near:
        return ""
    left_s, limit = min(near, key=operator.itemgetter(0))
    return f"{limit} timeout in {formatting.duration(math.ceil(left_s))}"


def nearest_limit(clocks: Clocks) -> str:
    """`"30 min idle"`, `"42 s total"`, `"No limits"`: the limit that is reached first."""
    left = (clocks.idle_left_s, "idle"), (clocks.total_left_s, "total")
    known = [(left_s, limit) for left_s, limit in left if left_s is not None]
    if not known:
        return "No limits"
    left_s, limit = min(known)
    minutes = math.ceil(left_s / 60)
    return f"{formatting.number(minutes)} min {limit}" if minutes > 1 else f"{age(left_s)} {limit}"


def limit_left(limit: str, left_s: float | None) -> str:
    """`"Idle timeout in 29 min 58 s"` or `"No idle timeout"`; `limit` is "idle" or "total".

    A countdown shows seconds up to a day.
    """
    if left_s is None:
        return f"No {limit} timeout"
    seconds = math.ceil(left_s)
    more = f" {seconds % 60} s" if _HOUR <= seconds < _DAY else ""
    return f"{limit.capitalize()} timeout in {formatting.duration(seconds)}{more}"


def cancelling(job: JobSnapshot) -> str:
    """`"sent 3 s ago"` or `"but the result arrived 2 s later"`; empty if nothing was cancelled."""
    if job.cancel_state == "ignored":
        return _ignored_cancel(job)
    if job.state is not JobState.CANCELLING:
        return ""
    if job.cancel_state != "sent" or job.cancel_s is None:
        return "not sent yet"
    ago = formatting.duration(math.floor(job.cancel_s))
    if job.task is not None:
        return f"{CANCEL_REQUESTED} · {ago}"
    return f"sent {ago} ago"


def _ignored_cancel(job: JobSnapshot) -> str:
    """Say what became of a cancel that crossed a result: the result came too late, or it won."""
    if job.state not in _GIVEN_UP:
        return "cancel ignored" if job.state in _ANSWERED else ""
    if job.cancel_s is None:
        return "but the result arrived"
    return f"but the result arrived {formatting.duration(job.cancel_s)} later"


def full_state(job: JobSnapshot) -> str:
    """The state with the progress of its cancel: `"Cancelling: sent 3 s ago"`."""
    word, how = state(job), cancelling(job)
    if job.state is JobState.CANCELLED and job.cancel_state == "confirmed":
        is_confirmed = job.failure is not None and job.failure.where == "server"
        how = "confirmed by the server" if is_confirmed else "no reply from the server"
    if not how:
        return word
    return f"{word}, {how}" if job.cancel_state == "ignored" else f"{word}: {how}"


def state(job: JobSnapshot) -> str:
    """The state's name, and whether a resumable job resumes automatically."""
    if job.state is JobState.RESUMABLE and job.is_automatic:
        return "Resumable, automatic"
    if is_left_at_server(job):
        return "Left on its server"
    return "Slower than usual" if job.is_slow else job.state.value


def message(job: JobSnapshot) -> str:
    """The newest text: what it asks, why it failed or stopped, else its progress message."""
    if job.state is JobState.NEEDS_YOU and job.question:
        return line(job.question)
    if job.state is JobState.RESUMABLE:
        return line(job.resume_note or job.message or "")
    if job.failure is not None:
        if job.failure.where != "local":
            return line(job.failure.message)
        # A row's state says that the job was lost: what is cut off must not be the reason.
        text = job.failure.lasting
        why = text.removeprefix(f"{BEFORE_REPLY}: ")
        return _joined_lines(text if why == text else why[:1].upper() + why[1:])
    return line(job.message or "")


def _joined_lines(text: str) -> str:
    """Several lines of our own text as one."""
    lines = (each.strip() for each in text[: 2 * _LIMIT].split("\n"))
    return line(" · ".join(each for each in lines if each))


def marks(job: JobSnapshot) -> str:
    """All violations, one a line; empty without any."""
    return "\n".join(mark(one.text, one.count) for one in job.marks)


def mark(text: str, times: int) -> str:
    return line(text) if times == 1 else f"{line(text)} ({formatting.number(times)} x)"


def spoken(job: JobSnapshot) -> str:
    """The whole row as one sentence, for screen readers and as a plain tool tip."""
    kind = "" if job.task is None else "task "
    client = "" if job.watched_client is None else f", watched in {line(job.watched_client)}"
    who = " ".join(filter(None, (f"{kind}{name(job)}", direction(job), "on", server(job))))
    first = state(job) if job.state is JobState.RUNNING else headline(job)
    said = line(job.message or "") if why(job) else message(job)
    parts = (first, amount(job), said, time_left(job), status(job))
    return f"{who}{client}: {', '.join(filter(None, parts))}"


# Progress has no unit on the wire. "39.8 of 1400 MB" beside 39,765,000 of 1,400,000,000 shows that
# it counts bytes; beside 39.8 of 1400, that it counts megabytes.
_READ: Final = 200  # characters of a message
_AMOUNT: Final = re.compile(
    r"([0-9][0-9.,]*)\s*(?:(?:of|/)\s*([0-9][0-9.,]*)\s*)?([kKMGT]i?B|bytes|B)\b"
)
_NUMBER: Final = re.compile(r"[0-9][0-9.,]*")
_NEAR: Final = 0.02
_POWERS: Final = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


class Unit(NamedTuple):
    """A unit of data: its name, its bytes, and the bytes of one unit of progress."""

    name: str
    size: float
    scale: float

    def of(self, value: float) -> str:
        """A progress value in this unit, without the unit's name."""
        return formatting.rounded(as_float(value) * self.scale / self.size, decimals=1)


def unit_of(job: JobSnapshot) -> Unit | None:
    """The unit that the message names, if its numbers are those of the progress."""
    message = job.message
    if message is None or job.progress is None or "B" not in message[:_READ].replace("b", "B"):
        return None
    found = _AMOUNT.search(message[:_READ])
    if found is None:
        return None
    name = "B" if found[3] == "bytes" else found[3]
    size = float((1024 if "i" in name else 1000) ** _POWERS.get(name[0], 0))
    pairs = [(found[1], job.progress), (found[2], job.total)]
    known = [(_parsed(text), as_float(value)) for text, value in pairs if text and value]
    for scale in (1.0, size):  # bytes, or the unit itself
        if known and all(_is_near(one * size, value * scale) for one, value in known):
            return Unit(name, size, scale)
    return None


def is_count_said(job: JobSnapshot) -> bool:
    """True if the message itself says the numbers of the progress: `"Row 12 of 32"`."""
    message = (job.message or "")[:_READ]
    wanted = {as_float(value) for value in (job.progress, job.total) if value is not None}
    if not wanted or not message:
        return False
    if wanted <= {_parsed(text) for text in _NUMBER.findall(message)}:
        return True
    found = None if unit_of(job) is None else _AMOUNT.search(message)
    return found is not None and (job.total is None or found[2] is not None)


def _parsed(text: str) -> float:
    try:
        return float(text.rstrip(".,").replace(",", ""))
    except ValueError:
        return -1.0


def _is_near(one: float, other: float) -> bool:
    return abs(one - other) <= _NEAR * max(abs(one), abs(other))


def _is_share(job: JobSnapshot) -> bool:
    """Return whether progress is counted from 0 to 1, for which a percentage is clearer."""
    return job.total == 1 and isinstance(job.progress, float)


def rounded_count(job: JobSnapshot) -> str:
    """`39.8 / 1,400 MB`, `632 / 1,000`; empty if the percentage says the same."""
    if job.progress is None or (_is_share(job) and job.fraction is not None):
        return ""
    unit = unit_of(job)
    if unit is not None:
        whole = "" if job.total is None else f" / {unit.of(job.total)}"
        return f"{unit.of(job.progress)}{whole} {unit.name}"
    whole = "" if job.total is None else f" / {formatting.rounded(job.total)}"
    return formatting.rounded(job.progress) + whole


def rounded_rate(job: JobSnapshot) -> str:
    """`5.5 MB/s`, `4.2 %/s`, `12/s`; empty if unknown."""
    if job.rate is None:
        return ""
    unit = unit_of(job)
    if unit is not None:
        return f"{formatting.size(round(job.rate * unit.scale))}/s"
    return formatting.rate(100 * job.rate, " %") if _is_share(job) else formatting.rate(job.rate)


STREAM_TITLES: Final = ("Stream", "At")
FRESH_S: Final = 10.0
"""How long the row of a job shows that its stream was resumed; the job's pane always does."""


def stream_note(job: JobSnapshot) -> str:
    """`"stream broken 12 s ago; reconnecting from event 41, attempt 2"`, or the outcome."""
    stream = job.stream
    if stream is None:
        return ""
    if stream.is_broken:
        return _stream_broken(stream)
    if job.state.is_over:
        return broken_and_resumed(stream)
    return _stream_resumed(stream.newest)


def fresh_stream_note(job: JobSnapshot) -> str:
    """`stream_note` while the stream is broken, and for a few seconds after it was resumed."""
    stream = job.stream
    is_fresh = stream is not None and (stream.is_broken or stream.since_s < FRESH_S)
    return stream_note(job) if is_fresh and not job.state.is_over else ""


def stream_row(step: StreamStep, started_at: float) -> tuple[str, ...]:
    """The texts of one step, in the order of `STREAM_TITLES`; its time is since the job's start."""
    if not step.is_broken:
        text = _stream_resumed(step)
    else:
        reason = line(step.reason)
        broken = f"broken: {reason}" if reason else "broken"
        text = "; ".join(filter(None, (broken, _reconnecting(step, step.retry_s))))
    return text, formatting.duration(max(step.at - started_at, 0.0))


def _stream_broken(stream: StreamSnapshot) -> str:
    ago = f"stream broken {formatting.duration(math.floor(stream.since_s))} ago"
    return "; ".join(filter(None, (ago, _reconnecting(stream.newest, stream.retry_in_s))))


def _reconnecting(step: StreamStep, left_s: float | None) -> str:
    """`"reconnecting in 3 s from event 41, attempt 2"`; empty if there is no next attempt."""
    if step.attempt is None and step.retry_s is None:
        return ""
    wait = 0 if left_s is None else math.ceil(left_s)
    delay = f" in {formatting.duration(wait)}" if wait else ""
    number = "" if step.attempt is None else f", attempt {formatting.number(step.attempt)}"
    return f"reconnecting{delay}{_from_event(step)}{number}"


def _stream_resumed(step: StreamStep) -> str:
    away = "" if step.away_s is None else f" after {formatting.duration(step.away_s)}"
    return f"resumed{away}{_from_event(step)}"


def _from_event(step: StreamStep) -> str:
    return f" from event {line(step.last_event_id)}" if step.last_event_id else ""


def broken_and_resumed(stream: StreamSnapshot) -> str:
    """`"the stream broke 2 times and was resumed 1 time"`."""
    broke = f"the stream broke {formatting.count(stream.broken_count, 'time')}"
    resumed = formatting.count(stream.resumed_count, "time") if stream.resumed_count else ""
    return f"{broke} and was resumed {resumed}" if resumed else f"{broke} and was not resumed"


TASK_TITLES: Final = ("Status", "Message", "Since", "Source")


def task_row(step: TaskStep, job: JobSnapshot) -> tuple[str, ...]:
    """The texts of one change, in the order of `TASK_TITLES`."""
    when = job.started_when + step.at - job.started_at
    return status_text(step.status), line(step.message or ""), moment(when), status_source(step.how)


def task_standing(job: JobSnapshot, task: TaskSnapshot) -> str:
    """`"Working · counting files"`, and the state of a requested cancel."""
    parts = [status_text(task.status)]
    if job.state is JobState.CANCELLING and not is_terminal(task.status):
        parts.append(CANCEL_REQUESTED)
    if is_left_at_server(job):
        parts.append("still on its server; tracking continues when the server is connected")
    parts.append(line(task.message or ""))
    return " · ".join(part for part in parts if part)


def task_numbers(detail: JobDetail, task: TaskSnapshot) -> str:
    """Time to live, polling, and rounds of input, in one line."""
    job = detail.snapshot
    parts = (
        task_kept(job, task),
        poll_interval(task),
        task_polls(job, task),
        input_round_trips(detail.round_trips),
    )
    return " · ".join(part for part in parts if part)


def task_kept(job: JobSnapshot, task: TaskSnapshot) -> str:
    """`"kept for 4 min 12 s more"`, or the time of expiry for a job that is over."""
    left = task_left(job)
    if not left or task.expires_at is None:
        return "kept without a known limit"
    if job.state.is_over and task.ttl_left_s:
        when = job.started_when + task.expires_at - job.started_at
        return "kept until {}".format(moment(when).partition(".")[0])
    return left


def poll_interval(task: TaskSnapshot) -> str:
    if task.poll_ms is None:
        return "no poll interval"
    return f"poll every {formatting.duration(min(task.poll_ms, 1e15) / 1000)}"


def task_polls(job: JobSnapshot, task: TaskSnapshot) -> str:
    """`"polled 12 times, the last 2 s ago"`."""
    if not task.poll_count:
        return "not polled yet" if not job.state.is_over else "never polled"
    is_single = task.poll_count == 1
    often = "polled once" if is_single else f"polled {formatting.number(task.poll_count)} times"
    if task.polled_s is None or job.state.is_over:
        return often
    return f"{often}, last {formatting.ago(task.polled_s)}"


def input_round_trips(count: int) -> str:
    """`"2 rounds of input"`; empty for none."""
    return formatting.count(count, "round of input", "rounds of input") if count else ""
