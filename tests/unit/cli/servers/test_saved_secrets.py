"""What removed servers leave in the keyring: reported, asked for, deleted."""

import json
from pathlib import Path
from typing import ClassVar

import pytest

from mcp_progress_monitor.catalogue.catalogue import FILE_NAME, Catalogue
from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.cli.servers import saved
from mcp_progress_monitor.errors import ErrorDetails, UserError


class FakeKeyring:
    """A keyring in memory; one that is locked refuses."""

    secrets: ClassVar[dict[str, str]] = {}
    is_locked: ClassVar[bool] = False

    def forget(self, name: str) -> None:
        if self.is_locked:
            raise UserError(ErrorDetails("The keyring is locked", name))
        self.secrets.pop(name, None)


@pytest.fixture(autouse=True)
def keyring(monkeypatch: pytest.MonkeyPatch, data_dir: Path) -> type[FakeKeyring]:
    """Two servers, a secret of the first alone and one of both."""
    monkeypatch.setattr(FakeKeyring, "secrets", {"own": "1", "shared": "2", "another": "3"})
    monkeypatch.setattr(FakeKeyring, "is_locked", False)
    monkeypatch.setattr(saved, "SystemKeyring", FakeKeyring)
    env = {"K": "${keyring:own}", "S": "${keyring:shared}"}
    servers = {
        "a": {"command": "c", "env": env},
        "b": {"command": "c", "env": {"S": env["S"]}},
        "plain": {"command": "c"},
    }
    (data_dir / FILE_NAME).write_text(json.dumps({"mcpServers": servers}))
    return FakeKeyring


def remove(data_dir: Path, *arguments: str) -> int:
    return main(["servers", "remove", *arguments, "--data-dir", str(data_dir)])


def test_they_stay_and_are_reported_where_nobody_can_be_asked(
    data_dir: Path, keyring: type[FakeKeyring], capsys: pytest.CaptureFixture[str]
) -> None:
    assert remove(data_dir, "a") == 0
    out, err = capsys.readouterr()
    assert out == "Removed a.\n"
    assert (
        "1 secret any more. Kept in the system keyring under mcp-progress-monitor:\n  own\n" in err
    )
    assert set(keyring.secrets) == {"own", "shared", "another"}


def test_a_server_without_any_says_nothing_of_them(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert remove(data_dir, "plain") == 0
    assert capsys.readouterr().err == ""


def test_only_those_go_that_no_other_server_refers_to(
    data_dir: Path, keyring: type[FakeKeyring], capsys: pytest.CaptureFixture[str]
) -> None:
    assert remove(data_dir, "a", "--with-secrets") == 0
    assert capsys.readouterr().out == "Removed a.\nDeleted the secret own.\n"
    assert set(keyring.secrets) == {"shared", "another"}
    assert remove(data_dir, "b", "--with-secrets") == 0
    assert set(keyring.secrets) == {"another"}


def test_what_several_servers_share_goes_with_the_last_of_them(
    data_dir: Path, keyring: type[FakeKeyring]
) -> None:
    assert remove(data_dir, "a", "b", "--with-secrets") == 0
    assert set(keyring.secrets) == {"another"}


def test_all_stays_where_one_of_the_servers_is_not_there(
    data_dir: Path, keyring: type[FakeKeyring], capsys: pytest.CaptureFixture[str]
) -> None:
    assert remove(data_dir, "a", "none", "--with-secrets") == 2
    assert "Saved server" in capsys.readouterr().err
    assert set(keyring.secrets) == {"own", "shared", "another"}
    assert "a" in [entry.name for entry in Catalogue(data_dir / FILE_NAME).entries()]


def test_what_two_servers_shared_is_deleted_with_both(
    data_dir: Path, keyring: type[FakeKeyring]
) -> None:
    assert remove(data_dir, "a", "b", "--with-secrets") == 0
    assert set(keyring.secrets) == {"another"}


@pytest.mark.parametrize(("says", "left"), [(True, {"shared"}), (False, {"own", "shared"})])
def test_removing_secrets_asks_for_confirmation_at_a_terminal(
    data_dir: Path,
    keyring: type[FakeKeyring],
    monkeypatch: pytest.MonkeyPatch,
    says: bool,
    left: set[str],
) -> None:
    asked: list[object] = []

    def answer(_keyboard: object, _title: str, names: object, *_more: object, **_: object) -> bool:
        asked.append(names)
        return says

    monkeypatch.setattr(saved, "terminal_of_user", object)
    monkeypatch.setattr(saved, "confirm", answer)
    assert remove(data_dir, "a") == 0
    assert asked == [["own"]]
    assert set(keyring.secrets) == {*left, "another"}
    assert remove(data_dir, "b", "--keep-secrets") == 0
    assert len(asked) == 1


def test_a_keyring_that_refuses_is_reported_and_the_server_is_gone(
    data_dir: Path,
    keyring: type[FakeKeyring],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(keyring, "is_locked", True)
    assert remove(data_dir, "a", "--with-secrets") == 8
    out, err = capsys.readouterr()
    assert out == "Removed a.\n"
    assert "The keyring is locked (own)" in err
