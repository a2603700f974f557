"""The pane of standard error: one server or all, the search, and the lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QToolButton, QWidget

from mcp_progress_monitor.formatting import number
from mcp_progress_monitor.gui.common.controls import QuietComboBox, plain_tip, set_text_colour
from mcp_progress_monitor.gui.common.labels import ServerTitles
from mcp_progress_monitor.gui.common.layout import in_column, order_tabs
from mcp_progress_monitor.gui.console.lines import LINES, StderrLines
from mcp_progress_monitor.gui.console.search import StderrSearch
from mcp_progress_monitor.gui.console.view import SLICE, StderrView, plain_line
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_progress_monitor.protocol.frames import Frame

__all__ = ["LINES", "SLICE", "StderrPane"]

_NAME: Final = 40


class StderrPane(QWidget):
    """Shows the newest 10,000 lines of one server or of all; Traffic has every line in full.

    What is kept of every server can be shown again after another one was chosen, or the view was
    cleared. A connection that begins or ends has a line of its own between.
    """

    frame_opened = Signal(object)  # the number of a line's frame, to be shown in the log
    save_requested = Signal()  # what is shown is to be saved; see `plain_text`

    def __init__(
        self,
        appearance: Appearance,
        parent: QWidget | None = None,
        titles: ServerTitles | None = None,
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._titles = titles or ServerTitles(self)
        self._titles.changed.connect(self._on_titles_changed)
        self._lines = StderrLines()
        self._server: str | None = None
        self._cleared = -1
        self._unseen = 0
        self.text = StderrView(appearance, self._titles, self)
        self.search = StderrSearch(self.text, appearance, self)
        self.server_choice = QuietComboBox(self)
        self.times = self._button("Time", "Show the time of each line", "")
        self.clear_button = self._button(
            "Clear", "Hide the current lines without deleting them", "clear"
        )
        self.save = self._button("Save", "Save the visible lines as a text file", "save")
        self.jump = self._button("", "Jump to the newest line and follow new ones (End)", "")
        self.state_label = QLabel(self)
        self._menu = QMenu(self)
        self._set_up()
        self._lay_out()
        order_tabs(self)
        self.begins_at = self.text
        self._connect()
        self._recolour()
        self._show_servers()

    @property
    def server(self) -> str | None:
        return self._server

    @property
    def unwritten(self) -> int:
        """How many of the lines shown are still to be given to the widget."""
        return self.text.unwritten

    @Slot(object)
    def add_frames(self, frames: Sequence[Frame]) -> None:
        """Take in lines, and events between them (`Feed.stderr_added`)."""
        known = self.server_choice.count()
        added = self._lines.add(frames)
        if not added:
            return
        if len(self._lines.servers) + 1 != known:
            self._show_servers()
        if self._server is not None:
            start = f"{self._server}#"
            added = [each for each in added if each.connection.startswith(start)]
        if not self.text.is_at_end:
            self._unseen += len(added)
        self.text.add_lines(added)
        self._show_state()

    @Slot(object)
    def choose_server(self, name: str | None) -> None:
        if name != self._server:
            self._server = name
            self._show_servers()
            self._rebuild()

    @Slot()
    def clear(self) -> None:
        self._lines.clear()
        self._cleared = -1
        self._show_servers()
        self._rebuild()

    def plain_text(self) -> Callable[[], str]:
        """What is shown now, without colours, a line each; made by a call, in any thread."""
        has_times, titles = self.times.isChecked(), None if self._server else self._titles
        lines = self._lines.lines(self._server, self._cleared)

        def words() -> str:
            plain = (plain_line(line, has_times=has_times, titles=titles) for line in lines)
            return "".join(f"{each}\n" for each in plain)

        return words

    def state(self) -> dict[str, Any]:
        return {**self.search.state(), "server": self._server, "times": self.times.isChecked()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what was remembered; what does not fit is left out."""
        self.search.restore(state)
        self.times.setChecked(state.get("times") is not False)
        server = state.get("server")
        self.choose_server(server if isinstance(server, str) else None)

    def _button(self, words: str, tip: str, icon: str) -> QToolButton:
        button = QToolButton(self)
        button.setText(words)
        button.setToolTip(plain_tip(tip))
        button.setAccessibleName(words or tip)
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.setProperty("icon-name", icon)
        return button

    def _set_up(self) -> None:
        self.text.setAccessibleName("Standard error")
        self.text.setPlaceholderText("No output on standard error yet.")
        self.text.setToolTip("")
        self.text.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.server_choice.setAccessibleName("Server whose standard error is shown")
        self.server_choice.setToolTip("Show the lines of one server or of all servers")
        self.times.setCheckable(True)
        self.times.setChecked(True)
        self.jump.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.jump.hide()
        self.state_label.setTextFormat(Qt.TextFormat.PlainText)
        self._open = QAction("Show in &Traffic", self)
        self._copy = QAction("&Copy", self)
        self._copy.setShortcut(QKeySequence.StandardKey.Copy)
        self._copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self._all = QAction("Select &all", self)
        self._menu.addActions([self._open, self._copy, self._all])

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        head.setSpacing(GAP_S)
        head.addWidget(self.server_choice)
        head.addWidget(self.times)
        head.addWidget(self.search, 1)
        for part in (self.state_label, self.jump, self.clear_button, self.save):
            head.addWidget(part)
        in_column(head, (self.text, 1), of=self, margins=0, spacing=0)

    def _connect(self) -> None:
        self.server_choice.activated.connect(self._on_server_chosen)
        self.times.toggled.connect(self._on_times_toggled)
        self.clear_button.clicked.connect(self._on_clear)
        self.save.clicked.connect(self.save_requested)
        self.jump.clicked.connect(self._on_jump)
        self.text.frame_opened.connect(self.frame_opened)
        self.text.customContextMenuRequested.connect(self._on_menu_requested)
        self.text.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self._open.triggered.connect(self.text.open_line)
        self._copy.triggered.connect(self.text.copy)
        self._all.triggered.connect(self.text.selectAll)
        self._appearance.changed.connect(self._recolour)

    def _show_servers(self) -> None:
        choice = self.server_choice
        names = sorted({*self._lines.servers, *([self._server] if self._server else [])})
        choice.clear()
        choice.addItem("All servers", None)
        for name in names:
            choice.addItem(self._titles.text(name), name)
        choice.setCurrentIndex(choice.findData(self._server))

    @Slot()
    def _on_titles_changed(self) -> None:
        self._show_servers()
        self._rebuild()

    def _rebuild(self) -> None:
        self._unseen = 0
        self.text.has_times = self.times.isChecked()
        self.text.has_names = self._server is None
        self.text.show_lines(self._lines.lines(self._server, self._cleared))
        self._show_state()

    def _show_state(self) -> None:
        gone = self._lines.gone(self._server)
        words = f"{number(gone)} older dropped" if gone else ""
        is_cleared = self._cleared >= 0
        self.state_label.setText(words)
        self.state_label.setToolTip(
            plain_tip(
                f"The newest {number(LINES)} lines of each server are kept; Traffic has all of them"
            )
        )
        self.clear_button.setText("Show all" if is_cleared else "Clear")
        style = Qt.ToolButtonStyle
        shown = style.ToolButtonTextBesideIcon if is_cleared else style.ToolButtonIconOnly
        self.clear_button.setToolButtonStyle(shown)
        self.clear_button.setToolTip(
            "Show the cleared lines again"
            if is_cleared
            else "Hide the current lines without deleting them"
        )
        self._show_jump()

    def _show_jump(self) -> None:
        new = f"{number(self._unseen)} new"
        self.jump.setText(new if self._unseen else "Newest")
        self.jump.setVisible(not self.text.is_at_end)

    @Slot(int)
    def _on_server_chosen(self, place: int) -> None:
        self.choose_server(self.server_choice.itemData(place))

    @Slot(bool)
    def _on_times_toggled(self, _is_wanted: bool) -> None:
        self._rebuild()

    @Slot()
    def _on_clear(self) -> None:
        self._cleared = -1 if self._cleared >= 0 else self._lines.newest()
        self._rebuild()

    @Slot()
    def _on_jump(self) -> None:
        self.text.follow()
        self.text.setFocus()

    @Slot()
    def _on_scrolled(self) -> None:
        if self.text.is_at_end:
            self._unseen = 0
        self._show_jump()

    @Slot(QPoint)
    def _on_menu_requested(self, place: QPoint) -> None:
        cursor = self.text.textCursor()
        if not cursor.hasSelection():
            self.text.setTextCursor(self.text.cursorForPosition(place))
        self._copy.setEnabled(cursor.hasSelection())
        self._menu.popup(self.text.viewport().mapToGlobal(place))

    @Slot()
    def _recolour(self) -> None:
        for button in (self.clear_button, self.save):
            button.setIcon(self._appearance.icon(button.property("icon-name")))
        self.jump.setIcon(self._appearance.icon("follow", Tone.ACCENT))
        set_text_colour(self.state_label, self._appearance, Tone.MUTED)
        self.text.recolour()
