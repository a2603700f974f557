"""Large messages are told by their ends."""

from __future__ import annotations

import pytest

from app.models.log_head import Head, head_of

_BIG = b'{"text":"' + b"x" * 5_000 + b'"}'


@pytest.mark.parametrize(
    ("raw", "head"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":' + _BIG + b"}", Head("result", "", "7")),
        (b'{"result":' + _BIG + b',"jsonrpc":"2.0","id":"a"}', Head("result", "", "a")),
        (b'{ "id" : 7, "error" : ' + _BIG + b"}", Head("error", "", "7")),
        (
            b'{"method":"tools/call","params":' + _BIG + b',"jsonrpc":"2.0","id":3}',
            Head("request", "tools/call", "3"),
        ),
        (
            b'{"jsonrpc":"2.0","method":"notifications/message","params":' + _BIG + b"}",
            Head("notification", "notifications/message", ""),
        ),
    ],
)
def test_members_before_and_after_the_payload_are_read(raw: bytes, head: Head) -> None:
    assert head_of(raw) == head


@pytest.mark.parametrize("raw", [b"x" * 9_000, b"[" + _BIG + b"]", b'{"other":' + _BIG + b"}", b""])
def test_what_cannot_be_told_is_none(raw: bytes) -> None:
    assert head_of(raw) is None
