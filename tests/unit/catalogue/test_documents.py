"""JSON as people write it, TOML, and the place of every mistake."""

import time
from collections.abc import Callable

import pytest

from mcp_progress_monitor.catalogue.documents import (
    DEEPEST,
    Document,
    read_json,
    read_toml,
    without_comments,
)
from mcp_progress_monitor.errors import ErrorDetails, UserError


def error_of(read: Callable[[str, str, str], Document], text: str) -> ErrorDetails:
    with pytest.raises(UserError) as caught:
        read(text, "a file", "look")
    return caught.value.details


def test_comments_and_trailing_commas_are_no_mistakes() -> None:
    text = '// first\n{"a": [1, 2, /* two */ 3,], // end\n "b": {"c": 1,},\n}\n/* last'
    assert read_json(text, "", "").value == {"a": [1, 2, 3], "b": {"c": 1}}


def test_what_looks_like_a_comment_within_a_text_is_text() -> None:
    text = r'{"url": "https://a/b", "path": "C:\\", "x": "/* \" // */", "y": ",]"}'
    value = read_json(text, "", "").value
    assert value == {"url": "https://a/b", "path": "C:\\", "x": '/* " // */', "y": ",]"}


def test_every_place_stays_what_it_was_when_comments_go() -> None:
    text = '{ /* é\n\n */ "a": 1, // x\r\n}'
    plain = without_comments(text)
    assert len(plain) == len(text)
    assert [c for c in plain if c in "\r\n"] == [c for c in text if c in "\r\n"]


def test_a_mistake_behind_comments_is_shown_where_it_is() -> None:
    error = error_of(read_json, '// one\n{ /* two\n */ "a": oops }')
    assert "not valid JSON" in error.what
    assert error.where == "a file, line 3, column 10"
    line, mark = error.detail.split("\n")
    assert line[mark.index("^")] == "o"


@pytest.mark.parametrize("text", ["", "{", "nonsense", '{"a": NaN}', '{"a" 1}', "[1]]", '"x'])
def test_no_json_is_an_error_with_a_message(text: str) -> None:
    error = error_of(read_json, text)
    assert error.what.startswith("The configuration file is not valid JSON")
    assert error.hint == "look"


def test_an_integer_of_ten_thousand_digits_is_an_error_with_a_message() -> None:
    assert "JSON" in error_of(read_json, f'{{"a": {"9" * 10_000}}}').what


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)])
def test_deep_nesting_is_refused(text: str) -> None:
    assert "nested too deeply" in error_of(read_json, text).what


def test_allowed_depth_is_read() -> None:
    text = "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1)
    assert read_json(text, "", "").value is not None


def test_deep_toml_is_refused() -> None:
    assert "a = " not in error_of(read_toml, "a = " + "[" * 100_000).what


def test_of_names_given_twice_the_first_counts_and_the_others_are_reported_with_their_lines() -> (
    None
):
    text = '{"s": {\n"a": {"x": 1},\n"b": [{"a": 1}],\n"a": {"x": 2},\n"a": 3}}'
    document = read_json(text, "", "")
    assert document.value["s"]["a"] == {"x": 1}
    assert [(d.path, d.name, d.line) for d in document.duplicates] == [
        (("s",), "a", 4),
        (("s",), "a", 5),
    ]


@pytest.mark.parametrize(
    "text", ['"\\"' * 100_000, "/*" * 100_000, ",\n" * 100_000, '{"a' * 50_000, " ," * 100_000]
)
def test_rubbish_takes_no_longer_than_its_length(text: str) -> None:
    began = time.thread_time()
    error_of(read_json, text)
    assert time.thread_time() - began < 5


def test_toml_is_read() -> None:
    value = read_toml('[a."b c"]\r\nx = 1\r\n', "", "").value
    assert value == {"a": {"b c": {"x": 1}}}


def test_what_json_does_not_have_is_text() -> None:
    value = read_toml("a = 2026-11-22\nb = [inf, 1.5]\nc = {d = 07:30:00}", "", "").value
    assert value == {"a": "2026-11-22", "b": ["inf", 1.5], "c": {"d": "07:30:00"}}


@pytest.mark.parametrize(
    ("text", "place"), [("a = 1\nb = = 2\n", "line 2, column 5"), ("a = [1,\n", "line 2, column 1")]
)
def test_a_mistake_in_toml_is_shown_where_it_is(text: str, place: str) -> None:
    error = error_of(read_toml, text)
    assert "not valid TOML" in error.what
    assert error.where == f"a file, {place}"


def test_a_table_given_twice_is_a_mistake_in_toml() -> None:
    assert "not valid TOML" in error_of(read_toml, "[a]\nx = 1\n[a]\ny = 2\n").what


@pytest.mark.parametrize(
    ("number", "what"),
    [
        ("NaN", "NaN is not a JSON number"),
        ("-Infinity", "-Infinity is not a JSON number"),
        ("1" * 5000, "number is too long"),
    ],
)
def test_what_is_no_number_is_reported_with_its_place(number: str, what: str) -> None:
    text = f'{{\n "NaN": "Infinity",\n "a": {number}}}'
    with pytest.raises(UserError) as caught:
        read_json(text, "here", "")
    assert caught.value.details.what == f"The configuration file is not valid JSON: {what}"
    assert caught.value.details.where == "here, line 3, column 7"
