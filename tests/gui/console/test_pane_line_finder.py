"""Looking for words and patterns in lines."""

import time

import pytest

from mcp_progress_monitor.gui.console.pane import HITS_IN_A_LINE, PATIENCE, LineFinder
from mcp_progress_monitor.timed_regex import BadPatternError


def test_words_are_found_in_any_case_unless_it_counts() -> None:
    assert LineFinder("Err").spans("err ERR") == [(0, 3), (4, 7)]
    assert LineFinder("ERR", has_case=True).spans("err ERR") == [(4, 7)]


def test_words_are_no_pattern() -> None:
    assert LineFinder("a.b(").spans("axb( a.b(") == [(5, 9)]


def test_a_pattern_finds_what_it_describes_and_nothing_empty() -> None:
    assert LineFinder(r"\d*", is_pattern=True).spans("a12b3") == [(1, 3), (4, 5)]
    assert LineFinder("A", is_pattern=True).spans("a") == [(0, 1)]
    assert LineFinder("A", is_pattern=True, has_case=True).spans("a") == []


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(BadPatternError):
        LineFinder("(", is_pattern=True)


def test_a_pattern_that_never_ends_is_given_up() -> None:
    finder = LineFinder(r"(a|aa)+$", is_pattern=True)
    began = time.thread_time()
    for _ in range(PATIENCE + 50):
        assert finder.spans("a" * 60 + "b") == []
    assert finder.given_up == PATIENCE
    assert time.thread_time() - began < 5


def test_a_line_gives_so_many_places_at_most() -> None:
    assert len(LineFinder("a").spans("a" * 2000)) == HITS_IN_A_LINE
