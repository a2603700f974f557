"""Ticks as rows of a spreadsheet, which calculates none of them."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.exports.frames import chosen, rows_of_kind
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.exports.ticks import (
    COLUMNS,
    TickMembers,
    TicksCsv,
    read_tick,
    safe_cell,
    tick_of,
)
from mcp_progress_monitor.protocol.frames import Channel, Frame, FrameKind
from mcp_progress_monitor.recording.index import FrameSource
from tests.unit.exports.sessions import Session


def _rows(session: Session, job: int | None = None) -> list[dict[str, str]]:
    requests = None if job is None else session.jobs.requests_of(job)
    made = b"".join(TicksCsv(session, Redaction()).lines(chosen(session, requests=requests)))
    return list(csv.DictReader(io.StringIO(made.decode(), newline="")))


def _counting() -> Session:
    session = Session()
    session.called("export")
    for n in range(1, 4):
        session.at = n * 0.5
        session.ticked(n * 10, total=40, message=f"row {n}")
    return session


def test_each_tick_is_a_row_with_what_changed_since_the_one_before() -> None:
    first, second, third = _rows(_counting())

    assert tuple(first) == COLUMNS
    assert (first["name"], first["server"], first["token"]) == ("export", "local-db", "prog-1")
    assert (first["n"], first["dt"], first["dprogress"], first["rate"]) == ("1", "", "", "")
    assert (second["n"], second["dt"], second["dprogress"], second["rate"]) == (
        "2",
        "0.5",
        "10",
        "20.0",
    )
    assert (third["progress"], third["total"], third["percent"]) == ("30", "40", "75.0")
    assert (third["message"], third["at"]) == ("row 3", "1.500000")


def test_every_tick_is_there_and_not_only_those_a_job_keeps() -> None:
    session = Session()
    session.called("export")
    for n in range(2_000):
        session.ticked(n + 1)
    detail = session.jobs.detail(session.jobs.ids()[0])

    assert detail is not None
    assert len(detail.ticks) < 2_000
    assert len(_rows(session)) == 2_000


def test_one_job_alone_when_asked_for_and_each_counted_for_itself() -> None:
    session = _counting()
    session.called("other", "prog-2", 2)
    session.ticked(5, "prog-2")
    session.ticked(40)
    one, other = session.jobs.ids()

    assert [row["n"] for row in _rows(session)] == ["1", "2", "3", "1", "4"]
    assert [row["token"] for row in _rows(session, other)] == ["prog-2"]
    assert len(_rows(session, one)) == 4


def test_a_tick_of_no_job_has_no_job() -> None:
    session = Session()
    session.ticked(1, "nobody's")

    assert [(row["job"], row["token"], row["n"]) for row in _rows(session)] == [
        ("", "nobody's", "1")
    ]


def test_numbers_of_a_wrong_kind_are_left_empty() -> None:
    session = Session()
    session.called("export")
    session.heard(
        b'{"jsonrpc":"2.0","method":"notifications/progress",'
        b'"params":{"progressToken":"prog-1","progress":"7","total":true,"message":5}}'
    )
    (row,) = _rows(session)

    assert (row["progress"], row["total"], row["percent"], row["message"]) == ("", "", "", "")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        (" =1", "' =1"),
        ("\t=1", "'\t=1"),
        ("1+1", "1+1"),
        ("a\x00b", "a\\x00b"),
    ],
)
def test_a_spreadsheet_takes_no_text_for_a_formula(text: str, shown: str) -> None:
    session = Session()
    session.called("export")
    session.ticked(1, message=text)

    assert safe_cell(text) == shown
    assert _rows(session)[0]["message"] == shown


def test_negative_numbers_stay_numbers() -> None:
    session = _counting()
    session.ticked(-5)
    last = _rows(session)[-1]

    assert (last["progress"], last["dprogress"]) == ("-5", "-35")


def test_secrets_in_messages_are_taken_out() -> None:
    session = _counting()
    session.ticked(35, message="using password=hunter2")

    assert _rows(session)[-1]["message"] == "using password=(removed)"


_NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(
    st.fixed_dictionaries(
        {"progressToken": _TEXTS | st.integers(), "progress": _NUMBERS},
        optional={"total": _NUMBERS, "message": _TEXTS, "_meta": st.just({"a": 1})},
    ),
    st.booleans(),
)
def test_a_plain_tick_is_read_as_any_other(params: dict[str, Any], is_spaced: bool) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    raw = json.dumps(message, separators=(", ", ": ") if is_spaced else (",", ":")).encode()
    source = FrameSource("s#1", Channel.RECEIVED)
    frame = Frame(1, "s#1", Channel.RECEIVED, 2.0, 2.0, raw)
    slow = tick_of(frame)
    fast = read_tick(raw, source)

    assert repr(fast) == repr(TickMembers(slow.token, slow.progress, slow.total, slow.message))


def test_no_more_is_read_at_once_than_memory_allows() -> None:
    session = Session()
    session.called("export")
    for n in range(12):
        session.ticked(n + 1, message="x" * 300_000)
    places = range(session.timeline.first, session.timeline.end)
    groups = [rows for _, rows in rows_of_kind(session.timeline, places, FrameKind.PROGRESS)]

    assert [len(rows) for rows in groups] == [3, 3, 3, 3]
    assert [row for rows in groups for row in rows] == sorted(
        row for rows in groups for row in rows
    )


def test_of_some_places_only_the_ticks_among_them_are_rows() -> None:
    session = _counting()
    ticks = [
        row + segment.first
        for segment, rows in rows_of_kind(
            session.timeline, range(session.timeline.end), FrameKind.PROGRESS
        )
        for row in rows
    ]
    some = [0, *ticks[1:]]
    found = [rows for _, rows in rows_of_kind(session.timeline, some, FrameKind.PROGRESS)]

    assert len(ticks) == 3
    assert sum(map(len, found)) == 2
    assert list(rows_of_kind(session.timeline, [], FrameKind.PROGRESS)) == []
