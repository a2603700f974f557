"""Fuzzy matching finds what editors would find, and puts first what one means."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.gui.command_palette.palette import match


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("cnl", "Jobs: Cancel"),
        ("job can", "Jobs: Cancel"),
        ("can job", "Jobs: Cancel"),
        ("", "anything"),
        ("EXPORT", "export_orders"),
        ("ß", "Straße"),
    ],
)
def test_letters_in_their_order_match(query: str, text: str) -> None:
    assert match(query, text) is not None


@pytest.mark.parametrize(
    ("query", "text"), [("lnc", "Cancel"), ("cancel now", "Jobs: Cancel"), ("x", "")]
)
def test_what_is_not_there_does_not(query: str, text: str) -> None:
    assert match(query, text) is None


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("rf", "Remove finished", "Server for"),
        ("can", "Cancel", "Scan all"),
        ("eo", "export_orders", "demo"),
        ("co", "Connect", "Jobs: automatic options"),
        ("nC", "newCall", "nice"),
    ],
)
def test_starts_of_words_and_letters_in_a_row_come_first(
    query: str, better: str, worse: str
) -> None:
    one, other = match(query, better), match(query, worse)
    assert one is not None
    assert other is None or one.score > other.score


def test_the_places_are_those_of_the_letters() -> None:
    found = match("rf", "Remove finished")
    assert found is not None
    assert found.places == (0, 7)


@given(st.text(max_size=40), st.text(max_size=40))
def test_places_are_in_the_text_and_hold_the_letters(query: str, text: str) -> None:
    found = match(query, text)
    if found is not None:
        assert all(0 <= place < len(text) for place in found.places)
        assert bool(found.places) is bool(query.split())


@given(st.text("ab ", max_size=30), st.data())
def test_a_part_of_a_text_is_found_in_it(text: str, data: st.DataObject) -> None:
    letters = [letter for letter in text if data.draw(st.booleans())]
    assert match("".join(letters).replace(" ", ""), text) is not None


def test_a_long_text_of_one_letter_takes_no_time() -> None:
    began = time.process_time()
    match("a" * 30 + "b", "a" * 5_000)
    assert time.process_time() - began < 1
