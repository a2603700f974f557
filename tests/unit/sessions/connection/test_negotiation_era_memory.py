"""Eras of servers, remembered: kept, renewed, expired, and never in the way."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.protocol.eras import Agreement, Era
from mcp_progress_monitor.sessions.connection.negotiation import (
    FILE_NAME,
    KEPT_S,
    EraMemory,
    ProvenEra,
    digest_of,
)
from mcp_progress_monitor.snapshots.definitions import StdioDefinition

ONE = StdioDefinition(name="one", command="c", env={"KEY": "top-secret"})
OTHER = StdioDefinition(name="one", command="c", args=("--more",))
ASKED = ProvenEra(Era.HANDSHAKE, "said", was_asked=True)


class Calendar(Clock):
    """A clock that a test turns on."""

    def __init__(self) -> None:
        super().__init__()
        self.when = 1_000_000_000.0

    def wall(self) -> float:
        return self.when


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / FILE_NAME


def agreement(**members: Any) -> Agreement:
    found = {"name": "s", "version": "1", **members}
    return Agreement("2025-06-18", found, {"tools": {}}, None)


@pytest.mark.parametrize("era", list(Era))
def test_what_was_learnt_is_known_in_the_next_run(path: Path, era: Era) -> None:
    EraMemory(path, Clock()).learn(ONE, ASKED._replace(era=era))
    again = EraMemory(path, Clock())
    assert again.of(ONE) is era
    assert again.of(ONE.model_copy(update={"name": "another"})) is era
    assert again.of(OTHER) is None


def test_without_a_file_it_lasts_as_long_as_the_program() -> None:
    memory = EraMemory(None, Clock())
    memory.learn(ONE, ASKED)
    assert memory.of(ONE) is Era.HANDSHAKE


def test_after_a_week_a_server_is_asked_again(path: Path) -> None:
    clock = Calendar()
    memory = EraMemory(path, clock)
    memory.learn(ONE, ASKED)
    clock.when += KEPT_S - 1
    memory.learn(ONE, ASKED._replace(was_asked=False))  # what was not asked renews nothing
    assert memory.of(ONE) is Era.HANDSHAKE
    clock.when += 2
    assert memory.of(ONE) is None


def test_what_is_dated_in_the_future_is_asked_again(path: Path) -> None:
    clock = Calendar()
    EraMemory(path, clock).learn(ONE, ASKED)
    clock.when -= 3600
    assert EraMemory(path, clock).of(ONE) is None


def test_what_was_learnt_this_very_moment_is_known(path: Path) -> None:
    clock = Calendar()
    clock.when += 0.000_6
    EraMemory(path, clock).learn(ONE, ASKED)
    assert EraMemory(path, clock).of(ONE) is Era.HANDSHAKE


def test_a_server_that_says_something_else_is_asked_again(path: Path) -> None:
    memory = EraMemory(path, Clock())
    memory.learn(ONE, ASKED._replace(said=digest_of(agreement())))
    same = ProvenEra(Era.HANDSHAKE, digest_of(agreement()), was_asked=False)
    memory.learn(ONE, same)
    assert memory.of(ONE) is Era.HANDSHAKE
    memory.learn(ONE, same._replace(said=digest_of(agreement(version="2"))))
    assert memory.of(ONE) is None


def test_what_failed_is_forgotten(path: Path) -> None:
    memory = EraMemory(path, Clock())
    memory.learn(ONE, ASKED)
    memory.learn(OTHER, ASKED)
    memory.forget(ONE)
    assert memory.of(ONE) is None
    assert EraMemory(path, Clock()).of(OTHER) is Era.HANDSHAKE


def test_the_file_is_private_and_names_no_secret(path: Path) -> None:
    EraMemory(path, Clock()).learn(ONE, ASKED)
    assert b"top-secret" not in path.read_bytes()
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"eras": []}',
        b'{"eras": {"k": 5}}',
        b'{"eras": {"k": {"era": "x", "said": 1, "when": "y"}}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_costs_a_question_and_is_replaced(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    memory = EraMemory(path, Clock())
    assert memory.of(ONE) is None
    memory.learn(ONE, ASKED)
    assert EraMemory(path, Clock()).of(ONE) is Era.HANDSHAKE


def test_a_file_that_cannot_be_written_costs_a_question(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    memory = EraMemory(blocked / FILE_NAME, Clock())
    memory.learn(ONE, ASKED)
    assert memory.of(ONE) is None


def test_so_many_are_kept_and_the_oldest_go(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.sessions.connection.negotiation._MOST_KEPT", 50)
    memory = EraMemory(path, Clock())
    for number in range(60):
        memory.learn(ONE.model_copy(update={"args": (str(number),)}), ASKED)
    assert len(json.loads(path.read_bytes())["eras"]) == 50
    assert memory.of(ONE.model_copy(update={"args": ("0",)})) is None
    assert memory.of(ONE.model_copy(update={"args": ("59",)})) is Era.HANDSHAKE
