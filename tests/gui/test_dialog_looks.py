"""Dialogs look alike: margins, heights of controls, order and icons of buttons."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QLineEdit,
    QMessageBox,
    QProxyStyle,
    QPushButton,
    QStyle,
    QStyleHintReturn,
    QStyleOption,
    QWidget,
)

from mcp_progress_monitor.gui.theme import GAP
from tests.architecture.source import ROOT
from tests.gui.every_window import EveryWindow, screen_environ
from tests.patience import PATIENCE_S

_ENDS = frozenset({"Close", "Cancel"})
_OFF_BY = 1  # pixels: Fusion makes fields for numbers that much higher


class DesktopStyle(QProxyStyle):
    """A style that gives dialogs' buttons icons, as those of some desktops do."""

    def styleHint(
        self,
        hint: QStyle.StyleHint,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
        data: QStyleHintReturn | None = None,
    ) -> int:
        if hint is QStyle.StyleHint.SH_DialogButtonBox_ButtonsHaveIcons:
            return 1
        return super().styleHint(hint, option, widget, data)

    def standardIcon(self, *_arguments: object) -> QIcon:
        drawn = QPixmap(16, 16)
        drawn.fill()
        return QIcon(drawn)


def test_every_dialog_looks_like_the_others(tmp_path: Path) -> None:
    """In a process of its own: the style is one of the application."""
    command = [sys.executable, "-m", __name__, str(tmp_path)]
    environ = screen_environ(1280, 800, 1, tmp_path)
    done = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def _differences(name: str, dialog: QWidget) -> Iterator[str]:
    layout = dialog.layout()
    is_box = isinstance(dialog, QMessageBox)
    if isinstance(dialog, QDialog) and layout is not None and not is_box:
        margins = layout.contentsMargins()
        found = (margins.left(), margins.top(), margins.right(), margins.bottom())
        if found != (GAP,) * 4:
            yield f"{name}: margins {found}"
    yield from _uneven(name, dialog)
    for box in dialog.findChildren(QDialogButtonBox):
        yield from _in_box(name, box)


def _uneven(name: str, dialog: QWidget) -> Iterator[str]:
    heights: dict[int, list[str]] = {}
    for control in dialog.findChildren(QWidget):
        if not control.isVisible() or isinstance(control.parent(), QComboBox | QAbstractSpinBox):
            continue
        if isinstance(control, QPushButton | QLineEdit | QComboBox | QAbstractSpinBox):
            heights.setdefault(control.height(), []).append(control.accessibleName())
    if heights and max(heights) - min(heights) > _OFF_BY:
        yield f"{name}: heights {heights}"


def _in_box(name: str, box: QDialogButtonBox) -> Iterator[str]:
    shown: list[QAbstractButton] = [each for each in box.buttons() if each.isVisible()]
    for button in shown:
        if box.standardButton(button) != box.StandardButton.NoButton and button.icon().cacheKey():
            yield f"{name}: an icon on {button.text()}"
    texts = [each.text().replace("&", "") for each in sorted(shown, key=QWidget.x)]
    if _ENDS & set(texts[:-1]):
        yield f"{name}: order {texts}"


def main(folder: str) -> int:
    """Print what differs."""
    application = QApplication([])
    application.setStyle(DesktopStyle("Fusion"))
    every = EveryWindow("a name of usual length", Path(folder))
    for name, window in every.all():
        window.show()
        application.processEvents()
        application.processEvents()  # the layouts follow
        if isinstance(window, QDialog):
            for text in _differences(name, window):
                sys.stdout.write(f"{text}\n")
        window.hide()
    for widget in every.kept[:2]:
        widget.deleteLater()
    application.processEvents()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
