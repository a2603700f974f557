"""`servers` lists, adds, removes, enables and disables; consents go with that."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor import private_file
from mcp_progress_monitor.catalogue.catalogue import FILE_NAME, Catalogue, CatalogueEntry
from mcp_progress_monitor.catalogue.trust import FILE_NAME as TRUST
from mcp_progress_monitor.catalogue.trust import Trust
from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition


@pytest.fixture
def catalogue(data_dir: Path) -> Catalogue:
    """Three saved servers, agreed to by nobody."""
    made = Catalogue(data_dir / FILE_NAME)
    made.add(
        CatalogueEntry(
            StdioDefinition(
                name="files", command="npx", args=("--token", "s3cret"), env={"KEY": "v4lue"}
            ),
            connects_at_start=True,
            origin="Cursor, /f",
        )
    )
    made.add(CatalogueEntry(HttpDefinition(name="web", url="https://u:p4ss@a/b?token=q1")))
    made.add(CatalogueEntry(StdioDefinition(name="off", command="c"), is_disabled=True))
    return made


def run(data_dir: Path, *arguments: str) -> int:
    return main(["servers", *arguments[:1], "--data-dir", str(data_dir), *arguments[1:]])


@pytest.mark.parametrize("arguments", [["servers"], ["servers", "list"]])
def test_saved_servers_are_listed_without_secrets(
    catalogue: Catalogue, data_dir: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    Trust(data_dir / TRUST).approve(catalogue.entry("web").definition)
    assert main([*arguments, "--data-dir", str(data_dir)]) == 0
    said = capsys.readouterr().out
    assert [line.split() for line in said.splitlines()] == [
        ["NAME", "KIND", "STATE", "COMMAND", "OR", "URL"],
        [
            "files",
            "stdio",
            "not",
            "approved,",
            "connects",
            "at",
            "start",
            "npx",
            "--token",
            "'(hidden)'",
        ],
        ["web", "http", "ready", "https://a/b?token="],
        ["off", "stdio", "disabled,", "not", "approved", "c"],
    ]
    for secret in ("s3cret", "v4lue", "p4ss", "q1"):
        assert secret not in said


def test_the_list_is_a_document_too(
    catalogue: Catalogue, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(catalogue.entries()) == 3
    assert run(data_dir, "list", "--json") == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["servers"][0] == {
        "name": "files",
        "transport": "stdio",
        "command": "npx",
        "args": ["--token", "(hidden)"],
        "cwd": None,
        "env": ["KEY"],
        "era": "auto",
        "disabled": False,
        "connectAtStart": True,
        "trusted": False,
        "origin": "Cursor, /f",
    }
    assert document["servers"][1]["url"] == "https://a/b?token="
    assert document["problems"] == []


def test_no_server_says_how_to_have_one(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(data_dir, "list") == 0
    assert "servers import --help" in capsys.readouterr().out


def test_what_is_wrong_with_entries_is_reported_beside(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data_dir / FILE_NAME).write_text('{"mcpServers": {"bad": {}, "a": {"command": "c"}}}')
    assert run(data_dir, "list") == 0
    out, err = capsys.readouterr()
    assert "a " in out
    assert "'bad'" in err


def test_a_file_that_cannot_be_read_ends_with_its_place(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data_dir / FILE_NAME).write_text('{"mcpServers": oops}')
    for arguments in (["list"], ["remove", "a"], ["export"], ["trust", "a"]):
        assert run(data_dir, *arguments) == 2
        assert "line 1, column 16" in capsys.readouterr().err


def test_what_is_added_by_hand_is_approved(data_dir: Path) -> None:
    arguments = ["servers", "add", "mine", "--data-dir", str(data_dir), "--env", "A=1"]
    assert main([*arguments, "--connect-at-start", "--era", "handshake", "--", "c", "--x"]) == 0
    entry = Catalogue(data_dir / FILE_NAME).entry("mine")
    assert entry.definition == StdioDefinition(
        name="mine", command="c", args=("--x",), env={"A": "1"}, era="handshake"
    )
    assert entry.connects_at_start
    assert Trust(data_dir / TRUST).is_trusted(entry.definition)


def test_a_path_that_is_typed_counts_from_the_folder_it_was_typed_in(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path)
    folders = {"a": ["./run"], "b": ["node", "build"], "c": ["npx", "-y", "pkg"]}
    for name, command in folders.items():
        assert main(["servers", "add", name, "--data-dir", str(data_dir), "--", *command]) == 0
    found = {
        entry.name: getattr(entry.definition, "cwd", "")
        for entry in Catalogue(data_dir / FILE_NAME).entries()
    }
    assert found == {"a": str(tmp_path), "b": str(tmp_path), "c": None}


def test_a_relative_command_is_approved_in_one_folder(
    data_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Catalogue(data_dir / FILE_NAME).add(CatalogueEntry(StdioDefinition(name="a", command="./run")))
    (tmp_path / "theirs").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["servers", "trust", "a", "--yes", "--data-dir", str(data_dir)]) == 0
    assert f"Folder:    {tmp_path}" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path / "theirs")
    assert main(["tools", "--server", "a", "--data-dir", str(data_dir)]) == 2
    said = capsys.readouterr().err
    assert "not approved" in said
    assert str(tmp_path / "theirs") in said


def test_a_removed_relative_command_is_approved_in_no_folder_any_more(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    definition = StdioDefinition(name="a", command="./run")
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        folder.mkdir()
        monkeypatch.chdir(folder)
        Trust(data_dir / TRUST).approve(definition)
    other = StdioDefinition(name="b", command="./other")
    Trust(data_dir / TRUST).approve(other)
    Catalogue(data_dir / FILE_NAME).add(CatalogueEntry(definition))
    monkeypatch.chdir(tmp_path)
    assert main(["servers", "remove", "a", "--data-dir", str(data_dir)]) == 0
    for folder in (here, elsewhere):
        monkeypatch.chdir(folder)
        assert not Trust(data_dir / TRUST).is_trusted(definition)
    assert Trust(data_dir / TRUST).is_trusted(other)


def test_a_server_named_like_an_unusable_entry_gets_a_number(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_dir.mkdir(exist_ok=True)
    (data_dir / FILE_NAME).write_text('{"mcpServers": {"mine": {"command": ""}}}')
    assert main(["servers", "add", "mine", "--data-dir", str(data_dir), "--", "c"]) == 0
    assert capsys.readouterr().out == "Saved mine 2.\n"
    assert [entry.name for entry in Catalogue(data_dir / FILE_NAME).entries()] == ["mine 2"]


def test_a_url_is_added_with_its_headers(data_dir: Path) -> None:
    arguments = ["--url", "https://a/b", "--header", "X-Y:  v:w ", "--oauth"]
    assert run(data_dir, "add", "web", *arguments) == 0
    assert Catalogue(data_dir / FILE_NAME).entry("web").definition == HttpDefinition(
        name="web", url="https://a/b", headers={"X-Y": "v:w"}, auth="oauth"
    )


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["add", "x"], "after --, or use --url"),
        (["add", "x", "--demo"], "after --, or use --url"),
        (["add", "x", "--url", "nonsense"], "http://"),
        (["add", "files", "--url", "https://a"], "servers remove files"),
        (["add", "", "--url", "https://a"], "needs a name"),
        (["add", "  ", "--url", "https://a"], "needs a name"),
        (["add", "\udcff", "--url", "https://a"], "not valid UTF-8"),
        (["add", "x", "--url", "https://a", "--header", "nonsense"], "NAME:VALUE"),
        (["remove"], "Missing argument"),
        (["remove", "none"], "'none' not found"),
        (["enable", "none"], "'none' not found"),
        (["enable", "off", "none"], "'none' not found"),
        (["disable", "files", "none"], "'none' not found"),
        (["remove", "files", "web", "none"], "'none' not found"),
        (["list", "--url", "https://a"], "No such option"),
        (["nonsense"], "No such command"),
    ],
)
def test_what_cannot_be_done_is_reported(
    catalogue: Catalogue,
    data_dir: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    advice: str,
) -> None:
    before = catalogue.entries()
    assert run(data_dir, *arguments) == 2
    assert advice in capsys.readouterr().err
    catalogue.reload()
    assert catalogue.entries() == before


def test_a_disk_that_takes_nothing_ends_with_its_own_code(
    catalogue: Catalogue, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_path: Path, _content: bytes) -> None:
        raise OSError("No space left")

    monkeypatch.setattr(private_file, "put", fail)
    assert run(data_dir, "remove", "files") == 8
    assert len(catalogue.entries()) == 3


def test_several_are_changed_in_one_go(
    catalogue: Catalogue, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(data_dir, "enable", "off", "files", "off") == 0
    assert run(data_dir, "remove", "off", "files") == 0
    assert capsys.readouterr().out == (
        "Enabled off.\nEnabled files.\nRemoved off.\nRemoved files.\n"
    )
    catalogue.reload()
    assert [entry.name for entry in catalogue.entries()] == ["web"]


def test_a_secret_header_is_not_repeated_in_a_refusal(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(data_dir, "add", "x", "--url", "https://a", "--header", "Bearer s3cret") == 2
    assert "s3cret" not in capsys.readouterr().err


def test_servers_are_disabled_and_enabled(catalogue: Catalogue, data_dir: Path) -> None:
    assert run(data_dir, "enable", "off") == 0
    assert run(data_dir, "disable", "files", "web") == 0
    catalogue.reload()
    assert [entry.is_disabled for entry in catalogue.entries()] == [True, True, False]


def test_removing_a_server_takes_the_consent_back(catalogue: Catalogue, data_dir: Path) -> None:
    definition = catalogue.entry("files").definition
    Trust(data_dir / TRUST).approve(definition)
    assert run(data_dir, "remove", "files") == 0
    catalogue.reload()
    assert [entry.name for entry in catalogue.entries()] == ["web", "off"]
    assert not Trust(data_dir / TRUST).is_trusted(definition)


def test_a_data_folder_that_cannot_be_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f").write_text("")
    assert run(tmp_path / "f" / "g", "list") == 2
    assert "Cannot create the data folder" in capsys.readouterr().err


def test_consents_that_cannot_be_used_are_reported(
    catalogue: Catalogue, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data_dir / TRUST).write_text("oops")
    assert run(data_dir, "list", "--json") == 0
    said = capsys.readouterr()
    assert [each["trusted"] for each in json.loads(said.out)["servers"]] == [False] * 3
    assert "asked again" in said.err
    assert main(["tools", "--server", "files", "--data-dir", str(data_dir)]) == 2
    assert "asked again" in capsys.readouterr().err


def test_a_copy_of_a_removed_server_stays_approved(catalogue: Catalogue, data_dir: Path) -> None:
    trust, files = Trust(data_dir / TRUST), catalogue.entry("files").definition
    trust.approve(files)
    catalogue.clone("files")
    assert run(data_dir, "remove", "files") == 0
    assert trust.is_trusted(files)
    assert run(data_dir, "remove", "files 2") == 0
    assert not trust.is_trusted(files)
