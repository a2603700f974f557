"""The faces of a row: texts are measured once, and short ones not at all."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication

from mcp_progress_monitor.gui.common.row_painting import Face

_FACES: list[Face] = []


@pytest.fixture(scope="module", autouse=True)
def _faces(qapp: QApplication) -> None:
    bold = QFont(qapp.font())
    bold.setBold(True)
    _FACES[:] = [Face(qapp.font()), Face(bold)]


_TEXTS = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"]))


@given(message=_TEXTS | st.text(max_size=20), width=st.integers(0, 400), in_middle=st.booleans())
@example(message="0\t", width=24, in_middle=False)
def test_texts_are_elided_as_qt_does(message: str, width: int, in_middle: bool) -> None:
    place = Qt.TextElideMode.ElideMiddle if in_middle else Qt.TextElideMode.ElideRight
    for face in _FACES:
        expected = face.metrics.elidedText(message, place, width)
        assert face.elided(message, width, in_middle=in_middle) == expected
        assert face.elided(message, width, in_middle=in_middle) == expected  # as it is kept


@given(message=st.text(max_size=20))
def test_texts_are_as_wide_as_qt_paints_them(message: str) -> None:
    for face in _FACES:
        assert face.width(message) == face.width(message) == face.metrics.horizontalAdvance(message)
