"""Colours can be read in light and dark, and everything has a drawing."""

import pytest
from PySide6.QtGui import QColor, QIcon, QImage, QPalette
from PySide6.QtWidgets import QApplication, QStyle
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.theme import (
    ACTIVE,
    FOCUSED,
    SELECTED,
    STATE_TONES,
    UNDER_MOUSE,
    Appearance,
    Tone,
    contrast,
    emphasised,
    mixed,
    state_icon,
    tone_of,
)
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.tracker.snapshot import Failure, JobState
from tests.job_stand_ins import job

DARK = ("#1d1f22", "#e4e6e9")
LIGHT = ("#ffffff", "#000000")
MURKY = ("#777777", "#808080")


def palette(base: str, text: str, accent: str = "#3584e4") -> QPalette:
    made = QPalette()
    made.setColor(QPalette.ColorRole.Base, QColor(base))
    made.setColor(QPalette.ColorRole.Text, QColor(text))
    made.setColor(QPalette.ColorRole.Accent, QColor(accent))
    return made


def pixels(image: QImage) -> set[str]:
    size = image.size()
    colours = (image.pixelColor(x, y) for x in range(size.width()) for y in range(size.height()))
    return {colour.name() for colour in colours if colour.alpha() == 255}


@pytest.mark.parametrize("theme", [DARK, LIGHT])
@pytest.mark.parametrize("accent", ["#3584e4", "#ffff00", "#000080", "#ffffff", "#000000"])
@pytest.mark.parametrize("tone", list(Tone))
def test_every_tone_can_be_read(theme: tuple[str, str], accent: str, tone: Tone) -> None:
    appearance = Appearance(palette(*theme, accent), resource("icons"))
    for state in (0, UNDER_MOUSE, SELECTED, SELECTED | ACTIVE):
        assert contrast(appearance.colour(tone), appearance.row_ground(state)) >= 4.5


def test_where_nothing_can_be_read_the_text_colour_is_used() -> None:
    appearance = Appearance(palette(*MURKY), resource("icons"))
    assert appearance.colour(Tone.BAD) == QColor(MURKY[1])


def test_dark_is_what_has_light_text() -> None:
    assert Appearance(palette(*DARK), resource("icons")).is_dark
    assert not Appearance(palette(*LIGHT), resource("icons")).is_dark


@pytest.mark.parametrize("state", list(JobState))
def test_every_state_has_a_tone_and_a_drawing_of_its_own(
    appearance: Appearance, state: JobState
) -> None:
    assert pixels(appearance.pixmap(state_icon(state), STATE_TONES[state], 24).toImage())
    shape, *others = (
        appearance.pixmap(state_icon(one), Tone.TEXT, 24).toImage()
        for one in (state, *(other for other in JobState if other is not state))
    )
    assert shape not in others


@pytest.mark.parametrize(("is_wanted", "tone"), [(True, Tone.MUTED), (False, Tone.BAD)])
def test_a_job_that_the_user_let_go_does_not_look_like_a_fault(is_wanted: bool, tone: Tone) -> None:
    failure = Failure("local", "gone", is_wanted=is_wanted)
    assert tone_of(job(state=JobState.LOST, failure=failure)) is tone


def test_every_drawing_is_valid_and_can_be_recoloured(appearance: Appearance) -> None:
    names = sorted(path.stem for path in resource("icons").glob("*.svg") if path.stem != "app")
    wanted = appearance.colour(Tone.BAD).name()
    assert len(names) > 40
    for name in names:
        assert pixels(appearance.pixmap(name, Tone.BAD, 32).toImage()) == {wanted}, name


def test_icons_are_sharp_at_twice_the_resolution(appearance: Appearance) -> None:
    pixmap = appearance.pixmap("add", Tone.TEXT, 16, 2.0)
    assert (pixmap.width(), pixmap.devicePixelRatio()) == (32, 2.0)


def test_a_disabled_icon_is_fainter(appearance: Appearance) -> None:
    icon = appearance.icon("cancel")
    normal = icon.pixmap(16, QIcon.Mode.Normal).toImage()
    assert pixels(normal) != pixels(icon.pixmap(16, QIcon.Mode.Disabled).toImage())


def test_a_new_palette_is_reported_once_and_changes_icons(
    qtbot: QtBot, appearance: Appearance
) -> None:
    before = pixels(appearance.pixmap("add", Tone.TEXT, 16).toImage())
    new = palette("#101010", "#fafafa")
    with qtbot.waitSignal(appearance.changed):
        appearance.follow(new)
    with qtbot.assertNotEmitted(appearance.changed):
        appearance.follow(new)
    assert pixels(appearance.pixmap("add", Tone.TEXT, 16).toImage()) != before


def test_a_missing_drawing_is_named(appearance: Appearance) -> None:
    with pytest.raises(FileNotFoundError, match="no-such-icon"):
        appearance.icon("no-such-icon")


def test_black_on_white_has_the_highest_contrast() -> None:
    assert contrast(QColor("black"), QColor("white")) == pytest.approx(21.0)
    assert contrast(QColor("red"), QColor("red")) == pytest.approx(1.0)


def test_mixing_goes_from_one_colour_to_the_other() -> None:
    assert mixed(QColor("#000000"), QColor("#ffffff"), 0.0).name() == "#000000"
    assert mixed(QColor("#000000"), QColor("#ffffff"), 1.0).name() == "#ffffff"


def test_emphasis_leaves_the_font_it_is_made_of(qapp: QApplication) -> None:
    font = qapp.font()
    assert emphasised(font).weight() > font.weight()
    assert qapp.font() == font


def test_flags_of_rows_are_those_of_qt() -> None:
    flags = QStyle.StateFlag
    assert (flags.State_HasFocus.value, flags.State_Selected.value) == (FOCUSED, SELECTED)
    assert (flags.State_MouseOver.value, flags.State_Active.value) == (UNDER_MOUSE, ACTIVE)
