"""Actions on jobs: which states allow them, on a selection; and the sort order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction, QActionGroup, QKeySequence, QShortcut

from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.jobs.columns import COLUMNS, Column
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.messages import CALLS
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import watched as watched_texts
from mcp_progress_monitor.wording.jobs import is_left_at_server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtWidgets import QMenu, QTreeView, QWidget

    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

_CANCELLABLE: Final = frozenset({JobState.RUNNING, JobState.STALLED, JobState.NEEDS_YOU})


def is_cancellable(job: JobSnapshot) -> bool:
    """Whether `job` can be cancelled, or its automatic resuming stopped.

    A server's request cannot be cancelled by us: it is answered.
    """
    if job.sender is Side.SERVER or is_watched(job):
        return False
    is_waiting = job.state is JobState.RESUMABLE and job.is_automatic
    is_out_of_reach = job.task is not None and not job.task.is_ours_to_cancel
    return is_waiting or (job.state in _CANCELLABLE and not is_out_of_reach)


def is_watched(job: JobSnapshot) -> bool:
    """Whether `job` is another client's: nothing can be sent for it here."""
    return job.watched_client is not None


def has_broken_stream(job: JobSnapshot) -> bool:
    """Whether the reply to `job` is due on an HTTP stream that broke at least once."""
    return (
        not is_watched(job)
        and job.sender is Side.CLIENT
        and not job.state.is_over
        and job.stream is not None
    )


def is_answerable(job: JobSnapshot) -> bool:
    """Whether `job` waits for an answer of the user, or is itself the question."""
    if is_watched(job):
        return False
    is_question = job.sender is Side.SERVER and not job.state.is_over
    return is_question or bool(job.questions) or job.state is JobState.NEEDS_YOU


def is_resumable(job: JobSnapshot) -> bool:
    return job.can_resume or job.can_resume_here


def is_resumable_here(job: JobSnapshot) -> bool:
    """Whether `job` is another client's and can be resumed on a connection of ours."""
    return job.can_resume_here


def may_be_picked_up(job: JobSnapshot) -> bool:
    """Whether `job` is a task left on its server, which may still know it."""
    if is_watched(job):
        return False
    return is_left_at_server(job) and job.task is not None and job.task.ttl_left_s != 0


def is_kept(job: JobSnapshot) -> bool:
    """Whether removing `job` would lose its resume token."""
    return job.state is JobState.RESUMABLE or is_left_at_server(job)


def is_repeatable(job: JobSnapshot) -> bool:
    """Whether the request of `job` can be written as a program: a client's that was seen here."""
    return job.sender is Side.CLIENT and job.request > 0


def is_callable(job: JobSnapshot) -> bool:
    """Whether a command line makes the call of `job`: one of ours, and of a kind that we make."""
    return not is_watched(job) and job.sender is Side.CLIENT and job.method in CALLS


def is_removable(job: JobSnapshot) -> bool:
    """Whether `job` is over and can be removed without losing anything."""
    return job.state.is_over and not is_kept(job)


def may_resume_automatically(job: JobSnapshot) -> bool:
    """Whether automatic resuming can be chosen for `job`: it is ours, and not done."""
    is_waiting = job.state is JobState.RESUMABLE and (job.can_resume or job.is_automatic)
    is_ours = job.sender is Side.CLIENT and not is_watched(job)
    return is_ours and (is_waiting or not job.state.is_over)


class RowAction(NamedTuple):
    """A button in the rows of jobs for which `can_work` is true."""

    key: str
    icon: str
    name: str
    can_work: Callable[[JobSnapshot], bool]

    def tip(self, view: QWidget) -> str:
        """Its name with its key in `view`."""
        name = f"jobs.{self.key.removesuffix('-here')}"
        found = (action for action in view.actions() if action.objectName() == name)
        action = next(found, None)
        return self.name if action is None else _tip(action, self.name)


CANCEL: Final = RowAction("cancel", "cancel", "Cancel", is_cancellable)
RESUME: Final = RowAction("resume", "resume", "Resume", lambda job: job.can_resume)
RESUME_HERE: Final = RowAction(
    "resume-here", "resume", watched_texts.RESUME_HERE, is_resumable_here
)
ANSWER: Final = RowAction("answer", "answer", "Answer", is_answerable)
PICK_UP: Final = RowAction("pick-up", "resume", "Follow task", may_be_picked_up)
ROW_ACTIONS: Final = (ANSWER, RESUME, RESUME_HERE, PICK_UP, CANCEL)


def offered(job: JobSnapshot, actions: Sequence[RowAction] = ROW_ACTIONS) -> list[RowAction]:
    """The actions that apply to `job` now."""
    return [action for action in actions if action.can_work(job)]


_LIST: Final = Qt.ShortcutContext.WidgetShortcut
_WINDOW: Final = Qt.ShortcutContext.WindowShortcut

_MADE: Final = (
    # key, text, icon, shortcut, where it works, what it does
    ("open", "&Open", "info", "Return", _LIST, ""),
    (
        "answer",
        "&Answer…",
        "answer",
        "Ctrl+Shift+A",
        _WINDOW,
        "Show the question of the job, or the oldest one",
    ),
    ("cancel", "&Cancel", "cancel", "Ctrl+.", _WINDOW, "Cancel the selected jobs"),
    (
        "resume",
        "&Resume",
        "resume",
        "Ctrl+R",
        _WINDOW,
        "Resume the selected jobs where they stopped",
    ),
    (
        "pick-up",
        "Follow tas&k",
        "resume",
        "Ctrl+Alt+P",
        _WINDOW,
        "Resume tracking tasks still running on their servers",
    ),
    (
        "automatic",
        "Resume a&utomatically",
        "",
        "Ctrl+Alt+R",
        _WINDOW,
        "Resume after every stop until the job is done or fails",
    ),
    (
        "reconnect",
        "Reco&nnect stream",
        "again",
        "",
        _LIST,
        "Reconnect the HTTP stream that carries the reply",
    ),
    (
        "reissue",
        "Re-&issue",
        "again",
        "Ctrl+Shift+R",
        _WINDOW,
        "Send the requests of the selected jobs again from the start",
    ),
    (
        "edit",
        "&Edit and re-issue…",
        "new-call",
        "Ctrl+E",
        _WINDOW,
        "Edit the request and send it as a new one",
    ),
    (
        "follow",
        "&Follow in Traffic",
        "log",
        "Ctrl+Shift+L",
        _WINDOW,
        "Show the messages of the job in Traffic",
    ),
    (
        "compare",
        "Co&mpare…",
        "",
        "",
        _LIST,
        "Compare the two selected jobs: durations, phases, rates",
    ),
    (
        "findings",
        "Show fi&ndings",
        "warning",
        "",
        _LIST,
        "Show the rules that this job's messages violate",
    ),
    ("request", "Copy re&quest", "copy", "", _LIST, ""),
    ("result", "Copy re&sult", "copy", "Ctrl+Shift+C", _LIST, ""),
    ("token", "Copy &token", "copy", "Ctrl+C", _LIST, ""),
    (
        "snippet",
        "Copy as Pyt&hon snippet",
        "copy",
        "",
        _LIST,
        "Copy a program that makes the request again, without its secrets",
    ),
    (
        "command",
        "Copy as command &line",
        "",
        "",
        _LIST,
        "Copy the command of this program that makes the call, without its secrets",
    ),
    (
        "curl",
        "Copy as curl comman&d",
        "",
        "",
        _LIST,
        "Copy a curl command that makes the call over HTTP, without its secrets",
    ),
    (
        "report",
        "Sa&ve report…",
        "save",
        "Ctrl+S",
        _WINDOW,
        "Save a report of the job as a single HTML page",
    ),
    ("ticks", "Save ticks as CS&V…", "", "", _LIST, "Save every tick of the job as CSV"),
    ("remove", "Re&move", "remove", "Shift+Del", _LIST, ""),
    ("forget", "For&get…", "clear", "", _LIST, "Delete the resume tokens of the selected jobs"),
)
_ALSO: Final = (("open", "Enter"), ("cancel", "Del"))
"""Further keys that work only in the list: elsewhere they have other meanings."""
_CHANGING: Final = frozenset(
    {
        *("answer", "cancel", "resume", "pick-up", "automatic", "reconnect", "reissue", "edit"),
        *("command", "curl", "remove", "forget"),
    }
)
"""What asks something of a server or has to know it, or takes a job away."""


_SENDING: Final = _CHANGING - {"remove", "forget"}
"""Actions that are not available for jobs of other clients."""


class JobActions(QObject):
    """The actions on jobs; each is enabled if it applies to the selection.

    They belong to `view`. Some keys work in its whole window; there is one action for each key,
    since Qt ignores ambiguous ones.
    """

    def __init__(self, view: QWidget, appearance: Appearance) -> None:
        super().__init__(view)
        self._appearance = appearance
        self._icons: dict[QAction, str] = {}
        self._by_key: dict[str, QAction] = {}
        self._never: frozenset[str] = frozenset()
        self._tips: dict[str, str] = {}
        self._explained: tuple[str | None, bool, bool] | None = None
        for key, text, icon, shortcut, context, tip in _MADE:
            action = QAction(text, view)
            action.setObjectName(f"jobs.{key}")
            action.setShortcut(QKeySequence(shortcut))
            action.setShortcutContext(context)
            self._tips[key] = tip
            action.setToolTip(plain_tip(_tip(action, tip)))
            view.addAction(action)
            self._by_key[key] = action
            self._icons[action] = icon
        self["automatic"].setCheckable(True)
        for key, shortcut in _ALSO:
            also = QShortcut(QKeySequence(shortcut), view)
            also.setContext(_LIST)
            also.activated.connect(self[key].trigger)
        appearance.changed.connect(self._recolour)
        self._recolour()

    def __getitem__(self, key: str) -> QAction:
        return self._by_key[key]

    def set_read_only(self, why: str) -> None:
        """Disable every action that needs a server; `why` becomes the tool tip."""
        self._never = _CHANGING
        for key in _CHANGING:
            self[key].setEnabled(False)
            self[key].setToolTip(plain_tip(why))

    def can_ever_work(self, key: str) -> bool:
        """Whether the action of a key can ever apply, so that it belongs in a menu."""
        return key not in self._never

    def enable(self, chosen: Sequence[JobSnapshot], *, is_any_waiting: bool = False) -> None:
        """Enable exactly those actions that can work for `chosen`, the current job first.

        Where any job waits for the user, it can be answered whatever is chosen.
        """
        current = chosen[0] if chosen else None
        automatic = [job for job in chosen if may_resume_automatically(job)]
        can_work = {
            "answer": is_any_waiting or any(is_answerable(job) for job in chosen),
            "cancel": any(is_cancellable(job) for job in chosen),
            "resume": any(is_resumable(job) for job in chosen),
            "reconnect": any(has_broken_stream(job) for job in chosen),
            "pick-up": any(may_be_picked_up(job) for job in chosen),
            "automatic": bool(automatic),
            "reissue": any(job.is_reissuable for job in chosen),
            "edit": current is not None and current.is_reissuable,
            **dict.fromkeys(("command", "curl"), current is not None and is_callable(current)),
            "snippet": current is not None and is_repeatable(current),
            "compare": len(chosen) == 2,
            "result": current is not None and current.reply_size is not None,
            "token": current is not None and current.token is not None,
            "ticks": current is not None and current.tick_count > 0,
            "remove": any(job.state.is_over for job in chosen),
            "forget": any(is_kept(job) for job in chosen),
        }
        for key, action in self._by_key.items():
            is_offered = can_work.get(key, current is not None)
            action.setEnabled(is_offered and key not in self._never)
        self._explain(current)
        self["automatic"].setChecked(bool(automatic) and all(j.is_automatic for j in automatic))

    def _explain(self, current: JobSnapshot | None) -> None:
        """Explain in the tips of disabled actions that the current job is another client's."""
        client = None if current is None else current.watched_client
        can_resume = current is not None and is_resumable_here(current)
        can_reissue = current is not None and current.is_reissuable
        if self._never or (client, can_resume, can_reissue) == self._explained:
            return
        self._explained = client, can_resume, can_reissue
        works = {"resume": can_resume, "reissue": can_reissue, "edit": can_reissue}
        for key in _SENDING:
            can_work = works.get(key, False)
            tip = _tip(self[key], self._tips[key])
            if client is not None:
                tip = self._tip_of(key, client, can_work)
            self[key].setToolTip(plain_tip(tip))
        here = "" if client is None else " here"
        self["resume"].setText(f"&Resume{here if can_resume else ''}")
        self["reissue"].setText(f"Re-&issue{here}")
        self["edit"].setText(f"&Edit and re-issue{here}…")

    def _tip_of(self, key: str, client: str, can_work: bool) -> str:
        """What an action does, or why it is disabled, for another client's job."""
        if not can_work:
            return watched_texts.why_read_only(client)
        tips = {
            "resume": watched_texts.resume_here,
            "reissue": watched_texts.reissue_here,
            "edit": watched_texts.edit_here,
        }
        return _tip(self[key], tips[key](client))

    @Slot()
    def _recolour(self) -> None:
        for action, icon in self._icons.items():
            if icon:
                action.setIcon(self._appearance.icon(icon))


def _tip(action: QAction, text: str) -> str:
    """An action's description with its key."""
    native = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    said = text or action.text().replace("&", "")
    return f"{said} ({native})" if native else said


_START: Final = -1
_OFFERED: Final = (
    *(Column.SERVER, Column.JOB, Column.PROGRESS, Column.STATUS, Column.ENDED, Column.SAVED),
)


class SortChoice(QObject):
    """One action for each sort order; sorted by server, jobs are grouped.

    Follows clicks on the header, and has the same effect.
    """

    def __init__(self, view: QTreeView) -> None:
        super().__init__(view)
        self._view = view
        self._group = QActionGroup(self)
        self._by_column = {_START: self._made("&Start", _START)}
        for column in _OFFERED:
            self._by_column[column] = self._made(COLUMNS[column].title(), column)
        self._group.triggered.connect(self._on_chosen)
        view.header().sortIndicatorChanged.connect(self._on_sorted)
        self._on_sorted(view.header().sortIndicatorSection())

    def add_to(self, menu: QMenu) -> None:
        """Add the choice to `menu`."""
        menu.addActions(self._group.actions())

    def _made(self, text: str, column: int) -> QAction:
        action = QAction(text, self._group)
        action.setCheckable(True)
        action.setData(int(column))
        return action

    @Slot(QAction)
    def _on_chosen(self, action: QAction) -> None:
        self._view.sortByColumn(action.data(), Qt.SortOrder.AscendingOrder)

    @Slot(int)
    def _on_sorted(self, column: int) -> None:
        """Check the current sort order; none if the column is not offered."""
        chosen = self._by_column.get(column)
        for action in self._group.actions():
            action.setChecked(action is chosen)
