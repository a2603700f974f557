"""What a reader points at becomes a filter that finds it."""

from typing import Any

import pytest

from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.filtering.search import Search, compiled
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.gui.traffic.filtering import (
    cell_term,
    job_term,
    request_term,
    task_term,
    token_term,
    value_term,
)
from mcp_progress_monitor.protocol.frames import Channel, Frame
from tests.gui.traffic.session import TrafficSession

_ODD = 'an "odd" name\\'


def _found(session: TrafficSession, text: str) -> list[int]:
    """The places that a filter lets through."""
    predicate = compiled(TrafficFilter(text), session.timeline, _no_requests)
    search = Search(session.timeline, predicate)
    found: list[int] = []
    while search.left:
        found += search.run(1.0)
    return found


def _no_requests(_job: int) -> set[int]:
    return set()


def _frame(session: TrafficSession, place: int) -> Frame:
    one = session.timeline.frame(place)
    assert one is not None
    return one


@pytest.mark.parametrize(
    ("keys", "value", "term"),
    [
        (("params", "arguments", "n"), 5, "params.arguments.n == 5"),
        (("params", "arguments", "n"), "5", 'params.arguments.n == "5"'),
        (("result", "content", 0, "text"), "a b", 'result.content[0].text == "a b"'),
        (("params", "ok"), True, "params.ok == true"),
        (("params", "none"), None, "params.none == null"),
        (("params", "x.y"), 1.5, 'params["x.y"] == 1.5'),
        (("params", "progressToken"), 7, "token == 7"),
        (("params", "_meta", "progressToken"), "7", 'token == "7"'),
        (("id",), 3, "id == 3"),
        (("method",), "tools/call", "method == tools/call"),
        (("result", "task", "taskId"), "t", "task == t"),
        (("event",), "opened", "opened"),
        ((0, "id"), 12, "12"),
        (("params", "n"), float("inf"), ""),
        pytest.param(("params", "n"), 10**5_000, "", id="more digits than Python writes"),
        (("x",), "", ""),
    ],
)
def test_a_value_of_a_message_is_compared(
    keys: tuple[str | int, ...], value: Any, term: str
) -> None:
    assert value_term(keys, value) == term


@pytest.mark.parametrize(
    "value", ["plain", 'q"uo\\te', "lines\nand\ttabs", "ünï\u202e", "\ud800", 2**70, -1.5e300, True]
)
def test_what_is_compared_is_found(value: Any) -> None:
    session = TrafficSession()
    session.called(1, None, arguments={"n": "other"})
    place = session.called(2, None, arguments={_ODD: [value]})
    wanted = value_term(("params", "arguments", _ODD, 0), value)
    found = _found(session, wanted)
    assert found == [place]


def test_of_a_long_text_the_beginning_is_looked_for() -> None:
    session = TrafficSession()
    text = "start " + "x" * 5_000
    place = session.answered(1, text=text)
    term = value_term(("result", "text"), text)
    assert len(term) < 300
    assert _found(session, term) == [place]


@pytest.mark.parametrize("column", TrafficColumn)
def test_a_cell_finds_its_own_row(column: TrafficColumn) -> None:
    session = TrafficSession()
    session.called(1, "a")
    session.ticked("a")
    for place in (0, 1, session.answered(1), session.logged("x")):
        term = cell_term(session.timeline, _frame(session, place), place, column)
        assert not term or place in _found(session, term)


def test_cells_say_what_they_compare() -> None:
    session = TrafficSession()
    for line in range(4):
        session.logged(str(line))
    session.called(1, "a")  # at 0.5 s
    for line in range(4):
        session.logged(str(line))
    place = session.answered(1)
    reply = _frame(session, place)

    def _term(column: TrafficColumn) -> str:
        return cell_term(session.timeline, reply, place, column)

    assert _term(TrafficColumn.DURATION) == "duration >= 500ms"
    assert _term(TrafficColumn.SIZE) == f"size >= {len(reply.raw)}"
    assert _term(TrafficColumn.TIME).startswith('time >= "2027-01-')
    assert _term(TrafficColumn.KIND) == "kind == reply"
    assert _term(TrafficColumn.KEY) == "token == a"
    assert _term(TrafficColumn.METHOD) == ""
    assert _term(TrafficColumn.SUMMARY) == ""


def test_a_message_without_a_token_is_named_by_its_id() -> None:
    session = TrafficSession()
    place = session.called(12)
    assert (
        cell_term(session.timeline, _frame(session, place), place, TrafficColumn.KEY) == "id == 12"
    )


def test_a_long_token_is_read_from_its_message() -> None:
    session = TrafficSession()
    session.called(1, "t" * 300)
    place = session.ticked("t" * 300)
    session.ticked("u" * 300)
    term = token_term(session.timeline, _frame(session, place), place)
    assert _found(session, term) == [0, 1]


def test_what_belongs_to_nothing_has_no_term() -> None:
    session = TrafficSession()
    place = session.logged("x")
    frame = _frame(session, place)
    assert token_term(session.timeline, frame, place) == ""
    assert request_term(session.timeline, place) == ""
    assert task_term(frame) == ""
    assert cell_term(session.timeline, frame, place, TrafficColumn.KEY) == ""


def test_tasks_are_found_where_the_revisions_put_them() -> None:
    session = TrafficSession()
    related = {"io.modelcontextprotocol/related-task": {"taskId": "t"}}
    places = [
        session.said({"id": 1, "method": "tasks/get", "params": {"taskId": "t"}}, Channel.SENT),
        session.said({"id": 2, "result": {"task": {"taskId": "t"}}}),
        session.said({"id": 3, "result": {"taskId": "t"}}),
        session.said({"method": "notifications/x", "params": {"_meta": related}}),
    ]
    for place in places:
        assert task_term(_frame(session, place)) == "task == t"
    assert _found(session, "task == t") == places


def test_a_job_is_named_by_its_number() -> None:
    assert job_term(3) == "job == 3"
