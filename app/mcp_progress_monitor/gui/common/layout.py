"""Windows that fit the screen, panes that scroll if it is too small, and the Tab order."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLayout,
    QScrollArea,
    QSplitter,
    QTabBar,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.gui.theme import GAP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PySide6.QtGui import QResizeEvent
    from PySide6.QtWidgets import QBoxLayout, QDialog

    from mcp_progress_monitor.tracker.snapshot import JobId

_FRAME: Final = QSize(2, 40)  # what a desktop adds around a window, mainly its title bar
_UNSEEN: Final = QSize(1920, 1080)
_LEAST: Final = QSize(120, 80)

Box = TypeVar("Box", bound="QBoxLayout")
Part: TypeAlias = QWidget | QLayout | tuple[QWidget | QLayout, int] | int
"""Of a row or a column: what stands there, with its stretch if it has one; or a stretch alone."""


def viewport_of(view: QAbstractScrollArea) -> QWidget:
    """The viewport of `view`; from now on `view.viewport()` is cheap as well.

    To find the type of a widget that it has not wrapped yet, PySide tries all widget classes, and
    creates sixty of them: 12 ms of processor time before the window is painted (measured, PySide
    6.11). `findChild` is given the type.
    """
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    found = view.findChild(QWidget, "qt_scrollarea_viewport", direct) or view.viewport()
    vars(view)["known_viewport"] = found  # else PySide drops its wrapper
    return found


def in_row(
    *parts: Part,
    of: QWidget | None = None,
    margins: int | tuple[int, int, int, int] | None = None,
    spacing: int | None = None,
) -> QHBoxLayout:
    """Lay `parts` out from left to right, in the widget `of` or to be put into another layout.

    Pixels; without `margins` (left, top, right, bottom) those of every dialog, without `spacing`
    that of the style.
    """
    return _filled(QHBoxLayout() if of is None else QHBoxLayout(of), parts, margins, spacing)


def in_column(
    *parts: Part,
    of: QWidget | None = None,
    margins: int | tuple[int, int, int, int] | None = None,
    spacing: int | None = None,
) -> QVBoxLayout:
    """Lay `parts` out from top to bottom: see `in_row`."""
    return _filled(QVBoxLayout() if of is None else QVBoxLayout(of), parts, margins, spacing)


def _filled(
    layout: Box,
    parts: Sequence[Part],
    margins: int | tuple[int, int, int, int] | None,
    spacing: int | None,
) -> Box:
    if margins is None and layout.parent() is not None:
        margins = GAP
    if margins is not None:
        layout.setContentsMargins(*((margins,) * 4 if isinstance(margins, int) else margins))
    if spacing is not None:
        layout.setSpacing(spacing)
    for each in parts:
        part, stretch = each if isinstance(each, tuple) else (each, 0)
        if isinstance(part, int):
            layout.addStretch(part)
        elif isinstance(part, QWidget):
            layout.addWidget(part, stretch)
        else:
            layout.addLayout(part, stretch)
    return layout


def fit_to_screen(window: QWidget, size: QSize) -> None:
    """Set a window's first size: `size`, or what the screen has room for."""
    window.resize(size.boundedTo(room(window)))


def room(widget: QWidget) -> QSize:
    """The largest size of a window on the screen of `widget`, in logical pixels.

    Qt's offscreen platform has a nameless screen of 800 by 800, which is ignored: pictures taken
    there are as large as elsewhere.
    """
    screen = widget.screen()
    return screen.availableSize() - _FRAME if screen.name() else _UNSEEN


def open_dialog(dialog: QDialog) -> None:
    """Open a dialog that is deleted when it is closed; nothing waits for it."""
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()


class ScreenFit(QScrollArea):
    """Takes as much room as `content` needs, but no more than the screen has beside `rest`.

    On most screens it is not noticeable. On a small one, or at a large scale, it scrolls; without
    it the window would be larger than the screen, with its lowest controls out of reach.
    """

    def __init__(self, content: QWidget, rest: QSize, parent: QWidget) -> None:
        super().__init__(parent)
        self.content = content
        self._rest = rest
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidgetResizable(True)
        self.setWidget(content)
        self.setSizePolicy(content.sizePolicy())

    def minimumSizeHint(self) -> QSize:
        """The content's, limited by the screen."""
        if self.widget() is None:  # it may be deleted first
            return super().minimumSizeHint()
        needed = self.content.minimumSizeHint().expandedTo(self.content.minimumSize())
        return needed.boundedTo((room(self) - self._rest).expandedTo(_LEAST))

    def sizeHint(self) -> QSize:
        return super().sizeHint() if self.widget() is None else self.content.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Notify the window of the size that is needed now."""
        super().resizeEvent(event)
        self.updateGeometry()


def order_tabs(root: QWidget) -> None:
    """Set the Tab order of `root` to its visual order.

    Qt appends widgets created later to the end of the window: after its last button.
    """
    controls = controls_in(root)
    controls[1:] = map(_in_chain, controls[1:])
    for one, next_one in itertools.pairwise(controls):
        QWidget.setTabOrder(one, next_one)
    if controls and isinstance(controls[0], QTabBar):  # Qt skips it where it is only the first
        QWidget.setTabOrder(controls[-1], controls[0])


def _in_chain(control: QWidget) -> QWidget:
    """Return the part of a control for Qt's tab chain: of the bar of pages, the pages.

    Pages hand the focus on to their bar. Were it elsewhere, Tab would go from them back to it.
    """
    above = control.parentWidget()
    is_bar = isinstance(control, QTabBar) and isinstance(above, QTabWidget)
    return above if is_bar and above is not None else control


def controls_in(root: QWidget) -> list[QWidget]:
    """The focusable controls within `root`, from left to right and top to bottom."""
    return [each for each in _walked(root) if each.focusPolicy() & Qt.FocusPolicy.TabFocus]


def _walked(widget: QWidget) -> Iterator[QWidget]:
    parts = _parts(widget)
    if _is_a_stop(widget) or not parts:
        yield widget
    for part in parts:
        yield from _walked(part)


def _is_a_stop(widget: QWidget) -> bool:
    # Pages pass the focus to their tab bar, which is one of their children.
    takes_focus = widget.focusPolicy() != Qt.FocusPolicy.NoFocus
    return takes_focus and not isinstance(widget, QTabWidget)


def _parts(widget: QWidget) -> Sequence[QWidget]:
    if isinstance(widget, QSplitter | QTabWidget):
        places = range(widget.count())
        parts = [part for place in places if (part := widget.widget(place)) is not None]
        if isinstance(widget, QTabWidget):
            corner: QWidget | None = widget.cornerWidget()
            parts = parts if corner is None else [corner, *parts]
            return [widget.tabBar(), *parts]
        return parts
    if isinstance(widget, QScrollArea):
        inner = widget.widget()
        return [] if inner is None else [inner]
    layout = widget.layout()
    return [] if layout is None else list(_laid_out(layout))


def _laid_out(layout: QLayout) -> Iterator[QWidget]:
    for item in map(layout.itemAt, _places(layout)):
        if item is None:
            continue
        widget, inner = item.widget(), item.layout()
        if widget is not None:
            yield widget
        elif inner is not None:
            yield from _laid_out(inner)


def _places(layout: QLayout) -> list[int]:
    places = list(range(layout.count()))
    if isinstance(layout, QGridLayout):
        cells: dict[int, Any] = {place: layout.getItemPosition(place) for place in places}
        places.sort(key=cells.__getitem__)
    return places


class JobSection(QWidget):
    """A section of the Job pane that another room provides."""

    counted = Signal(int)  # the current number of rows

    def show_job(self, job: JobId | None) -> None:
        """Show what the room has about a job."""
        raise NotImplementedError
