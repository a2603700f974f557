"""A report of the connection doctor as text: what happened, what to try, and the evidence.

Control characters in a server's text are made visible here, and its length is bounded.
"""

from __future__ import annotations

import enum
import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.wording.ansi import plain
from mcp_progress_monitor.wording.servers import retry_text, state_word, waiting_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.snapshots.doctor import DoctorReport, HttpNote, Searched
    from mcp_progress_monitor.snapshots.doctor import OpeningQuestion as Question
    from mcp_progress_monitor.snapshots.servers import Health

_LINE: Final = 500
_LINES: Final = 60
_VARIABLES: Final = 200
_COMMAND: Final = 4_000
_BODY: Final = 4_000
_BODY_LINES: Final = 20
_HEADERS: Final = 20
_DUMP_WIDTH: Final = 16  # bytes
_REDIRECT: Final = 300
_BAD_STATUS: Final = 400


class Look(enum.Enum):
    """The style of a line."""

    PLAIN = "plain"
    STRONG = "strong"
    MUTED = "muted"
    GOOD = "good"
    BAD = "bad"
    CODE = "code"  # a server's own text, in a fixed width


class Line(NamedTuple):
    """One line of a section."""

    text: str
    look: Look = Look.PLAIN


class DoctorSection(NamedTuple):
    """Lines under a title."""

    title: str
    lines: tuple[Line, ...]


def happened(report: DoctorReport, now: float) -> str:
    """Say what happened, in one sentence; `now` is monotonic seconds."""
    if report.retry is not None:
        what = retry_text(report.retry, now)
        why = "" if report.error is None else formatting.one_line(report.error.as_line(), _LINE)
        return f"{what}: {why}" if why else what
    if report.health is not None and report.state is ServerState.CONNECTED:
        return _of_health(report.health)
    if report.error is not None:
        return formatting.one_line(report.error.as_line(), _LINE)
    if report.ending and not report.state.is_up:
        return formatting.one_line(report.ending, _LINE)
    return {
        ServerState.CONNECTED: "The server is connected, and no error is known.",
        ServerState.CONNECTING: _connecting(report, now),
        ServerState.IDLE: "The server has not been connected yet.",
    }.get(report.state, state_word(report.state))


def _connecting(report: DoctorReport, now: float) -> str:
    if report.waiting is None:
        return "Connecting."
    return f"Connecting: {waiting_text(report.waiting, now)}."


def sections(report: DoctorReport) -> tuple[DoctorSection, ...]:
    """The evidence, the likeliest causes first; sections without lines are left out."""
    made = (
        DoctorSection("What to try", tuple(_causes(report))),
        DoctorSection("Command or URL", tuple(_target(report))),
        DoctorSection("Folders searched for the command (PATH)", tuple(_searched(report))),
        DoctorSection("Status", tuple(_status(report))),
        DoctorSection("Negotiation", tuple(_opening(report.opening))),
        DoctorSection("Last lines of standard error", tuple(_stderr(report.stderr_tail))),
        DoctorSection("First bytes received", tuple(_bytes(report.first_bytes))),
        DoctorSection("HTTP requests", tuple(_http(report.http))),
        DoctorSection(
            "Environment variables passed (names)", tuple(_variables(report.environment))
        ),
    )
    return tuple(section for section in made if section.lines)


def report_text(report: DoctorReport, now: float) -> str:
    """The whole report as plain text, secrets included; `exports.redaction` removes them."""
    head = f"{formatting.one_line(report.server)}: {state_word(report.state)}"
    parts = [f"{head}\n{happened(report, now)}"]
    for section in sections(report):
        lines = "\n".join(f"  {line.text}" for line in section.lines)
        parts.append(f"{section.title}\n{lines}")
    return "\n\n".join(parts) + "\n"


def _of_health(health: Health) -> str:
    if health.is_hung:
        return "Calls are pending, and the server does not answer pings: it is hung."
    if health.answered_s is None:
        return "Calls are pending, and the server is silent: a ping was sent."
    return "Calls are pending, and the server is silent but answers pings: it is slow."


def _causes(report: DoctorReport) -> Iterator[Line]:
    for number, cause in enumerate(report.causes, 1):
        which = f"{number}. " if len(report.causes) > 1 else ""
        yield Line(f"{which}{formatting.one_line(cause.text, _LINE)}", Look.STRONG)
        if cause.hint:
            yield Line(formatting.one_line(cause.hint, _LINE))
    error = report.error
    if error is not None and error.hint and not report.causes:
        yield Line(formatting.one_line(error.hint, _LINE))


def _target(report: DoctorReport) -> Iterator[Line]:
    if report.command:
        text = shlex.join(report.command)
        yield Line(formatting.one_line(text, _COMMAND), Look.CODE)
        if report.found is not None:
            found = f"Program: {formatting.one_line(report.found, _LINE)}"
            yield Line(found, Look.GOOD)
        else:
            yield Line("Program not found", Look.BAD)
    else:
        yield Line(formatting.one_line(report.address, _COMMAND), Look.CODE)
    if report.folder is not None:
        yield Line(f"Folder: {formatting.one_line(report.folder, _LINE)}")


def _searched(report: DoctorReport) -> Iterator[Line]:
    yield from _bounded([_searched_line(each) for each in report.searched])


def _searched_line(each: Searched) -> Line:
    folder = formatting.one_line(each.folder, _LINE)
    if each.found is not None:
        text = f"found: {formatting.one_line(each.found, _LINE)}"
        return Line(f"{folder} — {text}", Look.GOOD)
    if not each.exists:
        return Line(f"{folder} — does not exist", Look.BAD)
    return Line(f"{folder} — not found", Look.MUTED)


def _status(report: DoctorReport) -> Iterator[Line]:
    yield Line(f"State: {state_word(report.state)}")
    if report.pid is not None:
        yield Line(f"Process {report.pid}")
    code = report.exit_code
    if code is not None:
        is_ours = report.was_ended_by_us
        text = "Ended by signal {}" if code < 0 else "Exit code {}"
        text = "Ended by this program with signal {}" if code < 0 and is_ours else text
        yield Line(text.format(abs(code)), Look.BAD if code and not is_ours else Look.PLAIN)
    if report.ending and (report.error is None or report.ending != report.error.as_line()):
        yield Line(f"The connection ended: {formatting.one_line(report.ending, _LINE)}")
    if report.restarts:
        yield Line("Restarted {}".format(formatting.count(report.restarts, "time")))
    yield from _ping_and_error(report)


def _opening(questions: Sequence[Question]) -> Iterator[Line]:
    """The opening requests and their replies."""
    for question in questions:
        request = f"{question.method} ({question.revision})"
        yield Line(f"{request}: {formatting.one_line(question.why, _LINE)}")
        if question.answered_at is not None:
            took = formatting.duration(max(question.answered_at - question.asked_at, 0.0))
            text = f"answered after {took}: {question.answer}"
        else:
            text = question.answer or "no answer"
        yield Line(f"  {formatting.one_line(text, _LINE)}", Look.MUTED)


def _ping_and_error(report: DoctorReport) -> Iterator[Line]:
    health = report.health
    if health is not None and health.answered_s is not None:
        took = formatting.duration(health.answered_s)
        yield Line(f"Last ping answered after {took}", Look.GOOD)
    elif health is not None and health.is_hung:
        yield Line("Last ping not answered", Look.BAD)
    error = report.error
    if error is not None and error.where:
        yield Line(f"Where: {formatting.one_line(error.where, _LINE)}")
    has_evidence = bool(report.stderr_tail or report.searched)
    if error is not None and error.detail and not has_evidence:
        yield from _quoted(error.detail)


def _stderr(lines: Sequence[str]) -> Iterator[Line]:
    left_out = len(lines) - _LINES
    if left_out > 0:
        earlier = formatting.count(left_out, "earlier line", "earlier lines")
        yield Line(f"{earlier} omitted", Look.MUTED)
    for line in lines[-_LINES:]:
        yield Line(plain(line[: 4 * _LINE], _LINE), Look.CODE)


def _bytes(first: bytes) -> Iterator[Line]:
    """A dump in the format of `hexdump -C`."""
    for start in range(0, len(first), _DUMP_WIDTH):
        row = first[start : start + _DUMP_WIDTH]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield Line(f"{start:04x}  {row.hex(' '):<{3 * _DUMP_WIDTH}} {text}", Look.CODE)


def _http(notes: Sequence[HttpNote]) -> Iterator[Line]:
    """The exchanges, newest first."""
    for place, note in enumerate(reversed(notes)):
        if place:
            yield Line("")
        yield Line(formatting.one_line(note.request, _LINE), Look.STRONG)
        text = formatting.one_line(note.text, _LINE)
        status = "" if note.status is None else f"{note.status} "
        yield Line(f"{status}{text}".strip(), _status_look(note.status))
        for name, value in note.headers[:_HEADERS]:
            yield Line(
                f"{formatting.one_line(name, 80)}: {formatting.one_line(value, _LINE)}", Look.CODE
            )
        if note.body:
            yield Line("")
            yield from _quoted(note.body)


def _status_look(status: int | None) -> Look:
    if status is None or status >= _BAD_STATUS:
        return Look.BAD
    return Look.GOOD if status < _REDIRECT else Look.PLAIN


def _variables(names: Sequence[str]) -> Iterator[Line]:
    shown = ", ".join(formatting.one_line(name, 80) for name in names[:_VARIABLES])
    left_out = len(names) - _VARIABLES
    if shown:
        more = f", and {formatting.number(left_out)} more" if left_out > 0 else ""
        yield Line(f"{shown}{more}")


def _quoted(text: str) -> Iterator[Line]:
    visible = formatting.visible(text[:_BODY].replace("\r\n", "\n"), keep_line_ends=True)
    lines = visible.split("\n")
    for line in lines[:_BODY_LINES]:
        yield Line(formatting.elide(line, _LINE), Look.CODE)
    if len(lines) > _BODY_LINES or len(text) > _BODY:
        yield Line("… the rest is in Traffic", Look.MUTED)


def _bounded(lines: Sequence[Line]) -> Iterator[Line]:
    """At most `_LINES` lines; a folder with the command is never left out."""
    shown = [line for at, line in enumerate(lines) if at < _LINES or line.look is Look.GOOD]
    yield from shown
    if len(lines) > len(shown):
        more = formatting.number(len(lines) - len(shown))
        yield Line(f"and {more} more folders", Look.MUTED)
