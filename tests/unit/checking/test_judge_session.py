"""A whole session: the rules at once, the schemas when there is time, and nothing without bound."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mcp_progress_monitor.checking import judge
from mcp_progress_monitor.checking.judge import SessionChecker
from mcp_progress_monitor.checking.schemas import SchemaChecks
from mcp_progress_monitor.playback.playback import Playback
from tests.golden_sessions import FOLDER, D, Golden, Step, call, recording, result
from tests.unit.checking.sessions import check_file, summary

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

WRONG = [call(2), result(2, content=[{"type": "text"}])]


def read(path: Path) -> SessionChecker:
    """The check of a recording that was read to its end, without a slice of work."""
    playback = Playback(path)
    check = SessionChecker(playback.jobs.job_of, schemas=SchemaChecks(math.inf))
    playback.subscribe(
        lambda update: check.take(update.frames, update.facts, update.changes.marked)
    )
    while playback.advance(1.0):
        pass
    return check


def written(tmp_path: Path, steps: list[Step]) -> Path:
    path = tmp_path / "session.mcprec"
    path.write_bytes(recording(Golden("", D, steps, []), steps))
    return path


def test_schemas_wait_for_work_and_say_then_what_check_says(tmp_path: Path) -> None:
    path = written(tmp_path, WRONG)
    check = read(path)
    assert check.waiting
    assert "SCHEMA-1" not in {each.rule for each in check.judge.results}
    while check.work(0.01):
        pass
    check.judge.finish()
    assert check.waiting == 0
    assert summary(list(check.judge.results)) == summary(check_file(path))


def test_no_work_is_done_without_time(tmp_path: Path) -> None:
    check = read(written(tmp_path, WRONG))
    before = check.waiting
    assert check.work(0.0)
    assert check.waiting == before


def test_messages_beyond_the_bound_are_counted_as_unchecked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "MOST_WAITING", 2)
    check = read(written(tmp_path, WRONG))
    assert check.waiting == 2
    assert check.schemas.unchecked > 0


def test_bytes_beyond_the_bound_are_counted_as_unchecked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "MOST_WAITING_BYTES", 10)
    check = read(written(tmp_path, WRONG))
    assert check.waiting == 1


def test_a_message_that_breaks_its_own_rule_is_not_validated_again() -> None:
    check = read(FOLDER / "PROG-7.broken.mcprec")
    while check.work(0.01):
        pass
    assert {each.rule for each in check.judge.results} == {"PROG-7"}
