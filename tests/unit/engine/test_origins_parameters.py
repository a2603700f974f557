"""What of a request lasts over the attempts, and what belongs to one alone."""

import json
from typing import Any

import pytest
from hypothesis import given

from mcp_progress_monitor.engine import origins
from mcp_progress_monitor.protocol.eras import ClientIdentity, stamps
from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.protocol.lenient_json import Elided
from mcp_progress_monitor.protocol.peer import Peer, TokenSource
from tests.unit.protocol.wire import JSON

_STAMPS = stamps("2026-07-28", ClientIdentity({"name": "x", "version": "1"}, {}), "info")


def sent(params: dict[str, Any], token: str | int | None, *, is_stamped: bool) -> bytes:
    """The bytes of a request with these parameters."""
    peer = Peer(TokenSource(1))
    peer.stamps = _STAMPS if is_stamped else {}
    return peer.request("tools/call", params, token).raw


def test_a_progress_token_lasts_and_stamps_do_not() -> None:
    raw = sent({"name": "x"}, 7, is_stamped=True)
    assert origins.first_sent(raw) == {"name": "x", "_meta": {"progressToken": 7}}


def test_a_request_without_a_token_has_no_meta_to_keep() -> None:
    assert origins.first_sent(sent({"name": "x"}, None, is_stamped=True)) == {"name": "x"}


def test_the_users_own_meta_is_kept() -> None:
    raw = sent({"_meta": {"traceparent": "00-1", "resumeToken": "t"}}, "a", is_stamped=True)
    expected = {"_meta": {"traceparent": "00-1", "progressToken": "a"}}
    assert origins.first_sent(raw) == expected


def test_a_request_without_parameters_has_none() -> None:
    assert origins.first_sent(b'{"jsonrpc":"2.0","id":1,"method":"x"}') == {}


def test_meta_that_is_no_object_is_left_alone() -> None:
    assert origins.lasting({"_meta": 3}) == {"_meta": 3}


@given(JSON)
def test_an_attempt_changes_nothing_but_the_resume_token(value: Any) -> None:
    for is_stamped in (False, True):
        first = sent({"name": "x", "arguments": value}, "a", is_stamped=is_stamped)
        again = origins.resumed(origins.first_sent(first), "t1")
        before, after = json.loads(first), json.loads(sent(again, None, is_stamped=is_stamped))
        assert after["params"]["_meta"].pop("resumeToken") == "t1"
        assert canonical(before) == canonical(after)


def test_the_same_parameters_serve_every_attempt() -> None:
    params = {"name": "x", "_meta": {"progressToken": "a"}}
    origins.resumed(params, "t1")
    assert params == {"name": "x", "_meta": {"progressToken": "a"}}


def test_from_the_start_neither_token_is_sent() -> None:
    params = {"name": "x", "_meta": {"progressToken": "a", "resumeToken": "t", "trace": 1}}
    assert origins.from_the_start(params) == {"name": "x", "_meta": {"trace": 1}}


def test_an_outline_of_a_large_request_is_not_whole() -> None:
    assert origins.is_whole({"a": [1, {"b": "c"}]})
    assert not origins.is_whole({"a": [1, {"b": Elided(9)}]})


@pytest.mark.parametrize(
    ("params", "token"),
    [
        ({"_meta": {"progressToken": "a"}}, "a"),
        ({"_meta": {"progressToken": 0}}, 0),
        ({"_meta": {"progressToken": True}}, None),
        ({"_meta": {"progressToken": [1]}}, None),
        ({"_meta": "none"}, None),
        ({}, None),
    ],
)
def test_a_progress_token_is_a_string_or_an_integer(
    params: dict[str, object], token: str | int | None
) -> None:
    assert origins.progress_token(params) == token
