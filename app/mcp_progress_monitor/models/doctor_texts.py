"""A report of the connection doctor in words: what happened, what to try, and all the evidence.

Everything a server said is made visible and bounded here; what is left out is said.
"""

from __future__ import annotations

import dataclasses
import enum
import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QCoreApplication

from mcp_progress_monitor import text
from mcp_progress_monitor.models.ansi import plain
from mcp_progress_monitor.models.server_words import retry_words, state_word
from mcp_progress_monitor.sessions import connect_failure
from mcp_progress_monitor.sessions.connect_limit import waiting_words
from mcp_progress_monitor.sessions.snapshot import ServerState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.sessions.doctor import DoctorReport, HttpNote, Searched
    from mcp_progress_monitor.sessions.negotiation import Question
    from mcp_progress_monitor.sessions.snapshot import Health

_LINE: Final = 500
_LINES: Final = 60
_VARIABLES: Final = 200
_COMMAND: Final = 4_000
_BODY: Final = 4_000
_BODY_LINES: Final = 20
_HEADERS: Final = 20
_IN_A_ROW: Final = 16
"""Bytes in a row of the dump."""
_REDIRECT: Final = 300
_BAD_STATUS: Final = 400


class Look(enum.Enum):
    """How a line is written."""

    PLAIN = "plain"
    STRONG = "strong"
    MUTED = "muted"
    GOOD = "good"
    BAD = "bad"
    CODE = "code"
    """What somebody else wrote, in a fixed width."""


class Line(NamedTuple):
    """One line of a section."""

    text: str
    look: Look = Look.PLAIN


class Section(NamedTuple):
    """Some lines under a title."""

    title: str
    lines: tuple[Line, ...]


def happened(report: DoctorReport, now: float) -> str:
    """What happened, in one sentence; `now` is monotonic seconds."""
    if report.retry is not None:
        what = retry_words(report.retry, now)
        why = "" if report.problem is None else text.one_line(report.problem.what, _LINE)
        return f"{what}: {why}" if why else what
    if report.health is not None and report.state is ServerState.CONNECTED:
        return _of_health(report.health)
    if report.problem is not None:
        return text.one_line(report.problem.what, _LINE)
    if report.ending and not report.state.is_up:
        return text.one_line(report.ending, _LINE)
    return {
        ServerState.CONNECTED: _tr("It is connected, and nothing is known to be wrong."),
        ServerState.CONNECTING: _connecting(report, now),
        ServerState.IDLE: _tr("It has not been connected yet."),
    }.get(report.state, state_word(report.state))


def _connecting(report: DoctorReport, now: float) -> str:
    if report.waiting is None:
        return _tr("It is being connected.")
    return _tr("It is being connected: {}.").format(waiting_words(report.waiting, now))


def sections(report: DoctorReport) -> tuple[Section, ...]:
    """The evidence, the likeliest causes first; what is not known is left out."""
    made = (
        Section(_tr("What to try"), tuple(_causes(report))),
        Section(_tr("How it is reached"), tuple(_reached(report))),
        Section(_tr("Where the command was looked for (PATH)"), tuple(_searched(report))),
        Section(_tr("How it went"), tuple(_course(report))),
        Section(_tr("How it was opened"), tuple(_opening(report.opening))),
        Section(_tr("The end of its standard error"), tuple(_stderr(report.stderr_tail))),
        Section(_tr("The first bytes that came"), tuple(_bytes(report.first_bytes))),
        Section(_tr("Requests over HTTP"), tuple(_http(report.http))),
        Section(_tr("Variables it is given (names)"), tuple(_variables(report.environment))),
    )
    return tuple(section for section in made if section.lines)


def as_text(report: DoctorReport, now: float) -> str:
    """The whole report as plain text, for a bug report: without what looks like a secret."""
    # Its patterns take long to compile: only for who hands a report on.
    from mcp_progress_monitor.exports.secret_words import REMOVED, without_secrets

    whole = _whole(_without_bytes(report, REMOVED.encode()), now)
    for secret in report.secrets:
        whole = whole.replace(secret, REMOVED)
    return without_secrets(whole)


def _without_bytes(report: DoctorReport, removed: bytes) -> DoctorReport:
    """The report with its dump, where nothing can be found as text, without secrets."""
    first = report.first_bytes
    for secret in report.secrets:
        first = first.replace(secret.encode(), removed)
    return dataclasses.replace(report, first_bytes=first)


def _whole(report: DoctorReport, now: float) -> str:
    head = f"{text.one_line(report.server)}: {state_word(report.state)}"
    parts = [f"{head}\n{happened(report, now)}"]
    for section in sections(report):
        lines = "\n".join(f"  {line.text}" for line in section.lines)
        parts.append(f"{section.title}\n{lines}")
    return "\n\n".join(parts) + "\n"


def _of_health(health: Health) -> str:
    if health.is_hung:
        return _tr("Calls wait, and it does not answer pings: it hangs.")
    if health.answered_s is None:
        return _tr("Calls wait, and it is silent: it is being asked for a sign of life.")
    return _tr("Calls wait, and it is silent, but it answers pings: it is slow.")


def _causes(report: DoctorReport) -> Iterator[Line]:
    for number, cause in enumerate(report.causes, 1):
        which = f"{number}. " if len(report.causes) > 1 else ""
        yield Line(f"{which}{text.one_line(cause.text, _LINE)}", Look.STRONG)
        if cause.hint:
            yield Line(text.one_line(cause.hint, _LINE))
    problem = report.problem
    if problem is not None and problem.hint and not report.causes:
        yield Line(text.one_line(problem.hint, _LINE))


def _reached(report: DoctorReport) -> Iterator[Line]:
    if report.command:
        words = shlex.join(report.command)
        yield Line(text.one_line(words, _COMMAND), Look.CODE)
        if report.found is not None:
            found = _tr("The program is {}").format(text.one_line(report.found, _LINE))
            yield Line(found, Look.GOOD)
        else:
            yield Line(_tr("The program was not found"), Look.BAD)
    else:
        yield Line(text.one_line(report.address, _COMMAND), Look.CODE)
    if report.folder is not None:
        yield Line(_tr("In the folder {}").format(text.one_line(report.folder, _LINE)))


def _searched(report: DoctorReport) -> Iterator[Line]:
    yield from _bounded([_searched_line(each) for each in report.searched])


def _searched_line(each: Searched) -> Line:
    folder = text.one_line(each.folder, _LINE)
    if each.found is not None:
        words = _tr("found: {}").format(text.one_line(each.found, _LINE))
        return Line(f"{folder} — {words}", Look.GOOD)
    if not each.exists:
        return Line(f"{folder} — {_tr('there is no such folder')}", Look.BAD)
    return Line(f"{folder} — {_tr('not there')}", Look.MUTED)


def _course(report: DoctorReport) -> Iterator[Line]:
    yield Line(_tr("State: {}").format(state_word(report.state)))
    if report.pid is not None:
        yield Line(_tr("Process {}").format(report.pid))
    code = report.exit_code
    if code is not None:
        is_ours = bool(report.ending) and report.ending != connect_failure.ending(code)
        words = _tr("Ended by signal {}") if code < 0 else _tr("Exit code {}")
        words = _tr("Ended by us, with signal {}") if code < 0 and is_ours else words
        yield Line(words.format(abs(code)), Look.BAD if code and not is_ours else Look.PLAIN)
    if report.ending and (report.problem is None or report.ending != report.problem.what):
        yield Line(_tr("The connection ended: {}").format(text.one_line(report.ending, _LINE)))
    if report.restarts:
        yield Line(_tr("Restarted {}").format(text.count(report.restarts, "time")))
    yield from _trouble(report)


def _opening(questions: Sequence[Question]) -> Iterator[Line]:
    """What was asked and why, and what came: refusals of ours are no fault of the server's."""
    for question in questions:
        asked = f"{question.method} ({question.revision})"
        yield Line(_tr("{}: {}").format(asked, text.one_line(question.why, _LINE)))
        if question.answered_at is not None:
            took = text.duration(max(question.answered_at - question.asked_at, 0.0))
            words = _tr("answered after {}: {}").format(took, question.answer)
        else:
            words = question.answer or _tr("no answer")
        yield Line(f"  {text.one_line(words, _LINE)}", Look.MUTED)


def _trouble(report: DoctorReport) -> Iterator[Line]:
    """Whether it answers, and what the problem tells of itself."""
    health = report.health
    if health is not None and health.answered_s is not None:
        took = text.duration(health.answered_s)
        yield Line(_tr("It answered the last ping after {}").format(took), Look.GOOD)
    elif health is not None and health.is_hung:
        yield Line(_tr("It did not answer the last ping"), Look.BAD)
    problem = report.problem
    if problem is not None and problem.where:
        yield Line(_tr("Where: {}").format(text.one_line(problem.where, _LINE)))
    is_told_above = bool(report.stderr_tail or report.searched)
    if problem is not None and problem.detail and not is_told_above:
        yield from _quoted(problem.detail)


def _stderr(lines: Sequence[str]) -> Iterator[Line]:
    left_out = len(lines) - _LINES
    if left_out > 0:
        earlier = text.count(left_out, _tr("earlier line"), _tr("earlier lines"))
        yield Line(_tr("{} left out").format(earlier), Look.MUTED)
    for line in lines[-_LINES:]:
        yield Line(plain(line[: 4 * _LINE], _LINE), Look.CODE)


def _bytes(first: bytes) -> Iterator[Line]:
    """A dump in hex and text, as `hexdump -C` has it."""
    for start in range(0, len(first), _IN_A_ROW):
        row = first[start : start + _IN_A_ROW]
        words = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield Line(f"{start:04x}  {row.hex(' '):<{3 * _IN_A_ROW}} {words}", Look.CODE)


def _http(notes: Sequence[HttpNote]) -> Iterator[Line]:
    """The newest exchange first: it is the one that is asked about."""
    for place, note in enumerate(reversed(notes)):
        if place:
            yield Line("")
        yield Line(text.one_line(note.request, _LINE), Look.STRONG)
        words = text.one_line(note.words, _LINE)
        status = "" if note.status is None else f"{note.status} "
        yield Line(f"{status}{words}".strip(), _status_look(note.status))
        for name, value in note.headers[:_HEADERS]:
            yield Line(f"{text.one_line(name, 80)}: {text.one_line(value, _LINE)}", Look.CODE)
        if note.body:
            yield Line("")
            yield from _quoted(note.body)


def _status_look(status: int | None) -> Look:
    if status is None or status >= _BAD_STATUS:
        return Look.BAD
    return Look.GOOD if status < _REDIRECT else Look.PLAIN


def _variables(names: Sequence[str]) -> Iterator[Line]:
    shown = ", ".join(text.one_line(name, 80) for name in names[:_VARIABLES])
    left_out = len(names) - _VARIABLES
    if shown:
        more = _tr(", and {} more").format(text.number(left_out)) if left_out > 0 else ""
        yield Line(f"{shown}{more}")


def _quoted(words: str) -> Iterator[Line]:
    """Some lines of what somebody else wrote."""
    visible = text.visible(words[:_BODY].replace("\r\n", "\n"), keep_line_ends=True)
    lines = visible.split("\n")
    for line in lines[:_BODY_LINES]:
        yield Line(text.elide(line, _LINE), Look.CODE)
    if len(lines) > _BODY_LINES or len(words) > _BODY:
        yield Line(_tr("… the rest is in the log"), Look.MUTED)


def _bounded(lines: Sequence[Line]) -> Iterator[Line]:
    """So many lines at most; what was found is never among those left out."""
    shown = [line for at, line in enumerate(lines) if at < _LINES or line.look is Look.GOOD]
    yield from shown
    if len(lines) > len(shown):
        more = text.number(len(lines) - len(shown))
        yield Line(_tr("and {} more folders").format(more), Look.MUTED)


def _tr(words: str) -> str:
    return QCoreApplication.translate("Doctor", words)
