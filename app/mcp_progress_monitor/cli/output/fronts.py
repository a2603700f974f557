"""Chooses the output of a command: JSON events, progress bars or lines."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.cli.exits import CommandFailed
from mcp_progress_monitor.cli.output.job_text import NUMBERS, Label
from mcp_progress_monitor.cli.output.results import answer_text, exact_outcome
from mcp_progress_monitor.cli.output.stdout import StandardOutput
from mcp_progress_monitor.cli.output.text_front import LineMeter, Meter, TextFront

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcp_progress_monitor.cli.options import Invocation
    from mcp_progress_monitor.cli.output.front import Front
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.tracker.snapshot import JobId


class ResultFormat(NamedTuple):
    """How the result in a reply's bytes is shown: as `text`, and in events as `exact` JSON."""

    text: Callable[[bytes], str] = answer_text
    exact: Callable[[bytes], str] = exact_outcome


USUAL_RESULT_FORMAT = ResultFormat()  # the format of tool results


def front_of(
    invocation: Invocation,
    output: StandardOutput,
    engine: Engine,
    *,
    as_json: bool,
    is_numbered: bool,
    numbers: Mapping[JobId, Label] = NUMBERS,
    result_format: ResultFormat = USUAL_RESULT_FORMAT,
    server_log: str | None = None,
    shows_jobs: bool = True,
) -> Front:
    """The front for calls: events on `output`, or progress on standard error.

    With `is_numbered`, jobs have numbers: their own, or those in `numbers`. Server log messages are
    shown from the level `server_log` on, by default the program's own log level. Without
    `shows_jobs`, text output has results only.
    """
    errors = StandardOutput(sys.stderr)
    if as_json:
        from mcp_progress_monitor.cli.output.events import JsonEvents  # late, with the judge

        return JsonEvents(output, errors, engine, invocation.started_at, result_format.exact)
    level = invocation.common.log_level or "warning"
    meter = _meter(errors, engine, numbers, is_numbered=is_numbered)
    return TextFront(
        output,
        errors,
        meter,
        engine,
        level,
        numbers if is_numbered else None,
        text_of=result_format.text,
        server_log=server_log,
        shows_jobs=shows_jobs,
    )


def _meter(
    errors: StandardOutput, engine: Engine, numbers: Mapping[JobId, Label], *, is_numbered: bool
) -> Meter:
    if errors.is_terminal and os.environ.get("TERM") != "dumb":
        from mcp_progress_monitor.cli.output.bars import BarMeter

        return BarMeter(engine.jobs, numbers=numbers)
    return LineMeter(errors, engine.jobs, is_numbered=is_numbered, numbers=numbers)


@contextlib.contextmanager
def early_failures(invocation: Invocation, *, as_json: bool) -> Iterator[None]:
    """Also write errors before the command starts as events, since scripts may read only those."""
    try:
        yield
    except CommandFailed as failure:
        if as_json:
            from mcp_progress_monitor.cli.output.events import elapsed, error_line, summary_line

            seconds = elapsed(time.monotonic() - invocation.started_at)
            error = error_line(seconds, None, "local", failure.details.as_text())
            summary = summary_line(seconds, 0, 0, 0, None)
            StandardOutput(sys.stdout).write(f"{error}{summary}".encode())
        raise
