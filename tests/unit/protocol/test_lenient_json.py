"""Lenient reading of JSON values."""

import contextlib
import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.lenient_json import (
    DEEPEST,
    Elided,
    NotJsonError,
    TooDeepError,
    read_value,
    repeated_keys,
    shown,
    span_of,
)
from mcp_progress_monitor.protocol.messages import ECHOED
from tests.unit.protocol.wire import JSON


@given(JSON, st.sampled_from([(",", ":"), (", ", ": "), (" ,  ", " :\t")]), st.booleans())
def test_sound_json_is_read_without_a_violation(
    value: Any, separators: tuple[str, str], ensure_ascii: bool
) -> None:
    text = json.dumps(value, separators=separators, ensure_ascii=ensure_ascii)
    reading = read_value(text.encode())
    assert reading.value == value
    assert type(reading.value) is type(value)
    assert reading.violations == ()


@given(st.binary(max_size=60))
@example(b'"\\ud83d\\ude00"')
@example(b"\xef\xbb\xbf")
@example(b'"\xed\xa0\x80"')
def test_any_bytes_are_read_or_refused_as_no_json(raw: bytes) -> None:
    with contextlib.suppress(NotJsonError):
        value = read_value(raw).value
        assert json.dumps(value, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("raw", "value", "violation"),
    [
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}, "byte order mark"),
        (b'{"a":"\xff"}', {"a": "\N{REPLACEMENT CHARACTER}"}, "invalid UTF-8 at byte 7"),
        (b'{"a":Infinity}', {"a": math.inf}, "Infinity is not a JSON number"),
        (b'{"a":"x\ty"}', {"a": "x\ty"}, "unescaped control character in a string, at character 8"),
        (b'"\\ud800!"', "\N{REPLACEMENT CHARACTER}!", "unpaired surrogate"),
        (b'"\\udc00\\ud83d\\ude00"', "\N{REPLACEMENT CHARACTER}\U0001f600", "unpaired surrogate"),
        (b"[" + b"9" * 5000 + b"]", [Elided(5000)], "an integer of 5,000 digits is too long"),
    ],
)
def test_broken_rules_are_read_and_described(raw: bytes, value: object, violation: str) -> None:
    reading = read_value(raw)
    assert reading.value == value
    assert len(reading.violations) == 1
    assert violation in reading.violations[0]


def test_nan_is_read_and_described() -> None:
    reading = read_value(b'{"a":NaN,"b":NaN}')
    assert math.isnan(reading.value["a"])
    assert reading.violations == ("NaN is not a JSON number",)


def test_an_escaped_backslash_before_a_surrogate_is_text() -> None:
    assert read_value(rb'"\\ud800 \ud83d\ude00"') == ("\\ud800 \U0001f600", ())


@pytest.mark.parametrize("value", [12345678901234567890123, -(10**4000), 2**63])
def test_big_integers_are_exact(value: int) -> None:
    assert read_value(str(value).encode()) == (value, ())


@given(
    st.dictionaries(st.sampled_from(["a", "b:c", "d"]), st.sampled_from(["1", '"x:y"', '{"e":2}'])),
    st.sampled_from(["a", "b:c", "d"]),
    st.sampled_from(["1", '":"', '"\\u003a"', '{"f":[":"]}', '{"g":1,"h":2}']),
    st.booleans(),
)
def test_a_repeated_key_is_found_wherever_colons_are(
    members: dict[str, str], key: str, value: str, is_nested: bool
) -> None:
    pairs = [f'"{name}":{text}' for name, text in members.items()]
    text = "{" + ",".join([*pairs, f'"{key}":{value}']) + "}"
    raw = (f'{{"x":[1,{text}]}}' if is_nested else text).encode()
    found = [p for p in read_value(raw).violations if f'duplicate key "{key}"' in p]
    assert bool(found) is (key in members)


def test_values_that_no_json_can_hold_are_searched_for_repeated_keys_as_well() -> None:
    value = {"a": math.nan, "b:": ["::", object()]}
    assert repeated_keys(b'{"a":NaN,"b:":["::",0]}', value) == ()
    assert repeated_keys(b'{"b:":1,"a":NaN,"b:":["::",0]}', value) != ()


def test_the_last_value_of_a_repeated_key_counts() -> None:
    reading = read_value(b'{"a":1,"a":{"b":2}}')
    assert reading.value == {"a": {"b": 2}}
    assert "the last value is used" in reading.violations[0]


def test_violations_of_one_message_are_bounded() -> None:
    members = ",".join(f'"k{n}":1,"k{n}":2' for n in range(1000))
    violations = read_value(f"{{{members}}}".encode()).violations
    assert len(violations) == 9
    assert violations[-1] == "and more findings of this kind"


@pytest.mark.parametrize("inside", [b"1", b"NaN", b'"\\ud800"'])
@pytest.mark.parametrize("depth", [DEEPEST + 1, 5000])
def test_deep_nesting_is_refused_as_too_deep(inside: bytes, depth: int) -> None:
    with pytest.raises(TooDeepError):
        read_value(b"[" * depth + inside + b"]" * depth)


def test_values_in_sentences_are_short_and_ascii() -> None:
    assert shown("\N{SNOWMAN}\n") == '"\\u2603\\n"'
    assert len(shown("x" * 10**6)) == 40
    assert shown(Elided(5000)) == "a value of 5,000 bytes"


@pytest.mark.parametrize(
    ("raw", "keys", "found"),
    [
        (b'{"id": 7, "a": {"b": [1, {"c": 1e3}]}}', ("a", "b", 1, "c"), b"1e3"),
        (b' [ {"x":"\xc3\xbc"} , "\xff\\n" ] ', (1,), b'"\xff\\n"'),
        (b'{"a": 1, "a": 2.50 }', ("a",), b"2.50"),
        (b'{"a\\u0062": {"c": null}}', ("ab",), b'{"c": null}'),
        (b'{"a": NaN}', ("a",), b"NaN"),
        (b'{"a": ' + b"9" * 5_000 + b"}", ("a",), b"9" * 5_000),
        (b'{"a": [] , "b": {}}', ("b",), b"{}"),
        (b"[1, 2]", (), b"[1, 2]"),
    ],
)
def test_the_bytes_of_a_value_are_found(
    raw: bytes, keys: tuple[str | int, ...], found: bytes
) -> None:
    span = span_of(raw, keys)
    assert span is not None
    assert raw[slice(*span)] == found


@pytest.mark.parametrize(
    ("raw", "keys"),
    [
        (b'{"a": 1}', ("b",)),
        (b"[1]", (4,)),
        (b'{"a": 1}', ("a", "b")),
        (b'{"a": [1, 2', ("a", 0)),
        (b"", ("a",)),
    ],
)
def test_bytes_that_are_not_there_are_not_found(raw: bytes, keys: tuple[str | int, ...]) -> None:
    assert span_of(raw, keys) is None


@pytest.mark.parametrize("key", sorted(ECHOED))
def test_ids_and_tokens_keep_half_a_surrogate_pair_to_be_sent_back(key: str) -> None:
    raw = b'{"a":{"%b":"\\ud83d"},"text":"\\ud83d","\\ud83d":["\\ud83d\\ude00"]}' % key.encode()
    value, findings = read_value(raw)
    assert value == {"a": {key: "\ud83d"}, "text": "\ufffd", "\ufffd": ["\U0001f600"]}
    assert [finding.rule for finding in findings] == [rules.HALF_SURROGATE]
    assert read_value(b'"\\ud83d"', key).value == "\ud83d"
