"""Which way a command is shown: as events, with bars, or line by line."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.cli.answers import answer_text
from mcp_progress_monitor.cli.events import JsonEvents
from mcp_progress_monitor.cli.exits import CommandFailed
from mcp_progress_monitor.cli.lines import LineMeter
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.reply import exact_outcome
from mcp_progress_monitor.cli.text_front import TextFront
from mcp_progress_monitor.cli.words import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from mcp_progress_monitor.cli.front import Front
    from mcp_progress_monitor.cli.options import Invocation
    from mcp_progress_monitor.cli.text_front import Meter
    from mcp_progress_monitor.cli.words import Label
    from mcp_progress_monitor.monitor import Monitor
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot


class Wording(NamedTuple):
    """How the result in a reply's bytes is shown: as `text`, and in events as `exact` JSON."""

    text: Callable[[bytes], str] = answer_text
    exact: Callable[[bytes], str] = exact_outcome


USUAL_WORDING = Wording()
"""That of tools."""


def front_of(
    invocation: Invocation,
    output: Output,
    monitor: Monitor,
    *,
    as_json: bool,
    is_numbered: bool,
    numbers: Mapping[JobId, Label] = NUMBERS,
    wording: Wording = USUAL_WORDING,
    server_log: str | None = None,
    shows_jobs: bool = True,
) -> Front:
    """The front for calls: events on `output`, or progress on standard error.

    `is_numbered` when several jobs run at once and must be told apart, by their own numbers or
    those that the user knows them by. Log messages from the level `server_log` on are shown;
    without it those that the program's own level lets through. Without `shows_jobs`
    people see results alone.
    """
    errors = Output(sys.stderr)
    if as_json:
        exact = wording.exact
        return JsonEvents(output, errors, monitor, invocation.started_at, exact)
    level = invocation.common.log_level or "warning"
    meter = _meter(errors, monitor, numbers, is_numbered=is_numbered)
    told = numbers if is_numbered else None
    return TextFront(
        output,
        errors,
        meter,
        monitor,
        level,
        told,
        text_of=wording.text,
        server_log=server_log,
        shows_jobs=shows_jobs,
    )


def _meter(
    errors: Output, monitor: Monitor, numbers: Mapping[JobId, Label], *, is_numbered: bool
) -> Meter:
    if errors.is_terminal and os.environ.get("TERM") != "dumb":
        from mcp_progress_monitor.cli.bars import BarMeter

        return BarMeter(monitor, numbers=numbers)
    return LineMeter(errors, monitor, is_numbered=is_numbered, numbers=numbers)


@contextlib.contextmanager
def early_failures(invocation: Invocation, *, as_json: bool) -> Iterator[None]:
    """Tell as events, too, what keeps a command from beginning: scripts may read nothing else."""
    try:
        yield
    except CommandFailed as failure:
        if as_json:
            output, errors = Output(sys.stdout), Output(sys.stderr)
            events = JsonEvents(output, errors, _NoJobs(), invocation.started_at)
            events.fail(failure)
            events.close()
        raise


class _NoJobs:
    """What a command knows that never had a monitor."""

    recording: Path | None = None

    def snapshot(self, job: JobId) -> JobSnapshot | None:
        """None."""

    def job_of(self, request: int) -> JobId | None:
        """None."""

    def questions(self) -> tuple[Question, ...]:
        """Nothing was asked."""
        return ()

    def question(self, question: int) -> Question | None:
        """None."""
