"""What a server sent is passed on digit for digit, and is always valid JSON on one line."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.cli.output.results import exact_member, exact_outcome, exact_result

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    "value",
    ["1.00", "0.12345678901234567890123", "1E400", "9" * 5000, '{ "a" : [1.50] }', '"ä]}"', "null"],
)
def test_the_text_of_a_value_is_kept(value: str) -> None:
    raw = f' {{"id": 1 , "result" :{value} ,"jsonrpc":"2.0"}}\r'.encode()
    assert exact_member(raw, "result") == value


@pytest.mark.parametrize(
    "value",
    [
        r'{"a":"\ud800","b":[1.0]}',  # half a character: JSON all the same
        r'{"a":"\\ud800"}',
        '{"a":' + "9" * 5000 + "}",
        '{"a":"\x7f"}',
        '{"a":{},"a":{}}',
    ],
)
def test_what_only_some_readers_take_is_kept_as_well(value: str) -> None:
    found = exact_member(f'{{"result":{value}}}'.encode(), "result")
    assert found == value.replace("\x7f", r"\u007f")


def test_a_reply_on_several_lines_gets_one() -> None:
    found = exact_member(b'{\n "result": {\n  "a": 1.0\r\n }\n}', "result")
    assert "\n" not in found
    assert json.loads(found) == {"a": 1.0}


@pytest.mark.parametrize(
    "result",
    [
        json.dumps({"rows": [[n, n * 1.5, -3] for n in range(100_000)]}),
        json.dumps({"content": [{"type": "text", "text": str(n)} for n in range(50_000)]}),
        json.dumps({"text": "\u2028ab" * 500_000}, ensure_ascii=False),
    ],
    ids=["numbers", "blocks", "unsafe characters"],
)
def test_a_huge_reply_is_passed_on_sooner_than_it_could_be_read(result: str) -> None:
    raw = f'{{"jsonrpc":"2.0","id":1,"result":{result}}}'.encode()
    read = _cpu_s(lambda: json.loads(raw, parse_int=str, parse_float=str))
    assert min(_cpu_s(lambda: exact_outcome(raw)) for _ in range(3)) < max(read, 0.1)


def _cpu_s(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


@given(JSON, JSON, st.booleans())
def test_any_value_is_found_whatever_surrounds_it(value: Any, other: Any, spaced: bool) -> None:
    message = {"a": other, "result": value, "z": other}
    raw = json.dumps(message, indent=1 if spaced else None, ensure_ascii=spaced).encode()
    raw = raw.replace(b"\n", b"\r")
    found = exact_member(raw, "result")
    assert json.loads(found) == value
    assert "\n" not in found
    assert "\r" not in found


def test_the_last_of_several_members_counts() -> None:
    assert exact_member(b'{"result":1,"result":2}', "result") == "2"


def test_a_name_may_be_escaped() -> None:
    assert exact_member(rb'{"res\u0075lt":7}', "result") == "7"


@pytest.mark.parametrize(
    "raw", [b"", b"{}", b"[1]", b'{"a":1}', b'{"result"', b'{"result":[', b"\xff"]
)
def test_what_is_not_there_is_null(raw: bytes) -> None:
    assert exact_member(raw, "result") == "null"


def test_numbers_that_are_none_become_text() -> None:
    found = exact_member(b'{"result":{"a":NaN,"b":[-Infinity,Infinity],"c":1.0}}', "result")
    assert json.loads(found) == {"a": "NaN", "b": ["-Infinity", "Infinity"], "c": 1.0}


def test_bare_control_characters_in_strings_are_escaped() -> None:
    found = exact_member(b'{"result":"a\tb\x1b"}', "result")
    assert found == r'"a\tb\u001b"'


def test_broken_utf8_becomes_the_replacement_character() -> None:
    assert exact_member(b'{"result":"\xff"}', "result") == '"\ufffd"'


def test_what_a_terminal_or_the_eye_would_obey_is_escaped_without_changing_the_value() -> None:
    text = "a\x85b\u202ec\u2028d\x9b31m"
    found = exact_member(json.dumps({"result": text}, ensure_ascii=False).encode(), "result")
    assert json.loads(found) == text
    assert found == r'"a\u0085b\u202ec\u2028d\u009b31m"'


def test_nesting_deeper_than_python_can_walk_is_passed_on() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert exact_member(f'{{"result":{deep}}}'.encode(), "result") == deep


@pytest.mark.parametrize(
    "result",
    [
        '{"n":1.50,"_meta":{"a":2.0,"nextResumeToken":TOKEN},"content":["s3cret"]}',
        '{"nextResumeToken" : TOKEN ,"n":1.50}',
        '{"_meta":{"nextResumeToken":TOKEN,"nextResumeToken":TOKEN}}',
        r'{"_meta":{"next\u0052esumeToken":TOKEN}}',
        '{"_meta":{"nextResumeToken":TOKEN},"_meta":{"nextResumeToken":TOKEN}}',
    ],
)
@pytest.mark.parametrize("token", ['"t\\"ok,}en"', '{"chunk":[1]}', "42", '""'])
def test_a_resume_token_is_hidden_and_all_else_kept(result: str, token: str) -> None:
    raw = f'{{"id":1,"result":{result.replace("TOKEN", token)}}}'.encode()
    assert exact_result(raw) == result.replace("TOKEN", '"(hidden)"')


@pytest.mark.parametrize(
    "result",
    [
        '{"content":[{"nextResumeToken":"a text"}]}',
        '"nextResumeToken"',
        '["nextResumeToken",{"nextResumeToken":1}]',
        '{"_meta":"{\\"nextResumeToken\\":1}"}',
        '{"_meta":null,"n":"nextResumeToken"}',
    ],
)
def test_what_is_no_resume_token_is_not_hidden(result: str) -> None:
    assert exact_result(f'{{"id":1,"result":{result}}}'.encode()) == result


def test_a_reply_without_a_result_has_none_to_hide() -> None:
    assert exact_result(b'{"id":1}') == "null"


@pytest.mark.parametrize(
    ("result", "exact"),
    [
        ('{"taskId":"T","status":"completed","result":{"content":[1.0]}}', '{"content":[1.0]}'),
        ('{"taskId":"T","status":"completed","content":[],"result":5}', None),
        ('{"taskId":"T","content":[]}', None),
        ('{"content":[{"text":"\\"taskId\\""}]}', None),
        ('"taskId"', None),
    ],
)
def test_the_result_of_a_task_may_stand_within_the_task(result: str, exact: str | None) -> None:
    raw = f'{{"id":1,"result":{result}}}'.encode()
    assert exact_outcome(raw) == (exact or result)


def test_a_resume_token_within_a_task_is_hidden() -> None:
    inner = '{"_meta":{"nextResumeToken":"s3cret"}}'
    raw = f'{{"result":{{"taskId":"T","status":"completed","result":{inner}}}}}'.encode()
    assert "s3cret" not in exact_outcome(raw)
