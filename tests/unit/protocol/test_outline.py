"""Outlining of large messages: the same as decoding, but for what is large."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol import outline
from mcp_progress_monitor.protocol.lenient_json import Elided, LenientJson, NotJsonError
from mcp_progress_monitor.protocol.outline import (
    LARGEST_DECODED,
    MOST_MEMBERS,
    Slices,
    array_elements,
    finish,
    outlined,
)
from tests.unit.protocol.wire import JSON, TEXT

BIG = "x" * LARGEST_DECODED
SEPARATORS = st.sampled_from([(",", ":"), (" , ", " : ")])


@given(st.dictionaries(TEXT, JSON), SEPARATORS, st.booleans())
def test_an_object_of_small_members_is_read_as_it_is(
    value: dict[str, Any], separators: tuple[str, str], ensure_ascii: bool
) -> None:
    raw = json.dumps(value, separators=separators, ensure_ascii=ensure_ascii).encode()
    assert finish(outlined(b" " + raw + b"\r")).value == value


@given(st.lists(JSON), SEPARATORS)
def test_the_elements_of_an_array_are_cut_exactly(
    values: list[Any], separators: tuple[str, str]
) -> None:
    raw = json.dumps(values, separators=separators).encode()
    elements = finish(array_elements(raw))
    assert elements == [json.dumps(v, separators=separators).encode() for v in values]


@pytest.mark.parametrize("size", [2, 3, 7, 64])
@given(value=st.dictionaries(TEXT, JSON, min_size=1))
def test_the_place_where_a_slice_ends_makes_no_difference(value: dict[str, Any], size: int) -> None:
    raw = json.dumps({"params": value}, ensure_ascii=False).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outline, "_SLICE", size)
        patch.setattr(outline, "_FRUITFUL", 1)
        patch.setattr(outline, "LARGEST_DECODED", 0)
        elided = finish(outlined(raw)).value["params"]
    assert list(elided) == list(value)
    assert all(isinstance(item, Elided | dict) for item in elided.values())
    for key, item in value.items():
        if isinstance(elided[key], Elided):
            assert elided[key].size == len(json.dumps(item, ensure_ascii=False).encode())


def test_big_members_are_elided_and_small_ones_beside_them_read() -> None:
    message = {
        "jsonrpc": "2.0",
        "result": {"content": [BIG], "isError": False, "_meta": {"a": BIG, "b": [1]}},
        "id": 7,
    }
    reading = finish(outlined(json.dumps(message).encode()))
    assert reading.value == {
        "jsonrpc": "2.0",
        "result": {
            "content": Elided(len(BIG) + 4),
            "isError": False,
            "_meta": {"a": Elided(len(BIG) + 2), "b": [1]},
        },
        "id": 7,
    }
    assert "too large" in reading.violations[0]


@pytest.mark.parametrize("token", [BIG, 17 * BIG, 'a "quoted" \\ tail \u20ac' + BIG])
def test_a_resume_token_is_decoded_at_any_size(token: str) -> None:
    members = {"nextResumeToken": token, "other": BIG}
    raw = json.dumps({"result": {"_meta": members, **members}}).encode()
    result = finish(outlined(raw)).value["result"]
    assert result["nextResumeToken"] == token
    assert result["_meta"]["nextResumeToken"] == token
    assert result["other"] == result["_meta"]["other"] == Elided(len(BIG) + 2)


def test_a_resume_token_behind_very_many_members_is_still_read() -> None:
    members = dict.fromkeys(map(str, range(2 * MOST_MEMBERS)), BIG[:100])
    raw = json.dumps({"result": {"_meta": members | {"nextResumeToken": "t"}}}).encode()
    assert finish(outlined(raw)).value["result"]["_meta"]["nextResumeToken"] == "t"


def test_a_big_token_that_is_no_string_is_elided() -> None:
    raw = json.dumps({"result": {"nextResumeToken": [BIG]}}).encode()
    assert finish(outlined(raw)).value["result"]["nextResumeToken"] == Elided(len(BIG) + 4)


def test_an_error_and_params_are_opened_up_and_other_members_are_not() -> None:
    inner = {"a": 1, "data": BIG}
    message = {"error": inner, "params": inner, "other": inner}
    value = finish(outlined(json.dumps(message).encode())).value
    assert value["error"] == value["params"] == {"a": 1, "data": Elided(len(BIG) + 2)}
    assert isinstance(value["other"], Elided)


def test_of_very_many_members_the_last_meta_is_still_read() -> None:
    many = {f"k{n}": n for n in range(20_000)}
    message = {"id": 1, "result": {**many, "_meta": {"nextResumeToken": "t"}}}
    reading = finish(outlined(json.dumps(message).encode()))
    assert reading.value["result"]["_meta"] == {"nextResumeToken": "t"}
    assert len(reading.value["result"]) == MOST_MEMBERS + 1
    assert reading.violations[-1] == "19,000 members beyond the first 1,000 are not shown"


def test_what_is_nested_too_deep_is_elided() -> None:
    deep = b"[" * 5000 + b"]" * 5000
    reading = finish(outlined(b'{"id":1,"result":{"a":' + deep + b',"b":2}}'))
    assert reading.value == {"id": 1, "result": {"a": Elided(10_000, is_too_deep=True), "b": 2}}


def test_a_meta_in_a_meta_is_elided_however_many_there_are() -> None:
    inner = b'{"_meta":' * 2000 + json.dumps(BIG).encode() + b"}" * 2000
    value = finish(outlined(b'{"result":{"_meta":{"a":1,"_meta":' + inner + b"}}}")).value
    assert value == {"result": {"_meta": {"a": 1, "_meta": Elided(len(inner))}}}


def test_errors_of_members_are_reported() -> None:
    reading = finish(outlined(b'{"a":{"b":1,"b":2},"c":NaN,"c":1}'))
    assert reading.value == {"a": {"b": 2}, "c": 1}
    assert [p[:17] for p in reading.violations[1:]] == [
        'duplicate key "b"',
        "NaN is not a JSON",
        'duplicate key "c"',
    ]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b'{"a"',
        b'{"a":',
        b'{"a":1',
        b'{"a":1,}',
        b'{"a":1}x',
        b'{"a":nope}',
        b'{"a" 1}',
        b"{1:2}",
        b'{"a":[1,2}',
        b'{"a":"b',
        b'{"a":"b\\',
        b"[1,2",
        b"[1,,2]",
        b"[1]]",
        b"[}",
        b"plain text",
    ],
)
def test_a_broken_structure_is_no_json(raw: bytes) -> None:
    with pytest.raises(NotJsonError, match=r"is broken at (the end|byte \d+)"):
        finish(outlined(raw))


@given(st.binary(max_size=40))
def test_any_bytes_are_outlined_or_refused(raw: bytes) -> None:
    with contextlib.suppress(NotJsonError):
        assert finish(outlined(raw)).violations


@pytest.mark.parametrize(
    "big",
    [
        b'"' + b"x" * 1_600_000 + b'"',
        b'"' + b'\\"' * 800_000 + b'"',
        b"[" + b'{"a":1,"b":"x"},' * 100_000 + b"0]",
        b"[" + b"[[[[[[[[[[1]]]]]]]]]]," * 40_000 + b"0]",
        b"[" * 800_000 + b"]" * 800_000,
        b"{" + b'"k":1,' * 240_000 + b'"k":1}',
    ],
    ids=["string", "escapes", "objects", "deep objects", "deep", "members"],
)
def test_a_long_message_is_walked_over_in_many_slices(big: bytes) -> None:
    slices = outlined(b'{"id":1,"result":{"big":' + big + b',"small":2}}')
    pauses: list[None] = []
    reading = finish(_noting(slices, pauses))
    assert reading.value == {"id": 1, "result": {"big": Elided(len(big)), "small": 2}}
    assert len(pauses) >= len(big) // (512 * 1024)


def _noting(slices: Slices[LenientJson], pauses: list[None]) -> Slices[LenientJson]:
    """Pass on `slices`, entering every pause."""
    while True:
        try:
            pauses.append(next(slices))
        except StopIteration as stop:
            reading: LenientJson = stop.value
            return reading
        yield
