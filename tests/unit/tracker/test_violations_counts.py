"""Marks are counted by kind and keep the text of their first case."""

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import joined
from mcp_progress_monitor.tracker import violations
from mcp_progress_monitor.tracker.violations import ViolationCounts
from tests.unit.protocol.wire import progress
from tests.unit.tracker.dialogue import Dialogue


def test_cases_of_one_kind_are_one_mark() -> None:
    noted = ViolationCounts()
    noted.note(rules.ABOVE_TOTAL, 7, 11, 10)
    noted.note(rules.NOT_INCREASING, 8, 5, 5)
    noted.note(rules.ABOVE_TOTAL, 9, 12, 10)
    found = [(mark.key, mark.text, mark.count, mark.first) for mark in noted.as_tuple()]
    assert found == [
        ("above-total", "Progress exceeds its total: 11 of 10", 2, 7),
        ("not-increasing", "Progress did not increase: 5 after 5", 1, 8),
    ]


def test_reading_is_free_until_something_changes() -> None:
    noted = ViolationCounts()
    assert noted.as_tuple() == ()
    noted.note(rules.LATE_RESULT, 1, "Done")
    first = noted.as_tuple()
    assert noted.as_tuple() is first
    noted.note(rules.LATE_RESULT, 2, "Done")
    assert first[0].count == 1
    assert noted.as_tuple()[0].count == 2


def test_what_is_wrong_with_a_frame_is_kept_for_the_newest_of_them() -> None:
    noted = ViolationCounts()
    for number in range(1, 4 * violations.FRAMES_KEPT):
        noted.note(rules.TOTAL_NOT_POSITIVE, number, number)
    noted.note(rules.TASK_IN_DRAFT, number, "x")
    assert [each.rule for each in noted.of_frame(number)] == [
        rules.TOTAL_NOT_POSITIVE,
        rules.TASK_IN_DRAFT,
    ]
    older = number - violations.FRAMES_KEPT + 1
    assert joined(noted.of_frame(older)) == f"Total is not positive: {older}"
    assert noted.of_frame(1) == ()
    noted.shrink(2)
    kept = [n for n in range(1, number + 1) if noted.of_frame(n)]
    assert kept == [number - 1, number]


def test_progress_on_another_requests_stream_is_marked_and_counts_all_the_same() -> None:
    wire = Dialogue()
    wire.ask("server/discover", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"})
    wire.reply(supportedVersions=["2026-07-28"], capabilities={})
    made = [wire.call(token) for token in "ab"]
    for exchange, number in enumerate(made):
        wire.event("http_request", exchange=exchange, method="POST", message=number)
    wire.event("http_events", exchange=0)
    for value in range(1, 6):
        wire.now += 1
        wire.receive(progress("b", value, total=10))
    job = wire.job(made[1])
    assert wire.marks(made[1]) == {rules.OTHER_STREAM.kind: 5}
    assert (job.progress, job.tick_count, job.rate is not None) == (5, 5, True)
    assert wire.marks(made[0]) == {}
