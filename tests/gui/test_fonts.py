"""On a system without fonts the window has letters all the same."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from mcp_progress_monitor.gui.fonts import ensure_fonts
from painted import LEAST, letter_shapes
from tests.patience import PATIENCE_S

PAINT = """
import sys
from PySide6.QtWidgets import QApplication, QLabel
from mcp_progress_monitor.gui.fonts import ensure_fonts
application = QApplication([])
def paint(file):
    label = QLabel("ABCDEFGHIKLMNOPQRSTUVWXYZ\\nabcdefghklmnopqrstuvwxyz\\n0123456789 → ✔ ⇄ Жяß")
    label.grab().save(file)
paint(sys.argv[1])
ensure_fonts(application)
paint(sys.argv[2])
"""
"""Paints letters before the program's fonts are loaded, and after."""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have fonts")
def test_letters_are_letters_where_the_system_has_no_font(tmp_path: Path) -> None:
    empty = tmp_path / "fonts.conf"
    empty.write_text(f"<fontconfig><cachedir>{tmp_path / 'cache'}</cachedir></fontconfig>")
    before, after = tmp_path / "before.png", tmp_path / "after.png"
    subprocess.run(
        [sys.executable, "-c", PAINT, str(before), str(after)],
        env={**os.environ, "FONTCONFIG_FILE": str(empty), "QT_QPA_PLATFORM": "offscreen"},
        check=True,
        timeout=PATIENCE_S,
    )
    assert letter_shapes(str(before)) < LEAST / 4
    assert letter_shapes(str(after)) > LEAST


def test_the_system_keeps_its_own_font(qapp: QApplication) -> None:
    font = qapp.font()
    ensure_fonts(qapp)
    assert qapp.font() == font
