"""The list of jobs: sortable, filterable, with what can be done with a row at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import (
    QByteArray,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget

from app.models.job_columns import Column
from app.widgets.job_delegate import JobDelegate
from app.widgets.job_table import JobTable
from app.widgets.row_actions import CANCEL, RowAction, offered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from PySide6.QtGui import QHideEvent, QShowEvent

    from app.models.filters import JobFilter
    from app.models.jobs import JobsModel
    from app.tracker.snapshot import JobId
    from app.widgets.appearance import Appearance

_SECOND_MS: Final = 1000
_COPIES: Final = ("request", "result", "token")
_ICONS: Final = {
    "open": "info",
    "cancel": "cancel",
    "again": "again",
    "request": "copy",
    "remove": "remove",
}


class JobList(QWidget):
    """One row for each job of `jobs` that `shown` lets through; acts on a selection of many.

    It decides nothing: every wish is a signal to the shell.
    """

    cancel_requested = Signal(object)
    """`tuple[JobId, ...]`: those of the selection that can be cancelled."""
    job_opened = Signal(object)
    """`JobId`: double click or Enter."""
    again_requested = Signal(object)
    """`JobId` to issue again."""
    copy_requested = Signal(object, str)
    """`JobId` and what of it: request, result or token."""
    remove_requested = Signal(object)
    """`tuple[JobId, ...]`: those of the selection that are over."""
    selection_changed = Signal(object)
    """`tuple[JobId, ...]`, the current one first."""

    def __init__(
        self,
        jobs: JobsModel,
        shown: JobFilter,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._shown = shown
        self._appearance = appearance
        self.table = JobTable(appearance, self)
        self._delegate = JobDelegate(appearance, self)
        self._actions = self._made_actions()
        self._extra: list[QAction] = []
        self._menu = QMenu(self)
        self._second = QTimer(self)
        self._second.setInterval(_SECOND_MS)
        self._second.timeout.connect(self._on_second)
        self._set_up_table()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.table)
        self.setFocusProxy(self.table)
        self._enable()
        appearance.changed.connect(self._recolour)
        self._recolour()

    # For the shell

    def selected(self) -> tuple[JobId, ...]:
        """The selected jobs in the order of the rows, the current one first."""
        selection = self.table.selectionModel()
        rows = sorted(selection.selectedRows(), key=QModelIndex.row)
        jobs = [self._shown.job_at(index) for index in rows]
        current = self._shown.job_at(selection.currentIndex())
        ordered = ([current] if current in jobs else []) + [job for job in jobs if job != current]
        return tuple(job for job in ordered if job is not None)

    def select(self, job: JobId) -> bool:
        """Make `job` the only selected one and bring it into sight; False if it is left out."""
        index = self._shown.index_of(job)
        if not index.isValid():
            return False
        flags = QItemSelectionModel.SelectionFlag
        self.table.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        self.table.scrollTo(index)
        return True

    def action(self, key: str) -> QAction:
        """One of open, cancel, again, request, result, token, remove; for tool bars and menus.

        It is enabled while it can work for the selection.
        """
        return self._actions[key]

    def add_actions(self, actions: Iterable[QAction]) -> None:
        """Have `actions` of the shell's own in the context menu."""
        self._extra.extend(actions)

    def save_layout(self) -> QByteArray:
        """Widths, order, sorting and visibility of the columns, for `restore_layout`."""
        return self.table.header().saveState()

    def restore_layout(self, state: QByteArray) -> bool:
        """Take up a saved layout; False when it does not fit these columns."""
        return self.table.restore_header(state)

    # Construction

    def _made_actions(self) -> dict[str, QAction]:
        keys = QKeySequence
        enter = [keys(Qt.Key.Key_Return), keys(Qt.Key.Key_Enter)]
        cancel = [keys("Ctrl+."), keys(Qt.Key.Key_Delete)]
        made = {
            "open": self._action(self.tr("&Open"), enter),
            "cancel": self._action(self.tr("&Cancel"), cancel),
            "again": self._action(self.tr("&Issue again"), [keys("Ctrl+Shift+R")]),
            "request": self._action(self.tr("Copy &request"), []),
            "result": self._action(self.tr("Copy re&sult"), [keys("Ctrl+Shift+C")]),
            "token": self._action(self.tr("Copy &token"), [keys(keys.StandardKey.Copy)]),
            "remove": self._action(self.tr("Re&move"), [keys("Shift+Del")]),
        }
        made["open"].triggered.connect(self._on_open)
        made["cancel"].triggered.connect(self._on_cancel)
        made["again"].triggered.connect(self._on_again)
        made["request"].triggered.connect(self._on_copy_request)
        made["result"].triggered.connect(self._on_copy_result)
        made["token"].triggered.connect(self._on_copy_token)
        made["remove"].triggered.connect(self._on_remove)
        return made

    def _action(self, words: str, keys: Sequence[QKeySequence]) -> QAction:
        action = QAction(words, self.table)
        action.setShortcuts(keys)
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.table.addAction(action)
        return action

    def _set_up_table(self) -> None:
        self.table.show_jobs(self._shown)
        self.table.setItemDelegate(self._delegate)
        self.table.setAccessibleName(self.tr("Jobs"))
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._on_menu_requested)
        self.table.doubleClicked.connect(self._on_double_clicked)
        self.table.viewportEntered.connect(self._on_left_rows)
        self.table.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.table.selectionModel().currentChanged.connect(self._on_selection_changed)
        self._delegate.action_clicked.connect(self._on_action_clicked)
        self._jobs.groups_changed.connect(self._on_groups_changed)

    # What is done with rows

    def _offering(self, action: RowAction) -> tuple[JobId, ...]:
        snapshots = (self._jobs.snapshot(job) for job in self.selected())
        return tuple(job.id for job in snapshots if job and action in offered(job))

    def _over(self) -> tuple[JobId, ...]:
        snapshots = (self._jobs.snapshot(job) for job in self.selected())
        return tuple(job.id for job in snapshots if job and job.state.is_over)

    @Slot()
    def _on_open(self) -> None:
        for job in self.selected()[:1]:
            self.job_opened.emit(job)

    @Slot(QModelIndex)
    def _on_double_clicked(self, index: QModelIndex) -> None:
        job = self._shown.job_at(index)
        if job is not None and index.column() != Column.ACTIONS:
            self.job_opened.emit(job)

    @Slot()
    def _on_cancel(self) -> None:
        jobs = self._offering(CANCEL)
        if jobs:
            self.cancel_requested.emit(jobs)

    @Slot()
    def _on_again(self) -> None:
        for job in self.selected()[:1]:
            self.again_requested.emit(job)

    @Slot()
    def _on_copy_request(self) -> None:
        self._copy("request")

    @Slot()
    def _on_copy_result(self) -> None:
        self._copy("result")

    @Slot()
    def _on_copy_token(self) -> None:
        self._copy("token")

    def _copy(self, what: str) -> None:
        for job in self.selected()[:1]:
            self.copy_requested.emit(job, what)

    @Slot()
    def _on_remove(self) -> None:
        jobs = self._over()
        if jobs:
            self.remove_requested.emit(jobs)

    @Slot(object, object)
    def _on_action_clicked(self, job: JobId, action: RowAction) -> None:
        if action is CANCEL:
            self.cancel_requested.emit((job,))

    @Slot()
    def _on_selection_changed(self) -> None:
        self._enable()
        self.selection_changed.emit(self.selected())

    # Menus

    @Slot(QPoint)
    def _on_menu_requested(self, place: QPoint) -> None:
        if not self.selected():
            return
        self._fill_menu()
        self._menu.popup(self.table.viewport().mapToGlobal(place))

    def _fill_menu(self) -> None:
        self._menu.clear()
        for group in (("open",), ("cancel", "again"), _COPIES):
            self._menu.addActions([self._actions[key] for key in group])
            self._menu.addSeparator()
        if self._extra:
            self._menu.addActions(self._extra)
            self._menu.addSeparator()
        self._menu.addAction(self._actions["remove"])

    def _enable(self) -> None:
        """Let exactly those actions be enabled that can work now."""
        chosen = [job for job in map(self._jobs.snapshot, self.selected()) if job is not None]
        current = chosen[0] if chosen else None
        can_work = {
            "open": current is not None,
            "cancel": any(CANCEL in offered(job) for job in chosen),
            "again": current is not None,
            "request": current is not None,
            "result": current is not None and current.state.is_over,
            "token": current is not None and current.token is not None,
            "remove": any(job.state.is_over for job in chosen),
        }
        for key, is_able in can_work.items():
            self._actions[key].setEnabled(is_able)

    # Time and appearance

    @Slot()
    def _recolour(self) -> None:
        for key, icon in _ICONS.items():
            self._actions[key].setIcon(self._appearance.icon(icon))

    @Slot()
    def _on_second(self) -> None:
        self._jobs.tick([self._shown.mapToSource(index).row() for index in self.table.in_sight()])
        self._keep_time()

    @Slot()
    def _on_groups_changed(self) -> None:
        self._enable()
        self._keep_time()

    def _keep_time(self) -> None:
        is_wanted = self.isVisible() and self._jobs.is_anything_going_on
        if is_wanted != self._second.isActive():
            if is_wanted:
                self._second.start()
            else:
                self._second.stop()
        self.table.set_narrowed(self._shown.is_narrowing and self._jobs.rowCount() > 0)

    @Slot()
    def _on_left_rows(self) -> None:
        self._delegate.hover(self.table, None)

    def showEvent(self, event: QShowEvent) -> None:
        """Let time pass in the rows again."""
        super().showEvent(event)
        self._keep_time()

    def hideEvent(self, event: QHideEvent) -> None:
        """A hidden list costs nothing."""
        super().hideEvent(event)
        self._second.stop()

    def changeEvent(self, event: QEvent) -> None:
        """Follow the palette between light and dark."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._appearance.follow(QGuiApplication.palette())
