"""A whole session: the rules and the official schemas."""

from pathlib import Path

from mcp_progress_monitor.checking.judge import SessionChecker
from mcp_progress_monitor.playback.playback import Playback
from tests.golden_sessions import (
    FOLDER,
    D,
    E,
    Golden,
    Step,
    call,
    client,
    recording,
    result,
    server,
    tick,
)
from tests.unit.checking.sessions import check_file, summary

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


def test_a_session_that_never_asked_for_the_revision_is_tested_by_it(tmp_path: Path) -> None:
    path = tmp_path / "session.mcprec"
    steps = [call(2, "a"), tick("a", 5), tick("a", 5), result(2)]
    path.write_bytes(recording(Golden("", E, steps, [], opening=False), steps))
    check = read(path)
    ((_, state),) = check.judge.results.servers().items()
    assert state.tried > 5
    assert "PROG-3" in state.broken
    assert check.judge.results.revisions("example") == (E,)


def test_a_server_without_tasks_may_reply_as_if_none_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "session.mcprec"
    steps = [call(2, task={"ttl": 60_000}), result(2)]
    path.write_bytes(recording(Golden("", D, steps, []), steps))
    assert "TSK-3" not in {each.rule for each in check_file(path)}


def test_ticks_with_ids_are_ticks_and_break_a_rule(tmp_path: Path) -> None:
    path = tmp_path / "session.mcprec"
    ticks = [tick("a", number) for number in range(1, 400)]
    for number, each in enumerate(ticks[:3]):
        each.value["id"] = number
    steps = [call(2, "a"), *ticks, result(2)]
    path.write_bytes(recording(Golden("", D, steps, []), steps))
    found = {each.rule: each.count for each in check_file(path)}
    assert found["JR-1"] == 3
    assert "PROG-1" not in found


def test_what_was_not_declared_is_blamed_on_who_used_it(tmp_path: Path) -> None:
    path = tmp_path / "session.mcprec"
    log = server("notifications/message", level="info", data="x")
    steps = [client("resources/list", 2), result(2, resources=[]), log, log, call(3), result(3)]
    path.write_bytes(recording(Golden("", D, steps, []), steps))
    found = {(each.by.name, each.finding.text, each.count) for each in check_file(path)}
    undeclared = "was sent, but the server did not declare"
    assert found == {
        ("CLIENT", f"resources/list {undeclared} resources", 1),
        ("SERVER", f"notifications/message {undeclared} logging", 2),
    }
    declared = Golden("", D, steps, [], server={"tools": {}, "resources": {}, "logging": {}})
    path.write_bytes(recording(declared, steps))
    assert check_file(path) == []
