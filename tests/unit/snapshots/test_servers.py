"""Snapshots of servers."""

import pytest

from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState

DEFINITION = StdioDefinition(name="here", command="c")


@pytest.mark.parametrize(
    ("info", "title"),
    [
        ({"title": "Title", "name": "name"}, "Title"),
        ({"name": "name"}, "name"),
        ({}, "here"),
        ({"title": 7, "name": 8}, "here"),
    ],
)
def test_a_server_is_called_what_it_calls_itself(info: dict[str, object], title: str) -> None:
    assert ServerSnapshot("here", DEFINITION, server_info=info).title == title


def test_only_live_states_are_up() -> None:
    up = {state for state in ServerState if state.is_up}
    assert up == {ServerState.CONNECTING, ServerState.CONNECTED, ServerState.CLOSING}
