"""Large messages are recognized by their first bytes."""

import pytest

from mcp_progress_monitor.gui.traffic.cells import Head, head_of

_BIG = b'{"text":"' + b"x" * 5_000


@pytest.mark.parametrize(
    ("raw", "head"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":' + _BIG, Head("", "7")),
        (b'{ "id" : "a" , "error" : ' + _BIG, Head("", "a")),
        (b'{"method":"tools/call","id":3,"params":' + _BIG, Head("tools/call", "3")),
        (b'{"method":"x","params":' + _BIG + b',"id":3}', Head("x", "")),
    ],
)
def test_members_before_the_payload_are_read(raw: bytes, head: Head) -> None:
    assert head_of(raw) == head


@pytest.mark.parametrize("raw", [b"x" * 9_000, b"[" + _BIG, b'{"other":' + _BIG, b""])
def test_what_cannot_be_reported_is_empty(raw: bytes) -> None:
    assert head_of(raw) == Head("", "")
