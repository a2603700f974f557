"""What holds for every window: nothing of others is markup, and all of it fits the screen."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QModelIndex, QObject, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QDialog,
    QFileDialog,
    QHeaderView,
    QLabel,
    QMessageBox,
    QTabBar,
    QTabWidget,
    QWidget,
)

import mcp_progress_monitor.gui
from mcp_progress_monitor.gui.common.controls import plain_tip
from tests.architecture.source import ROOT
from tests.gui.every_window import FRAME, EveryWindow
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from PySide6.QtWidgets import QApplication

HOSTILE = "<h1>E"
"""As in a name: Qt takes the whole text that begins with it for markup."""
ROLES = (
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.StatusTipRole,
    Qt.ItemDataRole.WhatsThisRole,
)


def might_be_markup(text: str) -> bool:
    """Whether Qt shows the heading as one (as `Qt::mightBeRichText`, for this very text)."""
    return HOSTILE in text.partition("\n")[0]


def texts_of(part: QObject) -> Iterator[tuple[str, str]]:
    """Every text of a widget or an action that Qt may take for markup."""
    if isinstance(part, QWidget | QAction):
        yield "tool tip", part.toolTip()
        yield "status tip", part.statusTip()
        yield "what's this", part.whatsThis()
    if isinstance(part, QLabel) and part.textFormat() is not Qt.TextFormat.PlainText:
        yield "label", part.text()
    if isinstance(part, QMessageBox) and part.textFormat() is not Qt.TextFormat.PlainText:
        yield "message box", part.text()
    if isinstance(part, QTabBar | QTabWidget):
        for place in range(part.count()):
            yield "tab", part.tabToolTip(place)
    if isinstance(part, QAbstractItemView | QComboBox):
        yield from tips_in(part.model())
    if isinstance(part, QHeaderView):
        for section in range(part.count()):
            for role in ROLES:
                data = part.model().headerData(section, part.orientation(), role)
                yield "header", str(data or "")


def tips_in(model: QAbstractItemModel, below: QModelIndex | None = None) -> Iterator[Any]:
    parent = QModelIndex() if below is None else below
    for row in range(min(model.rowCount(parent), 40)):
        is_list = isinstance(model, QAbstractListModel)  # whose number of columns is private
        for column in range(1 if is_list else model.columnCount(parent)):
            index = model.index(row, column, parent)
            for role in ROLES:
                yield f"item {row}, {column}", str(index.data(role) or "")
        yield from tips_in(model, model.index(row, 0, parent))


@pytest.fixture
def every(qapp: QApplication, tmp_path: Path) -> Iterator[EveryWindow]:
    made = EveryWindow(HOSTILE, tmp_path)
    yield made
    for widget in made.kept:
        widget.hide()  # the end of the last window would end the next test's loop
        widget.deleteLater()
    made.deleteLater()
    qapp.processEvents()


def test_no_text_of_others_is_taken_for_markup(every: EveryWindow) -> None:
    found, tips = [], 0
    for name, window in every.all():
        window.show()
        for part in (window, *window.findChildren(QObject)):
            for what, text in texts_of(part):
                tips += plain_tip(HOSTILE)[4:-5] in text
                if might_be_markup(text):
                    found.append(f"{name}: {what} of {type(part).__name__}: {text[:60]}")
    assert found == []
    assert tips > 20  # else nothing was walked through


def test_every_kind_of_dialog_is_among_the_windows(every: EveryWindow) -> None:
    for module in pkgutil.walk_packages(
        mcp_progress_monitor.gui.__path__, "mcp_progress_monitor.gui."
    ):
        importlib.import_module(module.name)
    kinds = {
        kind
        for kind in set(descendants(QDialog)) - set(descendants(QFileDialog))
        if kind.__module__.startswith("mcp_progress_monitor.gui.")
    }
    made = {type(window) for _, window in every.all()}
    bases = {base for kind in made for base in kind.__mro__[1:]}
    assert {kind.__name__ for kind in kinds - made - bases} == set()


def descendants(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from descendants(each)


@pytest.mark.parametrize(
    ("width", "height", "scale"),
    [(900, 600, 1), (1366, 768, 1), (1366, 768, 2), (1920, 1080, 2)],
)
def test_every_window_fits_the_screen(tmp_path: Path, width: int, height: int, scale: int) -> None:
    screen = {"name": "small", "x": 0, "y": 0, "width": width, "height": height}
    dots = {"logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1}
    (tmp_path / "screen.json").write_text(json.dumps({"screens": [{**screen, **dots}]}))
    least = (width // scale, height // scale - FRAME)
    folder = os.path.relpath(tmp_path, ROOT)
    done = subprocess.run(
        [sys.executable, "-m", "tests.gui.every_window", *map(str, least)],
        cwd=ROOT,
        env={
            **os.environ,
            # Its parts are divided by colons, which Windows has in whole paths.
            "QT_QPA_PLATFORM": f"offscreen:configfile={folder}/screen.json",
            "QT_SCALE_FACTOR": str(scale),
        },
        capture_output=True,
        timeout=2 * PATIENCE_S,
        check=True,
    )
    assert json.loads(done.stdout) == []
