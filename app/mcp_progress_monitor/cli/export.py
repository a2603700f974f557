"""`export`: a recording as JSON Lines, a table of its ticks, or a report."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any

import click

from mcp_progress_monitor import text
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.program_log import log_to_stderr
from mcp_progress_monitor.exports.forms import pieces
from mcp_progress_monitor.exports.mark_words import MarkWords
from mcp_progress_monitor.exports.private_file import PrivateFile
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.exports.wish import Form, Wish
from mcp_progress_monitor.filtering.chosen import LogFilter
from mcp_progress_monitor.filtering.errors import FilterError
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_progress_monitor.cli.options import CommonOptions

_SLICE_S = 0.2
_PROBLEMS_TOLD = 10


@dataclasses.dataclass(frozen=True, slots=True)
class ExportOrder:
    """The options of one `export` command, as typed."""

    file: Path
    to: str
    where: str = ""
    job: int | None = None
    with_secrets: bool = False
    output: Path | None = None

    def check(self) -> None:
        """Refuse, as a usage error, options that make no sense together."""
        if self.to == Form.HTML.value and self.job is not None and self.where:
            raise click.UsageError(
                "--where chooses the jobs of a report; with --job there is but one: leave one out."
            )


def export_recording(common: CommonOptions, order: ExportOrder) -> int:
    """Write what the order asks for.

    `CommandFailed` with code 8 when the file is no recording, or the output cannot be written;
    with code 2 for a filter that is not understood, a job that is not there, or HAR of a recording
    without HTTP.
    """
    log_to_stderr(common.log_level or "warning")
    errors = Output(sys.stderr)
    try:
        playback = Playback(order.file)
    except ProblemError as error:
        raise CommandFailed(ExitCode.UNWRITABLE, error.problem) from error
    _check_filter(order.where)
    marks = MarkWords()
    playback.subscribe(marks.listen)
    while playback.advance(_SLICE_S):
        pass
    _tell_problems(playback, errors)
    _check_job(playback, order)
    redaction = Redaction(with_secrets=order.with_secrets)
    wanted = LogFilter(order.where)
    wish = Wish(Form(order.to), wanted, order.job, order.file.name)
    try:
        made = pieces(playback, wish, redaction, marks)
    except ProblemError as error:
        problem = error.problem._replace(where=str(order.file))
        raise CommandFailed(ExitCode.USAGE, problem) from error
    _write(made, order.output)
    _tell_secrets(redaction, errors)
    return ExitCode.DONE


def _check_filter(where: str) -> None:
    from mcp_progress_monitor.filtering.parsing import parse

    try:
        parse(where)
    except FilterError as error:
        raise CommandFailed(ExitCode.USAGE, _filter_problem(where, error)) from error


def _filter_problem(where: str, error: FilterError) -> Problem:
    """What is wrong, with a pointer to it below the filter."""
    # Each control character is shown as one, so that the pointer stays where it belongs.
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in where)
    pointer = " " * error.position + "^" * max(error.length, 1)
    return Problem(
        f"--where is not understood: {error.what}",
        f"at character {text.number(error.position + 1)}",
        error.hint,
        f"  {line}\n  {pointer}" if len(line) < 1_000 else "",
    )


def _check_job(playback: Playback, order: ExportOrder) -> None:
    if order.job is None or playback.snapshot(order.job) is not None:
        return
    jobs = playback.jobs()
    hint = f"There are jobs {jobs[0]} to {jobs[-1]}." if jobs else "There are no jobs at all."
    problem = Problem(f"There is no job {order.job} in this recording", str(order.file), hint)
    raise CommandFailed(ExitCode.USAGE, problem)


def _write(made: Iterator[bytes], path: Path | None) -> None:
    """Write to a file, whole or not at all, or to standard output as it comes."""
    if path is None:
        output = Output(sys.stdout)
        for piece in made:
            if piece:
                output.write(piece)
            if output.is_gone:
                break
        output.check()
        return
    try:
        with PrivateFile(path) as file:
            for piece in made:
                file.write(piece)
    except ProblemError as error:
        raise CommandFailed(ExitCode.UNWRITABLE, error.problem) from error


def _tell_problems(playback: Playback, errors: Output) -> None:
    """Say what of the recording is not sound; the rest is exported all the same."""
    problems: list[Any] = playback.problems
    for problem in problems[:_PROBLEMS_TOLD]:
        errors.text(f"{text.visible(problem.as_text(), keep_line_ends=True)}\n")
    if problems[_PROBLEMS_TOLD:]:
        left = text.count(len(problems) - _PROBLEMS_TOLD, "more problem")
        errors.text(f"{left} of the recording are not listed.\n")


def _tell_secrets(redaction: Redaction, errors: Output) -> None:
    if redaction.count:
        places = text.count(redaction.count, "place")
        errors.text(f"Secrets were taken out at {places}; --with-secrets keeps them.\n")
