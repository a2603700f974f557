"""What is kept of a request, and tokens for doing it anew."""

import itertools

import pytest

from mcp_progress_monitor.engine.origins import origin_params, token_like
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.lenient_json import Elided
from mcp_progress_monitor.protocol.peer import AUTO


def test_the_bytes_of_a_request_tell_more_than_its_outline() -> None:
    raw = b'{"id":1,"method":"x","params":{"a":[1],"_meta":{"resumeToken":"t"}}}'
    assert origin_params(raw, {"a": Elided(3)}) == {"a": [1]}


def test_without_bytes_a_whole_request_serves_as_well() -> None:
    assert origin_params(None, {"a": 1, "_meta": {"resumeToken": "t"}}) == {"a": 1}


def test_an_outline_is_never_sent() -> None:
    with pytest.raises(UserError, match="too large"):
        origin_params(None, {"a": Elided(3)})


def test_a_new_token_is_of_the_same_kind() -> None:
    integers = itertools.count(41)
    assert token_like("a", integers) is AUTO
    assert token_like(None, integers) is None
    assert [token_like(0, integers), token_like(9, integers)] == [41, 42]
