"""Questions at a real terminal: typed answers, Ctrl+C, and servers that change their mind."""

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.eras import IN_SHORT
from tests.integration.commands import calling, linux_only
from tests.integration.terminals import Terminal

pytestmark = linux_only

CTRL_C = b"\x03"
CTRL_D = b"\x04"


def terminal(tmp_path: Path, *arguments: str, **environment: str) -> Terminal:
    """Call a tool of the test server at a terminal."""
    folder = ("--data-dir", str(tmp_path / "data"))
    return Terminal(*calling(*folder, *arguments), **environment)


def reported(shown: str) -> list[dict[str, Any]]:
    """What the demo server tells of the answers it got."""
    line = re.search(r"^\[\{.*\}\]\r?$", shown, re.MULTILINE)
    assert line is not None, shown
    found: list[dict[str, Any]] = json.loads(line[0])
    return found


@pytest.mark.parametrize("era", IN_SHORT)
def test_a_form_is_filled_in_field_by_field(tmp_path: Path, era: str) -> None:
    with terminal(tmp_path, "--era", era, "ask_form", "--arg", "fields=all") as user:
        user.expect(", for ask_form, asks you to fill in a form")
        user.expect("Fill in the form?")
        user.type("")
        user.expect("Your name (name)")
        user.type("A")
        user.expect('"A" is shorter than 2')
        user.expect("Your name (name)")
        user.type("Ada")
        for name in ("email", "website", "birthday", "meeting"):
            user.expect(f"({name})")
            user.type("")
        user.expect("(age), integer, 0 to 150, required")
        user.type("old")
        user.expect("'old' is not of type integer")
        user.expect("(age)")
        user.type("36")
        for name in ("rating", "copies", "newsletter"):
            user.expect(f"({name})")
            user.type("")
        user.expect("2) M")
        user.expect("(size)")
        user.type("3")
        user.expect("(colour)")
        user.type("Blue")
        user.expect("(toppings)")
        user.type("olives, 1")
        user.expect("(days)")
        user.type("")
        assert user.end() == 0
    result = reported(user.shown)[0]["reply"]["result"]
    assert result["action"] == "accept"
    expected = {"name": "Ada", "age": 36, "size": "L", "colour": "#00c"}
    assert expected.items() <= result["content"].items()
    assert result["content"]["toppings"] == ["olives", "cheese"]


@pytest.mark.parametrize("era", IN_SHORT)
def test_ctrl_c_cancels_the_question_and_the_call_goes_on(tmp_path: Path, era: str) -> None:
    with terminal(tmp_path, "--era", era, "ask_form") as user:
        user.expect("Fill in the form?")
        user.press(CTRL_C)
        user.expect("Cancelled the question. Press Ctrl+C again to cancel the call.")
        assert user.end() == 0
    assert reported(user.shown)[0]["reply"]["result"] == {"action": "cancel"}


def test_ctrl_c_again_cancels_the_call_and_exits_with_5(tmp_path: Path) -> None:
    arguments = ("ask_while_working", "--arg", "steps=1000", "--arg", "at_step=1")
    with terminal(tmp_path, "--era", "handshake", *arguments) as user:
        user.expect("Fill in the form?")
        user.press(CTRL_C)
        user.expect("Cancelled the question")
        user.expect("/ 1")
        user.press(CTRL_C)
        user.expect("Cancelling. Press Ctrl+C again to exit immediately.")
        assert user.end() == 5


def test_the_end_of_the_input_cancels_the_question(tmp_path: Path) -> None:
    with terminal(tmp_path, "ask_form") as user:
        user.expect("Fill in the form?")
        user.press(CTRL_D)
        user.expect("Cancelled: end of input.")
        assert user.end() == 0


def test_a_question_that_the_server_cancels_ends_its_prompt(tmp_path: Path) -> None:
    arguments = ("question_cancelled", "--arg", "after_s=2")  # not before it is shown
    with terminal(tmp_path, "--era", "handshake", *arguments) as user:
        user.expect("Fill in the form?")
        user.expect("The server no longer needs an answer.")
        assert user.end() == 0
    assert "The question was cancelled" in user.shown


@pytest.mark.parametrize("era", IN_SHORT)
def test_questions_at_the_same_time_are_asked_one_after_the_other(tmp_path: Path, era: str) -> None:
    asked = "? servers, for ask_together"
    with terminal(tmp_path, "--era", era, "ask_together") as user:
        for _ in range(2):
            user.expect(asked)
            kind = user.expect("\r\n")
            if "model response" in kind:
                user.expect("Reply: ")
                user.type("It rains.")
            else:
                user.expect("Fill in the form?")
                user.type("d")
        assert user.end() == 0
    assert user.shown.count(asked) == 2
    replies = {each["method"]: each["reply"]["result"] for each in reported(user.shown)}
    assert replies["elicitation/create"] == {"action": "decline"}
    assert replies["sampling/createMessage"]["content"]["text"] == "It rains."


def test_a_page_is_shown_whole_and_opened_on_request_alone(tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {opened}\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    url = f"https://example.com/{'long/' * 100}?q=1"
    arguments = ("ask_url", "--arg", f"url={url}")
    for typed, is_opened in (("a", False), ("o", True)):
        with terminal(tmp_path, *arguments, BROWSER=f"{browser} %s") as user:
            user.expect("Host: example.com.")
            user.expect("[open/accept/decline/cancel]")
            assert not opened.exists()
            user.type(typed)
            assert user.end() == 0
        assert url in user.shown.replace("\r\n", "")
        assert opened.exists() is is_opened
    assert opened.read_text() == f"{url}\n"


def test_bars_step_aside_while_the_user_is_asked(tmp_path: Path) -> None:
    arguments = ("ask_while_working", "--arg", "steps=5", "--arg", "at_step=2")
    with terminal(tmp_path, "--era", "handshake", *arguments) as user:
        user.expect("━")
        user.expect("Fill in the form?")
        asked = len(user.shown)
        user.press(b"abc")
        user.expect("abc")
        assert "━" not in user.shown[asked:]
        user.press(b"\x15")
        user.type("d")
        user.expect("━")
        assert user.end() == 0


def test_what_the_file_answers_is_not_asked(tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    file.write_text('{"sampling": {"text": "from the file"}}')
    with terminal(tmp_path, "ask_together", "--answer", str(file)) as user:
        user.expect("Fill in the form?")
        user.type("d")
        assert user.end() == 0
    replies = {each["method"]: each["reply"]["result"] for each in reported(user.shown)}
    assert replies["sampling/createMessage"]["content"]["text"] == "from the file"
    assert "model response" not in user.shown
