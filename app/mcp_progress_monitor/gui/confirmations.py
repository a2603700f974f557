"""Confirmations before something is lost, such as running jobs.

Dialogs are opened, never run in a nested event loop.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Qt, Signal, SignalInstance, Slot
from PySide6.QtWidgets import QCheckBox, QMessageBox, QWidget

from mcp_progress_monitor.formatting import count, number, one_line
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.dialog_watch import watch
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.common.warning_box import WarningBox
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_progress_monitor.engine.call import CallSeries
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.gui.user_settings import UserSettings
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

_NAMED_AT_MOST: Final = 5
_LONGEST_NAME: Final = 60
_RUNNING: Final = frozenset({JobState.RUNNING, JobState.STALLED, JobState.NEEDS_YOU})
"""Not jobs that are being cancelled: the user has given them up."""


class EndAction(enum.Enum):
    """A user action that ends running jobs; each has one question, and a field in the settings."""

    QUIT = "quit"
    DISCONNECT = "disconnect"
    RESTART = "restart"
    DISABLE = "disable"
    SIGN_OUT = "sign_out"


_END_TEXTS: Final = {
    # title, question about one server, about several, button
    EndAction.QUIT: ("Quit", "Quit and end {jobs}?", "Quit and end {jobs}?", "&Quit"),
    EndAction.DISCONNECT: (
        "Disconnect",
        "Disconnect {server} and end {jobs}?",
        "Disconnect {servers} servers and end {jobs}?",
        "&Disconnect",
    ),
    EndAction.RESTART: (
        "Restart",
        "Restart {server} and end {jobs}?",
        "Restart {servers} servers and end {jobs}?",
        "&Restart",
    ),
    EndAction.DISABLE: (
        "Disable",
        "Disable {server} and end {jobs}?",
        "Disable {servers} servers and end {jobs}?",
        "&Disable",
    ),
    EndAction.SIGN_OUT: (
        "Sign out",
        "Sign out of {server} and end {jobs}?",
        "Sign out of {servers} servers and end {jobs}?",
        "Sign &out",
    ),
}


def running_jobs(
    jobs: Iterable[JobSnapshot | None], server: str | None = None
) -> list[JobSnapshot]:
    """Our own requests among `jobs` that a lost connection would end; those of one `server`."""
    return [
        job
        for job in jobs
        if job is not None
        and job.state in _RUNNING
        and job.sender is Side.CLIENT
        and job.watched_client is None
        and (job.task is None or job.task.is_followed)
        and server in {None, job.server}
    ]


def end_lines(jobs: Sequence[JobSnapshot]) -> list[str]:
    """Describe what happens to `jobs` when their connection ends: lost, or resumable."""
    tasks = [job for job in jobs if job.task is not None]
    saved = [job for job in jobs if job.task is None and job.chain is not None]
    lost = [job for job in jobs if job.task is None and job.chain is None]
    parts = (
        ("Will be lost (no resume token saved):", lost),
        ("Can be resumed later:", saved),
        ("Tasks that may continue on the server:", tasks),
    )
    lines: list[str] = []
    left = _NAMED_AT_MOST
    for title, found in parts:
        if found:
            lines += [title, *_lines(found, left)]
            left = max(1, left - len(found))
    return lines


class EndQuestion(WarningBox):
    """Asks before running jobs end: once for each action, however many servers it affects."""

    end_confirmed = Signal(object, object, bool)
    """The `EndAction`, the names of the servers as `tuple[str, ...]`, none for quitting, and
    whether to ask next time as well."""

    def __init__(self, action: EndAction, parent: QWidget | None = None) -> None:
        title, _one, _several, button = _END_TEXTS[action]
        super().__init__(title, parent)
        self.action: Final = action
        self.servers: tuple[str, ...] = ()
        self._jobs: dict[JobId, JobSnapshot] = {}
        end = self.addButton(button, self.ButtonRole.AcceptRole)
        end.setAutoDefault(False)
        self.setDefaultButton(self.addButton(self.StandardButton.Cancel))
        self._never_again = _never_again(self)
        self.accepted.connect(self._on_accepted)

    def add(self, jobs: Iterable[JobSnapshot], server: str | None = None) -> None:
        """Include `jobs` in the question; `server` is affected by the action."""
        self._jobs.update((job.id, job) for job in jobs)
        if server is not None and server not in self.servers:
            self.servers += (server,)
        self._show()

    def keep(self, running: Iterable[JobSnapshot], servers: Iterable[str]) -> None:
        """Leave out jobs that are not among `running`, and servers that are not in `servers`."""
        left = {job.id: job for job in running if job.id in self._jobs}
        there = tuple(name for name in servers if name in self.servers)
        if left.keys() != self._jobs.keys() or there != self.servers:
            self._jobs, self.servers = left, there
            self._show()

    def _show(self) -> None:
        found = list(self._jobs.values())
        _title, one, several, _button = _END_TEXTS[self.action]
        text = several if len(self.servers) > 1 else one
        if not found:
            text = text.replace(" and end {jobs}", "")
        self.setText(
            text.format(
                server=one_line("".join(self.servers[:1]), _LONGEST_NAME),
                servers=number(len(self.servers)),
                jobs=count(len(found), "running job"),
            )
        )
        self.setInformativeText(_lines_of(end_lines(found)))

    @Slot()
    def _on_accepted(self) -> None:
        self.end_confirmed.emit(self.action, self.servers, not self._never_again.isChecked())


class _JobsQuestion(WarningBox):
    """Asks about jobs, and no longer about those that it does not concern any more."""

    def __init__(
        self, title: str, jobs: Sequence[JobSnapshot], parent: QWidget | None = None
    ) -> None:
        super().__init__(title, parent)
        self.jobs: tuple[JobId, ...] = ()
        self.keep(jobs)

    def keep(self, jobs: Sequence[JobSnapshot]) -> None:
        """Ask about `jobs` only."""
        left = tuple(job.id for job in jobs)
        if left and left != self.jobs:
            self.jobs = left
            text, lines = self._texts(jobs)
            self.setText(text)
            self.setInformativeText(_lines_of([*_lines(jobs), "", *lines]))

    def _texts(self, jobs: Sequence[JobSnapshot]) -> tuple[str, Sequence[str]]:
        """Return the question, and what is lost, in lines."""
        raise NotImplementedError


class ForgetQuestion(_JobsQuestion):
    """Asks whether to delete the resume tokens of jobs, and says what is lost."""

    forget_confirmed = Signal(object, bool)
    """`tuple[JobId, ...]`, and whether to ask next time as well."""

    def __init__(self, jobs: Sequence[JobSnapshot], parent: QWidget | None = None) -> None:
        super().__init__("Forget", jobs, parent)
        forget = self.addButton("&Forget", self.ButtonRole.AcceptRole)
        forget.setAutoDefault(False)
        self.setDefaultButton(self.addButton(self.StandardButton.Cancel))
        self._never_again = _never_again(self)
        self.accepted.connect(self._on_accepted)

    def _texts(self, jobs: Sequence[JobSnapshot]) -> tuple[str, Sequence[str]]:
        several = f"Forget {number(len(jobs))} resumable jobs?"
        text = "Forget this resumable job?" if len(jobs) == 1 else several
        return text, [self._loss(len(jobs))]

    def _loss(self, count: int) -> str:
        if count == 1:
            return (
                "Its resume token will be deleted permanently, and the job can no longer be "
                "resumed. The server is not notified."
            )
        return (
            "Their resume tokens will be deleted permanently, and the jobs can no longer "
            "be resumed. The servers are not notified."
        )

    @Slot()
    def _on_accepted(self) -> None:
        self.forget_confirmed.emit(tuple(self.jobs), not self._never_again.isChecked())


class ReissueQuestion(_JobsQuestion):
    """Asks whether to send requests again from the start."""

    reissue_confirmed = Signal(object, bool)
    """`tuple[JobId, ...]`, and whether to ask next time as well."""

    def __init__(self, jobs: Sequence[JobSnapshot], parent: QWidget | None = None) -> None:
        super().__init__("Re-issue", jobs, parent)
        self.addButton("&Re-issue", self.ButtonRole.AcceptRole)
        # Enter, pressed too soon, must not do work twice.
        self.setDefaultButton(self.addButton(self.StandardButton.Cancel))
        self.never_again = _never_again(self)
        self.accepted.connect(self._on_accepted)

    def _texts(self, jobs: Sequence[JobSnapshot]) -> tuple[str, Sequence[str]]:
        several = f"Send {number(len(jobs))} requests again from the start?"
        text = "Send the request again from the start?" if len(jobs) == 1 else several
        return text, self._warnings(jobs)

    def _warnings(self, jobs: Sequence[JobSnapshot]) -> list[str]:
        is_one, can_resume = len(jobs) == 1, sum(job.can_resume for job in jobs)
        texts = [
            ("The server treats it as a new request: work may be done twice.")
            if is_one
            else ("The servers treat them as new requests: work may be done twice.")
        ]
        if can_resume and is_one:
            texts.append("Resume continues where this job stopped.")
        elif can_resume:
            resumable = "Resume continues where {} of these jobs stopped."
            texts.append(resumable.format(number(can_resume)))
        return texts

    @Slot()
    def _on_accepted(self) -> None:
        self.reissue_confirmed.emit(tuple(self.jobs), not self.never_again.isChecked())


class SeriesQuestion(WarningBox):
    """Asks whether to make many calls."""

    series_confirmed = Signal(object)  # the `CallSeries`

    def __init__(
        self, series: CallSeries, name: str, source: str, parent: QWidget | None = None
    ) -> None:
        """`name` is that of what is called, `source` the file of its argument sets, if any."""
        super().__init__("Make many calls", parent)
        self._series = series
        calls = count(len(series.calls), "call")
        server = one_line(series.calls[0].server, _LONGEST_NAME)
        self.setText(f"Send {calls} of {one_line(name, _LONGEST_NAME)} to {server}?")
        most = f"At most {number(series.at_once)} are pending at the same time."
        lines = [
            f"The argument sets are from {one_line(source, _LONGEST_NAME)}." if source else "",
            most if series.at_once else "All of them are sent at once.",
        ]
        self.setInformativeText("\n".join(filter(None, lines)))
        self.addButton(f"&Send {calls}", self.ButtonRole.AcceptRole)
        # Enter, pressed twice, must not answer the question.
        self.setDefaultButton(self.addButton(self.StandardButton.Cancel))
        self.accepted.connect(self._on_accepted)

    @Slot()
    def _on_accepted(self) -> None:
        self.series_confirmed.emit(self._series)


def _never_again(box: QMessageBox) -> QCheckBox:
    check = QCheckBox("Do&n't ask again", box)
    check.setToolTip("Turn the question back on in Settings > Confirmations")
    box.setCheckBox(check)
    return check


def _lines(jobs: Sequence[JobSnapshot], most: int = _NAMED_AT_MOST) -> list[str]:
    """The first few of `jobs`, and how many more there are."""
    lines = [_line(job) for job in jobs[:most]]
    if len(jobs) > most:
        rest = number(len(jobs) - most)
        lines.append(f"… and {rest} more")
    return lines


def _line(job: JobSnapshot) -> str:
    """A job in one line: its name, server, progress, and the age of its token."""
    name = job_texts.name(job)[:_LONGEST_NAME]
    server = job_texts.line(job.server)[:_LONGEST_NAME]
    parts = (name, server, job_texts.amount(job), job_texts.saved(job))
    return "• " + ", ".join(part for part in parts if part)


_LONGEST_SERVER_NAME = 60
_NAMES_SHOWN = 10


class RemoveQuestion(WarningBox):
    """Asks whether to remove a server, saying what is lost."""

    remove_confirmed = Signal(str, object, bool)
    """The server's name, a tuple of the secrets in the keyring that are to go with it, and whether
    to ask next time as well."""

    def __init__(
        self,
        server: str,
        running: Sequence[JobSnapshot],
        parent: QWidget | None = None,
        *,
        is_saved: bool,
        secrets: Sequence[str] = (),
    ) -> None:
        """`secrets` are those that only this server uses in the keyring, by name."""
        super().__init__("Remove server", parent)
        self.server: Final = server
        self._secrets = tuple(secrets)
        self._box: QCheckBox | None = None
        self._never_again: QCheckBox | None = None
        self.setText(f"Remove {one_line(server, _LONGEST_SERVER_NAME)}?")
        self.keep(running, is_saved=is_saved)
        remove = self.addButton("&Remove", self.ButtonRole.AcceptRole)
        remove.setAutoDefault(False)
        self.setDefaultButton(self.addButton(self.StandardButton.Cancel))
        self.accepted.connect(self._on_accepted)
        if secrets:
            self._offer_secrets()
        else:
            self._never_again = _never_again(self)

    def keep(self, running: Sequence[JobSnapshot], *, is_saved: bool) -> None:
        """Say that removing the server ends `running`."""
        text = _lines_of([self._loss(running, is_saved=is_saved)])
        if text != self.informativeText():
            self.setInformativeText(text)

    def _offer_secrets(self) -> None:
        """Unchecked: a key that was shown only once may exist nowhere else."""
        number = count(len(self._secrets), "secret")
        text = f"Also &delete its {number} from the system keyring"
        box = QCheckBox(text, self)
        names = [one_line(name, _LONGEST_SERVER_NAME) for name in self._secrets]
        more = len(names) - _NAMES_SHOWN
        shown = names[:_NAMES_SHOWN] + ([f"and {more} more"] if more > 0 else [])
        intro = "No other saved server uses:"
        box.setToolTip(plain_tip("\n".join([intro, *shown])))
        self.setCheckBox(box)
        self._box = box

    def _loss(self, running: Sequence[JobSnapshot], *, is_saved: bool) -> str:
        lines = []
        if running:
            jobs = count(len(running), "running job")
            lines += [f"The server will be disconnected, which ends {jobs}."]
            lines += end_lines(running)
        if is_saved:
            lines.append("Its settings will be deleted. Its jobs and messages are kept.")
        return "\n".join(lines)

    @Slot()
    def _on_accepted(self) -> None:
        are_unwanted = self._box is not None and self._box.isChecked()
        is_asked = self._never_again is None or not self._never_again.isChecked()
        self.remove_confirmed.emit(self.server, self._secrets if are_unwanted else (), is_asked)


class EndGuard(QObject):
    """Runs actions that end no running job immediately, others once the user confirms.

    The question is opened, never run in a nested loop: jobs continue meanwhile. A second request
    for the same action joins the open question. Signals of the system bypass it.
    """

    quit_confirmed = Signal()
    disconnect_confirmed = Signal(str)
    restart_confirmed = Signal(str)
    disable_confirmed = Signal(str, bool)  # always with True: enabling ends nothing
    sign_out_confirmed = Signal(str)

    def __init__(self, parent: QWidget, engine: Engine, settings: UserSettings) -> None:
        super().__init__(parent)
        self._parent = parent
        self._engine = engine
        self._settings = settings
        self._open: dict[EndAction, EndQuestion] = {}

    @Slot()
    def quit(self) -> None:
        self._ask(EndAction.QUIT)

    @Slot(str)
    def disconnect_server(self, name: str) -> None:
        self._ask(EndAction.DISCONNECT, name)

    @Slot(str)
    def restart_server(self, name: str) -> None:
        self._ask(EndAction.RESTART, name)

    @Slot(str, bool)
    def set_disabled(self, name: str, is_disabled: bool) -> None:
        """Disable a server, which disconnects it, or enable it."""
        if is_disabled:
            self._ask(EndAction.DISABLE, name)
        else:
            self.disable_confirmed.emit(name, False)

    @Slot(str)
    def sign_out(self, name: str) -> None:
        self._ask(EndAction.SIGN_OUT, name)

    def running(self, server: str | None = None) -> list[JobSnapshot]:
        """The jobs that would end with the connection to `server`, or with all of them."""
        return running_jobs(map(self._engine.jobs.snapshot, self._engine.jobs.ids()), server)

    def _ask(self, action: EndAction, server: str | None = None) -> None:
        jobs = self.running(server)
        if not (jobs and self._settings.is_asked(action.value)):
            self._act(action, () if server is None else (server,))
            return
        question = self._open.get(action)
        if question is None:
            question = self._open[action] = EndQuestion(action, self._parent)
            question.end_confirmed.connect(self._on_confirmed)
            question.finished.connect(self._on_finished)
            question.add(jobs, server)
            watch(question, self._is_current)
            _show_again(self._parent)
            open_dialog(question)
        else:
            question.add(jobs, server)
        question.raise_()
        question.activateWindow()

    @Slot(object, object, bool)
    def _on_confirmed(self, action: EndAction, servers: Sequence[str], is_asked: bool) -> None:
        if not is_asked:
            self._settings.stop_asking(action.value)
        self._act(action, servers)

    def _act(self, action: EndAction, servers: Sequence[str]) -> None:
        if action is EndAction.QUIT:
            self.quit_confirmed.emit()
        for name in servers:
            if action is EndAction.DISABLE:
                self.disable_confirmed.emit(name, True)
            else:
                self._by_server(action).emit(name)

    def _by_server(self, action: EndAction) -> SignalInstance:
        return {
            EndAction.DISCONNECT: self.disconnect_confirmed,
            EndAction.RESTART: self.restart_confirmed,
            EndAction.SIGN_OUT: self.sign_out_confirmed,
        }[action]

    def _is_current(self, question: EndQuestion) -> bool:
        """Leave jobs that have ended out of a question, and servers that it cannot affect now."""
        parts = question.action is EndAction.DISCONNECT
        servers = self._engine.servers.snapshots()
        there = [server.name for server in servers if server.state.is_up or not parts]
        question.keep(self.running(), there)
        return question.action is EndAction.QUIT or bool(question.servers)

    @Slot()
    def _on_finished(self) -> None:
        self._open = {key: each for key, each in self._open.items() if each is not self.sender()}


def _show_again(window: QWidget) -> None:
    """Restore a minimized window, which would hide the question."""
    if window.isMinimized():
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)


def _lines_of(lines: Iterable[str]) -> str:
    """Lines that a message box wraps, but not between a number and its unit."""
    return "\n".join(lines).replace(" %", "\u00a0%")
