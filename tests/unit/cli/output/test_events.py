"""One event per line, in wire order, with exact values: what scripts rely on."""

import math
from pathlib import Path

import pytest

from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.output.events import pace
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.tracker.snapshot import Failure, JobState
from tests.job_stand_ins import job
from tests.unit.cli.outcomes import outcome
from tests.unit.cli.traffic import notice, tick
from tests.unit.cli.witness import Witness


@pytest.fixture
def witness() -> Witness:
    return Witness()


def test_a_call_is_reported_from_request_to_result(witness: Witness) -> None:
    traffic, events = witness.traffic, witness.events
    events.on_update(traffic.called("a"))
    traffic.now = 100.5
    events.on_update(traffic.received(tick("a", 1, total=2, message="half"), tick("a", 2, total=2)))
    traffic.now = 101.25
    events.on_update(traffic.received(b'{"jsonrpc":"2.0","id":7,"result":{"n":1.50}}'))
    request, first, second, result = witness.read()
    assert request == {
        "event": "request",
        "t": 0.0,
        "job": 1,
        "attempt": 1,
        "id": 7,
        "method": "tools/call",
        "token": "a",
    }
    assert first == {
        "event": "progress",
        "t": 0.5,
        "job": 1,
        "token": "a",
        "progress": 1,
        "total": 2,
        "message": "half",
        "rate": None,
        "eta_s": None,
        "eta_span_s": None,
        "count": 1,
    }
    assert (second["progress"], second["message"], second["count"]) == (2, None, 2)
    assert result == {
        "event": "result",
        "t": 1.25,
        "job": 1,
        "result": {"n": 1.5},
        "duration_s": 1.25,
        "ticks": 2,
    }


def test_the_result_is_spliced_with_every_digit(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called())
    exact = '{ "a" : 1.00, "b": 0.1234567890123456789, "c": 1E400}'
    line = f'{{"jsonrpc":"2.0","id":7,"result":{exact}}}\r'
    witness.events.on_update(witness.traffic.received(line.encode()))
    assert f'"result":{exact},' in witness.text


def test_progress_and_the_result_of_one_chunk_keep_their_order(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    answer = {"jsonrpc": "2.0", "id": 7, "result": {}}
    witness.events.on_update(witness.traffic.received(tick("a", 1), answer, tick("a", 2)))
    assert [event["event"] for event in witness.read()] == [
        "request",
        "progress",
        "result",
        "progress",
    ]
    assert witness.last()["late"] is True


@pytest.mark.parametrize("token", ["a", 'é"\n\x1b', 0, -(2**70), ""])
def test_tokens_come_as_they_are(witness: Witness, token: object) -> None:
    witness.events.on_update(witness.traffic.called(token))
    witness.events.on_update(witness.traffic.received(tick(token, 1)))
    request, progress = witness.read()
    assert request["token"] == progress["token"] == token
    assert progress["job"] == 1


@pytest.mark.parametrize("number", [0, -3, 0.1, 2**80, 1e300, 1.0])
def test_numbers_come_as_they_are(witness: Witness, number: float) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    witness.events.on_update(witness.traffic.received(tick("a", number, total=number)))
    found = witness.last()
    assert found["progress"] == found["total"] == number
    assert type(found["progress"]) is type(number)


def test_progress_that_breaks_rules_is_reported_with_its_errors(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    witness.events.on_update(
        witness.traffic.received(
            tick("a", "three", total=True, message=7), tick("?", 1), tick([1], 1)
        )
    )
    wrong, stray, listed = witness.read()[1:]
    assert (wrong["job"], wrong["progress"], wrong["total"], wrong["message"]) == (
        1,
        None,
        None,
        None,
    )
    assert wrong["problems"]
    assert (stray["job"], stray["token"], stray["count"]) == (None, "?", 0)
    assert (listed["job"], listed["token"]) == (None, [1])


@pytest.mark.requirement("FR-10")
@pytest.mark.parametrize(
    ("ticks", "error"),
    [
        ([(5, 10), (3, 10)], "Progress did not increase: 3 after 5"),
        ([(5, 10), (5, 10)], "Progress did not increase: 5 after 5"),
        ([(11, 10)], "Progress exceeds its total: 11 of 10"),
        ([(1, 10), (2, 20)], "Total changed: 20 after 10"),
        ([(1, 0)], "Total is not positive: 0"),
    ],
)
def test_progress_that_does_not_fit_what_came_before_is_reported_so(
    witness: Witness, ticks: list[tuple[int, int]], error: str
) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    lines = [tick("a", progress, total=total) for progress, total in ticks]
    witness.events.on_update(witness.traffic.received(*lines))
    *good, bad = witness.read()[1:]
    assert bad["problems"] == [error]
    assert not any("problems" in event for event in good)


def test_progress_after_the_end_is_late_and_says_how_late(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    witness.events.on_update(witness.traffic.received({"jsonrpc": "2.0", "id": 7, "result": {}}))
    witness.traffic.now += 2
    witness.events.on_update(witness.traffic.received(tick("a", 1)))
    late = witness.last()
    assert (late["job"], late["late"]) == (1, True)
    assert late["problems"] == ["Progress received 2.0 s after the job ended (Done)"]


def test_progress_of_nobody_says_that_it_is(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.received(tick("?", 1), tick([1], 1)))
    stray, listed = witness.read()
    assert stray["problems"] == ["The progress token does not belong to any request"]
    assert listed["problems"][-1] == "The progress token does not belong to any request"
    assert len(listed["problems"]) == 2


def test_each_error_of_one_message_is_reported_once(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    message = 'a "; " in it'
    witness.events.on_update(
        witness.traffic.received(tick("a", 5), tick("a", 5, total=message, message=7))
    )
    errors = witness.last()["problems"]
    assert len(errors) == 3
    assert "; " in errors[0]
    assert errors[2] == "Progress did not increase: 5 after 5"


def test_a_message_longer_than_facts_keep_is_whole(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    message = "é" * 10_000
    witness.events.on_update(witness.traffic.received(tick("a", 1, message=message)))
    assert witness.last()["message"] == message


def test_rate_and_time_left_are_reported_once_known(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    for second in range(1, 11):
        witness.traffic.now += 1.0
        witness.events.on_update(witness.traffic.received(tick("a", second, total=20)))
    assert witness.last()["rate"] == pytest.approx(1.0, rel=0.01)
    assert witness.last()["eta_s"] == pytest.approx(10.0, rel=0.05)


def test_an_unending_wait_is_null(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    for second in range(1, 11):
        witness.traffic.now += 1.0
        witness.events.on_update(witness.traffic.received(tick("a", second, total=10**30)))
    assert witness.last()["eta_s"] is None
    assert witness.last()["rate"] is not None


def test_an_error_comes_with_the_servers_message(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called())
    error = b'{"code":-32602,"message":"no\\u0000","data":[1.0]}'
    witness.events.on_update(
        witness.traffic.received(b'{"jsonrpc":"2.0","id":7,"error":' + error + b"}")
    )
    found = witness.last()
    assert (found["event"], found["job"], found["where"]) == ("error", 1, "server")
    assert (found["code"], found["message"], found["data"]) == (-32602, "no\0", [1.0])


def test_an_answered_call_has_no_second_error(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called())
    answer = {"jsonrpc": "2.0", "id": 7, "result": {"isError": True}}
    witness.events.on_update(witness.traffic.received(answer))
    failure = Failure("server", "The tool failed")
    witness.events.show(outcome({"isError": True}, failure, JobState.FAILED))
    assert [event["event"] for event in witness.read()] == ["request", "result"]


def test_a_call_that_ended_without_reply_has_a_local_error(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called())
    failure = Failure("local", "Timed out", None, {"silent_s": 3})
    witness.events.show(outcome(None, failure, JobState.TIMED_OUT))
    found = witness.last()
    assert (found["event"], found["job"], found["where"]) == ("error", 1, "local")
    assert (found["code"], found["message"], found["data"]) == (None, "Timed out", {"silent_s": 3})


def test_the_refusal_of_a_cancelled_call_is_reported_once(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called())
    witness.traffic.cancelled()
    error = {"code": -32800, "message": "Request cancelled"}
    witness.events.on_update(witness.traffic.received({"jsonrpc": "2.0", "id": 7, "error": error}))
    failure = Failure("server", "Request cancelled", -32800)
    witness.events.show(outcome(None, failure, JobState.CANCELLED))
    found = witness.last()
    assert [event["event"] for event in witness.read()] == ["request", "error"]
    assert (found["where"], found["code"], found["late"]) == ("server", -32800, True)


def test_the_result_of_a_cancelled_call_does_not_hide_its_end(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called())
    witness.traffic.cancelled()
    witness.events.on_update(witness.traffic.received({"jsonrpc": "2.0", "id": 7, "result": {}}))
    failure = Failure("local", "Cancelled by the user")
    witness.events.show(outcome({}, failure, JobState.CANCELLED))
    assert [event["event"] for event in witness.read()] == ["request", "result", "error"]


def test_calls_that_are_left_are_reported_as_interrupted_and_no_others(witness: Witness) -> None:
    traffic, events = witness.traffic, witness.events
    for token, number in (("a", 7), ("b", 8), ("c", 9), ("d", 10)):
        events.on_update(traffic.called(token, number))
    error = {"code": 1, "message": "no"}
    events.on_update(traffic.received({"jsonrpc": "2.0", "id": 7, "result": {}}))
    events.on_update(traffic.received({"jsonrpc": "2.0", "id": 8, "error": error}))
    timed_out = outcome(None, Failure("local", "Timed out"), JobState.TIMED_OUT)
    events.show(timed_out._replace(job=3))
    reported = len(witness.read())
    events.leave()
    events.leave()
    (interrupted,) = witness.read()[reported:]
    del interrupted["t"]
    assert interrupted == {
        "event": "error",
        "job": 4,
        "where": "local",
        "code": None,
        "message": "Interrupted",
        "data": None,
    }


def test_a_second_reply_is_late(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called())
    answer = {"jsonrpc": "2.0", "id": 7, "result": {}}
    witness.events.on_update(witness.traffic.received(answer, answer))
    first, second = witness.read()[1:]
    assert "late" not in first
    assert second["late"] is True


def test_server_logs_stderr_and_the_end_are_events(witness: Witness) -> None:
    log = notice("notifications/message", level="info", logger="db", data={"rows": 1.0})
    witness.events.on_update(witness.traffic.received(log, notice("notifications/other")))
    witness.events.on_update(witness.traffic.stderr("wärn \x1b[31m".encode()))
    witness.events.on_update(witness.traffic.closed("the server exited", 3))
    logged, stderr, closed = witness.read()
    assert logged == {
        "event": "log",
        "t": 0.0,
        "level": "info",
        "logger": "db",
        "data": {"rows": 1.0},
    }
    assert stderr == {"event": "stderr", "t": 0.0, "line": "wärn \x1b[31m"}
    assert closed == {"event": "closed", "t": 0.0, "reason": "the server exited", "exit_code": 3}


def test_an_opening_is_reported_with_its_era(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.opened("2025-11-25"))
    assert witness.last() == {
        "event": "connected",
        "t": 0.0,
        "server": "demo",
        "protocolVersion": "2025-11-25",
        "era": "handshake",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "Demo"},
    }


def test_why_a_command_cannot_go_on_is_an_event_of_no_job(witness: Witness) -> None:
    error = ErrorDetails("No such tool", "server 'demo'", "Did you mean burst?")
    witness.events.fail(CommandFailed(ExitCode.USAGE, error))
    found = witness.last()
    assert (found["event"], found["job"], found["where"]) == ("error", None, "local")
    assert found["message"] == "No such tool (server 'demo')\nDid you mean burst?"


def test_the_summary_counts_jobs_and_frames(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called("a", 1))
    witness.events.on_update(witness.traffic.called("b", 2))
    witness.events.on_update(witness.traffic.received(tick("a", 1), b"garbage"))
    witness.events.close()
    found = witness.last()
    del found["t"]
    assert found == {
        "event": "summary",
        "jobs": 2,
        "findings": 1,
        "frames": 4,
        "unchecked": 0,
        "recording": None,
    }


_NO_CONTENT = {"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "txt", "text": "x"}]}}


def test_what_does_not_fit_the_official_schema_is_a_finding_as_any_other(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.opened("2025-11-25"))
    witness.events.on_update(witness.traffic.called("a"))
    witness.events.on_update(witness.traffic.received(_NO_CONTENT))
    assert len(witness.findings()) == 1
    witness.events.close()
    (found,) = witness.findings()
    assert (found["rule"], found["level"], found["job"]) == ("SCHEMA-1", "error", 1)
    assert found["text"].startswith("CallToolResult: result.content[0].type")
    assert witness.last()["findings"] == 1


def test_a_broken_rule_is_one_event_however_often_it_is_broken(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    witness.events.on_update(witness.traffic.received(tick("a", 5), tick("a", 5), tick("a", 4)))
    witness.events.on_update(witness.traffic.received(tick("a", 3)))
    witness.events.close()
    (found,) = witness.findings()
    assert (found["rule"], found["level"], found["job"]) == ("PROG-3", "error", 1)
    assert found["text"] == "Progress did not increase: 5 after 5"
    assert found["source"] == "2025-11-25, Basic, Utilities, Progress"
    assert found["by"] == "server"
    assert found["fix"]
    assert witness.last()["findings"] == 1


def test_a_note_has_the_level_info(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    witness.events.on_update(witness.traffic.received(tick("a", 5, total=4)))
    (found,) = witness.findings()
    assert (found["rule"], found["level"]) == ("PROG-10", "info")


def test_the_summary_names_the_recording(witness: Witness) -> None:
    witness.traffic.recorded_path = Path("/data/recordings/2026.mcprec")
    witness.events.close()
    assert witness.last()["recording"] == str(witness.traffic.recorded_path)


def test_a_flood_is_one_write_and_loses_nothing(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    flood = [tick("a", n, total=10_000, message=f"Step {n}") for n in range(10_000)]
    witness.events.on_update(witness.traffic.received(*flood))
    progress = witness.read()[1:]
    assert [event["progress"] for event in progress] == list(range(10_000))
    assert [event["count"] for event in progress] == list(range(1, 10_001))


def test_a_warning_goes_to_standard_error_in_safe_text(witness: Witness) -> None:
    witness.events.warn(ErrorDetails("Full \x1b", "/here", "Free some space"))
    assert witness.text == ""
    assert witness.said == "Full \\x1b (/here)\nFree some space\n"


def test_a_time_left_that_is_not_sure_has_a_span() -> None:
    members = pace(job(eta_s=200.0, eta_span_s=(150.0, 290.0)))
    assert members == '"rate":12.0,"eta_s":200.0,"eta_span_s":[150.0,290.0]'
    assert pace(job(eta_s=math.inf)).endswith('"eta_s":null,"eta_span_s":null')


def test_a_silent_call_is_reported_every_fifteen_seconds(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    for second, count in ((114.0, 0), (115.5, 1), (130.5, 2)):
        witness.traffic.now = second
        witness.events.report_silent()
        silent = [each for each in witness.read() if each["event"] == "silent"]
        assert len(silent) == count
    assert (silent[0]["job"], silent[0]["silent_s"]) == (1, 15.5)
    witness.events.on_update(witness.traffic.received(tick("a", 1)))
    witness.events.report_silent()
    assert witness.last()["event"] == "progress"
