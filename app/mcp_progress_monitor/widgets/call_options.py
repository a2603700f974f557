"""How to make a call: its progress token, its limits, how often, by itself or not, as a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QLabel,
    QLineEdit,
    QSpinBox,
    QWidget,
)

from mcp_progress_monitor.models.json_input import InputError, read_number
from mcp_progress_monitor.models.limit_input import off_word, read_limit
from mcp_progress_monitor.protocol.tokens import AUTO, TokenChoice
from mcp_progress_monitor.sessions.limits import LimitChoice, Limits
from mcp_progress_monitor.widgets.appearance import GAP, GAP_S, Appearance
from mcp_progress_monitor.widgets.plain_text import plain_tip
from mcp_progress_monitor.widgets.schema_field import QuietComboBox, mark_wrong
from mcp_progress_monitor.widgets.task_options import TaskOptions

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.task_requests import TaskWish

_MOST_REPEATS: Final = 10_000
_AUTOMATIC, _STRING, _INTEGER, _NONE = range(4)


class Options(NamedTuple):
    """What the user chose; limits in seconds, None is off."""

    token: TokenChoice
    allow_duplicate: bool
    idle_s: LimitChoice
    total_s: LimitChoice
    repeats: int
    is_automatic: bool
    """Whether to go on by itself when the server hands out a resume token."""
    task: TaskWish


class CallOptions(QWidget):
    """Three lines of controls; `options` reads them."""

    changed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._kind = QuietComboBox(self)
        self._kind.addItems(
            [
                self.tr("Automatic"),
                self.tr("Own string"),
                self.tr("Own integer"),
                self.tr("None"),
            ]
        )
        self._token = QLineEdit(self)
        self._allow = QCheckBox(self.tr("Allow a token in use"), self)
        self._idle = QLineEdit(self)
        self._total = QLineEdit(self)
        self._repeats = QSpinBox(self)
        self._repeats.setRange(1, _MOST_REPEATS)
        self._repeats.setGroupSeparatorShown(True)
        self.automatic = QCheckBox(self.tr("Resume &automatically"), self)
        self.task = TaskOptions(appearance, self)
        self._name_controls()
        self._lay_out()
        self._kind.currentIndexChanged.connect(self._on_kind_changed)
        self._on_kind_changed()

    def options(self) -> Options:
        """Return what was chosen.

        Raises:
            InputError: a control holds what cannot be used; it is marked, and the message names it.
        """
        return Options(
            self._read(self._token, self._chosen_token),
            self._allow.isChecked(),
            self._read(self._idle, self._idle_limit),
            self._read(self._total, self._total_limit),
            self._repeats.value(),
            self.automatic.isChecked(),
            self.task.wish(),
        )

    def show_usual(self, limits: Limits) -> None:
        """Show the limits that hold where none is entered."""
        for line, seconds in ((self._idle, limits.idle_s), (self._total, limits.total_s)):
            words = off_word() if seconds is None else f"{seconds:g}"
            line.setPlaceholderText(self.tr("{} (usual)").format(words))

    def set_token(self, token: TokenChoice) -> None:
        """Choose a token."""
        if token is AUTO or token is None:
            self._kind.setCurrentIndex(_AUTOMATIC if token is AUTO else _NONE)
            return
        self._kind.setCurrentIndex(_STRING if isinstance(token, str) else _INTEGER)
        self._token.setText(str(token))

    def state(self) -> dict[str, Any]:
        """Return what is to be remembered; a token and a count are for one call."""
        is_automatic = self.automatic.isChecked()
        return {"idle": self._idle.text(), "total": self._total.text(), "resume": is_automatic}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what was remembered."""
        self.automatic.setChecked(state.get("resume") is True)
        for line, key in ((self._idle, "idle"), (self._total, "total")):
            text = state.get(key)
            if isinstance(text, str):
                line.setText(text[:20])

    def _name_controls(self) -> None:
        for control, name, tip in (
            (self._kind, self.tr("Progress token"), self.tr("The progress token of the call")),
            (self._token, self.tr("Own token"), self.tr("A string or an integer, 0 included")),
            (
                self._allow,
                self._allow.text(),
                self.tr("For experts: send a token even if an open request has the same"),
            ),
            (
                self._idle,
                self.tr("Idle limit in seconds"),
                self.tr(
                    "Give up after so many seconds without a message that belongs to the call; "
                    "0 or off is never, empty is as usual for the server"
                ),
            ),
            (
                self._total,
                self.tr("Total limit in seconds"),
                self.tr(
                    "Give up after so many seconds in all; 0 or off is never, empty is as usual "
                    "for the server"
                ),
            ),
            (
                self._repeats,
                self.tr("Number of calls"),
                self.tr("Make the same call so many times at once"),
            ),
            (
                self.automatic,
                self.tr("Resume automatically"),
                self.tr("Go on after every stop with a resume token, until the call is done"),
            ),
        ):
            control.setAccessibleName(name)
            control.setToolTip(plain_tip(tip))
        for line in (self._idle, self._total):
            line.setMaximumWidth(110)
        self.show_usual(Limits())

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(GAP)
        grid.setVerticalSpacing(GAP_S)
        grid.addWidget(self._label(self.tr("&Token"), self._kind), 0, 0)
        grid.addWidget(self._kind, 0, 1)
        grid.addWidget(self._token, 0, 2, 1, 2)
        grid.addWidget(self._allow, 0, 4, 1, 2)
        grid.addWidget(self._label(self.tr("&Idle limit, s"), self._idle), 1, 0)
        grid.addWidget(self._idle, 1, 1)
        grid.addWidget(self._label(self.tr("T&otal limit, s"), self._total), 1, 2)
        grid.addWidget(self._total, 1, 3)
        grid.addWidget(self._label(self.tr("Ti&mes"), self._repeats), 1, 4)
        grid.addWidget(self._repeats, 1, 5)
        grid.addWidget(self.automatic, 2, 0, 1, 2)
        grid.addWidget(self.task, 2, 2, 1, 4)
        grid.setColumnStretch(3, 1)
        grid.setColumnStretch(5, 1)

    def _label(self, text: str, control: QWidget) -> QLabel:
        label = QLabel(text, self)
        label.setBuddy(control)
        return label

    def _read(self, line: QLineEdit, reader: Any) -> Any:
        try:
            value = reader()
        except InputError as error:
            mark_wrong(line, self._appearance, is_wrong=True)
            raise InputError(f"{line.accessibleName()}: {error}") from None
        mark_wrong(line, self._appearance, is_wrong=False)
        return value

    def _chosen_token(self) -> TokenChoice:
        kind = self._kind.currentIndex()
        if kind in (_AUTOMATIC, _NONE):
            return AUTO if kind == _AUTOMATIC else None
        is_single = self._repeats.value() == 1 or self._allow.isChecked()
        if not is_single:
            raise InputError(self.tr("calls at once cannot share a token of your own"))
        if kind == _STRING:
            return self._token.text()
        return int(read_number(self._token.text(), is_integer=True))

    def _idle_limit(self) -> LimitChoice:
        return read_limit(self._idle.text())

    def _total_limit(self) -> LimitChoice:
        return read_limit(self._total.text())

    @Slot()
    def _on_kind_changed(self) -> None:
        is_own = self._kind.currentIndex() in (_STRING, _INTEGER)
        self._token.setEnabled(is_own)
        self._token.setPlaceholderText("" if is_own else self.tr("made for you"))
        if self._kind.currentIndex() == _NONE:
            self._token.setPlaceholderText(self.tr("no progress will be reported"))
        self._allow.setEnabled(is_own)
        self.changed.emit()
