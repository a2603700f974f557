"""Consents: for exactly what was agreed to, kept privately, asked for anew when in doubt."""

import json
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from mcp_progress_monitor import private_file
from mcp_progress_monitor.catalogue.documents import exclusive_lock
from mcp_progress_monitor.catalogue.trust import Trust
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import (
    HttpDefinition,
    RestartPolicy,
    StdioDefinition,
)

SERVER = StdioDefinition(name="a", command="c", args=("x",), env={"TOKEN": "s3cret"})
OTHER = StdioDefinition(name="o", command="other")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "trusted-servers.json"


def test_nothing_is_trusted_before_consent(file: Path) -> None:
    assert not Trust(file).is_trusted(SERVER)
    assert not file.exists()


def test_a_consent_outlives_the_program_and_is_seen_by_others(file: Path) -> None:
    other = Trust(file)
    Trust(file).approve(SERVER)
    assert other.is_trusted(SERVER)
    other.forget(SERVER)
    assert not Trust(file).is_trusted(SERVER)


def test_a_name_and_how_we_treat_it_are_no_matter(file: Path) -> None:
    Trust(file).approve(SERVER)
    renamed = SERVER.model_copy(update={"name": "b", "restart": RestartPolicy(limit=1)})
    assert Trust(file).is_trusted(renamed)


@pytest.mark.parametrize(
    "changes",
    [{"command": "d"}, {"args": ("y",)}, {"env": {"TOKEN": "other"}}, {"cwd": "/x"}, {"env": {}}],
)
def test_whatever_else_changed_needs_another_consent(
    file: Path, changes: dict[str, object]
) -> None:
    Trust(file).approve(SERVER)
    assert not Trust(file).is_trusted(SERVER.model_copy(update=changes))


def test_urls_are_trusted_likewise(file: Path) -> None:
    web = HttpDefinition(name="w", url="https://a/b", headers={"A": "1"})
    Trust(file).approve(web)
    assert Trust(file).is_trusted(web)
    assert not Trust(file).is_trusted(web.model_copy(update={"url": "https://a/c"}))


def test_the_file_tells_names_and_times_and_no_values(file: Path) -> None:
    Trust(file).approve(SERVER)
    ((key, kept),) = json.loads(file.read_text())["trusted"].items()
    assert key == SERVER.approval_key
    assert kept["name"] == "a"
    assert kept["when"].endswith("+00:00")
    assert "s3cret" not in file.read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
def test_the_file_is_the_owners_alone(file: Path) -> None:
    Trust(file).approve(SERVER)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["", "oops", "[]", '{"trusted": 3}', '{"trusted": {"a": 1}}'])
def test_a_file_that_is_none_holds_no_consent(file: Path, content: str) -> None:
    file.write_text(content)
    trust = Trust(file)
    assert not trust.is_trusted(SERVER)
    trust.approve(SERVER)
    assert Trust(file).is_trusted(SERVER)


@pytest.mark.parametrize("content", ["", "oops", "[" * 100_000, "[]", '{"trusted": 3}', "\xff"])
def test_a_file_that_is_none_is_reported_until_it_is_one(file: Path, content: str) -> None:
    file.write_text(content, encoding="latin-1")
    trust = Trust(file)
    trust.is_trusted(SERVER)
    assert trust.error is not None
    assert "asked again" in trust.error.what
    assert trust.error.where == str(file)
    trust.approve(SERVER)
    assert trust.is_trusted(SERVER)
    assert trust.error is None


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_holds_no_consent(file: Path, mode: int) -> None:
    Trust(file).approve(SERVER)
    file.chmod(mode)
    trust = Trust(file)
    assert not trust.is_trusted(SERVER)
    assert trust.error is not None
    assert trust.error.detail == "other users can write to it"
    other = SERVER.model_copy(update={"command": "d"})
    trust.approve(other)
    assert Trust(file).is_trusted(other)
    assert not Trust(file).is_trusted(SERVER)


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
def test_a_file_of_somebody_else_holds_no_consent(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Trust(file).approve(SERVER)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    trust = Trust(file)
    assert not trust.is_trusted(SERVER)
    assert trust.error is not None
    assert "another user" in trust.error.detail


def test_what_cannot_be_read_is_reported(tmp_path: Path) -> None:
    trust = Trust(tmp_path)
    assert not trust.is_trusted(SERVER)
    assert trust.error is not None


def test_without_a_path_it_lasts_as_long_as_the_program() -> None:
    trust = Trust(None)
    trust.approve(SERVER)
    assert trust.is_trusted(SERVER)
    trust.forget(SERVER)
    assert not trust.is_trusted(SERVER)


def test_a_consent_that_cannot_be_written_holds_until_the_end(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    trust = Trust(file)
    with pytest.raises(UserError):
        trust.approve(SERVER)
    assert trust.is_trusted(SERVER)
    assert not file.exists()


def test_consents_at_once_are_both_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program agrees just when the first one has read the file and is about to write it."""
    put = private_file.put
    others: list[threading.Thread] = []

    def meanwhile(place: Path, content: bytes) -> None:
        if not others:
            others.append(threading.Thread(target=Trust(file).approve, args=(OTHER,)))
            others[0].start()
            others[0].join(0.5)  # it waits for us, unless nothing keeps it from writing
        put(place, content)

    monkeypatch.setattr(private_file, "put", meanwhile)
    Trust(file).approve(SERVER)
    others[0].join()
    assert Trust(file).is_trusted(SERVER)
    assert Trust(file).is_trusted(OTHER)


def test_one_taken_back_and_one_given_at_once_are_both_kept(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Trust(file).approve(SERVER)
    put = private_file.put
    others: list[threading.Thread] = []

    def meanwhile(place: Path, content: bytes) -> None:
        if not others:
            others.append(threading.Thread(target=Trust(file).approve, args=(OTHER,)))
            others[0].start()
            others[0].join(0.5)
        put(place, content)

    monkeypatch.setattr(private_file, "put", meanwhile)
    Trust(file).forget(SERVER)
    others[0].join()
    assert not Trust(file).is_trusted(SERVER)
    assert Trust(file).is_trusted(OTHER)


def test_while_another_program_writes_without_end_consent_holds_until_ours_ends(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.catalogue.documents._PATIENCE_S", 0)
    trust = Trust(file)
    with exclusive_lock(file, "it"), pytest.raises(UserError, match="Another program is changing"):
        trust.approve(SERVER)
    assert trust.is_trusted(SERVER)
    assert not file.exists()


def test_consent_to_many_is_one_writing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    puts: list[Path] = []
    put = private_file.put

    def counted(place: Path, content: bytes) -> None:
        puts.append(place)
        put(place, content)

    monkeypatch.setattr(private_file, "put", counted)
    servers = [StdioDefinition(name=f"s{number}", command=f"c{number}") for number in range(3)]
    Trust(file).approve(*servers)
    assert puts == [file]
    assert all(map(Trust(file).is_trusted, servers))
