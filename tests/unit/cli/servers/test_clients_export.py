"""`servers export` writes another client's form, and tells what it left out."""

import json
from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.catalogue import FILE_NAME, Catalogue, CatalogueEntry
from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition


@pytest.fixture(autouse=True)
def catalogue(data_dir: Path) -> None:
    made = Catalogue(data_dir / FILE_NAME)
    made.add(CatalogueEntry(StdioDefinition(name="a", command="c", env={"K": "s3cret"})))
    made.add(CatalogueEntry(HttpDefinition(name="b", url="https://x/")))


def test_without_a_file_it_goes_to_standard_output(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["servers", "export", "--to", "vscode", "--data-dir", str(data_dir)]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["servers"]["a"]["env"] == {"K": "${env:K}"}
    assert err == "skipped: a: the value of K; set K in the environment\n"


def test_a_dash_is_standard_output(
    data_dir: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["servers", "export", "b", "-o", "-", "--data-dir", str(data_dir)]) == 0
    assert json.loads(capsys.readouterr().out)["mcpServers"] == {"b": {"url": "https://x/"}}
    assert not (tmp_path / "-").exists()


def test_secrets_are_written_when_asked_for(data_dir: Path, tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    arguments = ["a", "--with-secrets", "-o", str(file), "--data-dir", str(data_dir)]
    assert main(["servers", "export", *arguments]) == 0
    content = json.loads(file.read_text())
    assert content == {"mcpServers": {"a": {"command": "c", "args": [], "env": {"K": "s3cret"}}}}


def test_an_unknown_server_is_reported(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["servers", "export", "none", "--data-dir", str(data_dir)]) == 2
    assert "Saved servers: a, b" in capsys.readouterr().err


def test_a_file_that_would_lose_something_is_left_alone(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{} // mine")
    assert main(["servers", "export", "-o", str(file), "--data-dir", str(data_dir)]) == 8
    assert "not overwritten" in capsys.readouterr().err
    assert file.read_text() == "{} // mine"


def test_a_file_whose_servers_are_replaced_is_kept_and_reported(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"a": {"command": "theirs"}}}')
    assert main(["servers", "export", "a", "-o", str(file), "--data-dir", str(data_dir)]) == 0
    assert f"backup of the file: {file}.before" in capsys.readouterr().err
    assert "theirs" in (tmp_path / "mcp.json.before").read_text()
