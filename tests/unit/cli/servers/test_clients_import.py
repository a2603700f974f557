"""`servers import` shows what a file would bring, and saves what was wanted of it."""

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mcp_progress_monitor.catalogue.catalogue import FILE_NAME, Catalogue
from mcp_progress_monitor.catalogue.trust import FILE_NAME as TRUST
from mcp_progress_monitor.catalogue.trust import Trust
from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.cli.servers import clients
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.snapshots.definitions import StdioDefinition


class FakeKeyring:
    """A keyring in memory; one that is locked refuses."""

    secrets: ClassVar[dict[str, str]] = {}
    is_locked = False

    def get(self, name: str) -> str | None:
        return self.secrets.get(name)

    def put(self, name: str, secret: str) -> None:
        if self.is_locked:
            raise UserError(ErrorDetails("The keyring is locked"))
        self.secrets[name] = secret

    def forget(self, name: str) -> None:
        self.secrets.pop(name, None)


@pytest.fixture(autouse=True)
def keyring(monkeypatch: pytest.MonkeyPatch) -> type[FakeKeyring]:
    """Stand in for the system's keyring."""
    monkeypatch.setattr(FakeKeyring, "secrets", {})
    monkeypatch.setattr(FakeKeyring, "is_locked", False)
    monkeypatch.setattr(clients, "SystemKeyring", FakeKeyring)
    return FakeKeyring


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "f.json", a={"command": "c", "env": {"API_KEY": "s3cret", "B": "1"}})


def write(file: Path, **servers: Any) -> Path:
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def run(data_dir: Path, *arguments: object) -> int:
    return main(["servers", "import", *map(str, arguments), "--data-dir", str(data_dir)])


def saved(data_dir: Path) -> Catalogue:
    return Catalogue(data_dir / FILE_NAME)


def definition(data_dir: Path, name: str) -> StdioDefinition:
    found = saved(data_dir).entry(name).definition
    assert isinstance(found, StdioDefinition)
    return found


def test_a_dry_run_shows_and_saves_nothing(
    file: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(file, a={"command": "c", "env": {"API_KEY": "s3cret"}}, bad={})
    assert run(data_dir, file, "--dry-run") == 0
    out, err = capsys.readouterr()
    assert "a     new       stdio  c" in out
    assert "bad   unusable" in out
    assert "contains secrets: API_KEY" in out
    assert "s3cret" not in out
    assert "'bad'" in err
    assert saved(data_dir).entries() == ()


def test_all_is_saved_and_nothing_approved(
    file: Path, data_dir: Path, capsys: pytest.CaptureFixture[str], keyring: type[FakeKeyring]
) -> None:
    assert run(data_dir, file, "--all") == 0
    assert "servers trust a" in capsys.readouterr().out
    found = definition(data_dir, "a")
    assert found.env == {"API_KEY": "${keyring:a/API_KEY}", "B": "1"}
    assert keyring.secrets == {"a/API_KEY": "s3cret"}
    assert not Trust(data_dir / TRUST).is_trusted(found)
    assert "s3cret" not in (data_dir / FILE_NAME).read_text()


def test_a_secret_that_was_renewed_in_the_file_is_renewed_in_the_keyring(
    file: Path, data_dir: Path, capsys: pytest.CaptureFixture[str], keyring: type[FakeKeyring]
) -> None:
    assert run(data_dir, file, "--all") == 0
    before = definition(data_dir, "a")
    write(file, a={"command": "c", "env": {"API_KEY": "n3wer", "B": "1"}})
    capsys.readouterr()
    assert run(data_dir, file, "--all") == 0
    out, err = capsys.readouterr()
    assert "changes: variable API_KEY" in out
    assert "n3wer" not in out + err
    assert keyring.secrets == {"a/API_KEY": "n3wer"}
    assert definition(data_dir, "a") == before


def test_without_a_keyring_secrets_become_variables(
    file: Path, data_dir: Path, capsys: pytest.CaptureFixture[str], keyring: type[FakeKeyring]
) -> None:
    keyring.is_locked = True
    assert run(data_dir, file, "--all") == 0
    said = capsys.readouterr().err
    assert "The keyring is locked" in said
    assert "Set API_KEY" in said
    assert definition(data_dir, "a").env == {"API_KEY": "${env:API_KEY}", "B": "1"}


def test_secrets_are_saved_as_text_when_asked_for(file: Path, data_dir: Path) -> None:
    assert run(data_dir, file, "--all", "--with-secrets") == 0
    assert definition(data_dir, "a").env["API_KEY"] == "s3cret"


def test_again_it_is_the_same(
    file: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(data_dir, file, "--all")
    capsys.readouterr()
    assert run(data_dir, file, "--all") == 0
    out = capsys.readouterr().out
    assert "same" in out
    assert "Nothing was saved" in out


def test_a_change_keeps_what_is_in_the_keyring(file: Path, data_dir: Path) -> None:
    run(data_dir, file, "--all")
    write(file, a={"command": "d", "env": {"API_KEY": "s3cret", "B": "1"}})
    assert run(data_dir, file, "a") == 0
    assert definition(data_dir, "a").command == "d"
    assert definition(data_dir, "a").env["API_KEY"] == "${keyring:a/API_KEY}"


def test_only_named_servers_are_saved(file: Path, data_dir: Path) -> None:
    write(file, a={"command": "c"}, b={"command": "d"})
    assert run(data_dir, file, "b") == 0
    assert [entry.name for entry in saved(data_dir).entries()] == ["b"]


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["none"], "Its servers: a, asks"),
        (["bad"], "'bad'"),
        ([], "use --dry-run"),
        (["--all"], "--input key=…"),
        (["asks", "--client", "codex"], "not valid TOML"),
        (["a", "--input", "kee=1"], "Did you mean 'key'? Its inputs: key."),
        (["--dry-run", "--input", "kee=1"], "The file has no input 'kee'"),
    ],
)
def test_what_cannot_be_saved_is_reported(
    file: Path,
    data_dir: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    advice: str,
) -> None:
    write(file, a={"command": "c"}, asks={"command": "${input:key}"}, bad={})
    assert run(data_dir, file, *arguments) == 2
    assert advice in capsys.readouterr().err
    assert saved(data_dir).entries() == ()


@pytest.mark.parametrize("arguments", [["--all"], ["--input", "a=b"], ["--all", "--dry-run"]])
def test_what_needs_a_file_is_not_done_without_one(
    data_dir: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert run(data_dir, *arguments) == 2
    assert "servers import FILE" in capsys.readouterr().err


def test_without_a_keyring_a_secret_may_be_a_reference(
    tmp_path: Path, data_dir: Path, keyring: type[FakeKeyring], capsys: pytest.CaptureFixture[str]
) -> None:
    keyring.is_locked = True
    file = tmp_path / "mcp.json"
    inputs = [{"type": "promptString", "id": "key", "password": True}]
    servers = {"a": {"command": "c", "env": {"K": "${input:key}"}}}
    file.write_text(json.dumps({"inputs": inputs, "servers": servers}))
    assert run(data_dir, file, "--all", "--input", "key=s3cret") == 2
    assert "--input 'key=${env:NAME}'" in capsys.readouterr().err
    assert run(data_dir, file, "--all", "--input", "key=${env:MINE}") == 0
    assert definition(data_dir, "a").env == {"K": "${env:MINE}"}


def test_questions_are_answered_by_options(
    tmp_path: Path, data_dir: Path, keyring: type[FakeKeyring]
) -> None:
    file = tmp_path / "mcp.json"
    content = {
        "inputs": [{"type": "promptString", "id": "key", "password": True}],
        "servers": {
            "a": {"command": "c", "env": {"K": "${input:key}"}, "cwd": "${workspaceFolder}/x"}
        },
    }
    file.write_text(json.dumps(content))
    arguments = ["--all", "--input", "key=s3cret", "--workspace", tmp_path]
    assert run(data_dir, file, *arguments) == 0
    found = definition(data_dir, "a")
    assert found.cwd == str(tmp_path / "x")
    assert found.env == {"K": "${keyring:vscode/key}"}
    assert keyring.secrets == {"vscode/key": "s3cret"}


@pytest.mark.parametrize("content", [None, "oops", "{}", '{"mcpServers": {}}'])
def test_a_file_that_is_none_is_reported_with_its_place(
    tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    file = tmp_path / "f.json"
    if content is not None:
        file.write_text(content)
    assert run(data_dir, file) == 2
    assert str(file) in capsys.readouterr().err


def test_without_a_file_those_on_this_machine_are_listed(
    data_dir: Path,
    isolated_home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(data_dir) == 0
    assert "servers import FILE" in capsys.readouterr().out
    (isolated_home / ".cursor").mkdir()
    write(isolated_home / ".cursor" / "mcp.json", a={"command": "c"})
    (tmp_path / ".mcp.json").write_text("oops")
    (isolated_home / ".gemini").mkdir()
    (isolated_home / ".gemini" / "settings.json").write_text('{"theme": 1}')
    assert run(data_dir) == 0
    out = capsys.readouterr().out
    assert [line.split()[:2] for line in out.splitlines()[1:3]] == [
        ["Claude", "Code"],
        ["Cursor", "1"],
    ]
    assert "not valid JSON" in out
    assert ".gemini" not in out
    (isolated_home / ".cursor" / "mcp.json").write_text('{"mcpServers": 1}')
    assert run(data_dir) == 0
    assert '"mcpServers" is not an object' in capsys.readouterr().out


def test_an_answer_that_makes_a_server_unusable_is_reported_and_nothing_saved(
    tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mcp.json"
    inputs = [{"id": "host", "type": "promptString"}]
    servers = {"web": {"type": "http", "url": "${input:host}/mcp"}, "other": {"command": "c"}}
    file.write_text(json.dumps({"inputs": inputs, "servers": servers}))
    assert run(data_dir, file, "--all", "--input", "host=nonsense") == 2
    assert "a URL must start with http://" in capsys.readouterr().err
    assert saved(data_dir).entries() == ()
    assert run(data_dir, file, "--all", "--input", "host=http://h:1") == 0
    assert [entry.name for entry in saved(data_dir).entries()] == ["web", "other"]
