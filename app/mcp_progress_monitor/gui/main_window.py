"""The main window: panes as docks around the jobs, one tool bar, one status bar."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QContextMenuEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QMouseEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QLabel,
    QMainWindow,
    QMenu,
    QStatusBar,
    QTabBar,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.formatting import number
from mcp_progress_monitor.gui import window_commands as commands
from mcp_progress_monitor.gui.calls.recent import RecentList
from mcp_progress_monitor.gui.common.commands import CommandActions, Commands, KeyTip, carries_out
from mcp_progress_monitor.gui.common.layout import ScreenFit, controls_in, fit_to_screen
from mcp_progress_monitor.gui.dropped import dropped
from mcp_progress_monitor.gui.jobs.columns import COLUMNS, Column
from mcp_progress_monitor.gui.jobs.commands import JOBS_MENU
from mcp_progress_monitor.gui.jobs.filters import JobFilterEdit, JobFilters
from mcp_progress_monitor.gui.jobs.job_list import JobList
from mcp_progress_monitor.gui.jobs.table import SortChoice
from mcp_progress_monitor.gui.lazy_panes import LazyPanes
from mcp_progress_monitor.gui.middle import Middle
from mcp_progress_monitor.gui.notice_bar import NoticeBar
from mcp_progress_monitor.gui.panes import (
    BESIDE_PANE,
    LazyPane,
    PaneFocus,
    bring_to_front,
    first_control,
    has_focus,
    kept_name,
)
from mcp_progress_monitor.gui.preferences import KEYS
from mcp_progress_monitor.gui.servers.server_list import ServerList
from mcp_progress_monitor.gui.servers.watched import WatchedList
from mcp_progress_monitor.gui.side import Side
from mcp_progress_monitor.gui.theme import TextSize, ThemeChoice
from mcp_progress_monitor.gui.tool_bar import ToolBar
from mcp_progress_monitor.gui.traffic.pane import TrafficPane
from mcp_progress_monitor.gui.user_settings import UserSettings
from mcp_progress_monitor.gui.welcome import Welcome
from mcp_progress_monitor.wording.jobs import selection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcp_progress_monitor.gui.console.pane import StderrPane
    from mcp_progress_monitor.gui.findings.pane import FindingsPane
    from mcp_progress_monitor.gui.jobs.pane import JobPane
    from mcp_progress_monitor.gui.jobs.timeline import TimelinePane
    from mcp_progress_monitor.gui.models import Models
    from mcp_progress_monitor.gui.preferences import Preferences
    from mcp_progress_monitor.gui.questions.panel import QuestionPanel
    from mcp_progress_monitor.gui.server_log.pane import ServerLogPane
    from mcp_progress_monitor.gui.shortcuts import Shortcuts
    from mcp_progress_monitor.gui.theme import Appearance

_FIRST_SIZE: Final = QSize(1280, 800)
_BESIDE_MIDDLE: Final = QSize(150, 390)
"""Least size of the rest of the window, beside the jobs."""
_BESIDE_SIDE: Final = QSize(150, 120)
_COLUMNS: Final = f"jobs/columns-{len(COLUMNS)}"
_EARLIER_COLUMNS: Final = "jobs/columns-19"
"""A layout of other columns is left aside, but for that of the version without `Column.ENDED`."""
_GEOMETRY: Final = 50
"""Bytes of a window's geometry at least; of a part of one, Qt makes a window without a size."""
_DROP_HINT: Final = "Drop to open a recording, import a configuration or connect to a program"
_BESIDE: Final = 190
_SHARE_BESIDE: Final = 0.22
"""What the lists at the side have of the width at first: so many pixels, and no more than this."""
_LEAST_BELOW: Final = 250
_SHARE_BELOW: Final = 0.34
"""What the panes below have of the height at first, in pixels and as a share."""
_JUMP: Final = 120
"""A window that grows or shrinks by so much at once was maximised, or moved to another screen."""
_TABS: Final = ("traffic", "job", "timeline", "findings", "stderr", "server_log", "questions")
"""The panes below the jobs, in the order of their tabs."""
_LEFT = Qt.DockWidgetArea.LeftDockWidgetArea
_BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea


class MainWindow(QMainWindow):
    """Holds the panes and saves their layout; contains no logic."""

    close_requested = Signal()  # by the user, who may be asked
    dropped = Signal(object)  # names of local files, or an address: `tuple[str, ...]`
    session_ended = Signal()  # the desktop's session ends, and the program with it

    def __init__(
        self,
        models: Models,
        status: QStatusBar,
        appearance: Appearance,
        preferences: Preferences,
        why_read_only: str = "",
    ) -> None:
        """`why_read_only` is the tip of what a recording's window cannot do."""
        super().__init__()
        self.commands: Final = Commands(why_read_only)
        self.setWindowTitle("MCP Progress Monitor")
        self.setAcceptDrops(True)
        self.appearance = appearance
        self._preferences = preferences
        self.settings = UserSettings(preferences, self)
        self.theme = ThemeChoice(self.settings, self)
        self.text_size = TextSize(self.settings, self)
        appearance.follow(QGuiApplication.palette())  # of that theme: every icon is made once
        self.do: Final = CommandActions(
            commands.WINDOW_COMMANDS, self.commands, self, appearance, by_menu=True
        )
        self.commands.join(self)
        self.notices = NoticeBar(self)
        self.welcome = Welcome(appearance, self.do, self)
        self.job_list = JobList(models.jobs, models.shown_jobs, appearance, self.commands, self)
        self.job_filters = JobFilters(models.groups, appearance, self)
        self.filter_edit = JobFilterEdit(appearance, self)
        KeyTip(self.filter_edit, self.do[commands.FIND], self.filter_edit.accessibleName())
        self.servers = ServerList(models.servers, appearance, self.commands, self)
        self.watched = WatchedList(models.watched, appearance, self.commands, self)
        self.recent = RecentList(appearance, self)
        self.traffic_pane = TrafficPane(
            models.traffic, models.followed, appearance, self.commands, self, models.notes
        )
        self.docks: dict[str, QDockWidget] = {}
        self._titling = QTimer(self)
        self._titling.setSingleShot(True)
        self._titling.timeout.connect(self._fit_titles)
        self._share_below = _SHARE_BELOW
        self._sharing = QTimer(self)
        self._sharing.setSingleShot(True)
        self._sharing.timeout.connect(self._on_resized)
        self._shortcuts: Shortcuts | None = None
        self._is_first = True
        self._sorting = SortChoice(self.job_list.table)
        self._lay_out()
        self.late = self._late_panes(models)
        self._front_before_questions = self.docks["traffic"]
        for name in _TABS:
            self.docks[name].visibilityChanged.connect(self._on_dock_seen)
        self.docks["traffic"].visibilityChanged.connect(models.traffic.set_watched)
        self.docks["traffic"].raise_()
        self._slim_titles()
        fit_to_screen(self, _FIRST_SIZE)
        self.setStatusBar(status)
        self.pane_focus = PaneFocus(self, self.panes, self.show_pane, self.do)
        self._sums = QLabel(self)
        self._sums.setTextFormat(Qt.TextFormat.PlainText)
        self._sums.setAccessibleDescription("Selected jobs")
        status.addPermanentWidget(self._sums)
        self._jobs = models.jobs
        self.job_list.selection_changed.connect(self._on_jobs_selected)
        models.jobs.second_passed.connect(self._on_jobs_selected)
        self._add_menus()
        self.tool_bar = ToolBar(self.do, self.job_list.commands, self.filter_edit, appearance, self)
        self.addToolBar(self.tool_bar)
        for late in self.late.panes:
            late.when_made(partial(self._on_pane_made, late))
        if why_read_only:
            self.tool_bar.set_read_only(self.do)
        self._place_find()
        self._restore()
        self._apply_keys()

    @property
    def data_dir(self) -> Path:
        return self._preferences.folder

    @property
    def job_pane(self) -> JobPane:
        """The pane of one job; created on first use, like the next five."""
        return self.late.job.pane()

    @property
    def findings_pane(self) -> FindingsPane:
        return self.late.findings.pane()

    @property
    def timeline_pane(self) -> TimelinePane:
        return self.late.timeline.pane()

    @property
    def stderr_pane(self) -> StderrPane:
        return self.late.stderr.pane()

    @property
    def server_log_pane(self) -> ServerLogPane:
        return self.late.server_log.pane()

    @property
    def question_panel(self) -> QuestionPanel:
        return self.late.questions.pane()

    @property
    def shortcuts(self) -> Shortcuts:
        """The commands with their keys; created on first use, which most starts do not need."""
        if self._shortcuts is None:
            from mcp_progress_monitor.gui.every_command import SECTIONS
            from mcp_progress_monitor.gui.shortcuts import Shortcuts

            self._shortcuts = Shortcuts(self, self._preferences, SECTIONS)
        return self._shortcuts

    def _apply_keys(self) -> None:
        if self._preferences.json_of(KEYS):
            self.shortcuts.apply()

    def panes(self) -> list[QWidget]:
        """The panes in the order of F6."""
        side = (self.job_filters, self.servers, self.watched, self.recent)
        docks = [dock for name, dock in self.docks.items() if name != "side"]
        return [*side, self.middle.page, *docks, self.notices, self.tool_bar]

    def show_pane(self, name: str) -> QWidget:
        """Show a pane by its name in `docks`, the jobs or the servers; returns it."""
        if name == "jobs":
            self.middle.show_jobs()
            return self.middle.page
        if name == "servers":
            self.docks["side"].show()
            return self.servers
        self.open_dock(name)
        return self.docks[name]

    @Slot()
    def _on_jobs_selected(self) -> None:
        """Summarise the selected jobs, whose figures change every second."""
        chosen = map(self._jobs.snapshot, self.job_list.selected())
        self._sums.setText(selection([job for job in chosen if job is not None]))

    def offer_undo(self, action: QAction) -> None:
        self._jobs_menu.insertAction(self._below_removal, action)

    def add_to_view_menu(self, actions: Sequence[QAction]) -> None:
        self._view_menu.addSeparator()
        self._view_menu.addActions(actions)

    def add_bar(self, bar: QWidget) -> None:
        self._column.insertWidget(self._column.indexOf(self.notices), bar)

    def open_dock(self, name: str) -> None:
        """Bring the pane `name`, one of `_TABS`, to the front."""
        bring_to_front(self.docks[name])

    @carries_out(commands.CLOSE_PANE)
    def close_pane(self) -> None:
        """Close the pane that has the focus; the jobs are no pane that can be closed."""
        focused = [dock for dock in self.docks.values() if has_focus(dock)]
        for dock in focused:
            self._close(dock)

    def _close(self, dock: QDockWidget) -> None:
        had_focus = has_focus(dock)
        dock.close()
        if had_focus:
            first_control(self.middle.page).setFocus()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer on a pane's tab to close it, and which panes there are."""
        dock = self._dock_of_tab(event.pos())
        if dock is None:
            super().contextMenuEvent(event)
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        close = menu.addAction("&Close")
        close.setData(next(name for name, each in self.docks.items() if each is dock))
        close.triggered.connect(self._on_close_chosen)
        menu.addSeparator()
        menu.addActions([each.toggleViewAction() for each in self.docks.values()])
        menu.popup(event.globalPos())

    @Slot()
    def _on_close_chosen(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self._close(self.docks[action.data()])

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Close a pane by the middle button on its tab."""
        dock = self._dock_of_tab(event.position().toPoint())
        if dock is not None and event.button() is Qt.MouseButton.MiddleButton:
            self._close(dock)
        else:
            super().mouseReleaseEvent(event)

    def _dock_of_tab(self, place: QPoint) -> QDockWidget | None:
        """The pane whose tab is at a place of the window; Qt's tabs know of panes by their titles.

        They are asked for only here: Qt makes and drops them as it likes.
        """
        bar = self.childAt(place)
        if not isinstance(bar, QTabBar) or bar.parent() is not self:
            return None
        title = bar.tabText(bar.tabAt(bar.mapFrom(self, place)))
        return next((dock for dock in self.docks.values() if dock.windowTitle() == title), None)

    def show_questions(self, count: int, is_new: bool) -> None:
        """Show the number of open questions; a new one opens their pane, none closes it.

        The focus stays where it is, and the pane that has it stays in front. When closed, the pane
        that was in front before is raised.
        """
        dock = self.docks["questions"]
        text = "Questions"
        dock.setWindowTitle(f"{text} ({number(count)})" if count else text)
        if is_new:
            self._open_quietly(dock)
        elif not count and not dock.isHidden():
            self._close_quietly(dock)

    def _open_quietly(self, dock: QDockWidget) -> None:
        dock.show()  # only visible docks have tabs beside them
        beside = [each for each in self.tabifiedDockWidgets(dock) if has_focus(each)]
        (beside[0] if beside else dock).raise_()

    def _close_quietly(self, dock: QDockWidget) -> None:
        had_focus = has_focus(dock)
        before = self._front_before_questions
        if not _is_behind(dock) and before in self.tabifiedDockWidgets(dock):
            before.raise_()  # Qt would raise the adjacent tab
        dock.hide()
        if had_focus:
            self.job_list.setFocus()

    def _on_pane_made(self, late: LazyPane[Any]) -> None:
        self._end_tabs_with_tool_bar(late)
        self._apply_keys()

    def _end_tabs_with_tool_bar(self, late: LazyPane[Any]) -> None:
        """Place a new pane before the tool bar in the Tab order, like the other panes."""
        # Not along Qt's own chain: wrappers of its inner widgets crash Python's collector.
        last = controls_in(late.pane())[-1:]
        for one, next_one in itertools.pairwise((*last, *controls_in(self.tool_bar))):
            QWidget.setTabOrder(one, next_one)

    @Slot(bool)
    def _on_dock_seen(self, is_seen: bool) -> None:
        """Remember the front pane among those that share their place with the questions."""
        dock = self.sender()
        if is_seen and isinstance(dock, QDockWidget) and dock is not self.docks["questions"]:
            self._front_before_questions = dock

    def focusNextPrevChild(self, is_next: bool) -> bool:
        """Skip panes behind others: the focus would be invisible there."""
        moved = super().focusNextPrevChild(is_next)
        first = self.focusWidget()
        while moved and any(_is_behind(dock) and has_focus(dock) for dock in self.docks.values()):
            moved = super().focusNextPrevChild(is_next) and self.focusWidget() is not first
        return moved

    def remember(self) -> None:
        keep = self._preferences
        keep.keep_bytes("window/geometry", self.saveGeometry())
        keep.keep_bytes("window/docks", self.saveState())
        keep.keep_bytes(_COLUMNS, self.job_list.save_layout())
        keep.keep_json("log/look", self.traffic_pane.state())
        if self.late.stderr.is_made:
            keep.keep_json("stderr/look", self.stderr_pane.state())
        if self.late.findings.is_made:
            keep.keep_json("findings/look", self.findings_pane.state())

    def showEvent(self, event: QShowEvent) -> None:
        """Set the first sizes of the docks; Qt accepts them only once there is a layout."""
        super().showEvent(event)
        self._fit_titles()
        if self._is_first:
            self._is_first = False
            beside = min(_BESIDE, round(self.width() * _SHARE_BESIDE))
            self.resizeDocks([self.docks["side"]], [beside], Qt.Orientation.Horizontal)
            below = max(_LEAST_BELOW, round(self.height() * _SHARE_BELOW))
            self.resizeDocks([self.docks["traffic"]], [below], Qt.Orientation.Vertical)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the share of the lower panes when the window is maximised or restored.

        Qt would give all of a maximised window's room to the jobs.
        """
        before, now = event.oldSize().height(), event.size().height()
        dock = self._pane_below()
        if not self._is_first and before > 0 and abs(now - before) >= _JUMP and dock is not None:
            if not self._sharing.isActive():
                self._share_below = dock.height() / before
            self._sharing.start()  # once the panes have their new sizes
        super().resizeEvent(event)

    def _pane_below(self) -> QDockWidget | None:
        """The pane that is seen below the jobs."""
        for dock in (self.docks[name] for name in _TABS):
            is_below = self.dockWidgetArea(dock) is _BOTTOM and not dock.isFloating()
            if is_below and dock.isVisible() and not _is_behind(dock):
                return dock
        return None

    @Slot()
    def _on_resized(self) -> None:
        dock = self._pane_below()
        if dock is not None:
            from PySide6.QtWidgets import QStyle  # late: it has 600 values

            gap = self.style().pixelMetric(QStyle.PixelMetric.PM_DockWidgetSeparatorExtent)
            above = self._center.geometry().bottom() + 1
            tabs = dock.geometry().top() - above - gap
            wanted = round(self.height() * self._share_below) + tabs
            self.resizeDocks([dock], [wanted], Qt.Orientation.Vertical)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Request the end of the program, which hides the window.

        No question is asked if the desktop session is ending.
        """
        application = QApplication.instance()
        if isinstance(application, QApplication) and application.isSavingSession():
            event.accept()
            self.session_ended.emit()
        else:
            event.ignore()
            self.close_requested.emit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept files and addresses, and show what would happen."""
        if dropped(event.mimeData()):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self.statusBar().showMessage(_DROP_HINT)

    def dragLeaveEvent(self, _event: QDragLeaveEvent) -> None:
        """Remove that message."""
        self.statusBar().clearMessage()

    def dropEvent(self, event: QDropEvent) -> None:
        self.statusBar().clearMessage()
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        self.dropped.emit(dropped(event.mimeData()))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self.appearance.follow(QGuiApplication.palette())
            self.theme.follow()

    def _lay_out(self) -> None:
        self.middle = Middle(self.welcome, self.job_list, self)
        middle = QWidget(self)
        self._column = column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.notices)
        column.addWidget(self.middle, 1)
        self._center = ScreenFit(middle, _BESIDE_MIDDLE, self)
        self.setCentralWidget(self._center)
        self.setDockNestingEnabled(True)
        self.setCorner(Qt.Corner.BottomLeftCorner, _LEFT)
        side = Side(self.job_filters, self.servers, (self.watched, self.recent), self)
        self._dock("side", "Jobs and servers", side, _LEFT)
        self._dock("traffic", "Traffic", self.traffic_pane, _BOTTOM)

    def _late_panes(self, models: Models) -> LazyPanes:
        """The panes behind Traffic, as tabs."""
        late = LazyPanes(self, models, self.appearance, self._preferences, self.job_list.commands)
        before = self.docks["traffic"]
        for name, pane in (
            ("job", late.job),
            ("timeline", late.timeline),
            ("findings", late.findings),
            ("stderr", late.stderr),
            ("server_log", late.server_log),
            ("questions", late.questions),
        ):
            self.docks[name] = pane.dock
            self.tabifyDockWidget(before, pane.dock)
            before = pane.dock
        before.hide()
        return late

    def _slim_titles(self) -> None:
        """Remove redundant titles: the tab's, and the first heading's.

        A tab can be dragged like a title; a separate pane has its title back.
        """
        self.setTabPosition(_BOTTOM, QTabWidget.TabPosition.North)
        self.setDocumentMode(True)
        self.docks["side"].setTitleBarWidget(self.job_filters.heading)
        for name in _TABS:
            dock = self.docks[name]
            for moved in (dock.visibilityChanged, dock.topLevelChanged, dock.dockLocationChanged):
                moved.connect(self._titling.start)

    @Slot()
    def _fit_titles(self) -> None:
        for name in _TABS:
            dock = self.docks[name]
            beside = self.tabifiedDockWidgets(dock)
            has_tab = not dock.isFloating() and any(not each.isHidden() for each in beside)
            if has_tab != (dock.titleBarWidget() is not None):
                none = QWidget(dock) if has_tab else None
                dock.setTitleBarWidget(none)  # type: ignore[arg-type]  # None is Qt's own title

    def _dock(self, name: str, title: str, pane: QWidget, area: Qt.DockWidgetArea) -> None:
        dock = QDockWidget(title, self)
        dock.setObjectName(f"dock-{kept_name(name)}")
        dock.setWidget(ScreenFit(pane, _BESIDE_SIDE if area == _LEFT else BESIDE_PANE, self))
        self.addDockWidget(area, dock)
        self.docks[name] = dock

    def _add_menus(self) -> None:
        do = self.do
        servers = self.menuBar().addMenu("&Servers")
        for group in commands.SERVERS_MENU:
            servers.addActions(do.some(group))
            servers.addSeparator()
        recordings = self.menuBar().addMenu("&Recordings")
        recordings.addAction(do[commands.OPEN_RECORDING])
        self.recent_menu = recordings.addMenu("Open re&cent")
        recordings.addAction(do[commands.RECORDINGS])
        recordings.addSeparator()
        recordings.addActions(do.some((commands.EXPORT, commands.SERVE)))
        recordings.addSeparator()
        recordings.addAction(do[commands.ASSOCIATE])
        self._jobs_menu = self.menuBar().addMenu("&Jobs")
        self._fill_jobs_menu(self._jobs_menu)
        self._view_menu = view = self.menuBar().addMenu("&View")
        view.addActions([dock.toggleViewAction() for dock in self.docks.values()])
        view.addAction(do[commands.CLOSE_PANE])
        view.addSeparator()
        view.addAction(do[commands.PALETTE])
        go = view.addMenu("&Go to")
        self.pane_focus.add_to(go)
        go.addSeparator()
        go.addActions(do.some((commands.NEXT_PANE, commands.PREVIOUS_PANE, commands.MENU)))
        view.addSeparator()
        view.addActions(do.some((commands.NEXT_MESSAGE, commands.PREVIOUS_MESSAGE, commands.BACK)))
        view.addSeparator()
        self._sorting.add_to(view.addMenu("&Sort jobs by"))
        self.theme.add_to(view.addMenu("&Theme"))
        self.menuBar().addMenu("&Help").addActions(do.some(commands.HELP_MENU))
        for menu in self.menuBar().findChildren(QMenu):
            menu.setToolTipsVisible(True)

    def _place_find(self) -> None:
        """Let the key focus the job filter, except where it has another use."""
        find = self.do[commands.FIND]
        others = [
            dock
            for name, dock in self.docks.items()
            if name not in {"traffic", "findings", "stderr"}
        ]
        for part in (self.middle, self.notices, self.filter_edit, *others):
            part.addAction(find)
        self.job_list.setFocus()

    def _fill_jobs_menu(self, menu: QMenu) -> None:
        do, some = self.do, self.job_list.commands.some
        begin, again, save, remove = JOBS_MENU
        menu.addActions([do[commands.NEW_CALL], *some(begin)])
        menu.addSeparator()
        menu.addActions(some(again))
        menu.addSeparator()
        menu.addActions([*some(save), do[commands.STATISTICS]])
        menu.addSeparator()
        menu.addActions([*some(remove), do[commands.REMOVE_FINISHED]])
        self._below_removal = menu.addSeparator()
        menu.addAction(do[commands.FIND])

    def _restore(self) -> None:
        kept = self._preferences
        geometry = kept.bytes_of("window/geometry")
        if geometry.size() >= _GEOMETRY:
            self.restoreGeometry(geometry)
        self._is_first = not self.restoreState(kept.bytes_of("window/docks"))
        self.docks["questions"].hide()  # there were questions then; now there are none yet
        if not self.job_list.restore_layout(kept.bytes_of(_COLUMNS)):
            self.job_list.restore_layout(kept.bytes_of(_EARLIER_COLUMNS))
            self.job_list.table.hideColumn(Column.ENDED)
        self.traffic_pane.restore(kept.json_of("log/look"))

    @carries_out(commands.FIND)
    def focus_filter(self) -> None:
        self.filter_edit.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filter_edit.selectAll()


def _is_behind(dock: QDockWidget) -> bool:
    """True if another pane is in front: Qt keeps those behind it shown, outside the window."""
    geometry = dock.geometry()
    return not dock.isFloating() and (geometry.right() < 0 or geometry.bottom() < 0)
