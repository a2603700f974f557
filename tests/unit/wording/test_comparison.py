"""Two runs beside each other: durations, phases and rates, with their differences."""

from typing import Any

from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import ChartPoint, JobSnapshot, JobState, Phase
from mcp_progress_monitor.wording import comparison
from tests.job_stand_ins import answer, detail, job

MINUS = "\N{MINUS SIGN}"


def _runs() -> dict[str, comparison.Row]:
    slow = detail(
        job(state=JobState.DONE, elapsed_s=60.0, ended_at=160.0, tick_count=600),
        chart=[ChartPoint(at, 0, 0, value) for at, value in ((102, 0), (132, 300), (160, 580))],
        phases=[Phase("Reading", 102, 130, 5), Phase("Writing", 130, 160, 5)],
    )
    fast = detail(
        job(id=2, state=JobState.FAILED, elapsed_s=30.0, ended_at=130.0, tick_count=610),
        chart=[ChartPoint(at, 0, 0, value) for at, value in ((101, 0), (130, 580))],
        phases=[Phase("Reading", 101, 115, 5), Phase("Checking", 115, 130, 5)],
    )
    return {row.name: row for row in comparison.rows(slow, fast)}


def test_durations_and_counts_have_their_difference() -> None:
    rows = _runs()
    assert rows["Duration"][1:] == ("1 min 0 s", "30 s", f"{MINUS}30 s (-50 %)")
    assert rows["Until the first tick"][1:3] == ("2.0 s", "1.0 s")
    assert rows["Longest silence"][1:3] == ("30 s", "29 s")
    assert rows["Ticks"][1:] == ("600", "610", "+10 (+2 %)")
    assert rows["Attempts"][1:] == ("1", "1", "same")
    assert rows["Mean rate"][1:] == ("10/s", "20/s", "+100 %")
    assert rows["State"][1:] == ("Done", "Failed", "")


def test_phases_are_compared_by_name_also_those_of_one_run_alone() -> None:
    rows = _runs()
    assert rows["Reading"][1:] == ("28 s", "14 s", f"{MINUS}14 s (-50 %)")
    assert rows["Writing"][1:] == ("30 s", "", "")
    assert rows["Checking"][1:] == ("", "15 s", "")


def test_jobs_without_ticks_can_be_compared() -> None:
    rows = {row.name: row for row in comparison.rows(detail(job()), detail(job(id=2)))}
    assert rows["Mean rate"][1:] == rows["Longest silence"][1:] == ("", "", "")


def test_requests_and_replies_are_compared_without_what_always_differs() -> None:
    asked = {"name": "export", "arguments": {"n": 1}, "_meta": {"progressToken": 7}}
    result = {"content": [], "_meta": {"nextResumeToken": "hush"}}
    done = detail(job(reply_size=90), params=asked, answer=answer(result))
    text = comparison.request_and_reply(done)
    assert '"n": 1' in text
    assert '"result"' in text
    assert "progressToken" not in text
    assert "hush" not in text
    assert "reply" not in comparison.request_and_reply(detail(job(), params=asked))


def test_a_huge_reply_is_not_compared() -> None:
    large = detail(job(reply_size=3_000_000), answer=answer({"content": ["x"]}))
    assert '"reply": "(3.0 MB: too large)"' in comparison.request_and_reply(large)


def test_runs_of_one_tool_are_called_by_their_order() -> None:
    one, other = detail(job()), detail(job(id=2, name="import"))
    assert comparison.names(one, one) == ("Run 1", "Run 2")
    assert comparison.names(one, other) == ("1: export_orders", "2: import")


def _ended(number: int, seconds: float, **changes: Any) -> JobSnapshot:
    return job(
        **{"id": number, "state": JobState.DONE, "elapsed_s": seconds, "tick_count": 1} | changes
    )


def test_calls_are_counted_by_tool_what_fails_and_what_is_slow_first() -> None:
    jobs = [
        _ended(number, float(number), name="export", reply_size=number) for number in range(1, 21)
    ]
    jobs += [
        _ended(30, 100.0, name="crawl"),
        _ended(40, 0.2, name="index", state=JobState.FAILED),
        _ended(41, 9.0, name="index", state=JobState.TIMED_OUT),
        _ended(42, 5.0, name="index", state=JobState.RUNNING),
        _ended(43, 7.0, name="roots/list", sender=Side.SERVER),
    ]
    assert comparison.statistics(jobs) == [
        ("index", "local-db", "3", "2", "200 ms", "", "200 ms", "3", ""),
        ("crawl", "local-db", "1", "", "1 min 40 s", "", "1 min 40 s", "1", ""),
        ("export", "local-db", "20", "", "10 s", "19 s", "20 s", "20", "20 B"),
    ]
    assert comparison.statistics([]) == []


def test_what_changed_between_two_runs_comes_before_the_times() -> None:
    before = detail(
        job(elapsed_s=60.0), phases=[Phase("Reading", 102, 111, 5), Phase("Old", 111, 120, 5)]
    )
    now = detail(
        job(elapsed_s=30.0), phases=[Phase("Reading", 102, 107, 5), Phase("New", 107, 120, 5)]
    )
    rows = [(row.name, row.difference) for row in comparison.changes(before, now)]
    assert rows == [
        ("Old", "gone"),
        ("New", "new"),
        ("Duration", f"{MINUS}30 s (-50 %)"),
        ("Reading", f"{MINUS}4.0 s (-44 %)"),
    ]


def test_findings_of_two_runs_are_new_gone_or_more() -> None:
    rows = comparison.findings({"a": 1, "b": 2, "c": 3}, {"b": 5, "c": 3, "d": 4})
    assert [tuple(row) for row in rows] == [
        ("a", "1", "", "gone"),
        ("b", "2", "5", ""),
        ("d", "", "4", "new"),
    ]
