"""Words for servers that end."""

from types import SimpleNamespace
from typing import Any

import pytest

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.sessions.connection.connection import (
    loss_error,
    silence_error,
    start_error,
)
from mcp_progress_monitor.sessions.transport.base import DEFECT_HINT, ending
from mcp_progress_monitor.snapshots.doctor import HttpNote


@pytest.mark.parametrize(
    ("exit_code", "text"),
    [
        (None, "The server closed its output"),
        (0, "The server exited"),
        (3, "The server exited"),
        (-9, "The server was killed by SIGKILL"),
        (-11, "The server was killed by SIGSEGV"),
        (-250, "The server was killed by signal 250"),
    ],
)
def test_the_way_a_server_ended_is_reported(exit_code: int | None, text: str) -> None:
    assert ending(exit_code) == text


def connection(**fields: Any) -> Any:
    """What is read of a connection that has ended."""
    usual = {"failure": None, "error": None, "is_http": False, "exit_code": None}
    seen = {"reason": "It ended", "http_notes": (), "stderr_tail": ()}
    return SimpleNamespace(outbox=SimpleNamespace(invalid_lines=()), **{**usual, **seen, **fields})


def test_nobody_is_sent_to_a_terminal_for_a_url() -> None:
    for reported in (loss_error, start_error):
        assert "terminal" in reported("server.py", connection()).hint
        at_url = reported("http://host/mcp", connection(is_http=True))
        assert at_url.hint
        assert "terminal" not in at_url.hint


def test_a_defect_of_ours_is_not_looked_for_in_the_server() -> None:
    error = ErrorDetails("An internal error ended the connection", "s#1", DEFECT_HINT)
    assert loss_error("server.py", connection(error=error)).hint == DEFECT_HINT


@pytest.mark.parametrize("status", ["503 Service Unavailable", "429 Too Many Requests"])
def test_a_server_that_is_not_ready_in_time_is_not_looked_for_elsewhere(status: str) -> None:
    code, _, text = status.partition(" ")
    notes = (HttpNote("POST /mcp", None, "broken"), HttpNote("POST /mcp", int(code), text))
    seen = connection(is_http=True, http_notes=notes)
    seen.outbox.queued_count = 0
    error = silence_error("http://host/mcp", 3, ["server/discover"], seen)
    assert error.what.startswith(f"The server kept answering {status} until")
    assert "may be starting" in error.hint
    assert "URL" not in error.hint


def test_a_server_that_answered_in_vain_and_then_not_at_all_is_silent() -> None:
    notes = (HttpNote("POST /mcp", 503, "no"), HttpNote("POST /mcp", None, "no answer yet"))
    seen = connection(is_http=True, http_notes=notes)
    seen.outbox.queued_count = 0
    error = silence_error("http://host/mcp", 3, ["server/discover"], seen)
    assert error.what == "The server did not answer server/discover within 3 s"
