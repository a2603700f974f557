"""The actions on the selected jobs, each once, with words, key and icon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QObject, Qt, Slot
from PySide6.QtGui import QAction, QKeySequence, QShortcut

from mcp_progress_monitor.models.job_texts import tr
from mcp_progress_monitor.widgets.plain_text import plain_tip
from mcp_progress_monitor.widgets.row_actions import (
    has_broken_stream,
    is_answerable,
    is_cancellable,
    is_kept,
    is_resumable,
    may_be_picked_up,
    may_go_on_by_itself,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.tracker.snapshot import JobSnapshot
    from mcp_progress_monitor.widgets.appearance import Appearance

_LIST: Final = Qt.ShortcutContext.WidgetShortcut
_WINDOW: Final = Qt.ShortcutContext.WindowShortcut

_MADE: Final = (
    # key, words, icon, shortcut, where that works, what it does
    ("open", QT_TRANSLATE_NOOP("Jobs", "&Open"), "info", "Return", _LIST, ""),
    (
        "answer",
        QT_TRANSLATE_NOOP("Jobs", "&Answer…"),
        "answer",
        "Ctrl+Shift+A",
        _WINDOW,
        QT_TRANSLATE_NOOP("Jobs", "Show what the server asks"),
    ),
    (
        "cancel",
        QT_TRANSLATE_NOOP("Jobs", "&Cancel"),
        "cancel",
        "Ctrl+.",
        _WINDOW,
        QT_TRANSLATE_NOOP("Jobs", "Cancel the selected jobs"),
    ),
    (
        "resume",
        QT_TRANSLATE_NOOP("Jobs", "&Resume"),
        "resume",
        "Ctrl+R",
        _WINDOW,
        QT_TRANSLATE_NOOP("Jobs", "Go on with the selected jobs where they stopped"),
    ),
    (
        "pick-up",
        QT_TRANSLATE_NOOP("Jobs", "&Pick up"),
        "resume",
        "Ctrl+Alt+P",
        _WINDOW,
        QT_TRANSLATE_NOOP(
            "Jobs", "Go on with the selected tasks, which were left at their servers"
        ),
    ),
    (
        "automatic",
        QT_TRANSLATE_NOOP("Jobs", "Resume a&utomatically"),
        "",
        "Ctrl+Alt+R",
        _WINDOW,
        QT_TRANSLATE_NOOP("Jobs", "Go on after every stop, until the job is done or fails"),
    ),
    (
        "reconnect",
        QT_TRANSLATE_NOOP("Jobs", "Reco&nnect stream"),
        "again",
        "",
        _LIST,
        QT_TRANSLATE_NOOP("Jobs", "Reconnect the HTTP stream that the reply is due on"),
    ),
    (
        "reissue",
        QT_TRANSLATE_NOOP("Jobs", "Re-&issue"),
        "again",
        "Ctrl+Shift+R",
        _WINDOW,
        QT_TRANSLATE_NOOP(
            "Jobs", "Send the whole requests of the selected jobs again, from the start"
        ),
    ),
    (
        "edit",
        QT_TRANSLATE_NOOP("Jobs", "&Edit and send again…"),
        "new-call",
        "Ctrl+E",
        _WINDOW,
        QT_TRANSLATE_NOOP("Jobs", "Change the request, then send it as a new one"),
    ),
    (
        "follow",
        QT_TRANSLATE_NOOP("Jobs", "&Follow in log"),
        "log",
        "Ctrl+Shift+L",
        _WINDOW,
        QT_TRANSLATE_NOOP("Jobs", "Show the messages of the job in the log"),
    ),
    ("request", QT_TRANSLATE_NOOP("Jobs", "Copy re&quest"), "copy", "", _LIST, ""),
    ("result", QT_TRANSLATE_NOOP("Jobs", "Copy re&sult"), "copy", "Ctrl+Shift+C", _LIST, ""),
    ("token", QT_TRANSLATE_NOOP("Jobs", "Copy &token"), "copy", "Ctrl+C", _LIST, ""),
    (
        "report",
        QT_TRANSLATE_NOOP("Jobs", "Sa&ve report…"),
        "save",
        "Ctrl+S",
        _WINDOW,
        QT_TRANSLATE_NOOP("Jobs", "Save what happened to the job as a page to be read anywhere"),
    ),
    (
        "ticks",
        QT_TRANSLATE_NOOP("Jobs", "Save ticks as CS&V…"),
        "",
        "",
        _LIST,
        QT_TRANSLATE_NOOP("Jobs", "Save every tick of the job as a table"),
    ),
    ("remove", QT_TRANSLATE_NOOP("Jobs", "Re&move"), "remove", "Shift+Del", _LIST, ""),
    (
        "forget",
        QT_TRANSLATE_NOOP("Jobs", "For&get…"),
        "clear",
        "",
        _LIST,
        QT_TRANSLATE_NOOP("Jobs", "Delete what is kept to go on with the selected jobs"),
    ),
)
_ALSO: Final = (("open", "Enter"), ("cancel", "Del"))
"""Further keys, which work in the list alone: elsewhere they mean something else."""
_CHANGING: Final = frozenset(
    {
        *("answer", "cancel", "resume", "pick-up", "automatic", "reconnect", "reissue", "edit"),
        *("remove", "forget"),
    }
)
"""What asks something of a server, or takes a job away."""


class JobActions(QObject):
    """Holds the actions, by key; each is enabled while it can work for the selection.

    They belong to `view`. Some keys work in its whole window; there is one action for each key, or
    Qt would carry out none of them.
    """

    def __init__(self, view: QWidget, appearance: Appearance) -> None:
        super().__init__(view)
        self._appearance = appearance
        self._icons: dict[QAction, str] = {}
        self._by_key: dict[str, QAction] = {}
        self._never: frozenset[str] = frozenset()
        for key, words, icon, shortcut, context, tip in _MADE:
            action = QAction(tr(str(words)), view)
            action.setShortcut(QKeySequence(shortcut))
            action.setShortcutContext(context)
            action.setToolTip(plain_tip(_tip(action, tr(str(tip)))))
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
        """The action of a key; see `_MADE`."""
        return self._by_key[key]

    def set_read_only(self, why: str) -> None:
        """Never offer what asks something of a server; `why` is told in its tips."""
        self._never = _CHANGING
        for key in _CHANGING:
            self[key].setEnabled(False)
            self[key].setToolTip(plain_tip(why))

    def can_ever_work(self, key: str) -> bool:
        """Whether the action of a key is worth its place in a menu."""
        return key not in self._never

    def enable(self, chosen: Sequence[JobSnapshot]) -> None:
        """Enable exactly those actions that can work for `chosen`, the current job first."""
        current = chosen[0] if chosen else None
        automatic = [job for job in chosen if may_go_on_by_itself(job)]
        can_work = {
            "answer": any(is_answerable(job) for job in chosen),
            "cancel": any(is_cancellable(job) for job in chosen),
            "resume": any(is_resumable(job) for job in chosen),
            "reconnect": any(has_broken_stream(job) for job in chosen),
            "pick-up": any(may_be_picked_up(job) for job in chosen),
            "automatic": bool(automatic),
            "result": current is not None and current.reply_size is not None,
            "token": current is not None and current.token is not None,
            "ticks": current is not None and current.tick_count > 0,
            "remove": any(job.state.is_over for job in chosen),
            "forget": any(is_kept(job) for job in chosen),
        }
        for key, action in self._by_key.items():
            is_offered = can_work.get(key, current is not None)
            action.setEnabled(is_offered and key not in self._never)
        self["automatic"].setChecked(bool(automatic) and all(j.is_automatic for j in automatic))

    @Slot()
    def _recolour(self) -> None:
        for action, icon in self._icons.items():
            if icon:
                action.setIcon(self._appearance.icon(icon))


def _tip(action: QAction, words: str) -> str:
    """What an action does, with its key."""
    native = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    said = words or action.text().replace("&", "")
    return f"{said} ({native})" if native else said
