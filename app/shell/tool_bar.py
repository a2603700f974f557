"""The tool bar: what is done most, beside the field that looks for jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolBar, QToolButton, QWidget

from app.shell.split_button import SplitButton

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtGui import QAction

    from app.shell.actions import Actions
    from app.widgets.appearance import Appearance
    from app.widgets.job_filters import JobFilterEdit
    from app.widgets.job_list import JobList

_ICON = 18


class ToolBar(QToolBar):
    """Connect, new call, cancel, resume, re-issue; the filter at the right."""

    def __init__(
        self,
        actions: Actions,
        jobs: JobList,
        search: JobFilterEdit,
        appearance: Appearance,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Toolbar"))
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setIconSize(QSize(_ICON, _ICON))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._appearance = appearance
        self._resumption = (jobs.action("resume"), jobs.action("automatic"))
        self.connect_button = self._made_button(
            QToolButton(self),
            self.tr("Connect"),
            self.tr("Connect to a server"),
            [actions.command, actions.config, actions.demo],
        )
        self.connect_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.resume_button = self._made_button(
            SplitButton(self),
            self.tr("Resume"),
            self._resumption[0].toolTip(),
            self._resumption,
        )
        self.resume_button.clicked.connect(self._resumption[0].trigger)
        for action in self._resumption:
            action.enabledChanged.connect(self._enable)
        self._lay_out(actions, jobs, search)
        self._enable()
        self._recolour()
        appearance.changed.connect(self._recolour)

    def set_read_only(self, actions: Actions) -> None:
        """Take away what asks something of a server; offer other recordings in its place."""
        *live, gap, _search = self.actions()
        for action in live:
            self.removeAction(action)
        self.insertActions(gap, [actions.open_recording, actions.recordings])

    def _lay_out(self, actions: Actions, jobs: JobList, search: JobFilterEdit) -> None:
        self.addWidget(self.connect_button)
        self.addSeparator()
        self.addActions([actions.call, jobs.action("cancel")])
        self.addWidget(self.resume_button)
        self.addAction(jobs.action("reissue"))
        gap = QWidget(self)
        gap.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(gap)
        search.setMaximumWidth(320)
        self.addWidget(search)

    def _made_button(
        self, button: QToolButton, words: str, tip: str, choices: Iterable[QAction]
    ) -> QToolButton:
        menu = QMenu(button)
        menu.addActions(list(choices))
        button.setText(words)
        button.setMenu(menu)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setAccessibleName(words)
        button.setToolTip(tip)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    @Slot()
    def _enable(self) -> None:
        """Offer the menu although only one of its two can work: the button itself resumes."""
        self.resume_button.setEnabled(any(action.isEnabled() for action in self._resumption))

    @Slot()
    def _recolour(self) -> None:
        self.connect_button.setIcon(self._appearance.icon("connect"))
        self.resume_button.setIcon(self._appearance.icon("resume"))
