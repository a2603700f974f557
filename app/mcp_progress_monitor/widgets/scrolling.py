"""Scrolling that a list does by itself: to its newest row, and never away from the chosen one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QAbstractItemView

if TYPE_CHECKING:
    from PySide6.QtCore import QModelIndex


def is_in_sight(view: QAbstractItemView, index: QModelIndex) -> bool:
    """Whether the middle of a row is in the part of `view` that is seen."""
    return view.viewport().rect().contains(view.visualRect(index).center())


def scroll_to_end(view: QAbstractItemView) -> None:
    """Show the last row, or as many towards it as leave the chosen row in sight."""
    chosen = view.currentIndex()
    is_kept = view.selectionModel().isSelected(chosen) and is_in_sight(view, chosen)
    view.scrollToBottom()
    if is_kept and view.visualRect(chosen).top() < 0:
        view.scrollTo(chosen, QAbstractItemView.ScrollHint.PositionAtTop)
