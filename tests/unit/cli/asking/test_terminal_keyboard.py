"""Lines from a real terminal: whole, awaited, and never those of before."""

import io
import os
import sys
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.cli.asking.terminal import (
    Dialogue,
    HungUpError,
    Keyboard,
    terminal_of_user,
)

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals on Windows"),
]


class Desk:
    """A terminal: what a person types, and the stream that a program reads."""

    def __init__(self) -> None:
        import pty

        self.person, program = pty.openpty()
        self.stream = os.fdopen(program, encoding="utf-8")
        self.keyboard = Keyboard(self.stream)

    def type(self, text: str) -> None:
        """Type, or press Ctrl+D (byte 4)."""
        os.write(self.person, text.encode())


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.stream.close()
    os.close(desk.person)


async def line(desk: Desk) -> str:
    with anyio.fail_after(5):
        return await desk.keyboard.line()


async def test_lines_come_one_by_one(desk: Desk) -> None:
    desk.type("été\nsecond\n")
    assert await line(desk) == "été"
    assert await line(desk) == "second"


async def test_a_line_is_awaited_and_the_wait_can_be_ended(desk: Desk) -> None:
    with anyio.move_on_after(0.01) as scope:
        await desk.keyboard.line()
    assert scope.cancelled_caught
    desk.type("later\n")
    assert await line(desk) == "later"


async def test_what_was_typed_before_is_thrown_away(desk: Desk) -> None:
    desk.type("one\ntwo\n")
    assert await line(desk) == "one"
    desk.type("three\n")
    desk.keyboard.discard()
    desk.type("four\n")
    assert await line(desk) == "four"


async def test_ctrl_d_is_the_end_of_the_input_and_only_for_now(desk: Desk) -> None:
    desk.type("\x04")
    with pytest.raises(HungUpError):
        await line(desk)
    desk.type("again\n")
    assert await line(desk) == "again"


async def test_a_line_that_ctrl_d_ends_counts(desk: Desk) -> None:
    desk.type("begun\x04\x04")
    assert await line(desk) == "begun"


async def test_a_terminal_that_is_gone_is_noticed(desk: Desk) -> None:
    import pty

    spare, _ = pty.openpty()
    os.dup2(spare, desk.person)  # the person's end of the terminal is closed with this
    with pytest.raises(HungUpError):
        await line(desk)
    os.close(spare)


async def test_a_terminal_in_the_foreground_is_the_users(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", desk.stream)
    monkeypatch.setattr(sys, "stderr", desk.stream)
    monkeypatch.setattr(os, "tcgetpgrp", lambda _fd: os.getpgrp())
    assert isinstance(terminal_of_user(), Keyboard)
    monkeypatch.setattr(os, "tcgetpgrp", lambda _fd: os.getpgrp() + 1)
    assert terminal_of_user() is None


@pytest.mark.parametrize("stream", [None, io.StringIO()])
async def test_without_a_terminal_there_is_nobody(
    desk: Desk, stream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("stdin", "stderr"):
        monkeypatch.setattr(sys, "stdin", desk.stream)
        monkeypatch.setattr(sys, "stderr", desk.stream)
        monkeypatch.setattr(sys, name, stream)
        assert terminal_of_user() is None


async def test_a_secret_is_hidden_before_its_prompt_is_shown(desk: Desk) -> None:
    import termios

    seen: list[tuple[str, bool]] = []

    class Errors:
        def text(self, text: str) -> None:
            seen.append((text, bool(termios.tcgetattr(desk.stream.fileno())[3] & termios.ECHO)))

    errors: Any = Errors()
    desk.type("one\ntwo\n")
    answers = await Dialogue(errors, desk.keyboard).ask_secrets(["KEY", "PIN"])
    assert answers == ["one", "two"]
    assert seen == [("  KEY: ", False), ("\n", False), ("  PIN: ", False), ("\n", False)]
    assert termios.tcgetattr(desk.stream.fileno())[3] & termios.ECHO
