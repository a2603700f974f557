"""The log of what agents read: private, bounded, and robust against damage."""

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.audit.log import (
    AgentName,
    AuditedAgent,
    AuditLog,
    AuditReader,
    Reading,
    live_count,
    remove_ended,
)


def reading(number: int = 0, **more: Any) -> Reading:
    return Reading(when=1000.0 + number, what="traffic", jobs=(f"r1-{number}",), **more)


def begun(folder: Path, *servers: str) -> AuditLog:
    log = AuditLog(folder, servers)
    log.begin()
    log.note_name(AgentName(when=1.0, name="cursor", title="Cursor", version="3"))
    return log


def only(folder: Path) -> AuditedAgent:
    (agent,) = AuditReader(folder).read()
    return agent


def test_an_agent_has_its_name_limits_and_readings(tmp_path: Path) -> None:
    log = begun(tmp_path, "local-db")
    log.note(reading(1, servers=("local-db",), size=812))
    agent = only(tmp_path)
    assert agent.name is not None
    assert (agent.name.title, agent.beginning.servers) == ("Cursor", ("local-db",))
    assert agent.readings == (reading(1, servers=("local-db",), size=812),)
    assert (agent.beginning.pid, agent.is_live, agent.ended_when) == (os.getpid(), True, None)
    assert live_count(tmp_path) == 1
    log.end()
    assert only(tmp_path).ended_when is not None
    assert live_count(tmp_path) == 0


def test_a_name_is_written_once_and_later_if_the_disk_fails(tmp_path: Path) -> None:
    named = AgentName(when=1.0, name="cursor")
    log = AuditLog(tmp_path / "data")
    log.begin()  # there is no data folder yet
    log.note_name(named)
    (tmp_path / "data").mkdir()
    log.note(reading())
    path = only(tmp_path / "data").path
    assert path.read_text().count('"client"') == 1
    other = AgentName(when=2.0, name="zed")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "write", _full)
        log.note_name(other)
    log.note(reading())
    assert only(tmp_path / "data").name == other
    log.end()


def _full(_descriptor: int, _content: bytes) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_an_agent_that_may_act_is_marked(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, acts=True)
    log.begin()
    log.end()
    assert only(tmp_path).beginning.acts


def test_the_newest_agent_is_first(tmp_path: Path) -> None:
    for name in ("a", "b"):
        log = AuditLog(tmp_path, (name,))
        log.begin()
        log.end()
    assert [agent.beginning.servers for agent in AuditReader(tmp_path).read()] == [("b",), ("a",)]


def test_there_are_no_agents_without_a_folder(tmp_path: Path) -> None:
    assert AuditReader(tmp_path).read() == []
    assert live_count(tmp_path) == 0


def test_a_full_log_keeps_the_newest_readings_and_counts_the_others(tmp_path: Path) -> None:
    log = begun(tmp_path)
    for number in range(3000):
        log.note(reading(number, arguments="x" * 100))
    agent = only(tmp_path)
    assert agent.path.stat().st_size <= 128 * 1024
    assert agent.readings[-1].jobs == ("r1-2999",)
    assert agent.beginning.removed + len(agent.readings) == 3000
    assert agent.name is not None
    assert agent.damaged == 0


def test_only_so_many_logs_are_kept_and_none_of_a_running_process(tmp_path: Path) -> None:
    first = begun(tmp_path, "first")
    for _ in range(45):
        log = AuditLog(tmp_path)
        log.begin()
        log.end()
    agents = AuditReader(tmp_path).read()
    assert len(agents) == 41
    assert agents[-1].beginning.servers == ("first",)
    first.end()
    remove_ended(tmp_path)
    assert AuditReader(tmp_path).read() == []
    assert list((tmp_path / "agents").iterdir()) == []


def test_readings_that_could_not_be_logged_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = begun(tmp_path)
    written = os.write

    def full(file: int, content: bytes) -> int:
        written(file, content[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    log.note(reading(1))
    log.note(reading(2))
    monkeypatch.undo()
    log.note(reading(3))
    agent = only(tmp_path)
    assert agent.readings == (reading(3, missed=2),)
    assert agent.damaged == 2


def test_a_log_that_cannot_be_written_fails_nobody(tmp_path: Path) -> None:
    place = tmp_path / "agents"
    place.write_bytes(b"")
    log = begun(tmp_path)
    log.note(reading())
    log.end()
    assert place.read_bytes() == b""


def test_a_log_that_was_deleted_begins_again(tmp_path: Path) -> None:
    log = begun(tmp_path, "local-db")
    only(tmp_path).path.unlink()
    log.note(reading(2))
    agent = only(tmp_path)
    assert agent.beginning.servers == ("local-db",)
    assert agent.name is not None
    assert agent.readings == (reading(2),)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    log = begun(tmp_path)
    assert (tmp_path / "agents").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "agents").iterdir()} == {0o600}
    log.end()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_among_the_logs_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    os.mkfifo(tmp_path / "agents" / "a.jsonl")
    assert only(tmp_path).damaged == 1


def test_a_log_is_read_again_only_when_it_has_changed(tmp_path: Path) -> None:
    log = begun(tmp_path)
    reader = AuditReader(tmp_path)
    (before,) = reader.read()
    (same,) = reader.read()
    log.note(reading())
    (after,) = reader.read()
    assert same.beginning is before.beginning
    assert len(after.readings) == 1


@given(st.integers(0, 19), st.binary(max_size=60))
def test_a_damaged_line_costs_only_itself(
    tmp_path_factory: pytest.TempPathFactory, at: int, damage: bytes
) -> None:
    folder = tmp_path_factory.mktemp("a")
    log = begun(folder)
    for number in range(20):
        log.note(reading(number))
    log.end()
    path = only(folder).path
    lines = path.read_bytes().split(b"\n")
    lines[2 + at] = damage
    path.write_bytes(b"\n".join(lines))
    left = [each for each in only(folder).readings if each.jobs and each.what == "traffic"]
    assert [each.jobs[0] for each in left] == [f"r1-{n}" for n in range(20) if n != at]
