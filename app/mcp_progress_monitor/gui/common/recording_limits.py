"""Whether sessions are recorded, and how long recordings are kept: a form, used in two places."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QSpinBox, QWidget

from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.theme import GAP

if TYPE_CHECKING:
    from mcp_progress_monitor.recording.settings import RecordingSettings

_GB: Final = 1_000_000_000
_DAYS_AT_MOST: Final = 3650
_GB_AT_MOST: Final = 100_000
_WHEN: Final = (
    "Changes take effect the next time the program starts, and with the next session of a watched"
    " client. Without recordings, watched clients are not shown: the window reads what is recorded."
)


class RecordingLimits(QWidget):
    """Shows settings of recordings and emits each change of them."""

    settings_changed = Signal(object)  # `RecordingSettings`

    def __init__(self, settings: RecordingSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self.is_on = QCheckBox("&Record every session", self)
        self.days = QSpinBox(self)
        self.gigabytes = QSpinBox(self)
        self._set_up_fields()
        self._lay_out()
        self.is_on.toggled.connect(self._on_changed)
        self.days.valueChanged.connect(self._on_changed)
        self.gigabytes.valueChanged.connect(self._on_changed)

    def _set_up_fields(self) -> None:
        settings = self._settings
        self.is_on.setChecked(settings.is_on)
        self.is_on.setToolTip(
            "Write every message of every session to disk, also those of watched clients"
        )
        self.days.setRange(1, _DAYS_AT_MOST)
        self.days.setValue(settings.keep_days)
        self.days.setSuffix(" days")
        self.days.setAccessibleName("Days to keep recordings")
        self.days.setToolTip("Delete recordings that are older")
        self.gigabytes.setRange(1, _GB_AT_MOST)
        self.gigabytes.setValue(max(1, round(settings.keep_bytes / _GB)))
        self.gigabytes.setSuffix(" GB")
        self.gigabytes.setAccessibleName("Maximum total size")
        self.gigabytes.setToolTip("Delete the oldest recordings above this total size")
        for field in (self.days, self.gigabytes):
            field.setKeyboardTracking(False)

    def _lay_out(self) -> None:
        limits = QHBoxLayout()
        limits.setSpacing(GAP)
        limits.addWidget(QLabel("Keep for", self))
        limits.addWidget(self.days)
        limits.addWidget(QLabel("and at most", self))
        limits.addWidget(self.gigabytes)
        limits.addStretch(1)
        when = QLabel(_WHEN, self)
        when.setWordWrap(True)
        in_column(self.is_on, limits, when, of=self, margins=0)

    @Slot()
    def _on_changed(self) -> None:
        """A limit that was not edited keeps its exact value, which the field may round."""
        old = self._settings
        is_same_size = self.gigabytes.value() == max(1, round(old.keep_bytes / _GB))
        self._settings = dataclasses.replace(
            old,
            is_on=self.is_on.isChecked(),
            keep_days=self.days.value(),
            keep_bytes=old.keep_bytes if is_same_size else self.gigabytes.value() * _GB,
        )
        if self._settings != old:
            self.settings_changed.emit(self._settings)
