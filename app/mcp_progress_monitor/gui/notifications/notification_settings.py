"""The page of notification settings in the Settings dialog."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSignalBlocker, Qt, QTime, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QSpinBox,
    QTimeEdit,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.controls import QuietComboBox, heading, plain_tip
from mcp_progress_monitor.gui.common.layout import in_column, in_row, order_tabs
from mcp_progress_monitor.gui.theme import GAP, GAP_L, GAP_S
from mcp_progress_monitor.gui.user_settings import NotificationSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp_progress_monitor.gui.user_settings import ServerRule

_LONGEST_S: Final = 86_400
_LONGEST_NAME: Final = 60
_EVENTS: Final = (
    (
        "on_needs_you",
        "needs an &answer",
        "Notify when a server asks a question, which stops the job",
    ),
    ("on_failed", "&fails", "Notify when a call fails, times out or loses its connection"),
    ("on_stalled", "&stalls", "Notify when a job makes no progress for longer than usual"),
    ("on_resumable", "can be &resumed", "Notify when a call stops and its resume token is saved"),
    ("on_done", "is &done", "Notify when a call ends with a result"),
)
_PLACES: Final = (
    ("shows_counts", "&Counts in the window title", "Show counts such as “3 running, 1 needs you”"),
    ("shows_tray", "&Tray icon", "Show the state of all jobs in the system tray, if there is one"),
    (
        "shows_task_bar",
        "&Progress and badge in the task bar",
        "Show progress on the task bar or dock, if the system supports it",
    ),
)
_RULES: Final[Mapping[ServerRule, str]] = {
    "all": "All events selected above",
    "attention": "All except completed jobs",
    "none": "Nothing",
}


class NotificationPage(QWidget):
    """Shows and edits `NotificationSettings`; the owner applies what `changed` emits."""

    changed = Signal(object)  # the current settings

    def __init__(
        self,
        settings: NotificationSettings,
        servers: Iterable[str] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.settings = settings
        names = dict.fromkeys((*servers, *settings.servers))
        self._boxes: dict[str, QCheckBox] = {}
        self._rules = {name: self._rule(name) for name in names}
        self._events = QWidget(self)
        self._least = QSpinBox(self)
        self._quiet_from, self._quiet_until = QTimeEdit(self), QTimeEdit(self)
        self._lay_out()
        order_tabs(self)
        self.show_settings(settings)
        for box in self._boxes.values():
            box.toggled.connect(self._on_edited)
        self._least.valueChanged.connect(self._on_edited)
        for edit in (self._quiet_from, self._quiet_until):
            edit.timeChanged.connect(self._on_edited)
        for combo in self._rules.values():
            combo.currentIndexChanged.connect(self._on_edited)

    def show_settings(self, settings: NotificationSettings) -> None:
        with QSignalBlocker(self):
            for name, box in self._boxes.items():
                box.setChecked(bool(getattr(settings, name)))
            self._least.setValue(settings.least_s)
            self._quiet_from.setTime(_shown(settings.quiet_from))
            self._quiet_until.setTime(_shown(settings.quiet_until))
            for name, combo in self._rules.items():
                combo.setCurrentIndex(combo.findData(settings.rule(name)))
        self.settings = settings
        self._enable()

    def _lay_out(self) -> None:
        column = in_column(
            heading("Notifications", self), of=self, margins=(0, 0, GAP, 0), spacing=GAP
        )
        tip = "Notify only while another window is in front"
        column.addWidget(self._box("is_on", "&Notify while the window is in the background", tip))
        column.addWidget(self._events)
        self._lay_out_events()
        if self._rules:
            column.addSpacing(GAP)
            column.addWidget(heading("Rules for servers", self))
            column.addLayout(self._servers())
        column.addSpacing(GAP)
        column.addWidget(heading("Also show", self))
        for name, text, why in _PLACES:
            column.addWidget(self._box(name, text, why))
        tip = "Prevent an idle computer from sleeping; a closed lid or Suspend still does it"
        column.addWidget(self._box("keeps_awake", "&Keep the computer awake while jobs run", tip))
        column.addStretch(1)

    def _lay_out_events(self) -> None:
        rows = QVBoxLayout(self._events)
        rows.setContentsMargins(GAP_L + GAP, 0, 0, 0)
        rows.setSpacing(GAP_S)
        rows.addWidget(QLabel("When a job", self))
        for name, text, why in _EVENTS:
            row = in_row(self._box(name, text, why), margins=(GAP_L, 0, 0, 0))
            rows.addLayout(row)
        rows.addSpacing(GAP_S)
        rows.addLayout(self._least_row())
        rows.addWidget(
            self._box(
                "includes_watched",
                "Include jobs of &watched clients",
                "Notify about jobs of watched clients",
            )
        )
        rows.addLayout(self._quiet_row())
        rows.addWidget(
            self._box("has_sound", "Play a s&ound", "Play the desktop's notification sound")
        )

    def _least_row(self) -> QHBoxLayout:
        self._least.setRange(0, _LONGEST_S)
        self._least.setSuffix(" s")
        self._least.setAccessibleName("Minimum duration in seconds")
        self._least.setToolTip("Skip notifications of shorter jobs, except questions")
        label = QLabel("Only jobs that ran for at &least", self)
        label.setBuddy(self._least)
        return _row(label, self._least)

    def _quiet_row(self) -> QHBoxLayout:
        box = self._box(
            "has_quiet_hours", "&Quiet hours from", "Show no notifications during these hours"
        )
        for edit, name in ((self._quiet_from, "begin"), (self._quiet_until, "end")):
            edit.setDisplayFormat("HH:mm")
            edit.setAccessibleName(f"Quiet hours {name}")
            edit.setToolTip(plain_tip(f"Quiet hours {name} at this time of day"))
        return _row(box, self._quiet_from, QLabel("until", self), self._quiet_until)

    def _servers(self) -> QFormLayout:
        form = QFormLayout()
        form.setHorizontalSpacing(GAP_L)
        for name, combo in self._rules.items():
            label = QLabel(one_line(name, _LONGEST_NAME), self)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setToolTip(plain_tip(name))
            label.setBuddy(combo)
            form.addRow(label, combo)
        return form

    def _rule(self, server: str) -> QuietComboBox:
        combo = QuietComboBox(self)
        for rule, text in _RULES.items():
            combo.addItem(text, rule)
        combo.setAccessibleName(f"Notifications of {one_line(server, _LONGEST_NAME)}")
        combo.setToolTip("Choose what to be notified of")
        return combo

    def _box(self, name: str, text: str, why: str) -> QCheckBox:
        box = self._boxes[name] = QCheckBox(text, self)
        box.setToolTip(plain_tip(why))
        return box

    def _enable(self) -> None:
        self._events.setEnabled(self.settings.is_on)
        for edit in (self._quiet_from, self._quiet_until):
            edit.setEnabled(self.settings.has_quiet_hours)
        for combo in self._rules.values():
            combo.setEnabled(self.settings.is_on)

    @Slot()
    def _on_edited(self) -> None:
        chosen = {name: combo.currentData() for name, combo in self._rules.items()}
        self.settings = NotificationSettings(
            **{name: box.isChecked() for name, box in self._boxes.items()},
            least_s=self._least.value(),
            quiet_from=_read(self._quiet_from),
            quiet_until=_read(self._quiet_until),
            servers={name: rule for name, rule in chosen.items() if rule != "all"},
        )
        self._enable()
        self.changed.emit(self.settings)


def _row(*widgets: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    for widget in widgets:
        row.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
    row.addStretch(1)
    return row


def _shown(time: datetime.time) -> QTime:
    return QTime(time.hour, time.minute)


def _read(edit: QTimeEdit) -> datetime.time:
    time = edit.time()
    return datetime.time(time.hour(), time.minute())
