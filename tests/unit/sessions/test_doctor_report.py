"""The report on a server, and its text."""

import os
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor.sessions.doctor import report_of
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition
from mcp_progress_monitor.snapshots.doctor import Searched
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from tests.unit.sessions.playbook import PlayedServer, by_method, connection_to


def snapshot(definition: StdioDefinition | HttpDefinition) -> ServerSnapshot:
    return ServerSnapshot(definition.name, definition)


def test_a_server_that_was_never_connected_tells_what_would_be_run(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "run-it"
    program.parent.mkdir()
    program.touch(0o755)
    path = os.pathsep.join([str(tmp_path / "none"), str(tmp_path), str(program.parent)])
    definition = StdioDefinition(
        name="s",
        command="run-it",
        args=("--fast",),
        cwd=str(tmp_path),
        env={"PATH": path, "A": "1"},
    )
    report = report_of(snapshot(definition), None)
    assert report.state is ServerState.IDLE
    assert report.command == ("run-it", "--fast")
    assert report.folder == str(tmp_path)
    assert report.found == str(program)
    assert report.searched == (
        Searched(str(tmp_path / "none"), False, None),
        Searched(str(tmp_path), True, None),
        Searched(str(program.parent), True, str(program)),
    )
    assert report.environment == ("A", "PATH")
    assert report.causes == ()


def test_a_path_that_refers_to_the_environment_is_searched_as_it_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "run-it").touch(0o755)
    given = os.pathsep.join(["/none", "${env:PATH}", "${keyring:x}"])
    definition = StdioDefinition(name="s", command="run-it", env={"PATH": given})
    report = report_of(snapshot(definition), None)
    assert report.found == str(tmp_path / "run-it")
    assert [place.folder for place in report.searched[:2]] == ["/none", str(tmp_path)]
    assert report.causes == ()


def test_a_command_that_is_a_path_is_not_searched_for(tmp_path: Path) -> None:
    (tmp_path / "run").touch(0o755)
    definition = StdioDefinition(name="s", command="./run", cwd=str(tmp_path))
    report = report_of(snapshot(definition), None)
    assert report.searched == ()
    assert report.found == str(tmp_path / "run")


def test_a_command_that_is_nowhere_is_not_found() -> None:
    definition = StdioDefinition(name="s", command="no-such-command-anywhere")
    report = report_of(snapshot(definition), None)
    assert report.found is None
    assert report.causes


async def test_a_connection_tells_what_came_of_it() -> None:
    server = PlayedServer(by_method())
    server.complain(b"last words")
    connection = connection_to(server)
    server.say(b"Welcome!")
    server.end(exit_code=3)
    await connection.run()
    definition = StdioDefinition(name="s", command=sys.executable)
    failed = snapshot(definition)._replace(state=ServerState.FAILED)
    report = report_of(failed, connection)
    assert (report.pid, report.exit_code, report.ending) == (4711, 3, "The server exited")
    assert report.stderr_tail == ("last words",)
    assert report.first_bytes == b"Welcome!\n"
    assert "Welcome!" in report.causes[0].text


def test_a_server_with_a_url_has_no_command() -> None:
    definition = HttpDefinition(name="h", url="https://me:pw@h.example/mcp", headers={"X-Key": "v"})
    report = report_of(snapshot(definition), None)
    assert (report.command, report.found, report.environment) == ((), None, ("X-Key",))
    assert report.address == "https://h.example/mcp"


def test_values_that_are_handed_to_a_server_are_known_as_secrets() -> None:
    env = {"A": "short", "B": "a secret", "C": "a longer secret", "D": "${env:OTHER_SECRET}"}
    process = StdioDefinition(name="s", command="run", env=env)
    assert report_of(snapshot(process), None).secrets == ("a longer secret", "a secret")
    web = HttpDefinition(name="h", url="https://h.example/mcp", headers={"X-Key": "value1"})
    report = report_of(snapshot(web), None)
    assert report.secrets == ("value1",)
    assert "value1" not in repr(report)
