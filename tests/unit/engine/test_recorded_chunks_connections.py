"""Conversations of a recording, in bounded memory."""

from mcp_progress_monitor.engine.recorded_chunks import CONNECTIONS_KEPT, RecordedConnections
from mcp_progress_monitor.protocol.frames import Channel, Frame

_CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}'


def test_a_connection_has_one_reader() -> None:
    connections = RecordedConnections()
    assert connections.of("a#1") is connections.of("a#1")
    assert connections.of("a#1") is not connections.of("a#2")


def test_of_a_million_connections_the_newest_are_remembered() -> None:
    connections = RecordedConnections()
    first = connections.of("a#0")
    first.read([Frame(1, "a#0", Channel.SENT, 0.0, 0.0, _CALL)])
    for place in range(1, CONNECTIONS_KEPT):
        connections.of(f"a#{place}")
    assert connections.of("a#0") is first
    assert connections.errors == []
    for place in range(CONNECTIONS_KEPT, 2 * CONNECTIONS_KEPT):
        connections.of(f"a#{place}")
    assert connections.of("a#0") is not first
    (error,) = connections.errors
    assert "1 of them" in error.detail
