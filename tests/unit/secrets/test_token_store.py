"""Where tokens are kept: private, whole, shared with other programs, and never lost by us."""

import json
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.secrets import token_store
from mcp_progress_monitor.secrets.token_store import FILE_NAME, TokenStore


def test_what_is_kept_is_found_by_another_program(tmp_path: Path) -> None:
    TokenStore(tmp_path, {}).put("a", {"tokens": {"access_token": "t"}})
    assert TokenStore(tmp_path, {}).get("a") == {"tokens": {"access_token": "t"}}
    assert TokenStore(tmp_path, {}).get("b") is None


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "new", {})
    store.put("a", {})
    store.put("a", {"x": 1})
    path = tmp_path / "new" / FILE_NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert sorted(each.name for each in path.parent.iterdir()) == [FILE_NAME, f"{FILE_NAME}.lock"]


def test_forgetting_drops_one_alone(tmp_path: Path) -> None:
    store = TokenStore(tmp_path, {})
    store.put("a", {})
    store.put("b", {})
    assert store.forget("a")
    assert not store.forget("a")
    assert store.get("b") == {}


def test_without_a_folder_memory_keeps_it() -> None:
    memory: dict[str, dict[str, Any]] = {}
    TokenStore(None, memory).put("a", {"x": 1})
    assert TokenStore(None, memory).get("a") == {"x": 1}
    assert TokenStore(None, memory).forget("a")
    assert memory == {}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{ broken",
        "[]",
        '{"version": 2, "signIns": {}}',
        '{"version": 1}',
        '{"version": 1, "signIns": {"a": 1}}',
        "[" * 100_000,
    ],
)
def test_a_file_that_is_none_is_reported_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / FILE_NAME
    path.write_text(content)
    store = TokenStore(tmp_path, {})
    with pytest.raises(UserError) as caught:
        store.get("a")
    with pytest.raises(UserError):
        store.put("a", {})
    with pytest.raises(UserError):
        store.forget("a")
    assert caught.value.details.where == str(path)
    assert "move it away" in caught.value.details.hint
    assert path.read_text() == content


def test_a_huge_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_store, "_LARGEST", 100)
    (tmp_path / FILE_NAME).write_text(" " * 200)
    with pytest.raises(UserError, match="too large"):
        TokenStore(tmp_path, {}).get("a")


def test_what_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError) as caught:
        TokenStore(tmp_path / "file", {}).put("a", {})
    assert caught.value.details.what


def test_another_program_that_holds_the_file_is_waited_for_and_then_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_store, "_BUSY_S", 0.1)
    with FileLock(tmp_path / f"{FILE_NAME}.lock"), pytest.raises(UserError) as caught:
        TokenStore(tmp_path, {}).put("a", {})
    assert caught.value.details.what == "Another program is using the saved sign-ins"


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    def write(name: str) -> None:
        for number in range(5):
            TokenStore(tmp_path, {}).put(f"{name}{number}", {})

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    document = json.loads((tmp_path / FILE_NAME).read_text())
    assert len(document["signIns"]) == 20


def test_of_very_many_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_store, "_MOST_KEPT", 2)
    store = TokenStore(tmp_path, {})
    for key in ("a", "b", "a", "c"):
        store.put(key, {})
    assert [store.get(key) for key in "abc"] == [{}, None, {}]
