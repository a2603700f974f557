"""The settings dialog: a list of pages, each made when it is first shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QStackedWidget,
    QWidget,
)

from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column, in_row, order_tabs
from mcp_progress_monitor.gui.common.settings_form import SettingsForm
from mcp_progress_monitor.gui.common.tables import dress_rows
from mcp_progress_monitor.gui.theme import GAP, GAP_L, Appearance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SIZE: Final = QSize(760, 540)


class SettingsPage(NamedTuple):
    """A page: key, title, icon, and a factory, called when it is first shown."""

    key: str
    title: str
    icon: str
    make: Callable[[QWidget], QWidget]


class SettingsDialog(QDialog):
    """Shows the pages; each applies and saves its own changes."""

    def __init__(
        self, pages: Sequence[SettingsPage], appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Settings")
        self._pages = tuple(pages)
        self._appearance = appearance
        self._made: dict[str, QWidget] = {}
        self.list = QListWidget(self)
        dress_rows(self.list)
        self._stack = QStackedWidget(self)
        self._set_up_list()
        self._lay_out()
        self.list.currentRowChanged.connect(self._on_row_changed)
        fit_to_screen(self, _SIZE)
        self.list.setCurrentRow(0)

    def open_page(self, key: str) -> None:
        for row, page in enumerate(self._pages):
            if page.key == key:
                self.list.setCurrentRow(row)

    def show_setting(self, key: str, name: str) -> None:
        """Open a page, and move the focus to the control of one of its rows."""
        page, place = self.page(key), self._stack.currentWidget()
        if isinstance(page, SettingsForm) and isinstance(place, QScrollArea):
            control = page.control_of(name)
            if control is not None:
                control.setFocus(Qt.FocusReason.OtherFocusReason)
                place.ensureWidgetVisible(control)

    def page(self, key: str) -> QWidget:
        self.open_page(key)
        return self._made[key]

    def _set_up_list(self) -> None:
        self.list.setAccessibleName("Pages of settings")
        self.list.setIconSize(QSize(18, 18))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        height = self.list.fontMetrics().height() + 2 * GAP
        for page in self._pages:
            icon = self._appearance.icon(page.icon)
            item = QListWidgetItem(icon, page.title, self.list)
            item.setSizeHint(QSize(0, height))
            self._stack.addWidget(self._place())
        text = self.list.fontMetrics()
        widest = max(text.horizontalAdvance(page.title) for page in self._pages)
        self.list.setFixedWidth(widest + 18 + 6 * GAP)

    def _place(self) -> QScrollArea:
        place = QScrollArea(self, widgetResizable=True)
        place.setFrameShape(QFrame.Shape.NoFrame)
        place.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return place

    def _lay_out(self) -> None:
        close = DialogButtons(QDialogButtonBox.StandardButton.Close, self)
        close.rejected.connect(self.reject)
        close.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        row = in_row(self.list, (self._stack, 1), spacing=GAP_L)
        in_column((row, 1), close, of=self)

    @Slot(int)
    def _on_row_changed(self, row: int) -> None:
        page = self._pages[row]
        if page.key not in self._made:
            made = self._made[page.key] = page.make(self)
            place = self._stack.widget(row)
            if isinstance(place, QScrollArea):
                place.setWidget(made)
        self._stack.setCurrentIndex(row)
        order_tabs(self)
