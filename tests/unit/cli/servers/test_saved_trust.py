"""`servers trust` shows exactly what would run, and agrees only when somebody says so."""

import json
from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.catalogue import FILE_NAME, Catalogue, CatalogueEntry
from mcp_progress_monitor.catalogue.trust import FILE_NAME as TRUST
from mcp_progress_monitor.catalogue.trust import Trust
from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.snapshots.definitions import StdioDefinition

SAVED = StdioDefinition(name="a", command="rm", args=("-rf", "a b"), env={"T": "${env:SECRET}"})


@pytest.fixture
def trust(data_dir: Path) -> Trust:
    Catalogue(data_dir / FILE_NAME).add(CatalogueEntry(SAVED))
    return Trust(data_dir / TRUST)


def test_without_a_terminal_trust_requires_yes(
    trust: Trust, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["servers", "trust", "a", "--data-dir", str(data_dir)]) == 2
    said = capsys.readouterr().err
    assert "--yes" in said
    assert "Command:   rm -rf 'a b'" in said
    assert "Variables: T (from SECRET of the environment)" in said
    assert not trust.is_trusted(SAVED)


def test_yes_approves_the_server_and_prints_what_was_approved(
    trust: Trust, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["servers", "trust", "a", "--yes", "--data-dir", str(data_dir)]) == 0
    assert "rm -rf 'a b'" in capsys.readouterr().out
    assert trust.is_trusted(SAVED)
    assert main(["servers", "trust", "a", "--data-dir", str(data_dir)]) == 0
    assert "already" in capsys.readouterr().out


def test_a_server_of_a_file_is_approved_with_its_folder(
    trust: Trust, data_dir: Path, tmp_path: Path
) -> None:
    file = tmp_path / "f.json"
    file.write_text(json.dumps({"mcpServers": {"b": {"command": "c"}}}))
    arguments = [
        "servers",
        "trust",
        "b",
        "--config",
        str(file),
        "--yes",
        "--data-dir",
        str(data_dir),
    ]
    assert main(arguments) == 0
    found = StdioDefinition(name="b", command="c", cwd=str(Path.cwd()))
    assert trust.is_trusted(found)
    file.write_text(json.dumps({"mcpServers": {"b": {"command": "d"}}}))
    assert not trust.is_trusted(found.model_copy(update={"command": "d"}))


@pytest.mark.parametrize("arguments", [["none"], ["none", "--config", "no-such-file"]])
def test_what_is_not_there_cannot_be_approved(
    trust: Trust, data_dir: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["servers", "trust", *arguments, "--yes", "--data-dir", str(data_dir)]) == 2
    assert capsys.readouterr().err
    assert not trust.is_trusted(SAVED)


def test_words_of_a_file_cannot_drive_the_terminal(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "f.json"
    entry = {"command": "\x1b[2Jsh", "args": ["\u202etxt"], "env": {"A\nB": "1"}}
    file.write_text(json.dumps({"mcpServers": {"b": entry}}))
    assert main(["servers", "trust", "b", "--config", str(file), "--data-dir", str(data_dir)]) == 2
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert r"\x1b[2Jsh" in said
    assert r"A\nB" in said


def test_all_that_would_be_handed_on_is_shown(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "f.json"
    own = {"auth": "oauth", "oauth": {"clientId": "me", "clientSecret": "${env:SECRET}"}}
    servers = {
        "c": {
            "command": "c",
            "args": ["${env:A}"],
            "env": {"LD_PRELOAD": "/srv/evil.so", "KEY": "s3cret"},
        },
        "w": {"type": "http", "url": "https://u:p4ss@a/b", "mcpProgressMonitor": own},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    for name in servers:
        command_line = [
            "servers",
            "trust",
            name,
            "--config",
            str(file),
            "--data-dir",
            str(data_dir),
        ]
        assert main(command_line) == 2
    said = capsys.readouterr().err
    assert "Values read by arguments: A of the environment, read at each start" in said
    assert "Variables: KEY, LD_PRELOAD=/srv/evil.so" in " ".join(said.split())
    assert "URL:       https://a/b (with a user name and password)" in said
    assert "as me, with SECRET of the environment" in said
    assert "s3cret" not in said
    assert "p4ss" not in said


def test_nothing_hides_behind_blanks(
    tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mcp.json"
    server = {"command": "sh", "args": ["safe" + " " * 4000 + "; evil"]}
    file.write_text(json.dumps({"mcpServers": {"a": server}}))
    assert main(["servers", "trust", "a", "--config", str(file), "--data-dir", str(data_dir)]) == 2
    assert "sh 'safe[4,000 spaces]; evil'" in capsys.readouterr().err
