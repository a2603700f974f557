"""A bar that shows, opens and cancels the sign-ins that servers wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QTextOption
from PySide6.QtWidgets import QFrame, QLabel, QPlainTextEdit, QPushButton, QSizePolicy

from mcp_progress_monitor.gui.common.controls import (
    plain_label,
    plain_tip,
    read_only_text,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.layout import in_column, in_row
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Tone, emphasised
from mcp_progress_monitor.wording.questions import url_parts
from mcp_progress_monitor.wording.servers import sign_in_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.gui.confirmations import EndGuard
    from mcp_progress_monitor.gui.feed import Feed
    from mcp_progress_monitor.gui.servers.model import ServersModel
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.servers import SignIn
    from mcp_progress_monitor.wording.questions import UrlParts

_LINES: Final = 3
_LONGEST_NAME: Final = 60


class SignInBar(QFrame):
    """Shows one sign-in at a time, the oldest first; hidden if there is none.

    The address comes from a server: it is plain text, with its host set apart, and is opened only
    by a click.
    """

    open_requested = Signal(object)  # `str`: the URL of a page to open
    cancel_requested = Signal(str)  # the name of a server whose sign-in is cancelled

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAccessibleName("Sign-in")
        self._appearance = appearance
        self._waiting: tuple[SignIn, ...] = ()
        self.what = plain_label(self)
        self.what.setFont(emphasised(self.what.font()))
        self.more = plain_label(self)
        self.more.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.host = plain_label(self)
        font = emphasised(self.host.font())
        font.setPointSizeF(font.pointSizeF() * 1.3)
        self.host.setFont(font)
        self.whole = self._address()
        self.warnings = plain_label(self)
        self.open = QPushButton("&Open in browser", self)
        self.open.clicked.connect(self._on_open_clicked)
        self.copy = QPushButton("Cop&y", self)
        self.copy.setToolTip("Copy the full address")
        self.copy.clicked.connect(self._on_copy_clicked)
        self.cancel = QPushButton("Cancel", self)
        self.cancel.setToolTip("Cancel the sign-in and disconnect the server")
        self.cancel.clicked.connect(self._on_cancel_clicked)
        self._caption = QLabel("Host", self, textFormat=Qt.TextFormat.PlainText)
        appearance.changed.connect(self._on_recoloured)
        self._lay_out()
        self._on_recoloured()
        self.hide()

    def show_sign_ins(self, waiting: Sequence[SignIn]) -> None:
        """Show the oldest of the pending sign-ins; the others keep their order."""
        kept = [each for each in self._waiting if each in waiting]
        self._waiting = (*kept, *(each for each in waiting if each not in kept))
        self._refresh()

    @property
    def shown(self) -> SignIn | None:
        """The sign-in that is shown."""
        return self._waiting[0] if self._waiting else None

    def _address(self) -> QPlainTextEdit:
        edit = read_only_text(self, "Full address", QTextOption.WrapMode.WrapAnywhere)
        line = edit.fontMetrics().lineSpacing()
        edit.setMinimumHeight(line + 12)  # in a low window the rest can be scrolled to
        edit.setMaximumHeight(line * _LINES + 12)
        return edit

    def _lay_out(self) -> None:
        first = in_row((self.what, 1), self.more)
        second = in_row(self._caption, (self.host, 1), spacing=GAP)
        for button in (self.open, self.copy, self.cancel):
            button.setAutoDefault(False)
            second.addWidget(button)
        in_column(
            first, second, self.whole, self.warnings, of=self, margins=(10, 6, 8, 8), spacing=GAP_S
        )

    def _refresh(self) -> None:
        sign_in = self.shown
        self.setVisible(sign_in is not None)
        if sign_in is None:
            return
        parts = url_parts(sign_in.url)
        self.what.setText(sign_in_text(sign_in.server))
        others = len(self._waiting) - 1
        self.more.setText(f"{others} more waiting")
        self.more.setVisible(others > 0)
        self.host.setText(parts.host or "no host")
        self.host.setAccessibleName(f"Host: {parts.host}")
        if self.whole.toPlainText() != parts.shown:  # else a selection would be lost
            self.whole.setPlainText(parts.shown)
        self._warn(parts)
        self.open.setEnabled(not parts.refusal)
        tip = parts.refusal or "Open the full address in your browser"
        self.open.setToolTip(plain_tip(tip))

    def _warn(self, parts: UrlParts) -> None:
        self.warnings.setText(" ".join((*parts.warnings, parts.refusal)).strip())
        tone = Tone.BAD if parts.refusal else Tone.WARNING
        set_text_colour(self.warnings, self._appearance, tone)
        self.warnings.setVisible(bool(self.warnings.text()))

    @Slot()
    def _on_recoloured(self) -> None:
        self.open.setIcon(self._appearance.icon("open"))
        for label in (self.more, self._caption):
            set_text_colour(label, self._appearance, Tone.MUTED)
        self._refresh()

    @Slot()
    def _on_open_clicked(self) -> None:
        if self.shown is not None:
            self.open_requested.emit(self.shown.url)

    @Slot()
    def _on_copy_clicked(self) -> None:
        if self.shown is not None:
            QGuiApplication.clipboard().setText(self.shown.url)

    @Slot()
    def _on_cancel_clicked(self) -> None:
        if self.shown is not None:
            self.cancel_requested.emit(self.shown.server)


class SignInController(QObject):
    """Shows in a bar the servers that wait for a sign-in."""

    def __init__(
        self,
        parent: QWidget,
        servers: ServersModel,
        feed: Feed,
        appearance: Appearance,
        end_guard: EndGuard,
    ) -> None:
        super().__init__(parent)
        self._servers = servers
        self.bar = SignInBar(appearance, parent)
        self.bar.cancel_requested.connect(end_guard.disconnect_server)
        feed.servers_changed.connect(self._on_servers_changed)

    @Slot()
    def _on_servers_changed(self) -> None:
        # The model's snapshots are current: building fifty ten times a second is expensive.
        found = (server.sign_in for server in self._servers.servers())
        self.bar.show_sign_ins([each for each in found if each is not None])
