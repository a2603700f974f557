"""The connection doctor: facts about one server's connection, and what to try."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QTextEdit, QWidget

from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.controls import plain_label, push_button, set_text_colour
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column, order_tabs
from mcp_progress_monitor.gui.servers.commands import CONNECT, EDIT, RESTART, STDERR
from mcp_progress_monitor.gui.theme import (
    GAP,
    GAP_L,
    GAP_S,
    Appearance,
    Tone,
    emphasised,
    monospaced,
)
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.wording.doctor import DoctorSection, Look, happened, sections
from mcp_progress_monitor.wording.servers import state_word

if TYPE_CHECKING:
    from PySide6.QtGui import QTextBlockFormat

    from mcp_progress_monitor.gui.common.commands import Commands
    from mcp_progress_monitor.snapshots.doctor import DoctorReport

_FIRST_SIZE: Final = QSize(820, 560)
_TITLE_SIZE: Final = 1.1
_TONES: Final = {
    Look.PLAIN: Tone.TEXT,
    Look.STRONG: Tone.TEXT,
    Look.MUTED: Tone.MUTED,
    Look.GOOD: Tone.GOOD,
    Look.BAD: Tone.BAD,
    Look.CODE: Tone.TEXT,
}


class DoctorPane(QWidget):
    """A window about one server at a time, with commands on it.

    Texts of servers are inserted as plain text: nothing in them is markup.
    """

    traffic_requested = Signal(str)  # the server's messages are to be shown in Traffic
    closed = Signal()

    def __init__(
        self, appearance: Appearance, on_servers: Commands, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.on_servers = on_servers
        self._appearance = appearance
        self._report: DoctorReport | None = None
        self._shown: tuple[DoctorSection, ...] = ()
        self._now = 0.0
        self.icon = QLabel(self)
        self.head = plain_label(self)
        self.sentence = plain_label(self)
        self.page = QTextEdit(self, readOnly=True, acceptRichText=False, tabChangesFocus=True)
        self.go = push_button(self, "", "Connect or restart the server")
        self.edit = push_button(self, "&Edit…", "Edit the command or URL of the server")
        self.copy = push_button(self, "Co&py report", "Copy the report as plain text")
        self.stderr = push_button(self, "Show &stderr", "Show the server's standard error")
        self.traffic = push_button(
            self, "Show in &Traffic", "Show the server's messages in Traffic"
        )
        self._lay_out()
        order_tabs(self)
        self._connect()
        self._recolour()
        fit_to_screen(self, _FIRST_SIZE)

    @property
    def server(self) -> str:
        """The name of the shown server; empty if there is none."""
        return "" if self._report is None else self._report.server

    def show_report(self, report: DoctorReport, now: float) -> None:
        """Show the current facts (`now` in monotonic seconds), keeping the scroll position."""
        is_other = report.server != self.server
        self._report, self._now = report, now
        self.setWindowTitle(f"Connection doctor: {one_line(report.server, 60)}")
        self.head.setText(f"{one_line(report.server)} — {state_word(report.state)}")
        self.sentence.setText(happened(report, now))
        self._show_icon()
        found = sections(report)
        if is_other or found != self._shown:
            self._shown = found
            self._write(keeps_place=not is_other)
        self._enable()

    def closeEvent(self, event: object) -> None:
        """Report that no more updates are needed."""
        super().closeEvent(event)  # type: ignore[arg-type]  # Qt's own event
        self.closed.emit()

    def _lay_out(self) -> None:
        self.page.setFrameShape(QFrame.Shape.NoFrame)
        self.page.setAccessibleName("Diagnosis of the connection")
        self.page.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.head.setFont(emphasised(self.font()))
        text = in_column(self.head, self.sentence, spacing=GAP_S)
        top = QHBoxLayout()
        top.setContentsMargins(GAP_L, GAP_L, GAP_L, GAP)
        top.setSpacing(GAP)
        top.addWidget(self.icon, 0, Qt.AlignmentFlag.AlignTop)
        top.addLayout(text, 1)
        buttons = QHBoxLayout()
        buttons.setContentsMargins(GAP_L, GAP, GAP_L, GAP_L)
        buttons.setSpacing(GAP)
        for button in (self.go, self.edit, self.stderr, self.traffic):
            buttons.addWidget(button)
        buttons.addStretch(1)
        buttons.addWidget(self.copy)
        in_column(top, (self.page, 1), buttons, of=self, margins=0, spacing=0)
        self.setFocusProxy(self.page)

    def _connect(self) -> None:
        self.go.clicked.connect(self._on_go)
        self.edit.clicked.connect(self._on_edit)
        self.stderr.clicked.connect(self._on_stderr)
        self.traffic.clicked.connect(self._on_traffic)
        self.copy.clicked.connect(self._on_copy)
        escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), self)
        escape.activated.connect(self.close)
        self._appearance.changed.connect(self._recolour)

    def _enable(self) -> None:
        report = self._report
        if report is None:
            return
        is_up = report.state.is_up
        self.go.setText("&Restart" if is_up else "&Connect")
        self.go.setEnabled(report.state is not ServerState.CLOSING)
        self.stderr.setEnabled(bool(report.command))

    def _write(self, *, keeps_place: bool) -> None:
        bar = self.page.verticalScrollBar()
        place = bar.value() if keeps_place else 0
        self.page.clear()
        cursor = QTextCursor(self.page.document())
        cursor.beginEditBlock()
        for section in self._shown:
            self._write_section(cursor, section)
        cursor.endEditBlock()
        self.page.moveCursor(QTextCursor.MoveOperation.Start)
        bar.setValue(place)

    def _write_section(self, cursor: QTextCursor, section: DoctorSection) -> None:
        title = self._format(Look.STRONG)
        title.setFontPointSize(self.font().pointSizeF() * _TITLE_SIZE)
        block = cursor.blockFormat()
        block.setTopMargin(GAP if cursor.atStart() else GAP_L)
        block.setBottomMargin(GAP_S)
        block.setLeftMargin(GAP)
        self._begin_block(cursor, block)
        cursor.insertText(section.title, title)
        block.setTopMargin(0)
        block.setBottomMargin(0)
        block.setLeftMargin(2 * GAP_L)
        for line in section.lines:
            self._begin_block(cursor, block)
            cursor.insertText(line.text, self._format(line.look))

    def _begin_block(self, cursor: QTextCursor, block: QTextBlockFormat) -> None:
        if cursor.atStart():
            cursor.setBlockFormat(block)
        else:
            cursor.insertBlock(block)

    def _format(self, look: Look) -> QTextCharFormat:
        made = QTextCharFormat()
        font = monospaced(self.font()) if look is Look.CODE else self.font()
        made.setFont(emphasised(font) if look is Look.STRONG else font)
        made.setForeground(self._appearance.colour(_TONES[look]))
        return made

    def _show_icon(self) -> None:
        report = self._report
        is_wrong = report is not None and (report.error is not None or report.health is not None)
        side = round(self.fontMetrics().height() * 1.6)
        tone = Tone.BAD if is_wrong else Tone.ACCENT
        ratio = self.devicePixelRatioF()
        self.icon.setPixmap(self._appearance.pixmap("doctor", tone, side, ratio))

    @Slot()
    def _recolour(self) -> None:
        set_text_colour(self.head, self._appearance, Tone.TEXT)
        set_text_colour(self.sentence, self._appearance, Tone.TEXT)
        self._show_icon()
        self._write(keeps_place=True)

    @Slot()
    def _on_go(self) -> None:
        report = self._report
        if report is not None:
            self.on_servers.run(RESTART if report.state.is_up else CONNECT, report.server)

    @Slot()
    def _on_edit(self) -> None:
        self.on_servers.run(EDIT, self.server)

    @Slot()
    def _on_stderr(self) -> None:
        self.on_servers.run(STDERR, self.server)

    @Slot()
    def _on_traffic(self) -> None:
        self.traffic_requested.emit(self.server)

    @Slot()
    def _on_copy(self) -> None:
        if self._report is not None:
            # Patterns of secrets are slow to compile: only for copying a report.
            from mcp_progress_monitor.exports.redaction import doctor_text

            QGuiApplication.clipboard().setText(doctor_text(self._report, self._now))
