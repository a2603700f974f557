"""The tray icon: the state of all jobs at a glance, and a menu to reach them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from mcp_progress_monitor import paths
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.gui.theme import Appearance, Tone
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

_SIDE: Final = 64
_LISTED: Final = 8
_LONGEST: Final = 40
LOOK_MS: Final = 10_000
"""Between two looks for a tray, at 0.3 ms each; one that was there and returns is Qt's matter."""


class TrayIcon(QObject):
    """An icon in the tray, while it is wanted and the desktop has a place for it."""

    shown = Signal()  # the window is to come to the front
    job_opened = Signal(object)  # a `JobId` that was chosen from the menu
    icon_changed = Signal()  # there is an icon, or none any more

    def __init__(
        self,
        window: QWidget,
        appearance: Appearance,
        running: Callable[[], Sequence[JobSnapshot]],
        actions: Sequence[QAction],
    ) -> None:
        """`running` are the jobs that the menu lists; `actions` are its last ones."""
        super().__init__(window)
        self._appearance = appearance
        self._running = running
        self._actions = actions
        self._text = ""
        self._tone: Tone | None = None
        self.icon: QSystemTrayIcon | None = None  # the system's own; None while there is none
        self._look = QTimer(self)
        self._look.setInterval(LOOK_MS)
        self._look.timeout.connect(self._show_icon)
        self._menu = QMenu(window)
        self._menu.aboutToShow.connect(self._fill)
        self._menu.triggered.connect(self._on_triggered)
        self._fill()

    def set_wanted(self, *, is_wanted: bool) -> None:
        if is_wanted and self.icon is None:
            self._look.start()
            self._show_icon()
        elif not is_wanted:
            self._look.stop()
            if self.icon is not None:
                self.icon.hide()
                self.icon.deleteLater()
                self.icon = None
                self.icon_changed.emit()

    @Slot()
    def _show_icon(self) -> None:
        """Show the icon once there is a tray: a panel may start after this program."""
        if not QSystemTrayIcon.isSystemTrayAvailable():
            return
        self._look.stop()
        self.icon = QSystemTrayIcon(self)
        self.icon.setContextMenu(self._menu)
        self.icon.activated.connect(self._on_activated)
        self._draw()
        self.icon.show()
        self.icon_changed.emit()

    def show_state(self, text: str, tone: Tone | None) -> None:
        """Say `text`, and mark the icon in the colour of `tone`; None leaves it plain."""
        if (text, tone) != (self._text, self._tone):
            self._text, self._tone = text, tone
            self._draw()

    def _draw(self) -> None:
        if self.icon is None:
            return
        self.icon.setToolTip(plain_tip(self._text or "No running jobs"))
        self.icon.setIcon(self._drawn())

    def _drawn(self) -> QIcon:
        plain = QIcon(str(paths.resource("icons/app.svg")))
        if self._tone is None:
            return plain
        picture = QPixmap(plain.pixmap(_SIDE, _SIDE))
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        side = picture.width()
        for share, colour in ((0.5, Qt.GlobalColor.white), (0.42, None)):
            dot = round(side * share)
            rim = round(side * (0.5 - share) / 2)
            painter.setBrush(colour or self._appearance.colour(self._tone))
            painter.drawEllipse(side - dot - rim, side - dot - rim, dot, dot)
        painter.end()
        return QIcon(picture)

    @Slot()
    def _fill(self) -> None:
        menu = self._menu
        menu.clear()
        show = menu.addAction("&Show window")
        show.triggered.connect(self.shown)
        menu.setDefaultAction(show)
        menu.addSeparator()
        jobs = self._running()
        for job in jobs[:_LISTED]:
            name = one_line(job_texts.name(job), _LONGEST).replace("&", "&&")
            words = ", ".join(filter(None, (name, job_texts.amount(job), job.state.value.lower())))
            menu.addAction(words).setData(job.id)
        if not jobs:
            menu.addAction("No running jobs").setEnabled(False)
        menu.addSeparator()
        menu.addActions(list(self._actions))

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        if isinstance(action.data(), int):
            self.job_opened.emit(action.data())

    @Slot(QSystemTrayIcon.ActivationReason)
    def _on_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in {
            QSystemTrayIcon.ActivationReason.Trigger,
            QSystemTrayIcon.ActivationReason.DoubleClick,
        }:
            self.shown.emit()
