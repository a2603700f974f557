"""Cells are made from the index where it knows, and read from a bounded head where not."""

import pytest

from mcp_progress_monitor.gui.common.labels import ServerTitle
from mcp_progress_monitor.gui.traffic.cells import LARGE, TrafficColumn
from mcp_progress_monitor.protocol.frames import Channel, FrameKind
from tests.gui.traffic.frames import frame, progress
from tests.gui.traffic.tape import TapedTraffic

CALL = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "export", "_meta": {"progressToken": "abc"}},
}
REPLY = {"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "ten"}]}}
LIST = {"jsonrpc": "2.0", "id": "x", "method": "tools/list"}
ERROR = {"jsonrpc": "2.0", "id": "x", "error": {"code": -32601, "message": "No"}}


@pytest.fixture
def model() -> TapedTraffic:
    return TapedTraffic()


def _texts(model: TapedTraffic, column: TrafficColumn) -> list[str]:
    return [model.text(row, column) for row in range(model.rowCount())]


def test_what_the_index_knows_is_reported_without_reading(model: TapedTraffic) -> None:
    model.append([frame(1, CALL, Channel.SENT), progress(2), frame(30, REPLY)])
    known = set(TrafficColumn) - {TrafficColumn.SUMMARY}
    rows = {column: _texts(model, column) for column in known}
    assert rows[TrafficColumn.KIND] == ["request", "progress", "reply"]
    assert rows[TrafficColumn.METHOD] == ["tools/call", "progress", "tools/call"]
    assert rows[TrafficColumn.KEY] == ["abc", "abc", "abc"]
    assert rows[TrafficColumn.DIRECTION] == ["→ sent", "← received", "← received"]
    assert rows[TrafficColumn.DURATION] == ["", "", "2.9 s"]
    assert model.tape.parts[0].reads == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.26666666666666666, "0.2667"), (1.0, "1"), (7, "7"), (1e300, "1e+300"), ("x", '"x"')],
)
def test_folded_ticks_are_summed_up_in_short_numbers(value: object, text: str) -> None:
    model = TapedTraffic()
    params = {"progressToken": "abc", "progress": value, "total": value}
    tick = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    model.append([frame(1, tick), frame(2, b"garbage"), frame(3, tick)])
    cells = model._cells  # noqa: SLF001
    assert cells.ticks(0, 2, 3) == f"3 ticks, {text} to {text} of {text}, 200 ms"
    assert cells.ticks(0, 1, 2) == f"2 ticks, {text} to ?, 100 ms"


def test_a_notification_of_mcp_has_a_short_name_and_others_their_whole_one() -> None:
    model = TapedTraffic()
    names = ["notifications/tools/list_changed", "notifications/mine", "notifications/message"]
    model.append([frame(at, {"jsonrpc": "2.0", "method": name}) for at, name in enumerate(names)])
    assert _texts(model, TrafficColumn.METHOD) == [
        "tools/list_changed",
        "notifications/mine",
        "message",
    ]
    assert [model.tip(row, TrafficColumn.METHOD) for row in range(3)] == [names[0], "", names[2]]


def test_a_server_with_a_title_is_shown_by_it(model: TapedTraffic) -> None:
    model.append([frame(1, CALL, Channel.SENT), frame(30, REPLY)])
    name = model.text(0, TrafficColumn.SERVER)
    changes: list[int] = []
    model.dataChanged.connect(lambda first, last: changes.append(last.row() - first.row()))
    assert model.tip(0, TrafficColumn.SERVER) == ""
    for _ in range(2):
        model.titles.set_titles({name: ServerTitle("db (Agent)", "db@7: run by Agent")})
    assert _texts(model, TrafficColumn.SERVER) == ["db (Agent)"] * 2
    assert model.tip(1, TrafficColumn.SERVER) == "db@7: run by Agent"
    assert model.tip(1, TrafficColumn.METHOD) == ""
    assert changes == [1]
    assert model.longest_server() == len("db (Agent)")


def test_a_row_is_read_once_for_all_its_paints(model: TapedTraffic) -> None:
    model.append([frame(1, CALL, Channel.SENT)])
    for _ in range(3):
        assert model.text(0, TrafficColumn.SUMMARY) == "export"
    assert model.tape.parts[0].reads == 1


def test_requests_and_replies_without_a_token_show_their_id(model: TapedTraffic) -> None:
    model.append([frame(1, LIST, Channel.SENT), frame(2, ERROR)])
    assert _texts(model, TrafficColumn.KEY) == ["x", "x"]
    assert model.text(1, TrafficColumn.SUMMARY) == "-32601 No"


def test_events_show_their_name_and_stderr_its_line(model: TapedTraffic) -> None:
    event = frame(1, {"event": "opened", "pid": 42}, Channel.EVENT)
    model.append([event, frame(2, b"a \x1b line", Channel.STDERR)])
    assert _texts(model, TrafficColumn.METHOD) == ["opened", ""]
    assert _texts(model, TrafficColumn.SUMMARY) == ["pid: 42", r"a \x1b line"]
    assert [model.kind(row) for row in range(2)] == [FrameKind.EVENT, FrameKind.STDERR]


@pytest.mark.parametrize("id_first", [True, False])
def test_of_a_large_reply_the_head_is_read_and_its_id_is_that_of_its_request(
    model: TapedTraffic, id_first: bool
) -> None:
    text = b'"result":{"text":"' + b"x" * 9 * LARGE + b'"}'
    raw = b'{"id":"x",' + text + b"}" if id_first else b"{" + text + b',"id":"x"}'
    model.append([frame(1, LIST, Channel.SENT), frame(2, raw)])
    wanted: list[int] = []
    part = model.tape.parts[0]
    read = part.read

    def watched(offset: int, size: int) -> bytes:
        wanted.append(size)
        return read(offset, size)

    part.read = watched  # type: ignore[method-assign]
    assert model.text(1, TrafficColumn.KIND) == "reply"
    assert model.text(1, TrafficColumn.KEY) == "x"
    assert model.text(1, TrafficColumn.SIZE) == f"{len(raw):,}"
    assert 300 < len(model.text(1, TrafficColumn.SUMMARY)) <= 400
    assert max(wanted) == LARGE


def test_bytes_that_cannot_be_read_are_said_to_be_and_come_back(model: TapedTraffic) -> None:
    model.append([frame(1, LIST, Channel.SENT), frame(2, b"")])
    part = model.tape.parts[0]
    raw, part.raw = part.raw, b""
    assert "no longer available" in model.text(0, TrafficColumn.SUMMARY)
    assert model.text(0, TrafficColumn.METHOD) == "tools/list"
    assert model.text(1, TrafficColumn.SUMMARY) == ""
    part.raw = raw
    assert model.text(0, TrafficColumn.KEY) == "x"


def test_a_method_too_long_for_the_index_is_read(model: TapedTraffic) -> None:
    method = "x" * 150 + "/" + "y" * 100
    model.append([frame(1, {"jsonrpc": "2.0", "method": method})])
    shown = model.text(0, TrafficColumn.METHOD)
    assert shown.startswith("x" * 150)
    assert len(shown) == 200


def test_a_reply_at_once_took_less_than_a_millisecond(model: TapedTraffic) -> None:
    model.append([frame(1, LIST, Channel.SENT)._replace(at=5.0), frame(2, ERROR)._replace(at=5.0)])
    assert model.text(1, TrafficColumn.DURATION) == "< 1 ms"


def test_words_do_not_pile_up(model: TapedTraffic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.gui.traffic.cells._REMEMBERED", 10)
    model.append([progress(number) for number in range(50)])
    assert len(set(_texts(model, TrafficColumn.TIME))) == 50
    _texts(model, TrafficColumn.SUMMARY)
    cells = model._cells  # noqa: SLF001 - what must not grow
    assert (len(cells._known), len(cells._read)) == (10, 10)  # noqa: SLF001 - idem
