"""Comparisons as rows of text: two jobs, and the statistics of all calls by tool."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.messages import META
from mcp_progress_monitor.protocol.secrets import without_tokens
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.tracker.usual import LEAST_FOR_SLOW, percentile
from mcp_progress_monitor.tracker.work_clock import WorkClock
from mcp_progress_monitor.wording import jobs as job_texts
from mcp_progress_monitor.wording.content import pretty

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobSnapshot


SAME: Final = "same"
_NO_TIMES: Final = frozenset({"State", "Ticks", "First progress", "Last progress", "Attempts"})
_MOST_BYTES: Final = 2_000_000  # of a reply that is compared


class Row(NamedTuple):
    """A compared property, the value in each job, and the difference of the second."""

    name: str
    first: str
    second: str
    difference: str


def rows(first: JobDetail, second: JobDetail) -> list[Row]:
    """All comparable figures of two jobs, with phases by name in order of appearance."""
    both = first, second
    return [
        _text_row("Job", *(job_texts.name(each.snapshot) for each in both)),
        _text_row("Started", *(job_texts.moment(each.snapshot.started_when) for each in both)),
        _text_row("State", *(job_texts.state(each.snapshot) for each in both)),
        _duration_row("Duration", *(each.snapshot.elapsed_s for each in both)),
        _duration_row("Until the first tick", *map(_first_s, both)),
        _duration_row("Longest silence", *map(_silence_s, both)),
        _count_row("Ticks", *(each.snapshot.tick_count for each in both)),
        _text_row("First progress", *map(_first_progress, both)),
        _text_row("Last progress", *(job_texts.count(each.snapshot) for each in both)),
        _count_row("Attempts", *(each.snapshot.attempt_count for each in both)),
        _rate_row("Mean rate", *map(_mean_rate, both)),
        *_phases(first, second),
    ]


def changes(first: JobDetail, second: JobDetail) -> list[Row]:
    """The rows of two runs of one call that differ; the times, which always do, come last."""
    _job, _started, *found = rows(first, second)
    changed = [
        row._replace(difference=row.difference or _there(row.first, row.second))
        for row in found
        if row.first != row.second
    ]
    return sorted(changed, key=_is_time)


def _is_time(row: Row) -> bool:
    return bool(row.first and row.second) and row.name not in _NO_TIMES


def _there(first: str, second: str) -> str:
    if first and second:
        return ""
    return "gone" if first else "new"


def findings(first: Mapping[str, int], second: Mapping[str, int]) -> list[Row]:
    """A row for each finding that is new, gone, or in another number of messages."""
    found = []
    for name in {**first, **second}:
        one, other = (
            "" if (n := each.get(name)) is None else formatting.number(n)
            for each in (first, second)
        )
        if one != other:
            found.append(Row(name, one, other, _there(one, other)))
    return found


_STATISTICS: Final = "Call|Server|Calls|Failed|Median|95 %|Longest|Ticks|Largest result"
STATISTICS: Final = tuple(_STATISTICS.split("|"))
_FAILED: Final = frozenset({JobState.FAILED, JobState.TIMED_OUT, JobState.LOST})
_TIMED: Final = frozenset({JobState.DONE, JobState.FAILED})
"""States of jobs that a reply ended, so that their duration is the server's own."""


class CallFigures(NamedTuple):
    """The calls of one tool; durations are those of calls that a reply ended, None without any."""

    calls: int
    failed: int
    median_s: float | None
    p95_s: float | None
    longest_s: float | None
    ticks: int
    largest_result: int | None


def figures(jobs: Iterable[JobSnapshot]) -> list[tuple[tuple[str, str], CallFigures]]:
    """The figures by call and server, most failures first, then slowest."""
    groups: dict[tuple[str, str], list[JobSnapshot]] = {}
    for job in jobs:
        if job.sender is Side.CLIENT:
            key = job_texts.name(job), job_texts.server(job)
            groups.setdefault(key, []).append(job)
    ordered = sorted(groups.items(), key=lambda each: _weight(each[1]), reverse=True)
    return [(key, _figures(group)) for key, group in ordered]


def statistics(jobs: Iterable[JobSnapshot]) -> list[tuple[str, ...]]:
    """A row of `STATISTICS` for each tool of each server, most failures first, then slowest."""
    return [(*key, *_cells(found)) for key, found in figures(jobs)]


def _weight(jobs: list[JobSnapshot]) -> tuple[int, float]:
    return _failures(jobs), percentile(_times(jobs), 0.95) or 0.0


def _failures(jobs: list[JobSnapshot]) -> int:
    return sum(job.state in _FAILED for job in jobs)


def _times(jobs: list[JobSnapshot]) -> list[float]:
    return sorted(job.elapsed_s for job in jobs if job.state in _TIMED)


def _figures(jobs: list[JobSnapshot]) -> CallFigures:
    times = _times(jobs)
    is_known = len(times) >= LEAST_FOR_SLOW  # with fewer it is the longest one
    return CallFigures(
        len(jobs),
        _failures(jobs),
        percentile(times, 0.5),
        percentile(times, 0.95) if is_known else None,
        percentile(times, 1.0),
        sum(job.tick_count for job in jobs),
        max((job.reply_size for job in jobs if job.reply_size is not None), default=None),
    )


def _cells(found: CallFigures) -> Iterator[str]:
    yield formatting.number(found.calls)
    yield formatting.number(found.failed) if found.failed else ""
    yield from map(_duration, (found.median_s, found.p95_s, found.longest_s))
    yield formatting.number(found.ticks)
    yield "" if found.largest_result is None else formatting.size(found.largest_result)


def request_and_reply(detail: JobDetail) -> str:
    """A job's request and reply as JSON, without tokens, which always differ."""
    params = {name: value for name, value in detail.params.items() if name != META}
    return pretty({"method": detail.snapshot.method, "params": params, **_reply(detail)})


def reply_text(detail: JobDetail) -> str:
    """A job's reply as JSON, without tokens; empty without one."""
    return pretty(found) if (found := _reply(detail)) else ""


def _reply(detail: JobDetail) -> dict[str, Any]:
    answer = detail.answer
    if (detail.snapshot.reply_size or 0) > _MOST_BYTES:
        return {"reply": f"({formatting.size(detail.snapshot.reply_size or 0)}: too large)"}
    if answer is None:
        return {}
    is_error = answer.result is None
    body = without_tokens((answer.error if is_error else answer.result) or {})
    return {"error" if is_error else "result": body}


def names(first: JobDetail, second: JobDetail) -> tuple[str, str]:
    """The names of the two jobs; runs of one tool are numbered."""
    one, other = (job_texts.name(each.snapshot) for each in (first, second))
    return ("Run 1", "Run 2") if one == other else (f"1: {one}", f"2: {other}")


def _phases(first: JobDetail, second: JobDetail) -> Iterator[Row]:
    one, other = _phase_durations(first), _phase_durations(second)
    for name in one | other:
        yield _duration_row(job_texts.line(name), one.get(name), other.get(name))


def _phase_durations(detail: JobDetail) -> dict[str, float]:
    clock = WorkClock(detail)
    spent: dict[str, float] = {}
    for phase in detail.phases:
        spent[phase.message] = spent.get(phase.message, 0.0) + clock.length_s(phase)
    return spent


def _first_s(detail: JobDetail) -> float | None:
    return detail.chart[0].at - detail.snapshot.started_at if detail.chart else None


def _first_progress(detail: JobDetail) -> str:
    return formatting.rounded(detail.chart[0].last) if detail.chart else ""


def _silence_s(detail: JobDetail) -> float | None:
    times = [point.at for point in WorkClock(detail).points()]
    return max((after - before for before, after in itertools.pairwise(times)), default=None)


def _mean_rate(detail: JobDetail) -> float | None:
    points = WorkClock(detail).points()
    if len(points) < 2:
        return None
    begin, end = points[0], points[-1]
    return (end.last - begin.last) / (end.at - begin.at) if end.at > begin.at else None


def _text_row(name: str, first: str, second: str) -> Row:
    return Row(name, first, second, "")


def _duration_row(name: str, first: float | None, second: float | None) -> Row:
    one, other = _duration(first), _duration(second)
    if first is None or second is None:
        return Row(name, one, other, "")
    if first == second:
        return Row(name, one, other, SAME)
    sign = "+" if second >= first else "\N{MINUS SIGN}"
    difference = f"{sign}{formatting.duration(abs(second - first))}{_share(first, second)}"
    return Row(name, one, other, difference)


def _duration(seconds: float | None) -> str:
    return "" if seconds is None else formatting.duration(seconds)


def _count_row(name: str, first: int, second: int) -> Row:
    difference = SAME if first == second else f"{second - first:+,}{_share(first, second)}"
    return Row(name, formatting.number(first), formatting.number(second), difference)


def _rate_row(name: str, first: float | None, second: float | None) -> Row:
    one, other = ("" if each is None else formatting.rate(each) for each in (first, second))
    if first is None or second is None:
        return Row(name, one, other, "")
    return Row(name, one, other, SAME if one == other else _share(first, second).strip(" ()"))


def _share(first: float, second: float) -> str:
    """` (+12 %)`; empty if the first is zero."""
    return f" ({(second - first) / first:+.0%})".replace("%", " %") if first > 0 else ""
