"""HAR: our own comes back as it was; what others write is read as far as it makes sense."""

import json
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.exports.formats import HAR, ExportOptions, export_chunks
from mcp_progress_monitor.exports.options import FindingTexts
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.unit.imports.imported import Imported
from tests.unit.tap_http.tapped import (
    END,
    STREAM,
    Peer,
    Tapped,
    chunk,
    client,
    event,
    reply,
    request,
    response,
    rpc,
    server,
    tapped,
)

TICK = (
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}'
)
CALL = rpc("tools/call", 7, name="work", _meta={"progressToken": 7})


def exported(tap: Tapped, path: Path) -> Path:
    """The recording of a tap as HAR."""
    options = ExportOptions(HAR)
    made = export_chunks(tap.played(), options, Redaction(with_secrets=True), FindingTexts())
    path.write_bytes(b"".join(made))
    return path


async def test_a_session_exported_by_this_program_has_the_same_messages(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        while True:
            asked = await peer.message()
            if b"tools/call" in asked:
                comment = chunk(b": still there\n\n")
                await peer.write(STREAM + chunk(event(TICK, "e1")) + comment)
                await peer.write(chunk(event(reply(7), "e2")) + END)
            elif asked.startswith(b"GET"):
                await peer.write(STREAM + chunk(event(TICK)) + END)
            else:
                await peer.write(response(reply(0), "Mcp-Session-Id: s1"))

    async with server(serve) as url, tapped(url, tmp_path) as tap:
        for _ in range(2):
            async with client(tap.port) as peer:
                await peer.write(request(tap.port, rpc("initialize", 0)))
                await peer.message()
                await peer.write(request(tap.port, CALL, "Mcp-Session-Id: s1"))
                await peer.until(END)
                accept = "Accept: text/event-stream"
                await peer.write(request(tap.port, b"", accept, "Mcp-Session-Id: s1"))
                await peer.until(END)
    found = Imported(exported(tap, tmp_path / "ours.har"))
    marks = {0: ">", 1: "<"}
    original = [(f.connection, marks[f.channel], f.raw) for f in tap.frames if f.channel in marks]
    assert found.lines() == original
    names = [json.loads(raw)["event"] for _, _, raw in found.lines("*")]
    left_out = {"closed", "http_events"}  # a stream comes in one piece
    kept = [e["event"] for e in tap.events if e["event"] not in left_out]
    assert [name for name in names if name != "http_events"] == kept
    assert [job.state for job in found.jobs] == [JobState.DONE] * len(found.jobs)


async def test_a_legacy_session_comes_back_as_one_connection(tmp_path: Path) -> None:
    is_posted: list[bytes] = []

    async def serve(peer: Peer) -> None:
        asked = await peer.message()
        if asked.startswith(b"POST"):
            is_posted.append(asked)
            await peer.write(response(b"", status="202 Accepted"))
            return
        await peer.write(STREAM + chunk(b"event: endpoint\ndata: /messages?session_id=1\n\n"))
        await peer.rest()

    async with server(serve) as url, tapped(url, tmp_path) as tap, client(tap.port) as stream:
        await stream.write(request(tap.port, b"", "Accept: text/event-stream"))
        await stream.until(b"session_id=1\n\n")
        async with client(tap.port) as peer:
            line = "POST /messages?session_id=1 HTTP/1.1"
            await peer.write(request(tap.port, CALL, line=line))
            await peer.message()
    ours = json.loads(exported(tap, tmp_path / "ours.har").read_bytes())
    for entry in ours["log"]["entries"]:  # as another program would have written it
        del entry["_mcp"]
    ours["log"]["entries"].sort(key=lambda entry: entry["startedDateTime"])
    path = tmp_path / "others.har"
    path.write_text(json.dumps(ours).replace("session_id=***", "session_id=1"))
    found = Imported(path)
    assert {where for where, _, _ in found.lines("><*")} == {"127.0.0.1#1"}
    assert [raw for _, _, raw in found.lines()] == [CALL]


def entry(**changes: Any) -> dict[str, Any]:
    """An entry as it should be, but for some members."""
    return {
        "startedDateTime": "2026-01-01T00:00:00.000+01:00",
        "time": 12.5,
        "request": {
            "method": "POST",
            "url": "https://example.com/mcp",
            "headers": [],
            "postData": {"mimeType": "application/json", "text": CALL.decode()},
        },
        "response": {
            "status": 200,
            "headers": [{"name": "Content-Type", "value": "application/json"}],
            "content": {"mimeType": "application/json", "text": reply(7).decode()},
        },
        "timings": {"wait": 10, "receive": 2.5},
        **changes,
    }


def imported(path: Path, *entries: Any) -> Imported:
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    return Imported(path)


def test_a_time_with_a_zone_is_that_moment(tmp_path: Path) -> None:
    found = imported(tmp_path / "a.har", entry())
    assert found.frames[0].when == 1_767_222_000.0
    assert round(found.frames[-1].when - found.frames[0].when, 4) == 0.0125


def test_an_exchange_without_a_response_is_a_lost_call(tmp_path: Path) -> None:
    nothing = {"status": 0, "statusText": "", "headers": [], "content": {"size": 0}}
    found = imported(tmp_path / "a.har", entry(response=nothing))
    assert [job.state for job in found.jobs] == [JobState.LOST]


def test_a_stream_of_which_the_browser_kept_nothing_is_a_lost_call(tmp_path: Path) -> None:
    stream = {"status": 200, "headers": [], "content": {"mimeType": "text/event-stream", "size": 0}}
    found = imported(tmp_path / "a.har", entry(response=stream))
    assert [job.state for job in found.jobs] == [JobState.LOST]
    assert "Bodies of responses, which are not in the file (1)" in found.missing


def test_the_har_of_mcpsnoop_is_reported_from_its_log(tmp_path: Path) -> None:
    path = tmp_path / "a.har"
    call = {
        "startedDateTime": "2026-08-09T10:15:01Z",
        "request": {"method": "POST", "url": "mcp://files/tools/call/x", "headers": []},
        "response": {"status": 200, "content": {"mimeType": "application/json", "text": "{}"}},
    }
    creator = {"name": "mcpsnoop", "version": "0.9.0"}
    path.write_text(json.dumps({"log": {"version": "1.2", "creator": creator, "entries": [call]}}))
    with pytest.raises(UserError) as caught:
        Imported(path)
    assert "open its session log (.jsonl)" in caught.value.details.hint


def test_exchanges_that_overlap_are_in_the_order_of_their_times(tmp_path: Path) -> None:
    long = entry(time=5000, timings={"wait": 10, "receive": 4990})
    other = {**entry()["request"], "postData": {"text": rpc("ping", 8).decode()}}
    answer = {**entry()["response"], "content": {"text": reply(8).decode()}}
    late = entry(startedDateTime="2026-01-01T00:00:01+01:00", request=other, response=answer)
    found = imported(tmp_path / "a.har", long, late)
    said = [(mark, json.loads(raw)["id"]) for _, mark, raw in found.lines()]
    assert said == [(">", 7), (">", 8), ("<", 8), ("<", 7)]


def test_two_endpoints_of_a_host_are_two_servers(tmp_path: Path) -> None:
    second = {**entry()["request"], "url": "https://example.com/b/mcp"}
    found = imported(tmp_path / "a.har", entry(), entry(request=second))
    assert [server.name for server in found.servers] == ["example.com", "example.com/b/mcp"]


_ODD: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just([{}])
)


@hypothesis.given(
    changes=st.dictionaries(
        st.sampled_from(["startedDateTime", "time", "request", "response", "timings", "_mcp"]),
        _ODD
        | st.dictionaries(
            st.sampled_from(
                ["url", "method", "headers", "postData", "status", "content", "connection", "wait"]
            ),
            _ODD | st.just("https://example.com/mcp") | st.just("a#1"),
            max_size=6,
        ),
        max_size=6,
    )
)
@hypothesis.settings(
    max_examples=15, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
def test_no_entry_is_too_odd(changes: dict[str, Any], tmp_path: Path) -> None:
    found = imported(tmp_path / "a.har", entry(), entry(**changes))
    assert [raw for _, _, raw in found.lines()][:1] == [CALL]


@hypothesis.given(data=st.binary(max_size=300).filter(lambda data: b"]" not in data))
@hypothesis.settings(
    max_examples=15, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
def test_a_damaged_file_gives_a_clear_error(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.har"
    path.write_bytes(b'{"log": {"entries": [' + data)
    with pytest.raises(UserError) as caught:
        Imported(path)
    error = caught.value.details
    assert error.what == "The HAR file has no MCP messages"
    assert "The rest of the file, which cannot be read" in error.detail
