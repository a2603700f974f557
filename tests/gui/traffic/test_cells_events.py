"""The events of a connection's life read as sentences in Traffic."""

from typing import Any

import pytest

from mcp_progress_monitor.gui.traffic.cells import event_texts


def summary_of(name: str, fields: dict[str, Any]) -> str:
    """The text of an event; empty if its fields are listed instead."""
    found = event_texts(name, fields)
    return "" if found is None else found.summary


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("closed", {"reason": "Disconnected", "exit_code": None}, "Disconnected"),
        (
            "closed",
            {"reason": "The server exited", "exit_code": 3},
            "The server exited; exit code 3",
        ),
        ("closed", {"reason": "It ended with code 3", "exit_code": 3}, "It ended with code 3"),
        (
            "closed",
            {"reason": "It ended", "exit_code": None, "outlook": "It is connected again in 1 s"},
            "It ended; It is connected again in 1 s",
        ),
        (
            "closed",
            {"reason": "You quit", "exit_code": None, "unread": 57_000_000},
            "You quit; 57.0 MB unread",
        ),
        (
            "failed",
            {"what": "No such program", "where": "x", "hint": "Check PATH.", "detail": ""},
            "No such program; x; Check PATH.",
        ),
        ("transport_changed", {"transport": "sse", "reason": "It answered 405"}, "It answered 405"),
        ("restarting", {"reason": "server.py changed", "paths": ["a"]}, "server.py changed"),
        ("call_ended", {"request": 501, "outcome": "lost", "text": "It broke"}, "lost; It broke"),
        (
            "definitions_changed",
            {"tools": [{"tool": "export", "parts": [], "diff": "- a"}, {"tool": 1}, None]},
            "Changed since the last session: export",
        ),
        ("definitions_changed", {"tools": 3}, ""),
        ("timed_out", {"request": 7, "text": "No reply in time"}, "No reply in time"),
    ],
)
def test_an_event_reads_as_a_sentence(name: str, fields: dict[str, Any], message: str) -> None:
    assert summary_of(name, fields) == message


@pytest.mark.parametrize("odd", [None, 7, True, ["x"], {"a": 1}])
def test_odd_fields_of_a_recording_are_left_out(odd: object) -> None:
    assert summary_of("closed", {"reason": odd, "outlook": odd}) == ""


def test_server_text_is_made_visible_and_bounded() -> None:
    text = summary_of("closed", {"reason": "a\x1b[31m\n" + "x" * 5000})

    assert "\x1b" not in text
    assert "\n" not in text
    assert len(text) <= 300


def test_of_other_events_nothing_is_reported() -> None:
    assert summary_of("opened", {"pid": 42}) == ""
