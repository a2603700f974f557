"""The Findings pane: filter, list, details of one finding, and the rules by server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QMenu,
    QSplitter,
    QStackedWidget,
    QToolButton,
    QWidget,
)

from mcp_progress_monitor.filtering.filter import FilterError
from mcp_progress_monitor.formatting import count, number
from mcp_progress_monitor.gui.common.commands import CommandActions, KeyAction, carries_out
from mcp_progress_monitor.gui.common.controls import ElidedLabel, plain_label, set_text_colour
from mcp_progress_monitor.gui.common.filter_field import FilterField
from mcp_progress_monitor.gui.common.layout import in_column, order_tabs
from mcp_progress_monitor.gui.common.tables import PlainTable, RowKeys
from mcp_progress_monitor.gui.findings import commands as on_findings
from mcp_progress_monitor.gui.findings.commands import FINDING_MENU, FindingRow
from mcp_progress_monitor.gui.findings.groups import GROUP, FindingsFilter
from mcp_progress_monitor.gui.findings.model import (
    FINDING,
    IGNORED,
    RULES,
    FindingsModel,
    RulesModel,
    ServerRules,
)
from mcp_progress_monitor.gui.findings.view import FindingTree, SectionsView
from mcp_progress_monitor.gui.theme import GAP, GAP_L, GAP_S, Appearance, Tone
from mcp_progress_monitor.wording import findings as wording

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent

    from mcp_progress_monitor.checking.report import ReportedResult
    from mcp_progress_monitor.filtering.completion import Completion
    from mcp_progress_monitor.gui.common.commands import Commands
    from mcp_progress_monitor.gui.findings.model import Ignored

_WIDE: Final = 900
_RULES_MS: Final = 1000
_TYPED_MS: Final = 250  # a filter is applied so long after the last key; Enter applies it at once
_SHARES: Final = [640, 360]
_ABOUT: Final = (
    "Every recorded message is checked against the rules of the protocol. "
    "Violations by servers and other clients are listed here, with what the specification "
    "requires and how to fix them. “Rules” shows which rules were tested."
)


class FindingsPane(QWidget):
    """Lists the findings of a model."""

    ignored_changed = Signal(object)  # `tuple[Ignored, ...]`: what the user ignores from now on

    def __init__(
        self,
        model: FindingsModel,
        appearance: Appearance,
        commands: Commands,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.model: Final = model
        self._appearance = appearance
        self.shown = FindingsFilter(model, self)
        self.rules = RulesModel(model.titles, self)
        model.titles.changed.connect(self._on_titles_changed)
        self.field = FilterField(self._complete, appearance, self)
        self.ignored = QToolButton(self, popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self.group_button = QToolButton(self)
        self.rules_button = QToolButton(self)
        self.counts = ElidedLabel(self)
        self.notice = plain_label(self)
        self.tree = FindingTree(self.shown, appearance, self)
        self.rules_table = PlainTable(
            self.rules, "Rules by server", self, empty="No server is connected"
        )
        self.empty = QLabel(
            self,
            textFormat=Qt.TextFormat.PlainText,
            alignment=Qt.AlignmentFlag.AlignCenter,
            wordWrap=True,
        )
        self.details = SectionsView(appearance, self)
        self._lists = QStackedWidget(self)
        self._splitter = QSplitter(Qt.Orientation.Horizontal, self, childrenCollapsible=False)
        self.ignored_menu = QMenu(self)
        self._menu = QMenu(self)
        self._menu.setToolTipsVisible(True)
        self.commands: Final = CommandActions(
            FINDING_MENU, commands, self.tree, appearance, self._chosen, id_of=_finding_of
        )
        commands.join(self)
        self._is_watched = True
        self._second = QTimer(self, interval=_RULES_MS)
        self._second.timeout.connect(self._refresh_rules)
        self._typing = QTimer(self, singleShot=True, interval=_TYPED_MS)
        self._set_up_head()
        self._set_up_tables()
        self._lay_out()
        self._connect()
        set_text_colour(self.empty, appearance, Tone.MUTED)
        set_text_colour(self.notice, appearance, Tone.BAD)
        self._on_findings_changed()
        self._on_ignored_changed()

    def current(self) -> ReportedResult | None:
        """The selected finding; the gravest before any is selected."""
        index = self.tree.currentIndex()
        index = index if index.isValid() else next(iter(self.shown.indexes()), index)
        finding: ReportedResult | None = index.data(FINDING)
        return finding

    def _chosen(self) -> list[FindingRow]:
        index, finding = self.tree.currentIndex(), self.current()
        return [] if finding is None else [FindingRow(finding, bool(index.data(IGNORED)))]

    def set_filter(self, text: str) -> None:
        self.show_rules(is_wanted=False)
        self.field.setText(text)
        self._apply()

    def select(self, finding: ReportedResult) -> None:
        self.show_rules(is_wanted=False)
        for index in self.shown.indexes():
            each: ReportedResult = index.data(FINDING)
            if (each.frames[0], each.rule, each.by) == (
                finding.frames[0],
                finding.rule,
                finding.by,
            ):
                self.tree.setCurrentIndex(index)
                self.tree.scrollTo(index)
                return

    def restore(self, look: dict[str, object]) -> None:
        self.group_button.setChecked(look.get("grouped") is not False)

    def state(self) -> dict[str, object]:
        return {"grouped": self.shown.is_grouped}

    def show_rules(self, *, is_wanted: bool) -> None:
        self.rules_button.setChecked(is_wanted)

    def _set_up_head(self) -> None:
        field = self.field
        field.setPlaceholderText("Filter: rule == PROG-3, level >= warning, server == …")
        field.setAccessibleName("Filter findings")
        field.setClearButtonEnabled(True)
        self.ignored.setMenu(self.ignored_menu)
        self.ignored.setToolTip("Show ignored findings, or stop ignoring them")
        self.group_button.setText("Group")
        self.group_button.setCheckable(True)
        self.group_button.setAccessibleName("Group findings by rule")
        self.rules_button.setText("Rules")
        self.rules_button.setCheckable(True)
        self.rules_button.setAccessibleName("Rules by server")
        self.counts.describe("Number of findings")
        self.ignored_menu.setToolTipsVisible(True)
        self.notice.hide()
        self.notice.setContentsMargins(GAP, 0, GAP, GAP_S)

    def _set_up_tables(self) -> None:
        digit = self.fontMetrics().horizontalAdvance("0")
        self.tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        RowKeys(self.tree)
        self.rules_table.setSelectionMode(PlainTable.SelectionMode.SingleSelection)
        self.rules_table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.rules_table.setColumnWidth(1, digit * 24)
        for column in range(2, self.rules.columnCount()):
            self.rules_table.resizeColumnToContents(column)
        self.empty.setContentsMargins(GAP_L, GAP, GAP_L, GAP)
        self.empty.setMinimumSize(1, 1)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        head.setSpacing(GAP)
        head.addWidget(self.field, 3)
        head.addWidget(self.counts, 2)
        head.addWidget(self.ignored)
        head.addWidget(self.group_button)
        head.addWidget(self.rules_button)
        for part in (self.tree, self.empty, self.rules_table):
            self._lists.addWidget(part)
        self._splitter.addWidget(self._lists)
        self._splitter.addWidget(self.details)
        self._splitter.setSizes(_SHARES)
        self._splitter.setStretchFactor(0, 3)
        self._splitter.setStretchFactor(1, 2)
        self.details.setMinimumSize(160, 60)
        self._lists.setMinimumSize(200, 60)
        in_column(head, self.notice, (self._splitter, 1), of=self, margins=0, spacing=0)
        order_tabs(self)

    def _connect(self) -> None:
        KeyAction(on_findings.FIND, self, self.field.setFocus, self.field)
        KeyAction(on_findings.GROUP, self, self.group_button.toggle, self.group_button)
        KeyAction(on_findings.RULES, self, self.rules_button.toggle, self.rules_button)
        self.group_button.toggled.connect(self._on_group_toggled)
        self._typing.timeout.connect(self._apply)
        self.field.textChanged.connect(self._typing.start)
        self.field.confirmed.connect(self._apply)
        self.field.popup.closed.connect(self._typing.start)
        self.rules_button.toggled.connect(self._on_rules_toggled)
        self.tree.activated.connect(self._on_activated)
        self.tree.customContextMenuRequested.connect(self._on_menu_requested)
        self.tree.selectionModel().currentChanged.connect(self._show_details)
        self.rules_table.selectionModel().currentChanged.connect(self._show_details)
        self.model.badges_changed.connect(self._on_findings_changed)
        self.model.seen_again.connect(self._on_seen_again)
        self.model.ignored_changed.connect(self._on_ignored_changed)
        self.model.modelReset.connect(self._on_findings_changed)
        self._appearance.changed.connect(self.tree.viewport().update)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the details where there is room: beside the list in a wide pane, else below."""
        super().resizeEvent(event)
        is_wide = event.size().width() >= _WIDE or event.size().width() > 2 * event.size().height()
        wanted = Qt.Orientation.Horizontal if is_wide else Qt.Orientation.Vertical
        if self._splitter.orientation() is not wanted:
            self._splitter.setOrientation(wanted)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._on_findings_changed()
        self._on_rules_toggled(self.rules_button.isChecked())

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._second.stop()

    def _complete(self, text: str, cursor: int) -> Completion:
        from mcp_progress_monitor.filtering.findings import complete_finding  # late: the compiler

        return complete_finding(text, cursor, self.model.seen())

    @Slot()
    def _apply(self) -> None:
        """Apply the current filter text; an invalid one changes nothing."""
        from mcp_progress_monitor.filtering.findings import finding_filter  # late: the compiler

        self._typing.stop()
        try:
            test = finding_filter(self.field.text())
        except FilterError as error:
            if self.field.popup.isVisible():
                return  # it is incomplete
            self.field.show_mistake((error.position, error.length))
            self._show_note(str(error))
            return
        self._show_note("")
        if test is not None or self.shown.has_test:
            self.shown.set_test(test)
        self._on_findings_changed()

    def _show_note(self, text: str) -> None:
        self.notice.setText(text)
        self.notice.setVisible(bool(text))

    @Slot(bool)
    def _on_group_toggled(self, is_wanted: bool) -> None:
        chosen = self.current()
        self.tree.set_grouped(is_wanted=is_wanted)
        if chosen is not None:
            self.select(chosen)
        self._on_findings_changed()

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        if index.data(GROUP) is None:
            self.commands[on_findings.OPEN].trigger()
        else:
            self.tree.toggle(index)

    @Slot(bool)
    def _on_rules_toggled(self, is_wanted: bool) -> None:
        if is_wanted:
            self._refresh_rules()
            if self.rules.rowCount() and not self.rules_table.currentIndex().isValid():
                self.rules_table.setCurrentIndex(self.rules.index(0, 0))
            if self.isVisible():
                self._second.start()
        else:
            self._second.stop()
        self._on_findings_changed()

    @Slot()
    def _refresh_rules(self) -> None:
        watch = self.model.watch
        rows = [
            ServerRules(name, watch.revisions(name), state) for name, state in watch.rules().items()
        ]
        self.rules.show_rules(rows)
        self.empty.setText(self._why_empty())
        if self.rules_button.isChecked():
            self._show_details()

    @Slot()
    def _on_findings_changed(self) -> None:
        if not self._is_watched:
            return
        if self.rules_button.isChecked():
            self._lists.setCurrentWidget(self.rules_table)
        else:
            why = self._why_empty()
            self.empty.setText(why)
            self._lists.setCurrentWidget(self.empty if why else self.tree)
            if not why and not self.tree.currentIndex().isValid():
                first = next(iter(self.shown.indexes()), QModelIndex())
                self.tree.setCurrentIndex(first)
                self.tree.scrollToTop()  # shows its rule as well
        ignored = f"{number(self.model.ignored_count)} ignored"
        self.ignored.setText(ignored)
        rules = count(len(self.model.ignored), "rule")
        self.ignored.setAccessibleName(f"{ignored}, of {rules} for a server")
        self.counts.set_text(", ".join(self._counts()))
        self._show_details()

    def _why_empty(self) -> str:
        if self.shown.rowCount():
            return ""
        if not self.model.rowCount():
            is_tested = any(state.tried for state in self.model.watch.rules().values())
            return f"{'No findings' if is_tested else 'No rule was tested yet'}.\n\n{_ABOUT}"
        if self.shown.has_test:
            return "No finding matches the filter."
        return "All findings are ignored. “Ignored” shows them."

    def _counts(self) -> Iterator[str]:
        total, shown = self.model.rowCount(), self.shown.count
        if shown != total:
            yield f"{number(shown)} of {count(total, 'finding')}"
        else:
            yield count(total, "finding")
        watch = self.model.watch
        if watch.dropped:
            yield f"{number(watch.dropped)} more counted but not listed"
        if watch.unchecked:
            yield f"{number(watch.unchecked)} messages not validated against the schema"

    @Slot()
    def _on_titles_changed(self) -> None:
        self._show_details()
        self._on_ignored_changed()

    @Slot(bool)
    def set_watched(self, is_watched: bool) -> None:
        """Do nothing behind another tab, where Qt keeps panes shown; catch up when in front."""
        self._is_watched = is_watched
        self._on_findings_changed()

    @Slot()
    def _on_seen_again(self) -> None:
        if self._is_watched:
            self._show_details()

    @Slot()
    def _show_details(self) -> None:
        if self.rules_button.isChecked():
            row: ServerRules | None = self.rules_table.currentIndex().data(RULES)
            self.details.setVisible(row is not None)
            if row is not None:
                self.details.setAccessibleName("Rules of the server")
                name = self.model.titles.text(row.name)
                title = f"{name}: {number(row.state.tried)} rules tested"
                self.details.show_sections(title, wording.rule_sections(row.state))
            return
        is_listed = self._lists.currentWidget() is self.tree
        finding = self.current() if is_listed else None
        rule = self.tree.currentIndex().data(GROUP) if is_listed else None
        self.details.setVisible(finding is not None or rule is not None)
        self.commands.refresh()
        if rule is not None:
            self.details.setAccessibleName("Details of the rule")
            self.details.show_sections(wording.rule_title(rule), wording.advice_sections(rule))
        if finding is not None:
            self.details.setAccessibleName("Details of the finding")
            titled = finding._replace(server=self.model.titles.text(finding.server))
            self.details.show_sections(wording.rule_title(titled.rule), wording.sections(titled))

    @Slot()
    def _on_ignored_changed(self) -> None:
        pairs = self.model.ignored
        self.ignored.setVisible(bool(pairs))
        self.ignored_menu.clear()
        show = self.ignored_menu.addAction("&Show ignored findings")
        show.setCheckable(True)
        show.setChecked(self.shown.shows_ignored)
        show.toggled.connect(self._on_show_ignored)
        self.ignored_menu.addSeparator()
        for pair in pairs:
            rule, server = pair
            name = self.model.titles.text(server).replace("&", "&&")
            action = self.ignored_menu.addAction(f"Stop ignoring {rule} for {name}")
            action.setData(pair)
            action.setToolTip("Show these findings again")
            action.triggered.connect(self._on_stop_ignoring)
        self._on_findings_changed()

    @Slot(bool)
    def _on_show_ignored(self, is_wanted: bool) -> None:
        self.shown.set_shows_ignored(is_wanted)
        self._on_findings_changed()

    @Slot()
    def _on_stop_ignoring(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self._stop_ignoring(tuple(action.data()))

    def _stop_ignoring(self, pair: Ignored) -> None:
        self.ignored_changed.emit(tuple(each for each in self.model.ignored if each != pair))

    @Slot(QPoint)
    def _on_menu_requested(self, place: QPoint) -> None:
        if self.current() is not None:
            self.commands.fill(self._menu, (FINDING_MENU,))
            self._menu.popup(self.tree.viewport().mapToGlobal(place))

    @carries_out(on_findings.IGNORE)
    def _ignore(self, finding: ReportedResult) -> None:
        pair = (finding.rule, finding.server)
        if pair in self.model.ignored:
            self._stop_ignoring(pair)
        else:
            self.ignored_changed.emit((*self.model.ignored, pair))

    @carries_out(on_findings.RULE, "rule")
    @carries_out(on_findings.SERVER, "server")
    def _narrow(self, finding: ReportedResult, field: str) -> None:
        from mcp_progress_monitor.filtering.expressions import quoted  # late: not needed at startup

        value = str(getattr(finding, field))
        plain = value if value.replace("-", "").isalnum() else quoted(value)
        self.set_filter(f"{field} == {plain}")


def _finding_of(row: FindingRow) -> ReportedResult:
    return row.finding
