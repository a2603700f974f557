"""What usually causes what was seen of a server, the likeliest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.sessions import connect_failure, doctor_http, doctor_output, doctor_start
from mcp_progress_monitor.sessions.doctor import Cause
from mcp_progress_monitor.sessions.snapshot import ServerState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.doctor import DoctorReport

_MOST: Final = 8


def causes_of(report: DoctorReport, definition: ServerDefinition) -> tuple[Cause, ...]:
    """Causes that there is evidence for, quoted in each; at most eight.

    A server that works has none of these, whatever it prints; only whether it still answers.
    """
    found = dict.fromkeys(_all(report, definition))
    return tuple(found)[:_MOST]


def _all(report: DoctorReport, definition: ServerDefinition) -> Iterator[Cause]:
    yield from _of_health(report)
    if report.state is ServerState.CONNECTED:
        return
    if definition.transport != "stdio":
        yield from doctor_http.causes(report)
        return
    yield from doctor_start.causes(report)
    if report.state is ServerState.IDLE:
        return
    yield from doctor_output.causes(report)
    if _is_out_of_time(report):
        slow = doctor_output.slow_start(report)
        if slow is not None:
            yield slow
    yield from _of_pipes(report)
    if report.ending == connect_failure.ending(report.exit_code):  # else it was ended by us
        yield from doctor_start.causes_of_end(report)


def _of_pipes(report: DoctorReport) -> Iterator[Cause]:
    hint = (
        "MCP over stdio needs both pipes for as long as the server lives. A program that puts "
        "itself into the background closes them: have it stay in the foreground."
    )
    if report.ending == connect_failure.CLOSED_OUTPUT:
        yield Cause("It closed its standard output and went on running", hint)
    elif report.ending == connect_failure.CLOSED_INPUT:
        yield Cause("It closed its standard input and went on running", hint)


def _of_health(report: DoctorReport) -> Iterator[Cause]:
    health = report.health
    if health is None or (not health.is_hung and health.answered_s is None):
        return
    if health.is_hung:
        yield Cause(
            "It hangs: calls wait, nothing comes, and it did not answer when it was asked",
            "A tool may block the whole server. Restart it, or wait if it is known to be so.",
        )
    else:
        yield Cause(
            f"It is slow, not hung: asked in the silence, it answered in {health.answered_s:.2f} s",
            "Wait: the call is still being worked on, as far as can be told.",
        )


def _is_out_of_time(report: DoctorReport) -> bool:
    """Whether we ended it, because it did not answer in the time for connecting."""
    words = "" if report.problem is None else report.problem.what
    return " within " in words
