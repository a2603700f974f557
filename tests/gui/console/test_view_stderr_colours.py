"""Whatever colours a server chooses, its text can be read."""

import itertools

import pytest
from PySide6.QtGui import QColor, QPalette

from mcp_progress_monitor.gui.console.view import LEAST_CONTRAST, StderrColours
from mcp_progress_monitor.gui.theme import Appearance, Tone, contrast
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.wording.ansi import PLAIN, Colour, Style

COLOURS: list[Colour | None] = [None, *range(16), (0, 0, 0), (255, 255, 255), (128, 128, 128)]


def _appearance(base: str, text: str) -> Appearance:
    palette = QPalette()
    palette.setColor(QPalette.ColorRole.Base, QColor(base))
    palette.setColor(QPalette.ColorRole.Text, QColor(text))
    return Appearance(palette, resource("icons"))


@pytest.mark.parametrize(("base", "text"), [("#ffffff", "#111111"), ("#1e1e1e", "#e6e6e6")])
def test_every_pair_of_colours_can_be_read(base: str, text: str) -> None:
    colours = StderrColours(_appearance(base, text))
    for ink, ground in itertools.product(COLOURS, COLOURS):
        for changes in ({}, {"is_dim": True}, {"is_reversed": True}):
            form = colours.format(Style(ink, ground, **changes))
            has_ground = form.background().style() is not form.background().style().NoBrush
            behind = form.background().color() if has_ground else QColor(base)
            assert contrast(form.foreground().color(), behind) >= LEAST_CONTRAST


def test_plain_text_has_the_views_own_colours() -> None:
    appearance = _appearance("#ffffff", "#111111")
    form = StderrColours(appearance).format(PLAIN)
    assert form.foreground().color() == appearance.colour(Tone.TEXT)
    assert not form.fontUnderline()


def test_weight_and_lines_are_taken_over() -> None:
    form = StderrColours(_appearance("#ffffff", "#111111")).format(
        Style(is_bold=True, is_italic=True, is_underlined=True, is_struck=True)
    )
    assert form.fontWeight() > 400
    assert (form.fontItalic(), form.fontUnderline(), form.fontStrikeOut()) == (True, True, True)
