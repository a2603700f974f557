"""Programs that run can tell each other from those that are gone."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.store.database import Owners


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "running"


@pytest.fixture
def owners(folder: Path) -> Iterator[Owners]:
    owners = Owners(folder)
    owners.move_in()
    yield owners
    owners.move_out()


def test_a_registered_owner_is_alive_for_itself_and_others(owners: Owners, folder: Path) -> None:
    assert owners.lives(owners.me)
    assert Owners(folder).lives(owners.me)
    assert owners.has_moved_in


def test_an_unregistered_owner_leaves_no_file(owners: Owners, folder: Path) -> None:
    owners.move_out()
    assert not Owners(folder).lives(owners.me)
    assert not owners.has_moved_in
    assert list(folder.iterdir()) == []
    owners.move_out()


@pytest.mark.parametrize("name", [None, "", "0" * 32, "../../etc/passwd", "x" * 40])
def test_a_name_of_nobody_is_not_alive(owners: Owners, name: str | None) -> None:
    assert not owners.lives(name)


def test_a_lock_that_nobody_holds_is_that_of_a_dead_program(owners: Owners, folder: Path) -> None:
    (folder / f"{'a' * 32}.lock").touch()
    assert not owners.lives("a" * 32)


def test_only_the_locks_of_the_dead_are_swept(owners: Owners, folder: Path) -> None:
    other = Owners(folder)
    other.move_in()
    (folder / f"{'a' * 32}.lock").touch()
    owners.sweep()
    assert sorted(path.stem for path in folder.iterdir()) == sorted([owners.me, other.me])
    other.move_out()


def test_looking_does_not_take_a_lock_away(owners: Owners, folder: Path) -> None:
    other = Owners(folder)
    for _ in range(3):
        assert other.lives(owners.me)
    assert owners.has_moved_in


def test_a_deleted_lock_is_made_again(owners: Owners, folder: Path) -> None:
    (folder / f"{owners.me}.lock").unlink()
    assert not owners.has_moved_in
    owners.move_in()
    assert Owners(folder).lives(owners.me)


def test_a_lock_that_cannot_be_looked_at_counts_as_held(
    owners: Owners, unprivileged_dir: Path
) -> None:
    del owners
    lock = unprivileged_dir / f"{'a' * 32}.lock"
    lock.touch()
    lock.chmod(0o000)
    assert Owners(unprivileged_dir).lives("a" * 32)


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "running").touch()
    owners = Owners(tmp_path / "running")
    with pytest.raises(UserError) as caught:
        owners.move_in()
    assert caught.value.details.where == str(tmp_path / "running")
    assert not owners.has_moved_in


@pytest.mark.skipif(os.name != "posix", reason="rights are another matter there")
def test_locks_are_private(owners: Owners, folder: Path) -> None:
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / f"{owners.me}.lock").stat().st_mode & 0o777 == 0o600
