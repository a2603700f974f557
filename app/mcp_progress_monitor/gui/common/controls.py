"""Small controls: labels and tips of untrusted text, headings, choices, and their colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QSize,
    Qt,
    Slot,
)
from PySide6.QtGui import QFont, QHelpEvent, QKeyEvent, QPalette
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QToolTip,
    QWidget,
)

from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone, emphasised, monospaced

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent, QTextDocument, QTextOption, QWheelEvent
    from PySide6.QtWidgets import QPlainTextEdit

_LIMIT: Final = 2000
_SHORT: Final = 120  # longer tips become rich text, since Qt wraps only that
_SPECIAL: Final = frozenset("<>&\n")


def plain_tip(text: str) -> str:
    """Text for a tool tip, bounded and never interpreted as markup.

    A tool tip has no plain mode: Qt renders whatever looks like markup, including images. So text
    that could look like that, or needs several lines, becomes escaped rich text. Every tip that is
    not a literal in the source goes through here; an architecture test checks that.
    """
    if len(text) <= _SHORT and not _SPECIAL & frozenset(text):
        return text
    import html  # with all its entities: not needed at startup

    shown = text if len(text) <= _LIMIT else text[:_LIMIT] + "…"
    lines = html.escape(shown).replace("\n", "<br>")
    return f"<qt>{lines}</qt>"


class TipDelegate(QStyledItemDelegate):
    """A delegate that chooses the tool tip of a cell."""

    def tip_at(
        self, index: QModelIndex | QPersistentModelIndex, option: QStyleOptionViewItem, at: QPoint
    ) -> str | None:
        """Return the tip of a cell, with the mouse `at` a point of its view; None for Qt's own."""
        raise NotImplementedError

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> bool:
        """Show the cell's tip as plain text."""
        is_asked = event.type() is QEvent.Type.ToolTip and index.isValid()
        text = self.tip_at(index, option, event.pos()) if is_asked else None
        if text is None:
            return super().helpEvent(event, view, option, index)
        QToolTip.showText(event.globalPos(), plain_tip(text), view)
        return True


def typed_text(document: QTextDocument) -> str:
    """The text of an input as typed, with line feeds.

    Qt's own `toPlainText` turns every no-break space into a plain one: a server would get another
    text than the user entered.
    """
    return document.toRawText().replace("\u2029", "\n").replace("\u2028", "\n")


_STEP: Final = 48  # pixels by which the room reserved for text grows and shrinks


class ElidedLabel(QWidget):
    """One line of plain text in whatever width there is, elided if it does not fit.

    Each new text of a `QLabel` triggers the layouts around it, up to the docks of the window: 2 ms
    of one core ten times a second. This label is not in a layout.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._text = ""
        self._least = self._wanted = 0
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def text(self) -> str:
        """The text."""
        return self._text

    def set_text(self, text: str, whole: str = "") -> None:
        """Set another text; its beginning `whole` is never cut.

        That beginning has reserved room, in steps: a growing count rarely moves its neighbours.
        """
        self._text = text
        self._label.setAccessibleName(text)  # the whole text, even if it is cut
        if whole:
            self._keep_room(f"{whole}, …", text)
        self._fit()

    def _keep_room(self, least: str, wanted: str) -> None:
        room = [self._least, self._wanted]
        for place, text in enumerate((least, wanted)):
            steps = self.fontMetrics().horizontalAdvance(text) // _STEP + 1
            if not steps <= room[place] // _STEP <= steps + 1:
                room[place] = steps * _STEP
        if room != [self._least, self._wanted]:
            self._least, self._wanted = room
            self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
            self.updateGeometry()

    def _fit(self) -> None:
        mode = Qt.TextElideMode.ElideRight
        self._label.setText(self.fontMetrics().elidedText(self._text, mode, self.width()))

    def describe(self, topic: str) -> None:
        """Describe its topic to screen readers; an accessible name would hide the text."""
        self._label.setAccessibleDescription(topic)

    def sizeHint(self) -> QSize:
        """A line high, as wide as the reserved room."""
        return QSize(self._wanted, self._label.fontMetrics().height() + 2 * self._label.margin())

    def minimumSizeHint(self) -> QSize:
        """A line high, as wide as the beginning that is never cut."""
        return QSize(self._least, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the whole room to the text."""
        super().resizeEvent(event)
        self._label.setGeometry(self.rect())
        self._fit()


class SideHeading(QWidget):
    """A heading in muted capitals."""

    def __init__(self, text: str, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = QLabel(text, self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(GAP + 2, GAP_S, GAP_S, 2)
        self._row.addWidget(self._label, 1)
        self._choose_font()
        set_text_colour(self._label, appearance, Tone.MUTED)

    def add_button(self, button: QToolButton) -> None:
        self._row.addWidget(button)

    def set_buddy(self, widget: QWidget) -> None:
        self._label.setBuddy(widget)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._choose_font()

    def _choose_font(self) -> None:
        font = QFont(self.font())
        font.setPointSizeF(font.pointSizeF() * 0.88)
        font.setWeight(QFont.Weight.DemiBold)
        font.setCapitalization(QFont.Capitalization.AllUppercase)
        font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, 0.4)
        self._label.setFont(font)


class QuietComboBox(QComboBox):
    """A combo box that ignores the mouse wheel unless it has the focus."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)
        self.setIconSize(QSize(1, 1))  # it has none; the height is that of its text

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the scroll area, unless the box has the focus."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class EnterPresses(QObject):
    """Lets Return and Enter press the button that has the focus, as Space does.

    By themselves they do so in some dialogs only, and press the default button in the others.
    Nothing but the button that has the focus is listened to.
    """

    def __init__(self, application: QApplication, parent: QObject) -> None:
        super().__init__(parent)
        application.focusChanged.connect(self._on_focus_changed)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Press the button, once for a key that is held down."""
        if event.type() is not QEvent.Type.KeyPress:
            return False
        assert isinstance(event, QKeyEvent)  # noqa: S101
        assert isinstance(watched, QAbstractButton)  # noqa: S101
        is_enter = event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
        if not is_enter or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return False
        if not event.isAutoRepeat():
            watched.click()
        return True

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, before: QWidget | None, now: QWidget | None) -> None:
        for button in (before, now):
            if isinstance(button, QPushButton | QToolButton):
                button.removeEventFilter(self)
        if isinstance(now, QPushButton | QToolButton):
            now.installEventFilter(self)


class EmptyNote(QLabel):
    """Shows in the middle of an empty pane why it is empty."""

    def __init__(self, text: str, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setWordWrap(True)
        self.setMinimumSize(1, 1)
        set_text_colour(self, appearance, Tone.MUTED)


def heading(text: str, parent: QWidget) -> QLabel:
    """The title of a group of controls."""
    label = QLabel(text, parent)
    label.setFont(emphasised(label.font()))
    return label


def push_button(parent: QWidget, text: str, tip: str = "") -> QPushButton:
    """A button that Return does not press from elsewhere in a dialog."""
    button = QPushButton(text, parent, autoDefault=False)
    if tip:
        button.setToolTip(plain_tip(tip))
    return button


def read_only_text(
    parent: QWidget, name: str, wrap: QTextOption.WrapMode | None = None
) -> QPlainTextEdit:
    """A monospaced text to read and copy, called `name` by screen readers.

    By default, lines wrap at words if possible.
    """
    from PySide6.QtGui import QTextOption  # late, as the next: the first window has no such text
    from PySide6.QtWidgets import QPlainTextEdit

    text = QPlainTextEdit(parent, readOnly=True, tabChangesFocus=True)
    text.setFont(monospaced(parent.font()))
    text.setWordWrapMode(wrap or QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    text.setAccessibleName(name)
    return text


def plain_label(parent: QWidget, text: str = "") -> QLabel:
    """A label for server text: never rich, wrapped, as narrow as possible."""
    label = QLabel(parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    label.setText(text)
    return label


class _Dress(QObject):
    """Gives a widget its colours, and again with every theme."""

    def __init__(self, widget: QWidget, appearance: Appearance) -> None:
        super().__init__(widget)
        self._widget = widget
        self._appearance = appearance
        self._colours: dict[QPalette.ColorRole, tuple[Tone, float]] = {}
        appearance.changed.connect(self._apply)

    def put(self, colours: dict[QPalette.ColorRole, tuple[Tone, float]]) -> None:
        """Colour roles by tone and strength; none for the usual ones."""
        if colours != self._colours:
            self._colours = colours
            self._apply()

    @Slot()
    def _apply(self) -> None:
        palette = QPalette()
        for role, (tone, strength) in self._colours.items():
            palette.setColor(role, self._appearance.ground(tone, strength))
        self._widget.setPalette(palette)


def _dress(widget: QWidget, appearance: Appearance) -> _Dress:
    found = widget.findChild(_Dress, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return _Dress(widget, appearance) if found is None else found


def set_text_colour(label: QWidget, appearance: Appearance, tone: Tone) -> None:
    """Set the colour of a label's text to that of `tone`, in every theme."""
    _dress(label, appearance).put({QPalette.ColorRole.WindowText: (tone, 1.0)})


def mark_invalid(control: QWidget, appearance: Appearance, *, is_wrong: bool) -> None:
    """Give a control a red background, or its ordinary one; text beside it says the same."""
    roles, red = QPalette.ColorRole, (Tone.BAD, 0.18)
    _dress(control, appearance).put({roles.Base: red, roles.Button: red} if is_wrong else {})
