"""OpenTelemetry's data as messages: spans of the official SDK, and this program's log events."""

import json
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from mcp_progress_monitor import telemetry_names as names
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.imports.otlp import SpanMessages, decode_batch
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.unit.imports.imported import SAMPLES, Imported

SAMPLE = "otlp-python-sdk-2.3.jsonl"
NS = 1_000_000_000
HOSTILE = "\x1b[31m\u202e" + "x" * 1_000_000


def attributes(**values: Any) -> list[dict[str, Any]]:
    return [
        {"key": key.replace("__", "."), "value": {"stringValue": value}}
        for key, value in values.items()
    ]


def span(method: str = "tools/call", **more: Any) -> dict[str, Any]:
    """A span of 2 seconds; `more` are members of it, and attributes are added to its own."""
    added = more.pop("attributes", [])
    return {
        "spanId": "00f067aa0ba902b7",
        "name": f"{method} crawl",
        "kind": 2,
        "startTimeUnixNano": str(1_795_000_000 * NS),
        "endTimeUnixNano": str(1_795_000_002 * NS),
        "attributes": [*attributes(mcp__method__name=method, jsonrpc__request__id="7"), *added],
        **more,
    }


def spans(*those: dict[str, Any], service: str = "crawler") -> dict[str, Any]:
    resource = {"attributes": attributes(service__name=service)}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(those)}]}]}


def log(event: str, after_s: float, values: dict[str, Any]) -> dict[str, Any]:
    """A log record of a job, as this program sends it."""
    found = {names.METHOD: "tools/call", names.SERVER: "crawler", names.TOOL_NAME: "crawl"}
    return {
        "timeUnixNano": str(int((1_795_000_000 + after_s) * NS)),
        "eventName": event,
        "spanId": "00f067aa0ba902b7",
        "attributes": [
            {"key": key, "value": {"doubleValue" if type(value) is float else "stringValue": value}}
            for key, value in (found | values).items()
        ],
    }


def logs(*those: dict[str, Any]) -> dict[str, Any]:
    resource = {"attributes": attributes(host__name="build-7")}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": list(those)}]}]}


def written(path: Path, *documents: object) -> Imported:
    path.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    return Imported(path)


def made(document: object) -> list[dict[str, Any]]:
    messages = SpanMessages(lambda *_: None).of(decode_batch(json.dumps(document).encode()))
    return [json.loads(message.raw) for message in messages]


def test_calls_that_the_official_sdk_traced_are_jobs_with_their_times() -> None:
    imported = Imported(SAMPLES / SAMPLE)
    found = [(job.server, job.name, job.state, round(job.elapsed_s, 3)) for job in imported.jobs]
    assert found == [
        ("agent (client)", "crawl", JobState.DONE, 0.658),
        ("crawler-server", "crawl", JobState.DONE, 0.643),
        ("agent (client)", "fail", JobState.DONE, 0.053),
        ("crawler-server", "fail", JobState.FAILED, 0.032),
        ("agent (client)", "resources/read", JobState.FAILED, 0.013),
        ("crawler-server", "resources/read", JobState.FAILED, 0.001),
    ]
    assert "Handshakes, lists and notifications, whose content is not in spans (7)" in (
        imported.missing
    )


def test_a_document_on_several_lines_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(spans(span()), indent=2))
    (job,) = Imported(path).jobs
    assert (job.name, job.elapsed_s) == ("crawl", 2.0)


def test_content_is_in_the_messages_if_the_sender_added_it() -> None:
    content = attributes(
        gen_ai__tool__name="crawl",
        gen_ai__tool__call__arguments='{"pages": 3}',
        gen_ai__tool__call__result="three pages",
    )
    request, reply = made(spans(span(attributes=content)))
    assert request["params"] == {"name": "crawl", "arguments": {"pages": 3}}
    assert reply == {
        "jsonrpc": "2.0",
        "id": 7,
        "result": {"content": [{"type": "text", "text": "three pages"}]},
    }


def test_a_client_that_gave_up_cancels_and_a_failed_server_replies_with_an_error() -> None:
    failed = {"code": "STATUS_CODE_ERROR", "message": "TimeoutError"}
    why = attributes(error__type="TimeoutError")
    _, end = made(spans(span(kind="SPAN_KIND_CLIENT", status=failed, attributes=why)))
    assert end["method"] == "notifications/cancelled"
    assert end["params"] == {"requestId": 7, "reason": "TimeoutError"}
    _, end = made(spans(span(status=failed, attributes=why)))
    assert end["error"] == {"code": -32603, "message": "TimeoutError"}


def test_calls_with_one_id_at_one_time_are_two_jobs(tmp_path: Path) -> None:
    again = span(spanId="1111111111111111")
    imported = written(tmp_path / "x.jsonl", spans(span(), again))
    assert [job.state for job in imported.jobs] == [JobState.DONE, JobState.DONE]


def test_log_events_of_this_program_are_a_job_with_its_ticks(tmp_path: Path) -> None:
    sent = logs(
        log(names.STARTED, 0, {names.ELAPSED: 0.0}),
        log(names.PROGRESSED, 10, {names.PROGRESS: 13.0, names.TOTAL: 24.0, names.MESSAGE: "page"}),
        log(names.FINISHED, 20, {names.STATE: "done"}),
    )
    (job,) = written(tmp_path / "x.jsonl", sent, spans(span())).jobs
    assert (job.server, job.name, job.state) == ("crawler (build-7)", "crawl", JobState.DONE)
    assert (job.progress, job.total, job.elapsed_s) == (13, 24, 20.0)


def test_progress_of_which_only_the_end_tells_is_a_tick(tmp_path: Path) -> None:
    sent = logs(
        log(names.STARTED, 0, {names.ELAPSED: 0.0}),
        log(names.PROGRESSED, 10, {names.PROGRESS: 13.0, names.TOTAL: 24.0}),
        log(names.SILENCE, 12, {names.PROGRESS: 13.0, names.TOTAL: 24.0}),
        log(names.FINISHED, 20, {names.PROGRESS: 24.0, names.TOTAL: 24.0}),
    )
    (job,) = written(tmp_path / "x.jsonl", sent).jobs
    assert (job.progress, job.tick_count, job.state) == (24, 2, JobState.DONE)


@pytest.mark.parametrize("time", ["-1", "9" * 30, "9" * 300, "9" * 5000, -(10**18), 1 << 64])
def test_times_that_cannot_be_carried_are_unknown(time: Any, tmp_path: Path) -> None:
    hostile = span(startTimeUnixNano=time, spanId="aa"), span(endTimeUnixNano=time, spanId="bb")
    elapsed = log(names.STARTED, 0, {names.ELAPSED: 1e300})
    imported = written(tmp_path / "x.jsonl", spans(*hostile), logs(elapsed))
    assert [job.state for job in imported.jobs] == [JobState.RUNNING, JobState.DONE, JobState.DONE]


def test_a_job_whose_begin_was_missed_has_the_time_that_it_had_run(tmp_path: Path) -> None:
    late = log(names.PROGRESSED, 60, {names.ELAPSED: 60.0, names.PROGRESS: 1.0})
    (job,) = written(tmp_path / "x.jsonl", logs(late)).jobs
    assert (job.state, job.elapsed_s) == (JobState.RUNNING, 60.0)


def test_what_is_no_call_is_counted(tmp_path: Path) -> None:
    other = {**span(), "attributes": []}
    metrics: dict[str, Any] = {"resourceMetrics": [{}]}
    note = logs(log("device.app.lifecycle", 0, {}))
    imported = written(tmp_path / "x.jsonl", spans(span(), other), metrics, note, {"resource": 1})
    assert "Spans of something else than MCP (1)" in imported.missing
    assert "Metrics, which say nothing of single requests (1)" in imported.missing
    assert "Log records that are not of this program's jobs (1)" in imported.missing


def test_lines_that_are_damaged_are_counted_and_the_others_shown(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    line = json.dumps(spans(span()))
    path.write_text(f'{line}\n{line[:90]}\n{{"resourceSpans": 3}}\n{"[" * 5000}\n{line}\n')
    imported = Imported(path)
    assert len(imported.jobs) == 2
    assert "Lines that are not in this format (3)" in imported.missing


def test_a_file_without_calls_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(spans(span("initialize"))))
    with pytest.raises(UserError, match="has no MCP messages") as caught:
        Imported(path)
    assert "Handshakes, lists and notifications" in caught.value.details.detail


def test_names_are_bounded_and_a_number_sign_does_not_divide_them(tmp_path: Path) -> None:
    imported = written(tmp_path / "x.jsonl", spans(span(), service=f"a#b{HOSTILE}"))
    (server,) = imported.servers
    assert server.name.startswith("a-b")
    assert len(server.name) <= 200


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda each: (
        st.lists(each, max_size=2) | st.dictionaries(st.text(max_size=5), each, max_size=2)
    ),
    max_leaves=4,
)
MEMBERS = st.sampled_from(
    ["spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes", "status"]
)


@hypothesis.settings(max_examples=40)
@hypothesis.given(odd=st.dictionaries(MEMBERS, ANY, max_size=3))
def test_odd_spans_are_read_or_refused(odd: dict[str, Any]) -> None:
    try:
        batch = decode_batch(json.dumps(spans({**span(), **odd})).encode(errors="replace"))
    except ValueError:
        return
    for message in SpanMessages(lambda *_: None).of(batch):
        assert json.loads(message.raw)["jsonrpc"] == "2.0"
