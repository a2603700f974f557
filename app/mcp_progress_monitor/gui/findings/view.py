"""The views of findings: rows in the colour of their level, and one finding in detail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QGuiApplication,
    QKeySequence,
    QPalette,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import (
    QHeaderView,
    QStackedLayout,
    QStyleOptionViewItem,
    QTextEdit,
    QTreeView,
    QWidget,
)

from mcp_progress_monitor.formatting import visible
from mcp_progress_monitor.gui.common.controls import EmptyNote, TipDelegate
from mcp_progress_monitor.gui.common.layout import JobSection
from mcp_progress_monitor.gui.common.tables import FlatHeader, RowHover
from mcp_progress_monitor.gui.findings.groups import GROUP, FindingsFilter
from mcp_progress_monitor.gui.findings.model import (
    COUNT,
    FINDING,
    FIRST,
    GRAVITY,
    IGNORED,
    JOB,
    LEVEL,
    RULE,
    SERVER,
    TEXT,
)
from mcp_progress_monitor.gui.theme import LEVEL_TONES, Appearance, Tone, emphasised, monospaced

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from PySide6.QtCore import QObject, QPoint
    from PySide6.QtGui import QResizeEvent

    from mcp_progress_monitor.gui.common.labels import ServerTitles
    from mcp_progress_monitor.gui.findings.model import FindingsModel
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.tracker.snapshot import JobId
    from mcp_progress_monitor.wording.findings import FindingSection

_DIGITS: Final = {LEVEL: 9, RULE: 10, SERVER: 11, JOB: 12, COUNT: 7, FIRST: 7}
_NARROW: Final = 80  # digits; a narrower list has fewer columns
_SHARE_OF_SERVER: Final = 3
"""The server's column gets a third of additional width: `db (Claude Code)`."""
_LESS: Final = frozenset({SERVER, FIRST})
_NARROWER: Final = 60
_LEAST: Final = frozenset({JOB, COUNT})
_ROOM: Final = 6
_INDENTATION: Final = 14
_MARGIN: Final = 5  # additional digits for the arrows of groups
_Index = QModelIndex | QPersistentModelIndex


class FindingTree(QTreeView):
    """The findings, grouped by rule or flat; Ctrl+C copies the selected row.

    Groups are expanded unless the user collapses them.
    """

    def __init__(
        self,
        shown: FindingsFilter,
        appearance: Appearance,
        parent: QWidget,
        without: Collection[int] = (),
    ) -> None:
        """Show all columns except `without`."""
        super().__init__(parent)
        self._shown = shown
        self._without = frozenset(without)
        self._closed: set[str] = set()
        self.setModel(shown)
        self.setAccessibleName("Findings")
        self.setFrameShape(self.Shape.NoFrame)
        self.setUniformRowHeights(True)
        self.setIndentation(_INDENTATION)
        self.setExpandsOnDoubleClick(False)
        self.setSelectionMode(self.SelectionMode.SingleSelection)
        self.setEditTriggers(self.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(self.ScrollMode.ScrollPerPixel)
        self.setItemDelegate(FindingDelegate(appearance, shown.titles, self))
        self.setHeader(FlatHeader(self))
        RowHover(self)
        self.setSortingEnabled(True)
        self.sortByColumn(LEVEL, Qt.SortOrder.AscendingOrder)
        header = self.header()
        header.setSectionsMovable(False)
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(TEXT, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(self._digits(6))
        self._fit()
        copy = QAction("Copy", self, shortcutContext=Qt.ShortcutContext.WidgetShortcut)
        copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copy.triggered.connect(self._on_copy)
        self.addAction(copy)
        self.expanded.connect(self._on_expanded)
        self.collapsed.connect(self._on_collapsed)
        shown.rowsInserted.connect(self._on_inserted)
        shown.modelReset.connect(self._open_all)

    def set_grouped(self, *, is_wanted: bool) -> None:
        self._shown.set_grouped(is_wanted)
        self._fit()
        self._open_all()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide columns in a narrow pane: the details show their content."""
        super().resizeEvent(event)
        width = event.size().width()
        is_narrow = width < self._digits(_NARROW)
        spare = max(0, width - self._digits(_NARROW)) // _SHARE_OF_SERVER
        least = self._digits(_DIGITS[SERVER])
        self.setColumnWidth(SERVER, min(2 * least, least + spare))
        hidden = self._without | (_LESS if is_narrow else frozenset())
        if width < self._digits(_NARROWER):
            hidden |= _LEAST
        for column in range(FIRST + 1):
            self.setColumnHidden(column, column in hidden)

    def toggle(self, index: QModelIndex) -> None:
        self.setExpanded(index.siblingAtColumn(0), not self.isExpanded(index.siblingAtColumn(0)))

    def _digits(self, count: int) -> int:
        return self.fontMetrics().horizontalAdvance("0") * count

    def _fit(self) -> None:
        is_grouped = self._shown.is_grouped
        self.setRootIsDecorated(is_grouped)
        for column, digits in _DIGITS.items():
            more = _MARGIN if is_grouped and column == LEVEL else 0
            self.setColumnWidth(column, self._digits(digits + more))

    @Slot(QModelIndex)
    def _on_expanded(self, index: QModelIndex) -> None:
        self._closed.discard(index.data(GROUP))

    @Slot(QModelIndex)
    def _on_collapsed(self, index: QModelIndex) -> None:
        self._closed.add(index.data(GROUP))

    @Slot(QModelIndex, int, int)
    def _on_inserted(self, parent: QModelIndex, first: int, last: int) -> None:
        if not parent.isValid():
            self._open(range(first, last + 1))

    @Slot()
    def _open_all(self) -> None:
        self._open(range(self._shown.rowCount()))

    def _open(self, rows: Iterable[int]) -> None:
        for row in rows if self._shown.is_grouped else ():
            index = self._shown.index(row, LEVEL)
            if index.data(GROUP) not in self._closed:
                self.expand(index)

    @Slot()
    def _on_copy(self) -> None:
        row = self.currentIndex()
        columns = [column for column in range(FIRST + 1) if not self.isColumnHidden(column)]
        if row.isValid():
            texts = (str(row.siblingAtColumn(column).data() or "") for column in columns)
            QGuiApplication.clipboard().setText("\t".join(texts))


class FindingDelegate(TipDelegate):
    """Paints level and rule in the colour of the level; what is ignored is muted."""

    def __init__(
        self, appearance: Appearance, titles: ServerTitles, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._titles = titles

    def initStyleOption(self, option: QStyleOptionViewItem, index: _Index) -> None:
        super().initStyleOption(option, index)
        tone = Tone.TEXT
        if index.data(IGNORED):
            tone = Tone.MUTED
            option.font.setItalic(True)
        elif index.column() in (LEVEL, RULE):
            tone = LEVEL_TONES[index.data(GRAVITY)]
        if index.data(GROUP) is not None:
            option.font.setBold(True)
        palette = option.palette
        palette.setColor(QPalette.ColorRole.Text, self._appearance.colour(tone))
        option.palette = palette

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        metrics = option.fontMetrics
        width = metrics.horizontalAdvance(str(index.data() or "")) + 2 * _ROOM
        return QSize(width, metrics.height() + _ROOM)

    def tip_at(self, index: _Index, _option: QStyleOptionViewItem, _at: QPoint) -> str | None:
        finding = index.data(FINDING)
        if finding is None:
            return None
        text = self._titles.tip(finding.server) if index.column() == SERVER else ""
        return text or visible(finding.text)


class SectionsView(QTextEdit):
    """Shows sections of text and code; all of it is plain text."""

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._shown: tuple[str, tuple[FindingSection, ...]] = ("", ())
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFrameShape(self.Shape.NoFrame)
        self.setAccessibleName("Details of the finding")
        appearance.changed.connect(self._write)

    def show_sections(self, title: str, sections: Iterable[FindingSection]) -> None:
        """Show sections; unchanged ones keep the selection."""
        wanted = (title, tuple(sections))
        if wanted != self._shown:
            is_same = wanted[0] == self._shown[0]
            place = self.verticalScrollBar().value()
            self._shown = wanted
            self._write()
            self.verticalScrollBar().setValue(place if is_same else 0)

    def _write(self) -> None:
        title, sections = self._shown
        self.clear()
        plain, heading, code = QTextCharFormat(), QTextCharFormat(), QTextCharFormat()
        plain.setForeground(self._appearance.colour(Tone.TEXT))
        heading.setForeground(self._appearance.colour(Tone.MUTED))
        code.setForeground(self._appearance.colour(Tone.TEXT))
        code.setBackground(self._appearance.ground(Tone.TEXT, 0.06))
        code.setFont(monospaced(self.font()))
        bold = QTextCharFormat(plain)
        bold.setFont(emphasised(self.font()))
        cursor = QTextCursor(self.document())
        cursor.insertText(visible(title), bold)
        for section in sections:
            cursor.insertBlock()
            cursor.insertText(f"{section.heading}  ", heading)
            if section.is_code or "\n" in section.text:
                cursor.insertBlock()
            text = visible(section.text, keep_line_ends=True)
            cursor.insertText(text, code if section.is_code else plain)
        self.moveCursor(QTextCursor.MoveOperation.Start)


class JobFindings(JobSection):
    """Lists the findings of a job, except ignored ones."""

    jump_requested = Signal(object)  # the `Checked` whose first message is to be shown in Traffic

    def __init__(
        self, model: FindingsModel, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._job: JobId | None = None
        self.shown = FindingsFilter(model, self)
        self.tree = FindingTree(self.shown, appearance, self, without=(SERVER, JOB))
        self.tree.setAccessibleName("Findings of the job")
        self.tree.setToolTip("Show the first message in Traffic (Enter)")
        self.empty = EmptyNote("No findings for this job", appearance, self)
        self._pages = QStackedLayout(self)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self.tree)
        self.tree.activated.connect(self._on_activated)
        model.badges_changed.connect(self._count)
        self.show_job(None)

    def show_job(self, job: JobId | None) -> None:
        if job is not None:
            self.shown.set_job(job)
        self._job = job
        self._count()

    @Slot()
    def _count(self) -> None:
        count = 0 if self._job is None else self.shown.count
        self._pages.setCurrentWidget(self.tree if count else self.empty)
        self.counted.emit(count)

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        finding = index.data(FINDING)
        if finding is not None:
            self.jump_requested.emit(finding)
