"""Lines on a terminal: harmless, bounded, asked again until they are understood."""

import pytest

from mcp_progress_monitor.cli.asking.terminal import HungUpError
from tests.unit.cli.asking.questions import Talk

pytestmark = pytest.mark.anyio


async def test_a_choice_takes_a_word_or_its_beginning() -> None:
    for typed in ("accept", "A", "acc"):
        assert await Talk(typed).dialogue.choose("?", ("accept", "decline")) == "accept"


async def test_enter_takes_the_default_only_if_there_is_one() -> None:
    assert await Talk("").dialogue.choose("?", ("yes", "no"), default="no") == "no"
    talk = Talk("", "q", "y")
    assert await talk.dialogue.choose("?", ("yes", "no")) == "yes"
    assert talk.shown.count("Type yes or no, or its first letter.") == 2


async def test_what_is_typed_loses_the_space_around_it() -> None:
    talk = Talk("  a b \r")
    assert await talk.dialogue.ask("Name\n") == "a b"
    assert talk.shown == "  Name\\n: "


def test_long_texts_are_cut_and_control_characters_shown() -> None:
    talk = Talk()
    talk.dialogue.say("a\tb\x07\nc" + "x" * 10_000)
    assert talk.shown.startswith("  a\tb\\x07\n  cx")
    assert talk.shown.endswith("…\n")
    assert len(talk.shown) < 4_100


def test_a_whole_line_is_never_cut() -> None:
    talk = Talk()
    talk.dialogue.say_in_full("y" * 10_000 + "\n")
    assert talk.shown == f"  {'y' * 10_000}\\n\n"


def test_what_was_typed_before_a_question_is_not_its_answer() -> None:
    talk = Talk()
    talk.dialogue.begin("a\nb")
    assert talk.typist.discarded == 1
    assert talk.shown == "\n? a\\nb\n"


async def test_who_hangs_up_leaves_no_line_begun() -> None:
    talk = Talk()
    with pytest.raises(HungUpError):
        await talk.dialogue.ask("Save")
    assert talk.shown == "  Save: \n"
