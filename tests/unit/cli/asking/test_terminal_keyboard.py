"""Lines from a real terminal: whole, awaited, and never those of before."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from mcp_progress_monitor.cli.asking.terminal import HungUpError, Keyboard, terminal_of_user

if TYPE_CHECKING:
    from collections.abc import Iterator

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
def request_broker() -> Iterator[Desk]:
    request_broker = Desk()
    yield request_broker
    request_broker.stream.close()
    os.close(request_broker.person)


async def line(request_broker: Desk) -> str:
    with anyio.fail_after(5):
        return await request_broker.keyboard.line()


async def test_lines_come_one_by_one(request_broker: Desk) -> None:
    request_broker.type("été\nsecond\n")
    assert await line(request_broker) == "été"
    assert await line(request_broker) == "second"


async def test_a_line_is_awaited_and_the_wait_can_be_ended(request_broker: Desk) -> None:
    with anyio.move_on_after(0.01) as scope:
        await request_broker.keyboard.line()
    assert scope.cancelled_caught
    request_broker.type("later\n")
    assert await line(request_broker) == "later"


async def test_what_was_typed_before_is_thrown_away(request_broker: Desk) -> None:
    request_broker.type("one\ntwo\n")
    assert await line(request_broker) == "one"
    request_broker.type("three\n")
    request_broker.keyboard.discard()
    request_broker.type("four\n")
    assert await line(request_broker) == "four"


async def test_ctrl_d_is_the_end_of_the_input_and_only_for_now(request_broker: Desk) -> None:
    request_broker.type("\x04")
    with pytest.raises(HungUpError):
        await line(request_broker)
    request_broker.type("again\n")
    assert await line(request_broker) == "again"


async def test_a_line_that_ctrl_d_ends_counts(request_broker: Desk) -> None:
    request_broker.type("begun\x04\x04")
    assert await line(request_broker) == "begun"


async def test_a_terminal_that_is_gone_is_noticed(request_broker: Desk) -> None:
    import pty

    spare, _ = pty.openpty()
    os.dup2(spare, request_broker.person)  # the person's end of the terminal is closed with this
    with pytest.raises(HungUpError):
        await line(request_broker)
    os.close(spare)


async def test_a_terminal_in_the_foreground_is_the_users(
    request_broker: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", request_broker.stream)
    monkeypatch.setattr(sys, "stderr", request_broker.stream)
    monkeypatch.setattr(os, "tcgetpgrp", lambda _fd: os.getpgrp())
    assert isinstance(terminal_of_user(), Keyboard)
    monkeypatch.setattr(os, "tcgetpgrp", lambda _fd: os.getpgrp() + 1)
    assert terminal_of_user() is None


@pytest.mark.parametrize("stream", [None, io.StringIO()])
async def test_without_a_terminal_there_is_nobody(
    request_broker: Desk, stream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("stdin", "stderr"):
        monkeypatch.setattr(sys, "stdin", request_broker.stream)
        monkeypatch.setattr(sys, "stderr", request_broker.stream)
        monkeypatch.setattr(sys, name, stream)
        assert terminal_of_user() is None
