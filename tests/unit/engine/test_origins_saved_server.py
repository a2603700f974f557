"""Which server a saved chain goes on with."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from mcp_progress_monitor.engine.origins import (
    ServerChangedError,
    definition_to_add,
    known_server,
    saved_definition,
    was_run,
)
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from mcp_progress_monitor.store.chains import Origin

DEFINITION = StdioDefinition(name="files", command="run-files", args=("--fast",), env={"A": "b"})
ORIGIN = Origin(
    "files", DEFINITION.fingerprint, DEFINITION.model_dump_json(), "2025-11-25", "tools/call", {}
)


def server(name: str, state: ServerState = ServerState.IDLE) -> ServerSnapshot:
    definition = DEFINITION.model_copy(update={"name": name})
    return ServerSnapshot(name, definition, state=state)


def known(origin: Origin, servers: Sequence[ServerSnapshot]) -> str | None:
    """The server of a chain among these."""
    keys = {server.name: server.definition.job_key for server in servers}
    return known_server(origin, servers, keys.__getitem__)


def test_a_server_is_known_by_what_it_is() -> None:
    other = StdioDefinition(name="files", command="another")
    assert known(ORIGIN, [ServerSnapshot("files", other), server("renamed")]) == "renamed"
    assert known(ORIGIN, [ServerSnapshot("files", other)]) is None


def test_a_connected_server_wins_and_then_the_same_name() -> None:
    up = server("b", ServerState.CONNECTED)
    assert known(ORIGIN, [server("a"), up, server("files")]) == "b"
    assert known(ORIGIN, [server("a"), server("files")]) == "files"


def test_an_unknown_server_is_brought_back_as_it_was() -> None:
    assert definition_to_add(ORIGIN, ["other"], []) == DEFINITION


def test_another_server_with_its_name_is_asked_about() -> None:
    with pytest.raises(
        ServerChangedError, match="definition of the job's server has changed"
    ) as caught:
        definition_to_add(ORIGIN, ["files"], [])
    assert caught.value.definition == DEFINITION
    assert "run-files --fast" in caught.value.details.detail


def test_a_server_that_the_user_removed_is_asked_about() -> None:
    with pytest.raises(ServerChangedError, match="was removed"):
        definition_to_add(ORIGIN, [], [DEFINITION.job_key])


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"name":"x","command":""}'])
def test_a_definition_that_cannot_be_read_is_reported(text: str) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        saved_definition(ORIGIN._replace(definition=text))


def saved(definition: StdioDefinition) -> Origin:
    """What is saved of a job that is begun with it now."""
    return ORIGIN._replace(
        server_key=definition.job_key, definition=definition.settled().model_dump_json()
    )


def saved_long_ago(definition: StdioDefinition) -> Origin:
    """What an earlier version saved."""
    return ORIGIN._replace(
        server_key=definition.fingerprint, definition=definition.model_dump_json()
    )


RELATIVE = StdioDefinition(name="files", command="./run")
OF_PATH = StdioDefinition(name="files", command="npx", args=("pkg",))


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two folders; the test begins in the first."""
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    mine.mkdir()
    theirs.mkdir()
    monkeypatch.chdir(mine)
    return mine, theirs


@pytest.mark.parametrize("definition", [RELATIVE, OF_PATH])
def test_what_was_run_in_one_folder_was_not_run_in_another(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, definition: StdioDefinition
) -> None:
    origin = saved(definition)
    assert was_run(definition, [origin])
    assert definition_to_add(origin, [], []) == definition
    monkeypatch.chdir(folders[1])
    assert not was_run(definition, [origin])
    assert was_run(definition.model_copy(update={"cwd": str(folders[0])}), [origin])
    assert definition_to_add(origin, [], []).cwd == str(folders[0])  # type: ignore[union-attr]


def test_a_relative_command_is_known_in_its_folder_alone(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    relative, of_path = saved(RELATIVE), saved(OF_PATH)
    servers = [ServerSnapshot("a", RELATIVE), ServerSnapshot("b", OF_PATH)]
    assert known(relative, servers) == "a"
    monkeypatch.chdir(folders[1])
    assert known(relative, servers) is None
    assert known(of_path, servers) == "b"


def test_of_what_was_saved_without_a_folder_a_relative_command_is_asked_about(
    folders: tuple[Path, Path],
) -> None:
    origin = saved_long_ago(RELATIVE)
    assert not was_run(RELATIVE, [origin])
    with pytest.raises(ServerChangedError, match="is not known"):
        definition_to_add(origin, [], [])
    assert definition_to_add(origin, [], [], is_approved=True) == RELATIVE
    assert known(origin, [ServerSnapshot("a", RELATIVE)]) is None


def test_what_was_saved_without_a_folder_goes_on_where_that_decides_nothing() -> None:
    origin = saved_long_ago(OF_PATH)
    assert was_run(OF_PATH, [origin])
    assert definition_to_add(origin, [], []) == OF_PATH
    assert known(origin, [ServerSnapshot("a", OF_PATH)]) == "a"
