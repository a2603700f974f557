"""Messages are read whole for the details; large ones in slices."""

from mcp_progress_monitor.gui.traffic.details import read_message
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, Elided, Kind
from mcp_progress_monitor.protocol.outline import finish
from tests.gui.traffic.frames import frame


def test_a_message_keeps_members_that_no_envelope_knows() -> None:
    message = finish(read_message(frame(1, {"jsonrpc": "2.0", "id": 1, "result": {}, "x": 1})))
    assert message.is_json
    assert message.value["x"] == 1
    assert message.envelope is not None
    assert message.envelope.kind is Kind.RESULT


def test_garbage_is_described() -> None:
    message = finish(read_message(frame(1, b"Listening on port 80")))
    assert not message.is_json
    assert message.envelope is not None
    assert "not JSON" in message.envelope.violations[0]


def test_stderr_and_blank_lines_are_no_json() -> None:
    assert not finish(read_message(frame(1, b'{"a":1}', Channel.STDERR))).is_json
    assert not finish(read_message(frame(1, b"  "))).is_json


def test_an_event_is_json_and_no_message() -> None:
    message = finish(read_message(frame(1, {"event": "opened"}, Channel.EVENT)))
    assert (message.value, message.envelope) == ({"event": "opened"}, None)


def test_a_large_message_is_read_in_slices() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"result":{"text":"' + b"x" * 4 * OVERSIZED + b'"}}'
    slices = read_message(frame(1, raw))
    assert next(slices) is None
    value = finish(slices).value
    assert isinstance(value["result"]["text"], Elided)


def test_large_garbage_is_described() -> None:
    message = finish(read_message(frame(1, b"{" + b"x" * 2 * OVERSIZED)))
    assert message.envelope is not None
    assert message.envelope.violations == ("not JSON",)


def test_deep_nesting_is_outlined() -> None:
    message = finish(
        read_message(frame(1, b'{"id":1,"result":{"a":' + b"[" * 999 + b"]" * 999 + b"}}"))
    )
    assert message.is_json
