"""What is kept of each server's standard error."""

import json

import pytest

from mcp_progress_monitor.gui.console import lines
from mcp_progress_monitor.gui.console.lines import KEPT_BYTES, LINES, StderrLines, life_line
from mcp_progress_monitor.protocol.frames import Channel, Frame


def line(number: int, connection: str = "a#1", raw: bytes = b"words") -> Frame:
    return Frame(number, connection, Channel.STDERR, 1.7e9, 0.0, raw)


def event(number: int, connection: str = "a#1", **fields: object) -> Frame:
    return Frame(number, connection, Channel.EVENT, 1.7e9, 0.0, json.dumps(fields).encode())


def test_lines_of_each_server_are_kept_and_those_of_all_are_in_order() -> None:
    kept = StderrLines()
    kept.add([line(1), line(4)])
    kept.add([line(2, "b#1"), line(3, "b#1")])
    assert [frame.number for frame in kept.lines("b")] == [2, 3]
    assert [frame.number for frame in kept.lines(None)] == [1, 2, 3, 4]
    assert [frame.number for frame in kept.lines(None, after=2)] == [3, 4]
    assert (kept.servers, kept.newest()) == (["a", "b"], 4)


def test_the_newest_are_kept_across_connections_and_the_rest_is_counted() -> None:
    kept = StderrLines()
    kept.add([line(number) for number in range(LINES)])
    kept.add([line(LINES, "a#2")])
    assert kept.gone("a") == kept.gone(None) == 1
    assert [kept.lines("a")[0].number, kept.lines("a")[-1].number] == [1, LINES]


def test_over_the_limit_the_server_with_most_lines_drops_its_oldest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "ALL_LINES", 10)
    kept = StderrLines()
    kept.add([line(1, "b#1")])
    kept.add([line(number) for number in range(2, 14)])
    assert len(kept.lines("a")) == 9
    assert (len(kept.lines("b")), kept.gone("a"), kept.gone("b")) == (1, 3, 0)


def test_of_a_long_line_the_last_state_is_kept() -> None:
    kept = StderrLines()
    bars = b"".join(b"%5d of many\r" % number for number in range(3000))
    (added,) = kept.add([line(1, raw=bars)])
    assert added.raw == b" 2999 of many"
    (added,) = kept.add([line(2, raw=b"a" * 100_000)])
    assert len(added.raw) == KEPT_BYTES


def test_beginnings_and_ends_of_processes_are_lines_and_those_of_others_are_none() -> None:
    kept = StderrLines()
    added = kept.add(
        [
            event(1, event="opened", command="run", pid=7),
            event(2, "web#1", event="opened", url="http://x"),
            event(3, "web#1", event="closed", reason="gone"),
            event(4, event="closed", reason="It ended", exit_code=0),
        ]
    )
    assert [frame.number for frame in added] == [1, 4]
    assert kept.servers == ["a"]


@pytest.mark.parametrize(
    ("frame", "message", "is_bad"),
    [
        (event(1, event="opened", command="x", pid=7), ", connection 1, pid 7 —", False),
        (event(1, "a#3", event="opened", command="x"), ", connection 3 —", False),
        (event(1, event="closed", exit_code=2, reason="Bad"), ", exit code 2: Bad —", True),
        (event(1, event="closed", exit_code=-9, reason=""), ", signal 9 —", True),
        (event(1, event="closed", exit_code=-15, wanted=True), ", signal 15 —", False),
        (event(1, event="closed", exit_code=0), " —", False),
    ],
)
def test_a_life_line_says_when_and_how(frame: Frame, message: str, is_bad: bool) -> None:
    found = life_line(frame)
    assert found.text.endswith(message)
    assert found.is_bad is is_bad


def test_a_second_connection_is_said_to_be_one() -> None:
    assert "restarted at" in life_line(event(1, "a#2", event="opened")).text
    assert life_line(Frame(1, "a#1", Channel.EVENT, 0.0, 0.0, b"no JSON")).text.startswith(
        "— ended"
    )
