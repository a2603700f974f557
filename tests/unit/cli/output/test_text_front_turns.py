"""While the user is asked, everything else waits, in its order."""

import contextlib
from collections.abc import Iterator

import pytest

from mcp_progress_monitor.cli.output.text_front import TerminalTurns


class Screen:
    """Notes what happens on it."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.turns = TerminalTurns(self.aside, self.events.append)

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        self.events.append("bars go")
        yield
        self.events.append("bars come")


@pytest.fixture
def screen() -> Screen:
    return Screen()


def test_lines_are_written_at_once_as_a_rule(screen: Screen) -> None:
    screen.turns.say("a")
    assert screen.events == ["a"]


def test_lines_and_results_wait_for_the_end_of_a_question(screen: Screen) -> None:
    with screen.turns.quiet():
        screen.turns.say("a")
        screen.turns.do(lambda: screen.events.append("result"))
        screen.turns.say("b")
        assert screen.events == ["bars go"]
    assert screen.events == ["bars go", "bars come", "a", "result", "b"]


def test_delayed_lines_are_printed_when_the_question_ends_with_an_error(screen: Screen) -> None:
    def ask() -> None:
        with screen.turns.quiet():
            screen.turns.say("a")
            raise KeyError

    with pytest.raises(KeyError):
        ask()
    assert screen.events[-1] == "a"


def test_a_flood_is_bounded_and_results_are_not_lost_in_it(screen: Screen) -> None:
    with screen.turns.quiet():
        for number in range(5_000):
            screen.turns.say(str(number))
        screen.turns.do(lambda: screen.events.append("result"))
    assert screen.events[2:2002] == [str(number) for number in range(2_000)]
    assert screen.events[2002:] == ["result", "… and 3,000 more lines; see the recording."]
    screen.turns.say("later")
    assert screen.events[-1] == "later"
