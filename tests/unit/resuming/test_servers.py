"""Which server a saved chain goes on with."""

from __future__ import annotations

import pytest

from app.problem import ProblemError
from app.resuming.servers import (
    ServerChangedError,
    definition_to_add,
    known_server,
    saved_definition,
)
from app.sessions.definitions import StdioDefinition
from app.sessions.snapshot import ServerSnapshot, ServerState
from app.store.chains import Origin

DEFINITION = StdioDefinition(name="files", command="run-files", args=("--fast",), env={"A": "b"})
ORIGIN = Origin(
    "files", DEFINITION.fingerprint, DEFINITION.model_dump_json(), "2025-11-25", "tools/call", {}
)


def server(name: str, state: ServerState = ServerState.IDLE) -> ServerSnapshot:
    definition = DEFINITION.model_copy(update={"name": name})
    return ServerSnapshot(name, definition, state=state)


def test_a_server_is_known_by_what_it_is() -> None:
    other = StdioDefinition(name="files", command="another")
    assert known_server(ORIGIN, [ServerSnapshot("files", other), server("renamed")]) == "renamed"
    assert known_server(ORIGIN, [ServerSnapshot("files", other)]) is None


def test_a_connected_server_wins_and_then_the_same_name() -> None:
    up = server("b", ServerState.CONNECTED)
    assert known_server(ORIGIN, [server("a"), up, server("files")]) == "b"
    assert known_server(ORIGIN, [server("a"), server("files")]) == "files"


def test_an_unknown_server_is_brought_back_as_it_was() -> None:
    assert definition_to_add(ORIGIN, ["other"], []) == DEFINITION


def test_another_server_with_its_name_is_asked_about() -> None:
    with pytest.raises(ServerChangedError, match="defined otherwise") as caught:
        definition_to_add(ORIGIN, ["files"], [])
    assert caught.value.definition == DEFINITION
    assert "run-files --fast" in caught.value.problem.detail


def test_a_server_that_the_user_removed_is_asked_about() -> None:
    with pytest.raises(ServerChangedError, match="was removed"):
        definition_to_add(ORIGIN, [], [DEFINITION.fingerprint])


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"name":"x","command":""}'])
def test_a_definition_that_cannot_be_read_is_told(text: str) -> None:
    with pytest.raises(ProblemError, match="cannot be read"):
        saved_definition(ORIGIN._replace(definition=text))
