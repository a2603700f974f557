"""The switch for agents: on until the user turns it off, off where it cannot be read."""

import os
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor.audit.access import AgentAccess, load_access, turn
from mcp_progress_monitor.errors import UserError


def test_agents_may_read_until_the_user_turns_it_off(tmp_path: Path) -> None:
    assert load_access(tmp_path).refusal({"cursor"}) == ""
    turn(tmp_path, is_on=False)
    assert "for all agents" in load_access(tmp_path).refusal({"cursor"})
    turn(tmp_path, is_on=True)
    assert load_access(tmp_path).refusal({"cursor"}) == ""


def test_one_agent_is_turned_off_by_any_name_that_it_gave(tmp_path: Path) -> None:
    turn(tmp_path, is_on=False, name="cursor")
    access = load_access(tmp_path)
    assert "for cursor in" in access.refusal({"claude-code", "cursor"})
    assert access.refusal({"claude-code"}) == ""
    turn(tmp_path, is_on=True, name="cursor")
    assert load_access(tmp_path) == AgentAccess()


def test_an_agent_without_a_name_can_be_turned_off(tmp_path: Path) -> None:
    turn(tmp_path, is_on=False, name="")
    assert "for agents without a name" in load_access(tmp_path).refusal({""})


def test_the_switch_for_all_keeps_the_single_ones(tmp_path: Path) -> None:
    turn(tmp_path, is_on=False, name="cursor")
    turn(tmp_path, is_on=False)
    turn(tmp_path, is_on=True)
    assert load_access(tmp_path).names_off == ("cursor",)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"names_off": 3}', b"\xff" * 200_000])
def test_nobody_may_read_while_the_switch_cannot_be_read(tmp_path: Path, content: bytes) -> None:
    turn(tmp_path, is_on=False, name="zed")
    (tmp_path / "agents" / "access.json").write_bytes(content)
    with pytest.raises(UserError, match="Cannot turn off"):
        turn(tmp_path, is_on=False, name="cursor")
    with pytest.raises(UserError, match="so no agent may read"):
        load_access(tmp_path)
    turn(tmp_path, is_on=True)
    assert load_access(tmp_path).refusal({"cursor"}) == ""


def test_what_a_newer_version_saved_is_read(tmp_path: Path) -> None:
    turn(tmp_path, is_on=False)
    (tmp_path / "agents" / "access.json").write_bytes(b'{"names_off": ["a"], "until": 3}')
    assert load_access(tmp_path) == AgentAccess(is_off=True, names_off=("a",))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_in_its_place_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    os.mkfifo(tmp_path / "agents" / "access.json")
    with pytest.raises(UserError, match="a pipe"):
        load_access(tmp_path)


def test_a_switch_that_cannot_be_saved_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "agents").write_bytes(b"")
    with pytest.raises(UserError, match="Cannot turn off"):
        turn(tmp_path, is_on=False)


def test_reading_is_turned_off_for_all_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mcp_progress_monitor.private_file.put", full)
    turn(tmp_path, is_on=False)
    assert load_access(tmp_path).is_off
    turn(tmp_path, is_on=True)
    assert not load_access(tmp_path).is_off
    with pytest.raises(UserError, match="No space left"):
        turn(tmp_path, is_on=False, name="cursor")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    turn(tmp_path, is_on=False)
    turn(tmp_path, is_on=False, name="cursor")
    assert (tmp_path / "agents").stat().st_mode & 0o777 == 0o700
    files = (tmp_path / "agents").iterdir()
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
