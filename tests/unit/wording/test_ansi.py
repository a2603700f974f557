"""Lines as a terminal would show them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.wording.ansi import PLAIN, Colour, Run, Style, plain, runs, styled

RED = Style(foreground=1)


def test_a_plain_line_is_one_run() -> None:
    assert runs("Loaded 3 files\r\n") == ([Run("Loaded 3 files", PLAIN)], PLAIN)


def test_colours_begin_and_end_where_the_server_said() -> None:
    found, after = runs("\x1b[31merror\x1b[0m: no \x1b[1;4mfile\x1b[22;24m here")
    assert [run.text for run in found] == ["error", ": no ", "file", " here"]
    assert found[0].style == RED
    assert found[2].style == Style(is_bold=True, is_underlined=True)
    assert (found[3].style, after) == (PLAIN, PLAIN)


def test_a_style_that_is_not_ended_goes_on_in_the_next_line() -> None:
    _, after = runs("\x1b[31mTraceback:")
    assert runs("  in main", after)[0] == [Run("  in main", RED)]


@pytest.mark.parametrize(
    ("parameters", "colour"),
    [
        ("31", 1),
        ("97", 15),
        ("38;5;9", 9),
        ("38;5;16", (0, 0, 0)),
        ("38;5;208", (255, 135, 0)),
        ("38;5;255", (238, 238, 238)),
        ("38;2;1;2;3", (1, 2, 3)),
        ("38:2:1:2:3", (1, 2, 3)),
        ("38:2::1:2:3", (1, 2, 3)),
        ("38;2;999;0;0", (255, 0, 0)),
        ("38;5;256", None),
        ("38;5", None),
        ("31;39", None),
        ("31;", None),
        ("?31", None),
    ],
)
def test_every_way_to_name_a_colour(parameters: str, colour: Colour | None) -> None:
    assert styled(PLAIN, parameters) == Style(foreground=colour)


def test_grounds_are_named_alike() -> None:
    assert styled(PLAIN, "41").background == 1
    assert styled(PLAIN, "103").background == 11
    assert styled(PLAIN, "48;2;1;2;3;1") == Style(background=(1, 2, 3), is_bold=True)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (" 10%\r 50%\r100%", "100%"),
        (" 10%\r 50%\r", " 50%"),
        ("a long state\x1b[2K\x1b[1Gdone", "done"),
        ("-\b\\\b|\b/", "/"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Btext\x1b7\x1b8\x1b[?25l", "text"),
        ("\x1b[2J\x1b[10;20Htext", "text"),
        ("\x1b]0;never ended", ""),
        ("bell\x07 nul\x00 \u202eback", "bell\\x07 nul\\x00 \\u202eback"),
        ("lone \x1b", "lone \\x1b"),
        ("a\tb", "a\tb"),
    ],
)
def test_what_else_drives_a_terminal_is_carried_out_removed_or_made_visible(
    line: str, shown: str
) -> None:
    assert plain(line) == shown


def test_a_bar_that_is_drawn_again_keeps_its_colours() -> None:
    found, _ = runs("\x1b[32m 10%\r 20%\x1b[0m")
    assert found == [Run(" 20%", Style(foreground=2))]


def test_a_long_line_is_cut_and_says_so() -> None:
    found, _ = runs("\x1b[31m" + "a" * 30 + "\x1b[0m" + "b" * 30, limit=40)
    assert "".join(run.text for run in found) == "a" * 30 + "b" * 9 + "…"


@given(st.text(alphabet="\x1b[]0;18m\r\bKab\\\x07\x9b(", max_size=60), st.integers(1, 30))
def test_any_line_gives_bounded_text_without_a_control_character(line: str, limit: int) -> None:
    shown = plain(line, limit)
    assert len(shown) <= limit
    assert all(char == "\t" or char.isprintable() for char in shown)
