"""Which way a command is shown: as events, with bars, or line by line."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from app.cli.events import JsonEvents
from app.cli.exits import CommandFailed
from app.cli.lines import LineMeter
from app.cli.output import Output
from app.cli.text_front import TextFront
from app.cli.words import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from app.cli.front import Front
    from app.cli.options import Invocation
    from app.cli.text_front import Meter
    from app.cli.words import Label
    from app.monitor import Monitor
    from app.sessions.questions import Question
    from app.tracker.snapshot import JobId, JobSnapshot


def front_of(
    invocation: Invocation,
    output: Output,
    monitor: Monitor,
    *,
    as_json: bool,
    is_numbered: bool,
    numbers: Mapping[JobId, Label] = NUMBERS,
) -> Front:
    """The front for calls: events on `output`, or progress on standard error.

    `is_numbered` when several jobs run at once and must be told apart, by their own numbers or
    those that the user knows them by.
    """
    errors = Output(sys.stderr)
    if as_json:
        return JsonEvents(output, errors, monitor, invocation.started_at)
    level = invocation.common.log_level or "warning"
    meter = _meter(errors, monitor, numbers, is_numbered=is_numbered)
    return TextFront(output, errors, meter, monitor, level, numbers if is_numbered else None)


def _meter(
    errors: Output, monitor: Monitor, numbers: Mapping[JobId, Label], *, is_numbered: bool
) -> Meter:
    if errors.is_terminal and os.environ.get("TERM") != "dumb":
        from app.cli.bars import BarMeter

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
