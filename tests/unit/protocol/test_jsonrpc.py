"""The JSON-RPC codec: reading anything, writing only what is right."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.jsonrpc import (
    OVERSIZED,
    Elided,
    Kind,
    canonical,
    decode,
    decode_in_slices,
    encode,
)
from mcp_progress_monitor.protocol.outline import finish
from tests.unit.protocol.wire import JSON, TEXT, as_bytes, error, notification, request, result

OBJECTS = st.dictionaries(TEXT, JSON, max_size=4)
IDS = st.integers() | TEXT


@given(IDS, TEXT, OBJECTS)
def test_a_request_survives_the_round_trip(identity: Any, method: str, params: Any) -> None:
    raw = encode({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
    assert decode(raw) == (Kind.REQUEST, identity, method, params, None, None, ())


@given(IDS, OBJECTS)
def test_replies_survive_the_round_trip(identity: Any, payload: Any) -> None:
    head = {"jsonrpc": "2.0", "id": identity}
    ok = decode(encode({**head, "result": payload}))
    assert ok == (Kind.RESULT, identity, None, None, payload, None, ())
    failed = decode(encode({**head, "error": payload}))
    assert failed == (Kind.ERROR, identity, None, None, None, payload, ())


@given(OBJECTS)
def test_what_is_written_is_one_line_of_utf8(message: dict[str, Any]) -> None:
    raw = encode(message)
    assert b"\n" not in raw
    assert b"\r" not in raw
    raw.decode()


def test_members_are_written_in_their_order_and_text_as_it_is() -> None:
    raw = encode({"z": 1, "a": "\N{SNOWMAN}"})
    assert raw == '{"z":1,"a":"\N{SNOWMAN}"}'.encode()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, object(), {1, 2}, b"x"])
def test_what_json_has_no_form_for_is_not_written(value: object) -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode({"a": [value]})


@given(st.dictionaries(TEXT, JSON, min_size=2))
def test_canonical_json_does_not_depend_on_the_order_of_keys(value: dict[str, Any]) -> None:
    turned_round = dict(reversed(value.items()))
    assert canonical(value) == canonical(turned_round)
    assert decode(canonical(value)).kind is not Kind.GARBAGE


@given(st.binary(max_size=80), st.booleans())
def test_any_bytes_have_a_kind(raw: bytes, is_complete: bool) -> None:
    envelope = decode(raw, is_complete=is_complete)
    if envelope.kind not in {Kind.REQUEST, Kind.NOTIFICATION, Kind.RESULT, Kind.ERROR, Kind.BATCH}:
        assert envelope.violations


@pytest.mark.parametrize(
    ("raw", "kind", "violation"),
    [
        (b"", Kind.BLANK, "blank line"),
        (b" \t\r", Kind.BLANK, "blank line"),
        (b"Server started", Kind.GARBAGE, "not JSON"),
        (b"[INFO] started", Kind.GARBAGE, "not JSON"),
        ('{"id":1}'.encode("utf-16"), Kind.GARBAGE, "looks like binary data or UTF-16"),
        (b"[]", Kind.INVALID, "empty batch"),
        (b"null", Kind.INVALID, "null is not a message"),
        (b"7", Kind.INVALID, "7 is not a message"),
        (b'{"jsonrpc":"2.0"}', Kind.INVALID, "has no method, result or error"),
        (b'{"jsonrpc":"2.0","method":7}', Kind.INVALID, "the method 7 is not a string"),
        (b'{"jsonrpc":"2.0","id":[],"result":{}}', Kind.INVALID, "the id [] is neither"),
        (b'{"jsonrpc":"2.0","id":true,"result":{}}', Kind.INVALID, "the id true is neither"),
        (b'{"jsonrpc":"2.0","id":NaN,"result":{}}', Kind.INVALID, "the id NaN is neither"),
    ],
)
def test_what_is_no_message_is_a_kind_with_a_reason(raw: bytes, kind: Kind, violation: str) -> None:
    envelope = decode(raw)
    assert envelope.kind is kind
    assert any(violation in text for text in envelope.violations)


@pytest.mark.parametrize(
    ("message", "kind", "violation"),
    [
        ({"id": 1, "result": {}}, Kind.RESULT, '"jsonrpc" is missing'),
        ({"jsonrpc": "1.0", "id": 1, "result": {}}, Kind.RESULT, '"1.0" instead of "2.0"'),
        ({"jsonrpc": "2.0", "result": {}}, Kind.RESULT, "reply without an id"),
        ({"jsonrpc": "2.0", "id": None, "error": {}}, Kind.ERROR, "with a null id"),
        ({"jsonrpc": "2.0", "id": 7.0, "result": {}}, Kind.RESULT, "the id 7.0 is not an integer"),
        (result(1) | {"error": None}, Kind.RESULT, "both a result and an error"),
        (error(1) | {"result": None}, Kind.ERROR, "both a result and an error"),
        (result(1) | {"method": "tools/call"}, Kind.RESULT, "reply with a method"),
        (result(1) | {"result": "ok"}, Kind.RESULT, 'the result is "ok", not an object'),
        (error(1) | {"error": "boom"}, Kind.ERROR, 'the error is "boom", not an object'),
        (request(None), Kind.REQUEST, "the id of a request is null"),
        (notification("a") | {"params": [1]}, Kind.NOTIFICATION, "params is [1], not an object"),
    ],
)
def test_messages_that_break_a_rule_are_read_and_described(
    message: dict[str, Any], kind: Kind, violation: str
) -> None:
    envelope = decode(as_bytes(message))
    assert envelope.kind is kind
    assert any(violation in text for text in envelope.violations)


def test_a_batch_is_recognised() -> None:
    assert decode(as_bytes([result(1), result(2)])) == (Kind.BATCH, *[None] * 5, ())


def test_a_line_that_the_stream_ended_within_is_partial() -> None:
    envelope = decode(b'{"jsonrpc":"2.0","id":1,"resu', is_complete=False)
    assert envelope.kind is Kind.PARTIAL
    assert "the stream ended in the middle of this line" in envelope.violations[0]


def test_a_whole_message_without_its_line_end_counts() -> None:
    envelope = decode(as_bytes(result(1, a=1)), is_complete=False)
    assert (envelope.kind, envelope.result) == (Kind.RESULT, {"a": 1})
    assert "without a line feed" in envelope.violations[0]


def test_an_oversized_reply_is_read_with_its_big_members_elided() -> None:
    raw = as_bytes(result(7, text="x" * OVERSIZED, _meta={"nextResumeToken": "t"}))
    envelope = decode(raw)
    assert (envelope.kind, envelope.id) == (Kind.RESULT, 7)
    assert envelope.result == {"text": Elided(OVERSIZED + 2), "_meta": {"nextResumeToken": "t"}}
    assert finish(decode_in_slices(raw)) == envelope


def test_a_message_of_the_largest_ordinary_size_is_decoded_whole() -> None:
    empty = len(as_bytes(result(7, text="")))
    text = "x" * (OVERSIZED - empty)
    assert decode(as_bytes(result(7, text=text))).result == {"text": text}


@pytest.mark.parametrize("opening", [b"x", b"[", b'{"a":', b'"', b"123"])
def test_oversized_garbage_is_garbage(opening: bytes) -> None:
    raw = opening + b"y" * OVERSIZED
    assert decode(raw).kind is Kind.GARBAGE
    assert decode(raw, is_complete=False).kind is Kind.PARTIAL


def test_a_result_nested_too_deep_keeps_its_kind_and_id() -> None:
    deep = b"[" * 5000 + b"]" * 5000
    envelope = decode(b'{"jsonrpc":"2.0","id":7,"result":{"a":' + deep + b"}}")
    assert (envelope.kind, envelope.id, envelope.result) == (
        Kind.RESULT,
        7,
        {"a": Elided(10_000, is_too_deep=True)},
    )


@pytest.mark.parametrize("identity", [7, "a", None])
def test_a_notification_with_an_id_is_one_all_the_same(identity: object) -> None:
    message = {"jsonrpc": "2.0", "id": identity, "method": "notifications/message", "params": {}}
    envelope = decode(json.dumps(message).encode())
    assert envelope.kind is Kind.NOTIFICATION
    assert [finding.rule for finding in envelope.findings] == [rules.NOTIFICATION_ID]
