"""The order in which Tab goes through controls: that in which they are read."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QScrollArea, QSplitter, QTabBar, QTabWidget, QWidget

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PySide6.QtWidgets import QLayout


def order_tabs(root: QWidget) -> None:
    """Let Tab go through `root` as it is laid out.

    Qt appends what is made later to the end of the window: behind its last button.
    """
    controls = controls_in(root)
    for one, next_one in itertools.pairwise(controls):
        QWidget.setTabOrder(one, next_one)
    if controls and isinstance(controls[0], QTabBar):  # Qt skips it where it is only the first
        QWidget.setTabOrder(controls[-1], controls[0])


def controls_in(root: QWidget) -> list[QWidget]:
    """The controls within `root` that take the focus, from left to right and top to bottom."""
    return [each for each in _walked(root) if each.focusPolicy() & Qt.FocusPolicy.TabFocus]


def _walked(widget: QWidget) -> Iterator[QWidget]:
    parts = _parts(widget)
    if _is_a_stop(widget) or not parts:
        yield widget
    for part in parts:
        yield from _walked(part)


def _is_a_stop(widget: QWidget) -> bool:
    # Pages hand the focus on to their tab bar, which is one of their parts.
    takes_focus = widget.focusPolicy() != Qt.FocusPolicy.NoFocus
    return takes_focus and not isinstance(widget, QTabWidget)


def _parts(widget: QWidget) -> Sequence[QWidget]:
    if isinstance(widget, QSplitter | QTabWidget):
        places = range(widget.count())
        parts = [part for place in places if (part := widget.widget(place)) is not None]
        return [widget.tabBar(), *parts] if isinstance(widget, QTabWidget) else parts
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
    """The items of a layout, those of a grid row by row."""
    places = list(range(layout.count()))
    if isinstance(layout, QGridLayout):
        cells: dict[int, Any] = {place: layout.getItemPosition(place) for place in places}
        places.sort(key=cells.__getitem__)
    return places
