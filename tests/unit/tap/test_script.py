"""The language of `tap --script`: what a line means, and what is said of one that is no rule."""

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol import messages
from mcp_progress_monitor.tap.script import (
    _EXAMPLES,
    _METHODS,
    ACTIONS,
    ScriptedMessage,
    ScriptError,
    ScriptRule,
    read_rules,
)

_TERMS = (
    *ACTIONS,
    *("server", "client", "every", "first", "after", "with", "alone", "within", "of", "times"),
    *("messages", "results", "progress", "tools/call", "tools/*", '"text"', '"', "#", "\n", "\0"),
    *("2s", "250ms", "1s-3s", "3s-1s", "10%", "101%", "5th", "0th", "3", "0", "stdout", "stdin"),
)
PROGRESS = ScriptedMessage("notification", "notifications/progress")
CALLED = ScriptedMessage("result", "tools/call")


def rule(line: str) -> ScriptRule:
    """The rule of a line."""
    (found,) = read_rules(line)
    return found


def _read(text: str) -> tuple[tuple[ScriptRule, ...], ScriptError | None]:
    try:
        return read_rules(text), None
    except ScriptError as error:
        return (), error


@given(st.lists(st.sampled_from(_TERMS), max_size=12).map(" ".join) | st.text())
@example("delay 1s-")
@example('drop server with "')
def test_any_text_gives_rules_or_an_error_that_names_a_line_and_what_to_try(text: str) -> None:
    rules, error = _read(text)
    if error is not None:
        assert 1 <= error.line <= text.count("\n") + 1
        assert error.what
        assert error.hint
    assert [each.line for each in rules] == sorted({each.line for each in rules})
    assert {each.side for each in rules} <= {"server", "client"}


@given(st.sampled_from(sorted(_EXAMPLES)), st.permutations(["server", "every 3rd", "progress"]))
def test_phrases_stand_in_any_order(action: str, phrases: list[str]) -> None:
    if action in {"kill", "close"}:
        return
    start = "delay 2s" if action == "delay" else action
    found = rule(f"{start} {' '.join(phrases)}")
    assert (found.side, found.every, found.method) == ("server", 3, PROGRESS.method)


@pytest.mark.parametrize("line", _EXAMPLES.values())
def test_the_examples_in_errors_are_rules(line: str) -> None:
    assert rule(line).text == line


def test_the_examples_of_the_manual_are_rules() -> None:
    page = (Path(__file__).parents[3] / "docs" / "faults.md").read_text("utf-8")
    examples = re.findall("```faults\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 3
    rules = [each for text in examples for each in read_rules(text)]
    assert len(rules) == 6
    for action in ACTIONS:
        assert f"`{action}" in page


def test_methods_in_hints_are_those_of_the_protocol() -> None:
    known = {value for value in vars(messages).values() if isinstance(value, str)}
    assert set(_METHODS) <= known


def test_comments_and_empty_lines_are_no_rules() -> None:
    rules = read_rules("\ufeff# all of it\r\n\r\n  drop server progress # why\n\tcut client ping\n")
    assert [(each.line, each.text) for each in rules] == [
        (3, "drop server progress"),
        (4, "cut client ping"),
    ]


@pytest.mark.parametrize(
    ("line", "what", "hint"),
    [
        ("dely 2s server", 'Unknown action "dely"', 'Did you mean "delay"?'),
        ("explode", 'Unknown action "explode"', "Begin the line with one of"),
        ("delay server progress", '"delay" needs a time', "delay 500ms"),
        ("delay 3s-1s server", "The range of times is reversed", "100ms-2s"),
        ("drop progress", "The sender of the messages is missing", '"server" or "client"'),
        ("drop server progres", 'Unknown word "progres"', 'Did you mean "progress"?'),
        ("drop server result of tool/call", "", ""),
        ("drop server result of", '"of" needs a method', "result of tools/call"),
        ("drop server zzzzzz", 'Unknown word "zzzzzz"', "Try: drop every 3rd"),
        ("drop server every progress", '"every" needs a number', "every 3"),
        ("drop server after progress", '"after" needs a number', "or a time such as 3s"),
        ("drop server client", "The sender is given twice", "two rules"),
        ("drop server 0th", "0 is not a valid number", "starts at 1"),
        ("drop server 101%", "101% is more than 100%", "100% or less"),
        ('drop server "a"', '"with" is missing before quoted text', 'with "a"'),
        ('drop server with "a', "Missing closing quote", 'with "export"'),
        ("drop server alone", '"alone" cannot be used with "drop"', "Try: drop"),
        ("reorder server 1 messages", "A single message cannot be reordered", "2 messages or more"),
        ("kill client after 3s", "A script cannot kill the client", "close stdout"),
        ("kill", '"server" is missing', "kill server after"),
        ("kill server", '"after" is missing', "kill server after 10 progress"),
        ("kill server after 3s progress", "The kind of message cannot be used", "kill server"),
        ("kill server after 3 every 2nd", '"every" cannot be used', "kill server"),
        ("close after 3s", "The stream to close is missing", "stdin, stdout or stderr"),
        ("close stdot after 3s", "The stream to close is missing", 'Did you mean "stdout"?'),
        ("# nothing", "The script has no rules", "delay 2s server progress"),
        ("drop server\n" * 100_000, "The script is too long", "less than 1 MB"),
    ],
)
def test_errors_say_what_is_wrong_and_what_to_try(line: str, what: str, hint: str) -> None:
    if not what:
        assert rule(line).method == "tool/call"  # any method may be meant
        return
    with pytest.raises(ScriptError) as caught:
        read_rules(line)
    assert what in caught.value.what
    assert hint in caught.value.hint
    assert str(caught.value).startswith("line 1: ")


@pytest.mark.parametrize(
    ("what", "part", "is_meant"),
    [
        ("messages", ScriptedMessage("other"), True),
        ("", ScriptedMessage("other"), True),
        ("progress", PROGRESS, True),
        ("notifications", PROGRESS, True),
        ("notifications/*", PROGRESS, True),
        ("notifications of notifications/message", PROGRESS, False),
        ("requests", PROGRESS, False),
        ("tools/call", ScriptedMessage("request", "tools/call"), True),
        ("tools/call", CALLED, False),
        ("result of tools/call", CALLED, True),
        ("responses of tools/*", CALLED, True),
        ("responses", ScriptedMessage("error", "ping"), True),
        ("errors of tools/call", CALLED, False),
        ("ping", ScriptedMessage("request", "ping"), True),
    ],
)
def test_which_messages_are_meant(what: str, part: ScriptedMessage, is_meant: bool) -> None:
    assert rule(f"drop server {what}").matches(b"{}", [part]) is is_meant


def test_a_batch_is_meant_when_one_of_its_messages_is() -> None:
    assert rule("drop server progress").matches(b"[]", [CALLED, PROGRESS])


def test_a_text_is_looked_for_in_the_bytes() -> None:
    found = rule('drop server with "say \\"hi\\" # é"')
    assert found.phrase == 'say "hi" # é'
    assert found.matches('{"a": "say "hi" # é"}'.encode(), [CALLED])
    assert not found.matches(b"{}", [CALLED])


@pytest.mark.parametrize(
    ("when", "fired"),
    [
        ("", [1, 2, 3, 4, 5, 6, 7]),
        ("every 3rd", [3, 6]),
        ("every 3", [3, 6]),
        ("5th", [5]),
        ("first 2", [1, 2]),
        ("after 5", [6, 7]),
        ("every 2nd after 3", [5, 7]),
        ("0%", []),
        ("100%", [1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_when_a_rule_acts(when: str, fired: list[int]) -> None:
    found = rule(f"drop server {when}")
    assert [count for count in range(1, 8) if found.fires(count, lambda: 0.5)] == fired


def test_what_ends_something_does_so_once() -> None:
    found = rule("kill server after 3 progress")
    assert [count for count in range(1, 8) if found.fires(count, lambda: 0.5)] == [3]
    assert rule("close stdin after 2").side == "client"
    assert rule("kill server after 1 client tools/call").side == "client"


def test_times_and_numbers() -> None:
    assert rule("delay 100ms-1.5s server").delay_s == (0.1, 1.5)
    assert rule("delay 1m client alone").delay_s == (60, 60)
    assert rule("duplicate server 3 times").copies == 3
    found = rule("reorder server 4 progress within 200ms")
    assert (found.group, found.within_s) == (4, 0.2)
