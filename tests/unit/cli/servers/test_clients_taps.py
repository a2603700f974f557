"""`tap install`, `remove` and `list`: what they show, change and refuse."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.recording.settings import RecordingSettings, save_settings

FILES = {"command": "npx", "args": ["-y", "files"], "env": {"API_KEY": "s3cret"}}
WEB = {"url": "https://example.com/mcp"}


@pytest.fixture
def cursor(isolated_home: Path) -> Path:
    return write(isolated_home / ".cursor" / "mcp.json", files=FILES, db={"command": "db"}, web=WEB)


def write(path: Path, **servers: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}, indent=2))
    return path


def run(*arguments: str) -> int:
    return main(["tap", *arguments])


def watched(file: Path) -> list[str]:
    servers = json.loads(file.read_text())["mcpServers"]
    return [
        name
        for name, entry in servers.items()
        if "tap --name" in str(entry) or "'tap', '--name'" in str(entry)
    ]


def test_without_a_client_all_are_listed_and_nothing_is_changed(
    cursor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = cursor.read_bytes()
    assert run("install") == 0
    out = capsys.readouterr().out
    assert "Cursor  files   not watched" in out
    assert "cannot be watched: it has a URL" in out
    assert "tap install cursor --all --dry-run" in out
    assert cursor.read_bytes() == before


def test_named_servers_are_watched_and_released(
    cursor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = cursor.read_bytes()
    assert run("install", "cursor", "files") == 0
    out = capsys.readouterr().out
    assert '-      "command": "npx"' in out
    assert "Watched from now on in Cursor: files." in out
    assert f"Backup of the file: {cursor}.before" in out
    assert "It may ask you to approve the changed command." in out
    assert "s3cret" not in out
    assert watched(cursor) == ["files"]
    assert run("install", "cursor", "files") == 0
    assert capsys.readouterr().out == "Nothing to change.\n"
    assert run("remove", "cursor", "files") == 0
    assert "No longer watched in Cursor: files." in capsys.readouterr().out
    assert cursor.read_bytes() == before


def test_who_records_nothing_is_reported_what_that_means(
    cursor: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_settings(tmp_path / "data", RecordingSettings(is_on=False))
    data_dir = ("--data-dir", str(tmp_path / "data"))
    assert run("install", "cursor", "--dry-run", "--all", *data_dir) == 0
    assert "Recording is turned off" in capsys.readouterr().err
    save_settings(tmp_path / "data", RecordingSettings())
    assert run("install", "cursor", "--dry-run", "--all", *data_dir) == 0
    assert "Recording is turned off" not in capsys.readouterr().err
    assert cursor.exists()


def test_all_leaves_out_what_cannot_be_watched(
    cursor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("install", "--all") == 0
    captured = capsys.readouterr()
    assert "skipped: web: it has a URL" in captured.err
    assert watched(cursor) == ["files", "db"]
    assert run("remove", "--all") == 0
    assert watched(cursor) == []


def test_a_dry_run_shows_the_change_only(cursor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = cursor.read_bytes()
    assert run("install", "cursor", "--all", "--dry-run") == 0
    out = capsys.readouterr().out
    assert '+      "command":' in out
    assert "After the change: Cursor reloads the server." in out
    assert out.endswith("Nothing was changed.\n")
    assert cursor.read_bytes() == before
    assert [path.name for path in cursor.parent.iterdir()] == ["mcp.json"]


def test_without_names_and_a_terminal_nothing_is_changed(
    cursor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = cursor.read_bytes()
    assert run("install", "cursor") == 2
    assert "Give their names, or --all" in capsys.readouterr().err
    assert cursor.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("install", "cursor", "fils"), "Did you mean 'files'?"),
        (("install", "cursor", "web"), "tap --to"),
        (("install", "nobody"), "nobody"),
        (("remove",), "Name a client"),
        (("remove", "cursor", "other"), "Cursor has no server 'other'"),
    ],
)
@pytest.mark.usefixtures("cursor")
def test_what_is_wrong_is_reported(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    assert said in capsys.readouterr().err


def test_a_file_of_a_project_is_not_changed_and_the_own_file_is_named(
    isolated_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shared = write(tmp_path / ".cursor" / "mcp.json", files=FILES)
    before = shared.read_bytes()
    monkeypatch.chdir(tmp_path)
    assert run("install", "cursor", "files") == 2
    err = capsys.readouterr().err
    assert "may be shared with others" in err
    assert "~/.cursor/mcp.json" in err
    assert shared.read_bytes() == before
    assert not (isolated_home / ".cursor").exists()


def test_the_list_says_where_and_whether_it_runs(
    cursor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("list") == 0
    assert "No client's servers are watched." in capsys.readouterr().out
    run("install", "cursor", "files")
    capsys.readouterr()
    assert run("list") == 0
    out = capsys.readouterr().out
    assert "Cursor  files   watched, not running" in out
    assert str(cursor) in out
    assert run("list", "--json") == 0
    (entry,) = json.loads(capsys.readouterr().out)["watched"]
    assert (entry["client"], entry["server"], entry["program_found"]) == ("cursor", "files", True)
    assert entry["running"] == []


def test_the_data_folder_is_written_down_where_it_is_not_the_usual_one(
    cursor: Path, tmp_path: Path
) -> None:
    assert run("install", "cursor", "db", "--data-dir", str(tmp_path / "data")) == 0
    assert str(tmp_path / "data") in cursor.read_text().replace("\\\\", "\\")


def test_what_a_client_has_left_is_read_by_our_own_commands(
    cursor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("install", "cursor", "files")
    capsys.readouterr()
    assert main(["servers", "import", str(cursor), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "npx -y files" in out
    assert "already watched by this program there" in out
    assert "/bin/sh" not in out


def test_a_name_that_a_project_has_as_well_is_watched_where_it_can_be(
    cursor: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shared = write(tmp_path / ".cursor" / "mcp.json", files=FILES)
    before = shared.read_bytes()
    monkeypatch.chdir(tmp_path)
    assert run("install", "cursor", "files") == 0
    assert "skipped: files" in capsys.readouterr().err
    assert watched(cursor) == ["files"]
    assert shared.read_bytes() == before
