"""Ticks as rows of a spreadsheet, which calculates none of them."""

from __future__ import annotations

import csv
import io

import pytest

from mcp_progress_monitor.exports.frames import chosen
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.exports.ticks import COLUMNS, TicksCsv, safe_cell
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
    ("words", "shown"),
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
def test_a_spreadsheet_takes_no_text_for_a_formula(words: str, shown: str) -> None:
    session = Session()
    session.called("export")
    session.ticked(1, message=words)

    assert safe_cell(words) == shown
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
