"""A whole session: the rules and the official schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.checking.judge import SessionChecker
from mcp_progress_monitor.playback.playback import Playback
from tests.golden_sessions import FOLDER, D, Golden, Step, call, recording, result
from tests.unit.checking.sessions import check_file, summary

if TYPE_CHECKING:
    from pathlib import Path


WRONG = [call(2), result(2, content=[{"type": "text"}])]


def read(path: Path) -> SessionChecker:
    """The check of a recording that was read to its end."""
    playback = Playback(path)
    check = SessionChecker(playback.jobs.job_of)
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


def test_messages_are_compared_with_the_official_schema_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, WRONG)
    check = read(path)
    assert "SCHEMA-1" in {each.rule for each in check.judge.results}
    check.judge.finish()
    assert summary(list(check.judge.results)) == summary(check_file(path))


def test_a_message_that_breaks_its_own_rule_is_not_validated_again() -> None:
    check = read(FOLDER / "PROG-7.broken.mcprec")
    assert {each.rule for each in check.judge.results} == {"PROG-7"}
