"""Marks are counted by kind and keep the words of their first case."""

from __future__ import annotations

from mcp_progress_monitor.tracker import marks
from mcp_progress_monitor.tracker.marks import Marks
from tests.unit.protocol.wire import progress
from tests.unit.tracker.dialogue import Dialogue


def test_cases_of_one_kind_are_one_mark() -> None:
    noted = Marks()
    noted.note(marks.ABOVE_TOTAL, "11 of 10", 7)
    noted.note(marks.NOT_INCREASING, "5 after 5", 8)
    noted.note(marks.ABOVE_TOTAL, "12 of 10", 9)
    assert noted.as_tuple() == (
        ("above-total", "11 of 10", 2, 7),
        ("not-increasing", "5 after 5", 1, 8),
    )


def test_reading_is_free_until_there_is_news() -> None:
    noted = Marks()
    assert noted.as_tuple() == ()
    noted.note(marks.LATE_RESULT, "late", 1)
    first = noted.as_tuple()
    assert noted.as_tuple() is first
    noted.note(marks.LATE_RESULT, "late", 2)
    assert first[0].count == 1
    assert noted.as_tuple()[0].count == 2


def test_what_is_wrong_with_a_frame_is_kept_for_the_newest_of_them() -> None:
    noted = Marks()
    for number in range(1, 4 * marks.WORDS_KEPT):
        noted.note(marks.ABOVE_TOTAL, f"{number} of 0", number)
    noted.note(marks.NOT_INCREASING, "went back", number)
    assert noted.words_of(number) == f"{number} of 0; went back"
    assert noted.words_of(number - marks.WORDS_KEPT + 1) == f"{number - marks.WORDS_KEPT + 1} of 0"
    assert noted.words_of(1) == ""
    noted.shrink(2)
    kept = [n for n in range(1, number + 1) if noted.words_of(n)]
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
    assert wire.marks(made[1]) == {marks.OTHER_STREAM: 5}
    assert (job.progress, job.tick_count, job.rate is not None) == (5, 5, True)
    assert wire.marks(made[0]) == {}
