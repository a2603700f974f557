"""Secrets that a server needs at each connection: asked for on a terminal, and kept nowhere."""

import json
from pathlib import Path

from tests.integration.commands import linux_only, run
from tests.integration.terminals import Terminal
from tests.keyed_server import DIGEST, SECRET, entry, files_with_secret

pytestmark = linux_only
CTRL_D = b"\x04"


def imported(tmp_path: Path) -> tuple[Path, Path]:
    """The data folder with the imported server, and the file that it writes."""
    data, mark, config = tmp_path / "data", tmp_path / "mark", tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"db": entry(mark)}}))
    place = ("--data-dir", str(data))
    assert run("servers", "import", str(config), "--all", "--ask-secrets", *place).code == 0
    assert run("servers", "trust", "db", "--yes", *place).code == 0
    config.unlink()
    assert "${ask:API_KEY}" in (data / "servers.json").read_text()
    return data, mark


def test_a_secret_is_typed_unseen_and_reaches_only_the_server(tmp_path: Path) -> None:
    data, mark = imported(tmp_path)
    recording = tmp_path / "session.mcprec"
    arguments = ("tools", "--server", "db", "--data-dir", str(data), "--record", str(recording))
    with Terminal(*arguments, HOME=str(tmp_path / "home")) as user:
        user.expect("To connect, db needs:")
        user.expect("API_KEY: ")
        user.type(SECRET)
        user.expect("listed")
        assert user.end() == 0
    assert mark.read_text() == DIGEST
    assert SECRET not in user.shown
    assert recording.stat().st_size > 0
    assert files_with_secret(tmp_path) == []
    exported = run("export", str(recording), "--format", "jsonl", "--with-secrets")
    assert SECRET not in exported.out


def test_the_end_of_the_input_leaves_the_server_disconnected(tmp_path: Path) -> None:
    data, mark = imported(tmp_path)
    with Terminal("tools", "--server", "db", "--data-dir", str(data)) as user:
        user.expect("API_KEY: ")
        user.press(CTRL_D)
        user.expect("The server stays disconnected: API_KEY not entered")
        assert user.end() == 3
    assert not mark.exists()


def test_without_a_terminal_the_command_fails_and_says_what_to_do(tmp_path: Path) -> None:
    data, mark = imported(tmp_path)
    found = run("tools", "--server", "db", "--data-dir", str(data))
    assert found.code == 3
    assert "needs API_KEY at each connection, but there is nobody to ask" in found.err
    assert "Run the command on a terminal" in found.err
    assert not mark.exists()


def test_an_input_that_is_a_secret_needs_no_answer(tmp_path: Path) -> None:
    config = tmp_path / ".vscode" / "mcp.json"
    config.parent.mkdir()
    inputs = [{"id": "key", "type": "promptString", "password": True}]
    weather = {"command": "uvx", "args": ["weather"], "env": {"KEY": "${input:key}"}}
    config.write_text(json.dumps({"inputs": inputs, "servers": {"weather": weather}}))
    place = ("--data-dir", str(tmp_path / "data"))
    assert run("servers", "import", str(config), "--all", "--ask-secrets", *place).code == 0
    assert '"${ask:key}"' in (tmp_path / "data" / "servers.json").read_text()
    both = ("--ask-secrets", "--with-secrets")
    assert run("servers", "import", str(config), "--all", *both, *place).code == 2
