"""What a judge makes of doubtful cases: races, probes, transports, repeated faults."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.checking.judge import SessionJudge
from mcp_progress_monitor.checking.results import MOST_RESULTS, Result
from mcp_progress_monitor.findings.finding import Level
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.frames import Channel, FactRun
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.recording.reader import RecordingReader
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.golden_sessions import (
    EXTENSION,
    Golden,
    Step,
    after,
    call,
    cancel,
    client,
    error,
    event,
    flat,
    http_request,
    post,
    recording,
    result,
    server,
    task,
    tick,
    tools,
)
from tests.unit.checking.sessions import check_file, judge_live, summary

D, E = "2025-11-25", "2026-07-28"
TASKS: dict[str, Any] = {"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}}


@pytest.fixture
def checked(tmp_path: Path) -> Any:
    """Checks a session of some steps after its opening."""

    def check(steps: list[Step], revision: str = D, **more: Any) -> list[Result]:
        path = tmp_path / "session.mcprec"
        golden = Golden("", revision, steps, [], **more)
        path.write_bytes(recording(golden, steps))
        return check_file(path)

    return check


def _rules(results: list[Result]) -> dict[str, Level]:
    return {each.rule: each.level for each in results}


def test_a_job_that_breaks_a_rule_again_and_again_is_one_finding(checked: Any) -> None:
    steps = [call(2, "a"), *(tick("a", 1) for _ in range(5)), result(2)]
    (found,) = checked([*steps])
    assert (found.rule, found.count, found.first, found.last) == ("PROG-3", 4, 7, 10)
    assert found.frames == [7, 8, 9, 10]
    assert (found.job, found.title, found.by) == (1, "work", Side.SERVER)


def test_two_jobs_that_break_a_rule_are_two_findings_with_one_fingerprint(checked: Any) -> None:
    steps = [
        *(call(2, "a"), tick("a", 1), tick("a", 1), result(2)),
        *(call(3, "b"), tick("b", 7), tick("b", 3), result(3)),
    ]
    first, second = checked(steps)
    assert (first.job, second.job) == (1, 2)
    assert first.fingerprint == second.fingerprint


def test_a_fingerprint_survives_other_ids_times_and_numbers(checked: Any) -> None:
    (before,) = checked([call(2, "a"), tick("a", 1), tick("a", 1), result(2)])
    more = [call(8, "z"), after(1, result(8)), call(9, "b"), tick("b", 50), after(2, tick("b", 3))]
    (now,) = checked([*more, tick("b", 60), result(9)])
    assert now.fingerprint == before.fingerprint
    (other,) = checked([call(2, "a", "other"), tick("a", 1), tick("a", 1), result(2)])
    assert other.fingerprint != before.fingerprint


@pytest.mark.parametrize(
    ("revision", "late_s", "level"),
    [(E, 0.4, Level.NOTE), (E, 3.0, Level.WARNING), (D, 0.4, Level.NOTE), (D, 3.0, Level.WARNING)],
)
def test_what_may_have_crossed_a_cancel_is_a_note_be_it_a_reply_or_progress(
    checked: Any, revision: str, late_s: float, level: Level
) -> None:
    begun = [call(2, "a"), tick("a", 1), cancel(2)]
    assert _rules(checked([*begun, after(late_s, result(2))], revision)) == {"CAN-3": level}
    assert _rules(checked([*begun, after(late_s, tick("a", 2))], revision)) == {"PROG-5": level}


def test_an_error_that_confirms_a_cancel_late_breaks_nothing(checked: Any) -> None:
    begun = [call(2, "a"), tick("a", 1), cancel(2)]
    for revision in (D, E):
        assert checked([*begun, after(3, error(2, -32800))], revision) == []


def test_progress_that_goes_on_after_a_cancel_has_not_crossed_it(checked: Any) -> None:
    begun = [call(2, "a"), tick("a", 1), cancel(2)]
    (found,) = checked([*begun, *(tick("a", n) for n in range(2, 11))])
    assert (found.rule, found.level, found.count) == ("PROG-5", Level.WARNING, 9)
    assert "crossed" not in found.finding.text
    (burst,) = checked([*begun, *(after(0.02, tick("a", n)) for n in range(2, 11))])
    assert (burst.rule, burst.level, burst.count) == ("PROG-5", Level.NOTE, 9)
    (after_ticks,) = (
        each
        for each in checked([*begun, *(tick("a", n) for n in range(2, 8)), result(2)])
        if each.rule == "CAN-3"
    )
    assert after_ticks.level is Level.WARNING


def test_progress_on_a_slow_line_crosses_a_cancel_for_longer(checked: Any) -> None:
    slow = [client("ping", 9), after(0.5, result(9, ok=True))]
    begun = [*slow, call(2, "a"), tick("a", 1), cancel(2)]
    opened = event("opened", command="example-server", args=[], env=[], pid=1)
    offer = {"protocolVersion": D, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    agreed = {"protocolVersion": D, "capabilities": {}, "serverInfo": offer["clientInfo"]}
    opening = [
        opened,
        client("initialize", 1, **offer),
        after(0.4, result(1, **agreed)),
        client("notifications/initialized"),
    ]
    ticks = [tick("a", n) for n in range(2, 9)]
    found = checked([*opening, *begun, *ticks], opening=False)
    assert _rules(found)["PROG-5"] is Level.NOTE


def test_progress_of_a_token_that_the_client_used_twice_is_no_fault_of_the_servers(
    checked: Any,
) -> None:
    found = checked(
        [
            *(call(2, "a"), call(3, "a")),
            *(tick("a", 1, 9), tick("a", 1, 9), tick("a", 2, 9), tick("a", 2, 9)),
            *(result(2), tick("a", 3, 9), result(3)),
        ]
    )
    assert {(each.rule, each.by) for each in found} == {("PROG-2", Side.CLIENT)}
    assert Level.ERROR in {each.level for each in found}


def test_a_token_used_again_after_its_request_is_judged_as_any_other(checked: Any) -> None:
    found = checked([call(2, "a"), result(2), call(3, "a"), tick("a", 1), tick("a", 1), result(3)])
    assert [(each.rule, each.by) for each in found] == [("PROG-3", Side.SERVER)]


@pytest.mark.parametrize(
    ("revision", "http", "levels"),
    [
        (D, False, {"null": Level.WARNING}),
        (D, True, {"null": Level.NOTE}),
        ("2025-06-18", False, {"null": Level.WARNING, "none": Level.WARNING}),
        ("2025-06-18", True, {"null": Level.NOTE}),
    ],
)
def test_an_error_for_what_could_not_be_read_has_no_id(
    checked: Any, revision: str, http: bool, levels: dict[str, Level]
) -> None:
    null = error(None, -32700)
    none = Step(null.channel, {name: v for name, v in null.value.items() if name != "id"})
    for name, step in (("null", null), ("none", none)):
        found = _rules(checked([step], revision, http=http))
        assert found == ({"JR-1": levels[name]} if name in levels else {})


def test_a_result_with_a_null_id_is_an_error(checked: Any) -> None:
    assert _rules(checked([result(None)])) == {"JR-1": Level.ERROR}


def test_an_error_that_confirms_a_cancel_is_no_finding(checked: Any) -> None:
    assert checked([call(2, "a"), cancel(2), after(0.2, error(2, -32800))]) == []


def test_a_cancel_that_crossed_the_reply_is_a_warning(checked: Any) -> None:
    assert _rules(checked([call(2, "a"), result(2), cancel(2)])) == {"CAN-1": Level.WARNING}


@pytest.mark.parametrize("code", [-32601, -32600, -32001, -32002, 0])
def test_how_an_older_server_refuses_our_question_is_no_finding(checked: Any, code: int) -> None:
    probe = client("server/discover", "probe", _meta={"io.modelcontextprotocol/protocolVersion": E})
    opened = event("opened", command="example-server", args=[], env=[], pid=1)
    offer = {"protocolVersion": D, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    agreed = {"protocolVersion": D, "capabilities": {}, "serverInfo": offer["clientInfo"]}
    rest = [
        client("initialize", 1, **offer),
        result(1, **agreed),
        client("notifications/initialized"),
    ]
    refusal = error("probe", code)
    assert checked([opened, probe, refusal, *rest], opening=False) == []
    nameless = Step(refusal.channel, {**refusal.value, "id": None})
    assert checked([opened, probe, nameless, *rest], opening=False) == []


def test_a_client_that_never_asks_for_progress_is_found_by_its_third_call(tmp_path: Path) -> None:
    steps = [call(2), result(2), call(3), result(3), call(4), result(4)]
    path = tmp_path / "session.mcprec"
    path.write_bytes(recording(Golden("", D, steps, []), steps))
    tracker, conversation = Tracker(), Conversation("example#1")
    judge = SessionJudge(tracker.job_of)
    found = [len(judge.results)]
    for chunk in RecordingReader(path):
        for frame in chunk.frames:
            facts = conversation.read([frame])
            judge.take([frame], facts, tracker.apply(facts, frame.at).marked)
            if b"tools/call" in frame.raw:
                found.append(len(judge.results))
    assert found == [0, 0, 0, 1]


def test_a_client_that_goes_on_without_tokens_is_one_finding_that_counts_its_calls(
    checked: Any,
) -> None:
    steps = [step for n in range(2, 8) for step in (call(n), result(n))]
    (found,) = checked([*steps, call(8, "a"), result(8)])
    assert (found.rule, found.count) == ("CLI-1", 4)
    assert "first 6 tool calls" in found.finding.text


def test_a_silence_is_found_while_it_lasts_and_counted_once(tmp_path: Path) -> None:
    steps = [call(2, "a"), after(5, tick("a", 1)), after(400, result(2))]
    path = tmp_path / "session.mcprec"
    path.write_bytes(recording(Golden("", D, steps, []), steps))
    (found,) = judge_live(path)
    assert (found.rule, found.count) == ("PROG-18", 1)
    assert found.finding.arguments[0] == 400
    assert summary([found]) == summary(check_file(path))


def test_the_judge_says_when_to_ask_what_time_has_shown(tmp_path: Path) -> None:
    steps = [call(2, "a")]
    path = tmp_path / "session.mcprec"
    path.write_bytes(recording(Golden("", D, steps, []), steps))
    tracker, conversation = Tracker(), Conversation("example#1")
    judge = SessionJudge(tracker.job_of)
    for chunk in RecordingReader(path):
        facts = conversation.read(chunk.frames)
        judge.take(chunk.frames, facts, tracker.apply(facts, chunk.frames[-1].at).marked)
    began = chunk.frames[-1].at
    assert judge.pass_time(began + 1) == began + 60
    assert not judge.results
    assert judge.pass_time(began + 61) == began + 180
    (found,) = judge.results
    assert (found.rule, found.first) == ("PROG-18", chunk.frames[-1].number)
    assert judge.pass_time(began + 2000) is None
    assert found.count == 1
    assert "Claude Code" in found.finding.text


def test_a_silence_that_only_the_end_of_the_connection_ends_is_found(checked: Any) -> None:
    ended = after(90, event("closed", reason="ended", wanted=True))
    assert "PROG-18" in _rules(checked([call(2, "a"), ended]))


@pytest.mark.parametrize(("late_s", "is_found"), [(5.0, False), (15.0, True)])
def test_the_creation_of_a_task_may_come_a_while_after_its_first_status(
    tmp_path: Path, late_s: float, *, is_found: bool
) -> None:
    steps = [
        call(2, task={"ttl": 60_000}),
        server("notifications/tasks/status", **task()),
        after(late_s, result(2, task=task())),
    ]
    path = tmp_path / "session.mcprec"
    path.write_bytes(recording(Golden("", D, steps, [], server=TASKS), steps))
    results = judge_live(path)
    assert bool(results) is is_found
    assert summary(results) == summary(check_file(path))


def test_our_own_user_may_leave_out_the_token(tmp_path: Path) -> None:
    steps = [step for n in (2, 3, 4) for step in (call(n), result(n))]
    path = tmp_path / "own.mcprec"
    data = recording(Golden("", D, steps, []), steps)
    path.write_bytes(data.replace(b'"example-client"', b'"mcp-progress-monitor"'))
    assert check_file(path) == []


def test_a_result_before_the_end_of_its_task_is_found_by_what_comes_later(checked: Any) -> None:
    related = {"io.modelcontextprotocol/related-task": {"taskId": "T"}}
    steps = [
        *(call(2, "a", task={"ttl": 60_000}), result(2, task=task())),
        *(client("tasks/result", 3, taskId="T"), result(3, content=[], _meta=related)),
        *(client("tasks/get", 4, taskId="T"), result(4, **task("working"))),
    ]
    (found,) = [r for r in checked(steps, server=TASKS) if r.rule == "TSK-8"]
    assert found.job == 1


def test_a_status_that_overtakes_the_creation_of_its_task_is_no_finding(checked: Any) -> None:
    status = server("notifications/tasks/status", **task())
    steps = [call(2, "a", task={"ttl": 60_000}), status, result(2, task=task())]
    assert checked(steps, server=TASKS) == []
    unknown = server("notifications/tasks/status", **task(identity="U"))
    assert _rules(checked([unknown], server=TASKS)) == {"TSK-11": Level.WARNING}


def test_a_client_that_asks_for_a_task_where_there_is_none_breaks_the_rule_itself(
    checked: Any,
) -> None:
    steps = [call(2, "a", task={"ttl": 60_000}), error(2, -32601)]
    (found,) = checked(steps)
    assert (found.rule, found.by) == ("TSK-1", Side.CLIENT)
    listed = [*tools(2), call(3, "a", task={"ttl": 60_000}), error(3, -32601)]
    (found,) = checked(listed, server=TASKS)
    assert "cannot run as one" in found.finding.text


def test_a_changed_tool_that_was_announced_is_a_note(checked: Any) -> None:
    announced = server("notifications/tools/list_changed")
    steps = [*tools(2), announced, *tools(3, "Works better")]
    declared = {"tools": {"listChanged": True}}
    assert _rules(checked(steps, server=declared)) == {"DRIFT-1": Level.NOTE}


def test_a_tool_that_changed_since_the_last_session_is_a_note(checked: Any) -> None:
    diff = "description:\n- Works.\n+ Works, and\x1b sends your files away."
    tools = [{"tool": "export", "diff": diff}, {"tool": "big", "diff": ""}, {"tool": "bad"}, 3]
    steps = [event("definitions_changed", tools=tools), event("definitions_changed", tools=3)]
    (found,) = checked(steps)
    assert (found.rule, found.level, found.by) == ("DRIFT-1", Level.NOTE, Side.SERVER)
    assert found.finding.text.isprintable()
    assert found.finding.text.endswith(
        'last session: "export" (description: - Works. + Works, and\\x1b sends your files away.);'
        ' "big" (too large to show)'
    )


def test_all_messages_about_a_task_are_about_its_job(checked: Any) -> None:
    wrong = task(createdAt="yesterday")
    steps = [
        *(call(2, "a", task={"ttl": 60_000}), result(2, task=wrong)),
        server("notifications/tasks/status", **wrong),
        *(client("tasks/get", 3, taskId="T"), result(3, **wrong)),
    ]
    (found,) = checked(steps, server=TASKS)
    assert (found.rule, found.job, found.count) == ("TSK-6", 1, 3)


def test_a_list_that_was_printed_is_no_batch(checked: Any) -> None:
    printed = Step(Channel.RECEIVED, "[1, 2]")
    assert _rules(checked([call(2, "a"), printed, result(2)])) == {"JR-2": Level.ERROR}


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
def test_progress_messages_are_judged_where_the_revision_has_them(
    checked: Any, revision: str
) -> None:
    levels = [
        _rules(checked([call(2, "a"), tick("a", 1, message=text), result(2)], revision))
        for text in ("\x07", "", 42)
    ]
    level = Level.NOTE if revision == "2024-11-05" else Level.WARNING
    assert [found["PROG-8"] for found in levels] == [level] * 3


def test_a_tool_with_a_wrong_header_mark_is_found_over_http(checked: Any) -> None:
    steps = tools(2)
    properties = {"n": {"type": "array", "x-mcp-header": "N"}}
    steps[1].value["result"]["tools"][0]["inputSchema"]["properties"] = properties
    listed = [*post(steps[0], 1), steps[1]]
    texts = [r.finding.text for r in checked(listed, E, http=True) if r.rule == "HDR-1"]
    assert len(texts) == 1
    assert texts[0].startswith('The tool "work" cannot be called over HTTP')


def test_a_missing_header_is_found(checked: Any) -> None:
    message, sent = post(call(2, "a"), 1)
    sent.value["headers"] = [["MCP-Protocol-Version", E], ["mcp-method", "tools/call"]]
    (found,) = checked([message, sent], E, http=True)
    assert (found.rule, found.finding.text) == ("HDR-1", "The header Mcp-Name is missing")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (-32002, "retired; 2026-07-28 uses -32602"),
        (-32042, "retired; 2026-07-28 uses input_required"),
        (-32020, ""),
        (-32022, ""),
        (-32023, "reserved range but not defined"),
        (-32099, "reserved range but not defined"),
        (-32100, "reserved range but not defined"),
        (-32768, "reserved range but not defined"),
        (-32769, ""),
        (-32700, ""),
        (-32019, ""),
        (-32000, ""),
        (1, ""),
    ],
)
def test_error_codes_of_2026_are_defined_or_free(checked: Any, code: int, expected: str) -> None:
    texts = [each.finding.text for each in checked([call(2, "a"), error(2, code)], E)]
    assert [expected in text for text in texts] == ([True] if expected else [])
    assert checked([call(2, "a"), error(2, code)], D) == []


def test_a_server_of_2026_that_asks_by_a_request_breaks_a_rule(checked: Any) -> None:
    found = checked([call(2, "a"), server("ping", "s1"), result(2)], E)
    assert _rules(found) == {"JR-4": Level.ERROR}


@pytest.mark.parametrize(
    ("token", "what"),
    [
        ("eyJhbGciOiJIUzI1NiJ9.eyJqb2IiOjd9.c2ln", "a JSON Web Token"),
        ("eyJqb2IiOjd9", "JSON in base64"),
        ("https://example.com/jobs/7", "an address"),
        (r"C:\jobs\7", "a path"),
        ("k3JxP9-_w", ""),
        ("7", ""),
    ],
)
def test_what_a_resume_token_gives_away(checked: Any, token: str, what: str) -> None:
    steps = [call(2, "a"), result(2, content=[], _meta={"nextResumeToken": token})]
    texts = [each.finding.text for each in checked(steps) if each.rule == "RSM-5"]
    assert texts == ([f"The resume token reads as {what}"] if what else [])


def test_only_tool_calls_may_return_extension_tasks(checked: Any) -> None:
    ask = client("prompts/get", 2, name="p")
    steps = [ask, result(2, resultType="task", **flat())]
    assert "TSK-13" in _rules(checked(steps, E, client=EXTENSION))


def test_results_are_bounded_and_the_rest_is_counted() -> None:
    judge = SessionJudge(lambda _request: None)
    connection = judge.connection("s#1")
    from mcp_progress_monitor.checking.connection import Evidence
    from mcp_progress_monitor.findings import rules
    from mcp_progress_monitor.findings.finding import Finding

    for number in range(MOST_RESULTS + 3):
        other = judge.connection(f"s#{number}")
        judge.state(other, Evidence(Finding(rules.BLANK_LINE), number, None, Side.SERVER))
    assert (len(judge.results), judge.results.dropped) == (MOST_RESULTS, 3)
    assert connection.id == "s#1"


def test_however_chunks_are_cut_the_results_are_the_same(tmp_path: Path) -> None:
    flood = [after(0.001, tick("a", n, message=f"Step {n}")) for n in range(200)]
    steps = [call(2, "a"), *flood, tick("a", 3, message="\x07"), result(2)]
    path = tmp_path / "flood.mcprec"
    path.write_bytes(recording(Golden("", D, steps, []), steps))
    results = check_file(path)
    assert {each.rule for each in results} == {"PROG-3", "PROG-8", "PROG-9"}
    assert summary(judge_live(path)) == summary(results)


def test_a_stream_that_the_client_closes_cancels_without_a_message(tmp_path: Path) -> None:
    steps = [call(2, "a"), tick("a", 1), event("stream_closed", request=5, reason="enough")]
    path = tmp_path / "closed.mcprec"
    path.write_bytes(recording(Golden("", D, steps, []), steps))
    assert "SCHEMA-1" not in {each.rule for each in check_file(path)}


@pytest.mark.parametrize("message", ["", "   ", "\u3000", "\t\n", "\x1b[32m", None, "a b"])
@pytest.mark.parametrize("is_run", [True, False])
def test_a_message_is_judged_in_a_run_as_by_itself(message: str | None, *, is_run: bool) -> None:
    framer, conversation = Framer("s#1", FrameNumbers()), Conversation("s#1")
    tracker = Tracker()
    judge = SessionJudge(tracker.job_of)
    called = framer.sent(json.dumps(call(1, "a").value).encode(), 1000.0, 1.0)
    texts = ["one", "two", message, *map(str, range(4, 10))]
    ticks = [
        json.dumps(tick("a", n, message=each).value).encode() for n, each in enumerate(texts, 1)
    ]
    frames = framer.run(ticks, 1001.5, 2.5)
    for chunk in ([called], frames):
        facts = conversation.read(chunk)
        if not is_run:
            facts = FactRun((), list(facts), [0] * len(facts))
        judge.take(chunk, facts, tracker.apply(facts, 2.5).marked)
    found = [(r.rule, r.count) for r in judge.results]
    assert found == ([] if message in {None, "a b"} else [("PROG-8", 1)])


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({}, {}),
        ({"MCP-Protocol-Version": ""}, {"HDR-2": Level.ERROR}),
        ({"MCP-Protocol-Version": "2025-06-18"}, {"HDR-2": Level.WARNING}),
        ({"Accept": ""}, {"HDR-2": Level.ERROR}),
        ({"Accept": "text/event-stream;q=0.9"}, {"HDR-2": Level.ERROR}),
        ({"Accept": "text/*, application/json"}, {}),
        ({"Accept": "*/*"}, {}),
    ],
)
def test_the_headers_of_a_session_over_http_are_the_clients(
    checked: Any, headers: dict[str, str], found: dict[str, Level]
) -> None:
    posted = post(call(2), 1, revision=D, **headers)
    results = checked([*posted, result(2)], http=True)
    assert _rules(results) == found
    assert {each.by for each in results} <= {Side.CLIENT}


def test_the_version_header_is_due_since_the_revision_that_has_it(checked: Any) -> None:
    for revision in ("2025-03-26", "2025-06-18"):
        posted = post(call(2), 1, revision=revision, **{"MCP-Protocol-Version": ""})
        found = _rules(checked([*posted, result(2)], revision, http=True))
        assert found == ({} if revision == "2025-03-26" else {"HDR-2": Level.ERROR})


def test_requests_to_listen_and_to_end_the_session_have_headers_too(checked: Any) -> None:
    stream, version = ["Accept", "text/event-stream"], ["MCP-Protocol-Version", D]
    good = [http_request("GET", 1, [stream, version], "listen")]
    good += [http_request("DELETE", 2, [version], "end")]
    assert checked(good, http=True) == []
    bad = [http_request("GET", 1, [["Accept", "application/json"], version], "listen")]
    bad += [http_request("DELETE", 2, [["Accept", "*/*"]], "end")]
    (found,) = checked(bad, http=True)
    assert (found.rule, found.count) == ("HDR-2", 2)


def test_requests_to_other_places_need_no_headers_of_mcp(checked: Any) -> None:
    headers = [["Accept", "application/json"]]
    steps = [http_request("GET", 1, headers, purpose) for purpose in ("auth", "other", "probe")]
    assert checked(steps, http=True) == []


def test_a_session_over_http_and_sse_has_no_headers_of_the_new_transport(checked: Any) -> None:
    opened = event("opened", url="https://x/sse", transport="sse", env=[], pid=1)
    info = {"name": "c", "version": "1"}
    agreed = {"protocolVersion": D, "capabilities": {"tools": {}}, "serverInfo": info}
    offer = {"protocolVersion": D, "capabilities": {}, "clientInfo": info}
    bare = {"MCP-Protocol-Version": "", "Accept": "", "User-Agent": "x"}
    steps = [
        opened,
        *(client("initialize", 1, **offer), result(1, **agreed)),
        client("notifications/initialized"),
        *post(call(2), 1, revision=D, **bare),
        result(2),
    ]
    (found,) = checked(steps, opening=False)
    assert (found.rule, found.level, found.by) == ("DEP-1", Level.NOTE, Side.CLIENT)


def test_a_server_that_only_has_the_old_transport_uses_what_is_deprecated(checked: Any) -> None:
    changed = event("transport_changed", transport="sse", reason="The server answered 405")
    bare = {"MCP-Protocol-Version": "", "Accept": "application/json"}
    steps = [changed, *post(call(2), 1, revision=D, **bare), result(2)]
    (found,) = checked(steps, http=True)
    assert (found.rule, found.level, found.by) == ("DEP-1", Level.NOTE, Side.SERVER)


def test_a_client_that_asks_for_log_messages_uses_what_is_deprecated_as_the_server_does(
    checked: Any,
) -> None:
    asked = call(2, _meta={"io.modelcontextprotocol/logLevel": "info"})
    logged = server("notifications/message", level="info", data="x")
    assert [each.by for each in checked([asked, result(2)], E)] == [Side.CLIENT]
    assert {each.by for each in checked([asked, logged, result(2)], E)} == set(Side)
    assert checked([asked, result(2)], D, client={}) == []
