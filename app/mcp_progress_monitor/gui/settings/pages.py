"""The settings dialog and its pages except the keys; each page applies its changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QSizePolicy,
    QSpinBox,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.formatting import duration, visible
from mcp_progress_monitor.gui.common.controls import (
    QuietComboBox,
    heading,
    plain_label,
    plain_tip,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column, in_row, order_tabs
from mcp_progress_monitor.gui.common.recording_limits import RecordingLimits
from mcp_progress_monitor.gui.common.tables import dress_rows
from mcp_progress_monitor.gui.common.typed_input import JsonInputError, read_limit
from mcp_progress_monitor.gui.preferences import GENERAL, PRIVACY, is_on
from mcp_progress_monitor.gui.theme import (
    GAP,
    GAP_L,
    TEXT_SIZES,
    Appearance,
    TextSize,
    ThemeChoice,
    Tone,
)
from mcp_progress_monitor.snapshots.limits import DEFAULT_LIMITS, USUAL, DefaultLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mcp_progress_monitor.gui.preferences import Preferences
    from mcp_progress_monitor.recording.settings import RecordingSettings

_MOST_ATTEMPTS: Final = 1000


class Page(QWidget):
    """A column of groups, each with a heading."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, GAP, 0)
        self._column.setSpacing(GAP)

    def add_heading(self, text: str) -> None:
        if self._column.count():
            self._column.addSpacing(GAP)
        self._column.addWidget(heading(text, self))

    def add_note(self, text: str) -> QLabel:
        label = plain_label(self, text)
        set_text_colour(label, self._appearance, Tone.MUTED)
        self._column.addWidget(label)
        return label

    def add(self, widget: QWidget) -> None:
        self._column.addWidget(widget)

    def add_buttons(self, *buttons: QPushButton) -> None:
        row = QHBoxLayout()
        for button in buttons:
            button.setAutoDefault(False)
            row.addWidget(button)
        row.addStretch(1)
        self._column.addLayout(row)

    def add_rows(self, *rows: tuple[str, QWidget]) -> None:
        form = QFormLayout(fieldGrowthPolicy=QFormLayout.FieldGrowthPolicy.FieldsStayAtSizeHint)
        form.setHorizontalSpacing(GAP_L)
        for text, control in rows:
            label = QLabel(text, self)
            label.setBuddy(control)
            form.addRow(label, control)
        self._column.addLayout(form)

    def end(self) -> None:
        """Leave the remaining height empty."""
        self._column.addStretch(1)


class KeptBox(QCheckBox):
    """A check box whose state is saved in the preferences."""

    def __init__(
        self, text: str, preferences: Preferences, place: tuple[str, str], tip: str, parent: QWidget
    ) -> None:
        """`place` is the key in the preferences, and the name within."""
        super().__init__(text, parent)
        self._preferences = preferences
        self._place = place
        self.setToolTip(plain_tip(tip))
        self.setChecked(is_on(preferences, *place))
        self.toggled.connect(self._on_toggled)

    @Slot(bool)
    def _on_toggled(self, is_wanted: bool) -> None:
        key, name = self._place
        kept = self._preferences.json_of(key)
        self._preferences.keep_json(key, {**kept, name: is_wanted})


class GeneralPage(Page):
    """Automatic behaviour, and the file association."""

    association_requested = Signal()

    def __init__(
        self, preferences: Preferences, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(appearance, parent)
        self.add_heading("Servers")
        self.opens_page = KeptBox(
            "&Show what a server offers when it connects and there are no jobs",
            preferences,
            (GENERAL, "opens_page"),
            "Show the tools, resources and prompts of a server that was just connected",
            self,
        )
        self.add(self.opens_page)
        self.add_heading("Files")
        self.associate = QPushButton("&File association…", self)
        self.associate.setToolTip("Open recording files with this program")
        self.associate.clicked.connect(self.association_requested)
        self.add_note("Choose whether a double click on a recording opens it in this program.")
        self.add_buttons(self.associate)
        self.end()


class AppearancePage(Page):
    """Theme and text size."""

    def __init__(
        self,
        theme: ThemeChoice,
        text_size: TextSize,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(appearance, parent)
        self._theme = theme
        self._text_size = text_size
        self.add_heading("Theme")
        self.themes = QButtonGroup(self)
        for place, (name, text) in enumerate(_THEME_TEXTS.items()):
            button = QRadioButton(text, self)
            button.setChecked(name == theme.chosen)
            self.themes.addButton(button, place)
            self.add(button)
        self.themes.idClicked.connect(self._on_theme_clicked)
        self.add_heading("Text")
        self.sizes = QuietComboBox(self)
        self.sizes.addItems([f"{percent} %" for percent in TEXT_SIZES])
        self.sizes.setCurrentIndex(TEXT_SIZES.index(text_size.percent))
        self.sizes.setAccessibleName("Size of text")
        self.sizes.setToolTip("Set the size of all text, relative to the system's")
        self.sizes.currentIndexChanged.connect(self._on_size_chosen)
        self.add_rows(("&Size of text", self.sizes))
        self.add_note("Some columns take their new width when the program starts again.")
        self.end()

    @Slot(int)
    def _on_theme_clicked(self, place: int) -> None:
        self._theme.choose(tuple(_THEME_TEXTS)[place])

    @Slot(int)
    def _on_size_chosen(self, place: int) -> None:
        self._text_size.choose(TEXT_SIZES[place])


_THEME_TEXTS: Final = {
    "system": "As the s&ystem",
    "light": "&Light",
    "dark": "&Dark",
    "contrast": "High &contrast",
}


class LimitsPage(Page):
    """The default limits of calls."""

    limits_changed = Signal(object)  # `DefaultLimits`
    attempts_changed = Signal(int)  # the limit of automatic attempts for a job

    def __init__(
        self,
        limits: DefaultLimits,
        attempts: int,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(appearance, parent)
        self._limits = limits
        self.fields: dict[str, QLineEdit] = {}
        self.add_heading("Calls")
        self.add_note(
            "Limits of a call or its server take precedence. Enter seconds, or 0 for no limit."
        )
        self.add_rows(*(self._row(*each) for each in _LIMIT_TEXTS))
        self.mistake = self.add_note("")
        set_text_colour(self.mistake, appearance, Tone.BAD)
        self.mistake.hide()
        self.add_heading("Automatic resuming")
        self.attempts = QSpinBox(self)
        self.attempts.setRange(1, _MOST_ATTEMPTS)
        self.attempts.setValue(attempts)
        self.attempts.setKeyboardTracking(False)
        self.attempts.setAccessibleName("Maximum attempts")
        self.attempts.setToolTip("Limit how many attempts a job makes automatically")
        self.attempts.valueChanged.connect(self.attempts_changed)
        self.add_rows(("Maximum &attempts", self.attempts))
        self.end()

    def _row(self, name: str, text: str, tip: str) -> tuple[str, QWidget]:
        field = QLineEdit(f"{getattr(self._limits, name):g}", self)
        usual = getattr(DEFAULT_LIMITS, name)
        field.setPlaceholderText(f"{usual:g}")
        field.setAccessibleName(text.replace("&", ""))
        field.setToolTip(plain_tip(f"{tip}; by default {duration(usual) if usual else 'none'}"))
        field.editingFinished.connect(self._on_edited)
        self.fields[name] = field
        return text, field

    @Slot()
    def _on_edited(self) -> None:
        entered: dict[str, float] = {}
        try:
            for name, field in self.fields.items():
                limit = read_limit(field.text())
                usual: float = getattr(DEFAULT_LIMITS, name)
                entered[name] = usual if limit is USUAL else float(limit or 0)
        except JsonInputError as error:
            self.mistake.setText(visible(str(error)))
            self.mistake.show()
            return
        self.mistake.hide()
        limits = DefaultLimits(**entered)
        if limits != self._limits:
            self._limits = limits
            self.limits_changed.emit(limits)


_LIMIT_TEXTS: Final = (
    (
        "tool_idle_s",
        "&Idle timeout of tools (s)",
        "End a tool call after this long without progress",
    ),
    (
        "other_idle_s",
        "Idle timeout of &other calls (s)",
        "End other calls after this long without a message",
    ),
    ("total_s", "&Total timeout (s)", "End a call after this long, regardless of progress"),
)


class RecordingsPage(Page):
    """Whether sessions are recorded, and how long recordings are kept."""

    settings_changed = Signal(object)  # `RecordingSettings`
    list_requested = Signal()

    def __init__(
        self, settings: RecordingSettings, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(appearance, parent)
        self.add_heading("Recordings")
        self.limits = RecordingLimits(settings, self)
        self.limits.settings_changed.connect(self.settings_changed)
        self.add(self.limits)
        self.manage = QPushButton("&Manage recordings…", self)
        self.manage.setToolTip("Open, show and delete recordings")
        self.manage.clicked.connect(self.list_requested)
        self.add_buttons(self.manage)
        self.end()


class PrivacyPage(Page):
    """What this program remembers about the user, and buttons to forget it."""

    forget_requested = Signal(str)  # one of the names in `KEPT_OF_USER`
    folder_requested = Signal()

    def __init__(
        self,
        data_dir: Path,
        preferences: Preferences,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(appearance, parent)
        self.add_heading("Data on this computer")
        self.add_note(
            "Nothing is sent anywhere except to the servers that you connect or sign in to. "
            "Recordings contain the messages of servers and clients, but no HTTP credentials."
        )
        folder = self.add_note(visible(str(data_dir)))
        folder.setAccessibleName("Data folder")
        policy = folder.sizePolicy()
        policy.setHorizontalPolicy(QSizePolicy.Policy.Ignored)
        folder.setSizePolicy(policy)
        self.show_folder = QPushButton("&Show folder", self)
        self.show_folder.setToolTip("Open the data folder")
        self.show_folder.clicked.connect(self.folder_requested)
        self.add_buttons(self.show_folder)
        self.add_heading("Remembered between starts")
        self.boxes: dict[str, KeptBox] = {}
        self.forget: dict[str, QPushButton] = {}
        for name, text, button in KEPT_OF_USER:
            self._add_memory(name, text, button, preferences)
        self.end()

    def _add_memory(self, name: str, text: str, button: str, preferences: Preferences) -> None:
        tip = "Remember this for the next start"
        box = self.boxes[name] = KeptBox(text, preferences, (PRIVACY, name), tip, self)
        clear = self.forget[name] = QPushButton("Forget", self, autoDefault=False)
        clear.setAccessibleName(button)
        clear.setToolTip(plain_tip(f"{button} now"))
        clear.setProperty("memory", name)
        clear.clicked.connect(self._on_forget)
        row = in_row((box, 1), clear)
        self._column.addLayout(row)

    @Slot()
    def _on_forget(self) -> None:
        button = self.sender()
        if isinstance(button, QPushButton):
            button.setEnabled(False)
            self.forget_requested.emit(str(button.property("memory")))


KEPT_OF_USER: Final[Sequence[tuple[str, str, str]]] = (
    ("arguments", "&Arguments of calls, by server and tool", "Forget arguments of calls"),
    ("recordings", "&Recently opened recordings", "Forget recently opened recordings"),
    ("palette", "&Command palette history", "Forget the history of the command palette"),
)


_SIZE = QSize(760, 540)


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
        appearance.changed.connect(self._recolour)
        self._recolour()
        fit_to_screen(self, _SIZE)
        self.list.setCurrentRow(0)

    def open_page(self, key: str) -> None:
        for row, page in enumerate(self._pages):
            if page.key == key:
                self.list.setCurrentRow(row)

    def page(self, key: str) -> QWidget:
        self.open_page(key)
        return self._made[key]

    def _set_up_list(self) -> None:
        self.list.setAccessibleName("Pages of settings")
        self.list.setIconSize(QSize(18, 18))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        height = self.list.fontMetrics().height() + 2 * GAP
        for page in self._pages:
            item = QListWidgetItem(page.title, self.list)
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
        close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        close.rejected.connect(self.reject)
        close.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        row = in_row(self.list, (self._stack, 1), spacing=GAP_L)
        in_column((row, 1), close, of=self, margins=GAP_L)

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

    @Slot()
    def _recolour(self) -> None:
        for row, page in enumerate(self._pages):
            self.list.item(row).setIcon(self._appearance.icon(page.icon))
