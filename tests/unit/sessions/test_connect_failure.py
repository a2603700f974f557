"""Words for servers that end."""

from __future__ import annotations

import pytest

from app.sessions.connect_failure import ending


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [
        (None, "The server closed its output"),
        (0, "The server ended"),
        (3, "The server ended"),
        (-9, "The server was ended by SIGKILL"),
        (-11, "The server was ended by SIGSEGV"),
        (-250, "The server was ended by signal 250"),
    ],
)
def test_the_way_a_server_ended_is_told(exit_code: int | None, words: str) -> None:
    assert ending(exit_code) == words
