"""Sessions over HTTP as HAR: its structure, exact bodies, no secrets, only what was chosen."""

import base64
import datetime
import json
import tracemalloc
from typing import Any

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.exports import har
from mcp_progress_monitor.exports.formats import HAR, ExportOptions, export_chunks
from mcp_progress_monitor.exports.options import FindingTexts
from mcp_progress_monitor.exports.redaction import REMOVED, Redaction
from mcp_progress_monitor.filtering.filter import TrafficFilter
from tests.unit.exports.sessions import HttpSession, Session

TICK = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"prog-1",'
STREAM = (
    b": hello\r\n\r\nid: 0\r\ndata: \r\n\r\n"
    b"event: message\r\nid: 1\r\ndata: " + TICK + b'"progress":1}}\r\n\r\n'
    b"event: message\r\nid: 2\r\ndata: " + TICK + b'"progress":2}}\r\n\r\n'
    b'event: message\r\ndata: {"jsonrpc":"2.0",\r\ndata: "id":1,"result":{}}\r\n\r\n'
)


def a_call() -> HttpSession:
    """One call with a streamed reply."""
    session = HttpSession()
    made = session.called("export")
    exchange = session.posted(made)
    session.at = 0.1
    session.responded(exchange, "text/event-stream")
    session.streamed(exchange, STREAM)
    session.at = 0.3
    session.ended(exchange, len(STREAM))
    return session


def exported(
    session: Session, wish: ExportOptions | None = None, **options: bool
) -> dict[str, Any]:
    """The log of an export, checked for the structure of HAR 1.2."""
    made = export_chunks(session, wish or ExportOptions(HAR), Redaction(**options), FindingTexts())
    log: dict[str, Any] = json.loads(b"".join(made))["log"]
    assert log["version"] == "1.2"
    assert log["creator"].keys() >= {"name", "version"}
    for entry in log["entries"]:
        check_entry(entry)
    return log


def check_entry(entry: dict[str, Any]) -> None:
    """Check an entry against HAR 1.2: members that must be there, their types, sums of times."""
    moment = datetime.datetime.fromisoformat(entry["startedDateTime"])
    assert moment.tzinfo is not None
    timings = entry["timings"]
    assert timings.keys() >= {"send", "wait", "receive"}
    assert all(value >= 0 for value in timings.values())
    assert entry["time"] == pytest.approx(sum(timings.values()))
    assert entry["cache"] == {}
    request, response = entry["request"], entry["response"]
    for side in (request, response):
        assert isinstance(side["httpVersion"], str)
        assert isinstance(side["cookies"], list)
        assert all(set(pair) == {"name", "value"} for pair in side["headers"])
        assert all(isinstance(side[name], int) for name in ("headersSize", "bodySize"))
    assert isinstance(request["method"], str)
    assert isinstance(request["url"], str)
    assert all(set(pair) == {"name", "value"} for pair in request["queryString"])
    if "postData" in request:
        assert request["postData"].keys() >= {"mimeType", "text"}
    assert isinstance(response["status"], int)
    assert isinstance(response["statusText"], str)
    assert isinstance(response["redirectURL"], str)
    content = response["content"]
    assert isinstance(content["size"], int)
    assert isinstance(content["mimeType"], str)
    own = set(entry) - {"startedDateTime", "time", "request", "response", "cache", "timings"}
    assert own <= {"connection", "comment", "_mcp"}


def test_a_call_with_a_stream_is_one_entry_with_its_exact_body() -> None:
    (entry,) = exported(a_call())["entries"]
    request, response = entry["request"], entry["response"]
    assert response["content"]["text"].encode() == STREAM
    assert response["content"]["size"] == response["bodySize"] == len(STREAM)
    assert (response["status"], response["statusText"]) == (200, "OK")
    assert (request["method"], request["url"]) == ("POST", "http://127.0.0.1:8080/mcp")
    assert json.loads(request["postData"]["text"])["method"] == "tools/call"
    assert entry["timings"] == {"send": 0, "wait": 100.0, "receive": 200.0}
    assert entry["_mcp"] == {
        "connection": "remote#1",
        "server": "remote",
        "exchange": 1,
        "purpose": "message",
        "ended": "complete",
        "message": 1,
        "method": "tools/call",
        "requestId": 1,
        "progressToken": "prog-1",
    }
    assert "comment" not in entry


def test_bodies_of_exchanges_that_take_turns_are_kept_apart() -> None:
    session = HttpSession()
    first, second = session.posted(session.called("a")), session.posted(session.called("b", "p", 2))
    session.streamed(first, b"data: 1\n\n")
    session.streamed(second, b"data: 2\n\n")
    session.streamed(first, b"data: 3\n\n")
    session.came(second, b'[{"jsonrpc":"2.0","id":2,"result":{}}]')
    for exchange in (second, first):
        session.ended(exchange)
    two, one = exported(session)["entries"]
    assert one["response"]["content"]["text"] == "data: 1\n\ndata: 3\n\n"
    assert two["response"]["content"]["text"] == (
        'data: 2\n\n[{"jsonrpc":"2.0","id":2,"result":{}}]'
    )


def test_what_never_ended_is_there_and_says_so() -> None:
    session = HttpSession()
    session.posted(method="GET", purpose="listen")
    session.posted(session.called("export"))
    session.responded(2, "text/event-stream")
    session.at = 2.0
    session.streamed(2, b"data: 1\n\n")
    listen, call = exported(session)["entries"]
    assert listen["response"]["status"] == 0
    assert "postData" not in listen["request"]
    assert "still open" in listen["comment"]
    assert call["timings"]["receive"] == 2000.0
    assert call["response"]["bodySize"] == -1


def test_a_stream_that_broke_and_a_connection_that_closed_are_reported() -> None:
    session = HttpSession()
    session.ended(session.posted(session.called("export")), 0, "broken: reset")
    session.posted(session.called("export", "p", 2))
    session.closed("gone", None)
    broken, left = exported(session)["entries"]
    assert "broken: reset" in broken["comment"]
    assert "still open" in left["comment"]


def test_error_pages_and_redirects_are_reported() -> None:
    session = HttpSession()
    exchange = session.posted(session.called("export"))
    session.responded(
        exchange, "text/html", 307, headers=[["Location", "https://x.example/?api_key=hidden-one"]]
    )
    session.happened("http_body", exchange=exchange, text="<h1>", bytes=9000, is_cut=True)
    session.ended(exchange, 9000)
    (entry,) = exported(session)["entries"]
    assert entry["response"]["content"]["text"] == "<h1>"
    assert entry["response"]["content"]["size"] == 9000
    assert "8,996 bytes are omitted" in entry["response"]["content"]["comment"]
    assert entry["response"]["redirectURL"].startswith("https://x.example/?api_key=")
    assert "hidden-one" not in json.dumps(entry)


def test_a_body_that_is_no_text_is_in_base64() -> None:
    session = HttpSession()
    exchange = session.posted(session.called("export"))
    coded = base64.b64encode(b"\xff\xfe\x00").decode()
    session.happened("http_body", exchange=exchange, base64=coded, bytes=3)
    session.ended(exchange, 3)
    content = exported(session)["entries"][0]["response"]["content"]
    assert (content["encoding"], content["text"]) == ("base64", coded)


def test_secrets_are_taken_out_of_headers_bodies_and_addresses() -> None:
    session = HttpSession()
    made = session.called("login", password="hunter2-hunter2")
    exchange = session.posted(
        made,
        url="http://x/X9q8W7e6R5t4Y3u2/mcp?token=tok-in-url&page=2",
        headers=[["Mcp-Session-Id", "sess-1"], ["X-Page", "2"]],
    )
    session.streamed(exchange, b'data: {"jsonrpc":"2.0","id":1,"result":{"apiKey":"k-123"}}\n\n')
    session.ended(exchange)
    log = exported(session)
    text = json.dumps(log)
    for secret in ("hunter2-hunter2", "X9q8W7e6R5t4Y3u2", "tok-in-url", "sess-1", "k-123"):
        assert secret not in text
    (entry,) = log["entries"]
    assert {"name": "X-Page", "value": "2"} in entry["request"]["headers"]
    assert {"name": "Mcp-Session-Id", "value": REMOVED} in entry["request"]["headers"]
    assert {"name": "page", "value": "2"} in entry["request"]["queryString"]
    assert "Secrets" in log["comment"]
    kept = exported(session, with_secrets=True)
    for secret in ("hunter2-hunter2", "X9q8W7e6R5t4Y3u2", "tok-in-url", "sess-1", "k-123"):
        assert secret in json.dumps(kept)
    assert "comment" not in kept


def test_what_was_hidden_when_it_was_recorded_stays_hidden_and_is_reported() -> None:
    session = HttpSession()
    hidden = [["Authorization", "Bearer (hidden, 40 characters)"]]
    session.ended(session.posted(session.called("export"), headers=hidden))
    for with_secrets in (False, True):
        (entry,) = exported(session, with_secrets=with_secrets)["entries"]
        value = entry["request"]["headers"][0]["value"]
        assert value == "Bearer (hidden, 40 characters)"
        assert "were not recorded" in entry["comment"]


def test_a_filter_chooses_the_exchanges_of_its_messages() -> None:
    session = HttpSession()
    for identity, tool in enumerate(("good", "bad"), 1):
        exchange = session.posted(session.called(tool, f"p{identity}", identity))
        reply = b'{"jsonrpc":"2.0","id":%d,"%s":{"code":1,"message":"no"}}'
        session.came(exchange, reply % (identity, b"error" if tool == "bad" else b"result"))
        session.ended(exchange)

    def chosen(where: str, job: int | None = None) -> list[int]:
        entries = exported(session, ExportOptions(HAR, TrafficFilter(where), job))["entries"]
        return [entry["_mcp"]["exchange"] for entry in entries]

    assert chosen("kind == error") == [2]
    assert chosen("method == tools/call") == [1, 2]
    assert chosen('params.name == "good"') == [1]
    assert chosen("", 2) == [2]
    assert chosen("kind == stderr") == []
    assert chosen('kind == event and text contains "\\"exchange\\":1"') == [1]


def test_messages_to_servers_on_stdio_are_not_kept_until_the_end() -> None:
    session = HttpSession()
    session.ended(session.posted(session.called("good")))
    session.opened()
    for _ in range(5_000):
        session.reported("notifications/x", {})
    made = export_chunks(session, ExportOptions(HAR), Redaction(), FindingTexts())
    next(made)
    tracemalloc.start()
    try:
        for _ in made:
            pass
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 250_000


def test_a_session_without_http_has_none() -> None:
    session = Session()
    session.opened()
    with pytest.raises(UserError, match="Cannot export as HAR"):
        export_chunks(session, ExportOptions(HAR), Redaction(), FindingTexts())


def test_an_oversized_body_is_cut_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(har, "BODY_KEPT", 25)
    session = HttpSession()
    exchange = session.posted(session.called("export"))
    session.streamed(exchange, b"data: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n")
    session.ended(exchange, 36)
    content = exported(session)["entries"][0]["response"]["content"]
    assert content["text"] == "data: 1\n\ndata: 2\n\n"
    assert "18 bytes are omitted" in content["comment"]
    assert content["size"] == 36


def test_nonsense_in_a_recording_makes_sound_entries() -> None:
    session = HttpSession()
    session.happened("http_request", exchange="1", method="POST")
    session.happened("http_request", exchange=5, method=7, url=None, headers="x", message="y")
    session.happened("http_request", exchange=6, message=10**9, headers=[[1, 2], ["a"], None])
    session.happened("http_response", exchange=5, status="200", headers={"a": 1}, version=[])
    session.happened("http_body", exchange=5, base64="?", bytes="x", is_cut=True)
    session.happened("http_events", exchange=5, events="none")
    session.heard(b"{")
    session.happened("http_ended", exchange=5, bytes=-4, reason=None)
    session.happened("http_ended", exchange=99)
    five, six = exported(session)["entries"]
    assert five["response"]["status"] == 0
    assert "no longer in the recording" in six["comment"]
