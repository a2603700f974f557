"""One JSON object for each frame."""

import base64
import json
from collections.abc import Collection
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.exports.frames import chosen
from mcp_progress_monitor.exports.jsonl import JsonLines
from mcp_progress_monitor.exports.options import UNKNOWN, FindingTexts
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.formatting import iso
from tests.unit.exports.sessions import Session


def _rows(
    session: Session, *, with_secrets: bool = False, requests: Collection[int] | None = None
) -> list[dict[str, Any]]:
    marks = FindingTexts()
    for update in session.updates:
        marks.add(update.changes.marked)
    made = JsonLines(session, Redaction(with_secrets=with_secrets), marks)
    lines = b"".join(made.lines(chosen(session, requests=requests))).splitlines()
    assert made.count == len(lines)
    return [json.loads(line) for line in lines]


def test_a_row_tells_all_that_is_known_of_a_frame() -> None:
    session = Session()
    session.opened()
    request = session.called("export", request_id=5, n=3)
    session.at = 1.5
    session.ticked(1, total=2)
    session.at = 2.25
    session.answered({"content": []}, request_id=5)
    session.printed("bye")
    opened, asked, tick, reply, stderr = _rows(session)

    assert (opened["channel"], opened["kind"], opened["job"]) == ("event", "event", None)
    assert (asked["number"], asked["id"], asked["method"]) == (request, 5, "tools/call")
    assert asked["token"] == tick["token"] == reply["token"] == "prog-1"
    assert asked["job"] == tick["job"] == reply["job"] == session.jobs.ids()[0]
    assert (tick["kind"], tick["id"], tick["at"], tick["duration"]) == ("progress", None, 1.5, None)
    assert (reply["id"], reply["duration"], reply["request"]) == (5, 2.25, request)
    assert (stderr["text"], stderr["channel"], stderr["size"]) == ("bye", "stderr", 3)
    assert tick["time"].endswith("Z")
    assert json.loads(tick["text"])["params"]["progress"] == 1


def test_tokens_keep_their_types() -> None:
    session = Session()
    session.called("a", 7, 1)
    session.called("b", "7", 2)

    assert [row["token"] for row in _rows(session)] == [7, "7"]


def test_a_message_that_breaks_a_rule_says_which() -> None:
    session = Session()
    session.called("a")
    session.ticked(2)
    session.ticked(1)
    rows = _rows(session)

    assert [row["mark"] is None for row in rows] == [True, True, False]
    assert "1" in rows[2]["mark"]


def test_a_reason_that_is_no_longer_kept_is_said_to_be_gone() -> None:
    assert FindingTexts().of(5) == UNKNOWN


def test_a_batch_and_its_elements_are_reported_apart() -> None:
    session = Session()
    session.heard(b'[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]')

    assert [row["batch"] for row in _rows(session)] == [None, [1, 2], [2, 2]]


def test_secrets_are_taken_out_and_it_is_reported_where() -> None:
    session = Session()
    session.called("login", password="hunter2")
    session.called("other", "prog-2", 2)
    rows, exact = _rows(session), _rows(session, with_secrets=True)

    assert [row["redacted"] for row in rows] == [True, False]
    assert "hunter2" not in rows[0]["text"]
    assert [row["redacted"] for row in exact] == [False, False]
    assert "hunter2" in exact[0]["text"]


def test_only_the_frames_of_one_job_when_asked_for() -> None:
    session = Session()
    session.called("a")
    session.called("b", "prog-2", 2)
    session.ticked(1, "prog-2")
    session.ticked(1)
    requests = session.jobs.requests_of(session.jobs.ids()[1])

    assert [row["token"] for row in _rows(session, requests=requests)] == ["prog-2", "prog-2"]


@given(st.lists(st.binary(max_size=40).filter(lambda raw: b"\n" not in raw), max_size=5))
def test_with_secrets_every_byte_comes_back(lines: list[bytes]) -> None:
    session = Session()
    for line in lines:
        session.printed(line)
        session.heard(line)
    found = [
        base64.b64decode(row["text"]) if row["encoding"] == "base64" else row["text"].encode()
        for row in _rows(session, with_secrets=True)
        if row["batch"] is None
    ]

    assert found == [line for line in lines for _ in range(2)]


@given(st.binary(max_size=40).filter(lambda raw: b"\n" not in raw))
def test_every_line_is_one_object_whatever_the_bytes(raw: bytes) -> None:
    session = Session()
    session.heard(raw)

    assert _rows(session)[0]["size"] == len(raw)


def test_a_time_beyond_the_calendar_is_unknown() -> None:
    assert iso(1e18) is None
    assert iso(0.5) == "1970-01-01T00:00:00.500000Z"
