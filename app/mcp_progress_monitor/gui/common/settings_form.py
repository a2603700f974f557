"""A section of settings as a form: a control for each row, laid out as the rows say."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import Qt, QTime, Signal, SignalInstance, Slot
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QSpinBox,
    QTimeEdit,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.formatting import one_line, visible
from mcp_progress_monitor.gui import setting_rows as rows
from mcp_progress_monitor.gui.common.controls import (
    QuietComboBox,
    heading,
    plain_label,
    plain_tip,
    push_button,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.layout import in_column, in_row, order_tabs
from mcp_progress_monitor.gui.common.typed_input import limit_text, read_limit
from mcp_progress_monitor.gui.theme import GAP, GAP_L, GAP_S, Appearance, Tone
from mcp_progress_monitor.snapshots.limits import USUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_LONGEST_NAME: Final = 60
_LONGEST_LINE: Final = 2_000
_LINE_WIDTH: Final = 50  # characters of an address


class Control(NamedTuple):
    """The widget of a setting; `read` is given the value of before, and raises `ValueError`."""

    widget: Any  # a `QWidget`
    edited: Sequence[SignalInstance]
    show: Callable[[Any], object]
    read: Callable[[Any], Any]
    is_labelled: bool = False  # the widget has its own label


def _flag(row: rows.Flag, parent: QWidget) -> Control:
    box = QCheckBox(row.label, parent)
    return Control(box, [box.toggled], box.setChecked, lambda _: box.isChecked(), is_labelled=True)


def _number(row: rows.Number, parent: QWidget) -> Control:
    box = QSpinBox(parent, minimum=row.least, maximum=row.most, suffix=row.suffix)
    box.setKeyboardTracking(False)

    def rounded(value: int) -> int:
        return max(row.least, round(value / row.unit))

    def read(old: int) -> int:  # what the unit rounds stays exact until it is edited
        return old if box.value() == rounded(old) else box.value() * row.unit

    return Control(box, [box.valueChanged], lambda value: box.setValue(rounded(value)), read)


def _seconds(row: rows.Seconds, parent: QWidget) -> Control:
    field = QLineEdit(parent, placeholderText=f"{limit_text(row.default)} (default)")

    def read(_: float) -> float:
        limit = read_limit(field.text())
        return row.default if limit is USUAL else float(limit or 0)

    return Control(
        field, [field.editingFinished], lambda value: field.setText(limit_text(value)), read
    )


def _line(row: rows.Line, parent: QWidget) -> Control:
    field = QLineEdit(parent, placeholderText=row.example, maxLength=_LONGEST_LINE)
    field.setMinimumWidth(_LINE_WIDTH * field.fontMetrics().averageCharWidth())

    def show(value: str) -> None:
        field.setText(value)
        field.setCursorPosition(0)

    return Control(field, [field.editingFinished], show, lambda _: field.text().strip())


def _time(_row: rows.TimeOfDay, parent: QWidget) -> Control:
    field = QTimeEdit(parent)
    field.setDisplayFormat("HH:mm")
    return Control(
        field,
        [field.timeChanged],
        lambda value: field.setTime(QTime(value.hour, value.minute)),
        lambda _: datetime.time(field.time().hour(), field.time().minute()),
    )


def _choice(row: rows.Choice[Any], parent: QWidget) -> Control:
    return _buttons(row, parent) if row.are_buttons else _list(row, parent)


def _list(row: rows.Choice[Any], parent: QWidget) -> Control:
    box = QuietComboBox(parent)
    for value, text in row.choices.items():
        box.addItem(text, value)
    return Control(
        box,
        [box.currentIndexChanged],
        lambda value: box.setCurrentIndex(box.findData(value)),
        lambda _: box.currentData(),
    )


def _buttons(row: rows.Choice[Any], parent: QWidget) -> Control:
    place, values = QWidget(parent), tuple(row.choices)
    group = QButtonGroup(place)
    for number, text in enumerate(row.choices.values()):
        group.addButton(QRadioButton(text, place), number)
    in_column(*group.buttons(), of=place, margins=0, spacing=GAP)
    return Control(
        place,
        [group.idClicked],
        lambda value: group.button(values.index(value)).setChecked(True),
        lambda _: values[group.checkedId()],
        is_labelled=True,
    )


def _by_server(row: rows.ByServer, parent: QWidget, servers: Iterable[str]) -> Control:
    place, usual = QWidget(parent), next(iter(row.choices))
    form = QFormLayout(place, horizontalSpacing=GAP_L)
    form.setContentsMargins(0, 0, 0, 0)
    lists = {server: _list(row, place) for server in servers}
    for server, each in lists.items():
        label = QLabel(one_line(server, _LONGEST_NAME), place, textFormat=Qt.TextFormat.PlainText)
        label.setToolTip(plain_tip(server))
        label.setBuddy(each.widget)
        form.addRow(label, each.widget)
        each.widget.setAccessibleName(f"{row.label} {label.text()}")
        each.widget.setToolTip(plain_tip(row.tip))

    def show(value: Mapping[str, str]) -> None:
        for server, each in lists.items():
            each.show(value.get(server, usual))

    def read(old: Mapping[str, str]) -> Mapping[str, str]:
        chosen = {**old, **{server: each.read(usual) for server, each in lists.items()}}
        return {server: key for server, key in chosen.items() if key != usual}

    edited = [signal for each in lists.values() for signal in each.edited]
    return Control(place, edited, show, read, is_labelled=True)


_MAKERS: Final[Mapping[type[rows.Row], Callable[[Any, QWidget], Control]]] = {
    rows.Flag: _flag,
    rows.Number: _number,
    rows.Seconds: _seconds,
    rows.Line: _line,
    rows.TimeOfDay: _time,
    rows.Choice: _choice,
}


class SettingsForm(QWidget):
    """Shows and edits the values of a section; the owner applies what is chosen."""

    chosen = Signal(object)  # the section with its values of now
    pressed = Signal(str)  # the name of a button's row

    def __init__(
        self,
        values: rows.Section,
        appearance: Appearance,
        parent: QWidget | None = None,
        servers: Iterable[str] = (),
        facts: Mapping[str, str] | None = None,
        *,
        is_page: bool = True,
    ) -> None:
        """`servers` have choices of their own; `facts` are filled into notes.

        Without `is_page`, the form has no headings and no buttons.
        """
        super().__init__(parent)
        self.values = values
        self._appearance = appearance
        self._servers = tuple(servers)
        self._facts = facts or {}
        self._is_page = is_page
        self._is_showing = False
        self.controls: dict[str, Control] = {}
        self.buttons: dict[str, QPushButton] = {}
        self.mistake = self._note("", Tone.BAD)
        self.mistake.hide()
        self._column = in_column(of=self, margins=(0, 0, GAP if is_page else 0, 0), spacing=GAP)
        self._inner: QVBoxLayout | None = None  # the column of a group
        self._form: QFormLayout | None = None  # that of the row before
        self._text = ""  # the text of the group
        lines: list[list[rows.Row]] = []
        for row in values.rows():
            if row.beside:
                lines[-1].append(row)
            else:
                lines.append([row])
        for line in lines:
            self._add_line(line)
        if is_page:
            self._column.addStretch(1)
        order_tabs(self)
        self.show_values(values)
        for signal in (signal for each in self.controls.values() for signal in each.edited):
            signal.connect(self._on_edited)

    def control_of(self, name: str) -> QWidget | None:
        """The control of a row, by its name."""
        found = self.controls.get(name)
        return self.buttons.get(name) if found is None else found.widget

    @Slot(object)
    def show_values(self, values: rows.Section) -> None:
        """Show other values of the section, without announcing them."""
        if type(values) is not type(self.values):
            return
        self.values = values
        self._is_showing = True
        for name, control in self.controls.items():
            control.show(values.as_dict()[name])
        self._is_showing = False
        self._enable()

    def _add_line(self, line: Sequence[rows.Row]) -> None:
        """Add the rows that stand beside each other."""
        first, parts = line[0], [part for row in line for part in self._parts(row)]
        if not parts:
            return
        target = self._place(first)
        if len(parts) == 2 and isinstance(parts[0], QLabel) and self._inner is None:
            if self._form is None:
                stays = QFormLayout.FieldGrowthPolicy.FieldsStayAtSizeHint
                self._form = QFormLayout(fieldGrowthPolicy=stays, horizontalSpacing=GAP_L)
                target.addLayout(self._form)
            self._form.addRow(*parts)
            if isinstance(first, rows.Seconds):
                target.addWidget(self.mistake)  # below them all
        else:
            self._form = None
            target.addLayout(_side_by_side(parts, GAP_L if self._text else 0))
        for note in (row.after for row in line if row.after):
            target.addWidget(self._note(note))

    def _place(self, row: rows.Row) -> QVBoxLayout:
        """Return where a row goes, below its heading, note and the text of its group."""
        if row.heading and self._is_page:
            if self._column.count():
                self._column.addSpacing(GAP)
            self._column.addWidget(heading(row.heading, self))
        if row.heading or not row.within.needs:
            self._inner = None
        elif self._inner is None:
            self._inner = in_column(margins=(GAP_L + GAP, 0, 0, 0), spacing=GAP_S)
            self._column.addLayout(self._inner)
        if row.heading or self._inner is not None:
            self._form = None
        target = self._inner or self._column
        for note in row.note.splitlines():
            target.addWidget(self._note(note))
        if isinstance(row, rows.Button) and row.is_reset:
            target.addSpacing(GAP)
        if self._text and not row.within.text:
            target.addSpacing(GAP_S)
        elif row.within.text != self._text:
            target.addWidget(QLabel(row.within.text, self))
        self._text = row.within.text
        return target

    def _parts(self, row: rows.Row) -> list[QWidget]:
        """The control of a row, below its label if it does not show that itself."""
        if isinstance(row, rows.Button):
            return [self._button(row)] if self._is_page else []
        if isinstance(row, rows.ByServer):
            names = dict.fromkeys((*self._servers, *self.values.as_dict()[row.name]))
            if not names:
                return []
            control = _by_server(row, self, names)
        else:
            control = _MAKERS[type(row)](row, self)
            more = f"; by default {row.shown(row.default)}" if isinstance(row, rows.Seconds) else ""
            control.widget.setToolTip(plain_tip(row.tip + more))
        self.controls[row.name] = control
        control.widget.setAccessibleName(row.title)
        if control.is_labelled or not row.label:
            return [control.widget]
        label = QLabel(row.label, self)
        label.setBuddy(control.widget)
        return [label, control.widget]

    def _button(self, row: rows.Button) -> QPushButton:
        button = self.buttons[row.name] = push_button(self, row.label, row.tip)
        if row.is_once:
            button.setAccessibleName(row.tip)
        button.clicked.connect(self._on_pressed)
        return button

    def _note(self, text: str, tone: Tone = Tone.MUTED) -> QLabel:
        label = plain_label(self, visible(text.format_map(self._facts)))
        set_text_colour(label, self._appearance, tone)
        return label

    def _enable(self) -> None:
        for name, control in self.controls.items():
            control.widget.setEnabled(self._is_enabled(self.values.settings()[name]))
        for row in self.values.rows():
            if isinstance(row, rows.Button) and row.is_reset and self._is_page:
                self.buttons[row.name].setEnabled(self.values != type(self.values)())

    def _is_enabled(self, row: rows.Row) -> bool:
        flag = self.values.settings().get(row.within.needs)
        return flag is None or (self.values.as_dict()[flag.name] and self._is_enabled(flag))

    @Slot()
    def _on_edited(self) -> None:
        if self._is_showing:
            return
        old = self.values.as_dict()
        try:
            chosen = {name: each.read(old[name]) for name, each in self.controls.items()}
        except ValueError as error:
            self.mistake.setText(visible(str(error)))
            self.mistake.show()
            return
        self.mistake.hide()
        self._choose(self.values.changed(**chosen))

    def _choose(self, values: rows.Section) -> None:
        if values != self.values:
            self.show_values(values)
            self.chosen.emit(values)

    @Slot()
    def _on_pressed(self) -> None:
        name = next(name for name, each in self.buttons.items() if each is self.sender())
        row = next(row for row in self.values.rows() if row.name == name)
        assert isinstance(row, rows.Button)  # noqa: S101
        if row.is_reset:
            self._choose(type(self.values)())
        self.buttons[name].setEnabled(not (row.is_once or row.is_reset))
        self.pressed.emit(name)


def _side_by_side(parts: Sequence[QWidget], indent: int) -> QHBoxLayout:
    """A button that follows anything stands at the right end; what is alone has all the width."""
    margins = (indent, 0, 0, 0)
    if isinstance(parts[-1], QPushButton) is (len(parts) > 1):
        return in_row((parts[0], 1), *parts[1:], margins=margins)
    row = in_row(*parts, 1, margins=margins)
    for part in parts:
        row.setAlignment(part, Qt.AlignmentFlag.AlignVCenter)
    return row
