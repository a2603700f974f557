"""Signals of a job, while it runs and when it ends."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mcp_progress_monitor import telemetry_names as names
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.protocol.trace_context import TraceContext, parse_traceparent
from mcp_progress_monitor.telemetry.jobs import JobSignals
from mcp_progress_monitor.telemetry.signals import Duration, LogEvent, Signal, SpanEnd
from mcp_progress_monitor.telemetry.span_ids import SpanIds
from mcp_progress_monitor.telemetry.traffic import TrafficSignals
from tests.unit.recording.written import WHEN, Written

_CLIENTS = TraceContext(int("0af7651916cd43dd8448eb211c80319c", 16), int("b7ad6b7169203331", 16))
S = TypeVar("S", LogEvent, SpanEnd, Duration)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.mcprec"


def signals_of(
    written: Written, path: Path, follow: Callable[[JobSignals], object] | None = None
) -> list[Signal]:
    """The signals of a recording that is read second by second."""
    playback = Playback(written.save(path))
    found: list[Signal] = []
    ids = SpanIds("a")
    jobs = JobSignals(playback.jobs, ids, found.append, lambda _: names.RECORDED, lambda _: {})
    traffic = TrafficSignals(
        ids, jobs.texts, found.append, lambda _: names.RECORDED, jobs.note_late
    )

    def listen(update: Update) -> None:
        jobs.note(update.changes)
        traffic.note(update.facts, update.changes.marked.values())
        jobs.work(playback.now(), 100)

    playback.subscribe(listen)
    at_s = 0.0
    while playback.play_until(at_s, 1.0):
        at_s += 1
    if follow is not None:
        follow(jobs)
    return found


def of(kind: type[S], signals: list[Signal]) -> list[S]:
    return [each for each in signals if isinstance(each, kind)]


def progress(written: Written, done: int, at: float, message: str) -> None:
    params = {"progressToken": "a", "progress": done, "total": 100, "message": message}
    raw = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    written.line(Channel.RECEIVED, raw.encode(), at)


def test_events_are_sent_while_a_job_runs_and_its_span_at_its_end(path: Path) -> None:
    written = Written()
    written.call(at=1.0)
    for place in range(1, 25):
        written.tick(place, 1.0 + place)
    written.reply(at=26.0)
    found = signals_of(written, path)

    events = of(LogEvent, found)
    assert [event.name for event in events] == [
        *(names.STARTED, names.PROGRESSED, names.PROGRESSED, names.PROGRESSED, names.FINISHED)
    ]
    assert [round(event.when - WHEN) for event in events] == [1, 2, 12, 22, 26]
    assert events[2].body == "export: 11 of 100"
    (span,) = of(SpanEnd, found)
    assert {event.context for event in events} == {span.context}
    assert (span.name, span.parent, span.error) == ("watch tools/call export", None, None)
    assert round(span.ended_when - span.began_when, 3) == 25.0
    (duration,) = of(Duration, found)
    assert (duration.metric, round(duration.seconds)) == (names.WATCHED_DURATION, 25)


def test_a_new_message_is_sent_once_a_second_at_most(path: Path) -> None:
    written = Written()
    written.call()
    for place in range(40):
        progress(written, place, 0.1 + place * 0.1, f"page {place // 20}")
    found = of(LogEvent, signals_of(written, path))
    assert 2 <= len(found) - 1 <= 5
    assert found[-1].body.endswith("page 1")


def test_silence_is_sent_each_minute(path: Path) -> None:
    written = Written()
    written.call()
    written.tick(1, 1.0)
    written.event("stderr", 200.0)
    found = of(LogEvent, signals_of(written, path))
    silent = [event for event in found if event.name == names.SILENCE]
    assert [round(event.when - WHEN) for event in silent] == [61, 121, 181]
    assert all(event.is_warning for event in silent)
    assert silent[0].attributes[names.SILENT] == pytest.approx(60, abs=1)


def test_a_watched_call_is_a_child_of_its_clients_span(path: Path) -> None:
    written = Written()
    meta = {"traceparent": _CLIENTS.traceparent}
    written.send("tools/call", {"name": "export", "_meta": meta}, 1)
    written.reply(at=1.0, result={"isError": True, "content": [{"type": "text", "text": "No"}]})
    found = signals_of(written, path)
    (span,) = of(SpanEnd, found)
    assert (span.parent, span.context.trace_id) == (_CLIENTS, _CLIENTS.trace_id)
    assert span.context.span_id != _CLIENTS.span_id
    assert not span.is_client
    assert (span.error, span.attributes[names.ERROR_TYPE]) == ("No", names.TOOL_ERROR)


def test_an_error_has_its_code(path: Path) -> None:
    written = Written()
    written.call()
    error = {"code": -32603, "message": "password=hunter2hunter2"}
    written.line(
        Channel.RECEIVED, json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode(), 1.0
    )
    (span,) = of(SpanEnd, signals_of(written, path))
    assert (span.attributes[names.ERROR_TYPE], span.attributes[names.STATUS_CODE]) == (
        "-32603",
    ) * 2
    assert "hunter2" not in repr(span)


def test_attempts_of_a_resume_chain_are_linked(path: Path) -> None:
    written = Written()
    written.call()
    written.tick(1, 1.0)
    written.reply(at=2.0, result={"_meta": {"nextResumeToken": "r1"}})
    meta = {"progressToken": "a", "resumeToken": "r1"}
    params: dict[str, Any] = {"name": "export", "arguments": {}, "_meta": meta}
    written.send("tools/call", params, 2, 10.0)
    written.reply(2, at=11.0)
    found = signals_of(written, path)
    first, second = of(SpanEnd, found)
    assert (first.links, second.links) == ((), (first.context,))
    assert first.context.trace_id != second.context.trace_id
    assert round(second.ended_when - second.began_when, 3) == 1.0
    assert [event.name for event in of(LogEvent, found)] == [
        *(names.STARTED, names.PROGRESSED, names.RESUMABLE, names.STARTED, names.FINISHED)
    ]
    assert first.attributes[names.JOB] == second.attributes[names.JOB]


def test_a_result_after_a_cancel_is_late(path: Path) -> None:
    written = Written()
    written.call()
    params = {"requestId": 1}
    raw = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    written.line(Channel.SENT, json.dumps(raw).encode(), 1.0)
    written.event("stderr", 20.0)
    written.reply(at=30.0)
    found = of(LogEvent, signals_of(written, path))
    assert [event.name for event in found] == [names.STARTED, names.FINISHED, names.LATE_RESULT]


def test_running_jobs_are_counted_until_they_end(path: Path) -> None:
    written = Written()
    written.call(1, "a")
    written.call(2, "b")
    written.tick(50, 1.0)
    written.reply(2, at=2.0)
    counted: list[Any] = []

    def follow(jobs: JobSignals) -> None:
        running = {state: count for state, count in jobs.counted().items() if count}
        counted.extend((running, jobs.gauges(10)))

    signals_of(written, path, follow)
    running, gauges = counted
    assert running == {(names.RECORDED, "running"): 1}
    assert [each.progress_ratio for each in gauges] == [0.5]


def test_a_call_is_a_child_of_the_context_that_its_user_gave(path: Path) -> None:
    made: list[object] = []

    def follow(jobs: JobSignals) -> None:
        made.extend(map(jobs.new_traceparent, (None, _CLIENTS.traceparent, "00-1")))

    signals_of(Written(), path, follow)
    alone, child, invalid = made
    assert parse_traceparent(alone) is not None
    inner = parse_traceparent(child)
    assert inner is not None
    assert inner.trace_id == _CLIENTS.trace_id
    assert inner.span_id != _CLIENTS.span_id
    assert invalid == "00-1"
