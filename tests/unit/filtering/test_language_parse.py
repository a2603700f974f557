"""Filters are read as they are meant, and mistakes are named where they are."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.filtering.expressions import (
    And,
    Comparison,
    Expression,
    Moment,
    Not,
    Or,
    Text,
)
from mcp_progress_monitor.filtering.filter import FilterError
from mcp_progress_monitor.filtering.language import DEEPEST, LONGEST, parse
from tests.unit.filtering.strategies import EXPRESSIONS


def _compared(text: str) -> Comparison:
    found = parse(text)
    assert isinstance(found, Comparison)
    return found


def _mistake(text: str) -> FilterError:
    with pytest.raises(FilterError) as caught:
        parse(text)
    return caught.value


def _mistake_of(text: str) -> FilterError | None:
    try:
        parse(text)
    except FilterError as error:
        return error
    return None


@given(EXPRESSIONS)
def test_a_printed_filter_is_read_back_as_it_was(expression: Expression) -> None:
    assert parse(str(expression)) == expression


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_position_in_it(text: str) -> None:
    error = _mistake_of(text)
    if error is not None:
        assert 0 <= error.position <= len(text)
        assert 0 <= error.length <= len(text) - error.position


_HEAP = "( ) not and or in == a token dt > , \" ' [0] 7 params.x ms"
_TERMS = st.sampled_from(
    [
        "(",
        ")",
        "not",
        "and",
        "or",
        "in",
        "==",
        "a",
        "token",
        "dt",
        ">",
        ",",
        '"',
        "'",
        "[0]",
        "7",
        "params.x",
        "ms",
    ]
)


@given(st.lists(_TERMS).map(" ".join))
def test_any_heap_of_terms_is_read_or_refused(text: str) -> None:
    error = _mistake_of(text)
    if error is not None:
        assert 0 <= error.position <= len(text)
    else:
        found = parse(text)
        assert found is None or parse(str(found)) == found


@pytest.mark.parametrize("text", ["", "  ", "\t\n"])
def test_blank_text_is_no_filter(text: str) -> None:
    assert parse(text) is None


def test_terms_and_quoted_texts_are_joined_by_and() -> None:
    assert parse('one "two three" \'fo"ur\'') == And(
        (Text("one"), Text("two three"), Text('fo"ur'))
    )


def test_not_comes_before_and_and_before_or() -> None:
    a, b, c = Text("a"), Text("b"), Text("c")
    assert parse("a or b and not c") == Or((a, And((b, Not(c)))))
    assert parse("(a or b) c") == And((Or((a, b)), c))
    assert parse("NOT not a") == a


@pytest.mark.parametrize("text", ["android", "orange", "notes", "inside", "in", "contains", "-5"])
def test_terms_that_resemble_the_language_are_texts(text: str) -> None:
    assert parse(text) == Text(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("token == 7", 7),
        ('token == "7"', "7"),
        ("token == -2.5e3", -2500.0),
        ("token == true", True),
        ('token == "true"', "true"),
        ("token == null", None),
        ("token==and", "and"),
        ("token == abc==", "abc=="),
        ("token == 12:01", "12:01"),
        ("method == 7", "7"),
        ("task == 786512e2", "786512e2"),
        (r'params.x == "a\n\"\\\u00e9\d"', 'a\n"\\é\\d'),
    ],
)
def test_values_have_the_type_of_what_is_written(text: str, value: object) -> None:
    found = _compared(text).value
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("dt > 2", 2),
        ("dt > 500ms", 0.5),
        ("dt > 500 ms", 0.5),
        ("dt > 250us", 0.00025),
        ("duration > 2min", 120),
        ("duration > 1.5 h", 5400),
        ("size > 10kB", 10_000),
        ("size > 2MiB", 2 * 2**20),
    ],
)
def test_units_are_turned_into_seconds_and_bytes(text: str, value: float) -> None:
    assert _compared(text).value == value


def test_a_time_is_as_long_as_it_is_vague() -> None:
    for text, begin, length in [
        ("12:01", 43260, 60),
        ("12:01:07", 43267, 1),
        ("12:01:07.25", 43267.25, 0.01),
    ]:
        found = _compared(f"time == {text}").value
        assert isinstance(found, Moment)
        assert found.is_daily
        assert found.begin == begin
        assert found.end == pytest.approx(begin + length)
    day = _compared("time == 2026-11-20").value
    assert isinstance(day, Moment)
    assert day.end - day.begin == 86400


def test_paths_have_names_odd_names_and_places() -> None:
    found = _compared('params["odd \\"name"].x-y[0].z contains b')
    assert (found.field, found.path) == ("params", ('odd "name', "x-y", 0, "z"))


def test_a_list_takes_terms_and_texts() -> None:
    assert _compared('method in ("tools/call", ping)').value == ("tools/call", "ping")
    assert _compared("token in (7,a)").value == (7, "a")


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("tokn == 7", 0, "Did you mean token?"),
        ("a and bogus == 7", 6, 'Unknown field "bogus"'),
        ("method.x == 7", 0, "method has no members"),
        ("params. == 7", 0, "params.name"),
        ("token ==", 8, "expected a value"),
        ("token = 7", 6, "Write =="),
        ('a "open', 2, "Missing closing quote"),
        ("(a", 2, 'expected ")"'),
        ("a)", 1, "Unexpected"),
        ("method in x", 10, '"("'),
        ("method in (a", 12, '","'),
        ("kind == eror", 8, "Did you mean error?"),
        ("dir == zzz", 7, "sent, received, stderr, event"),
        ("dt > soon", 5, "500ms"),
        ("level > foo", 8, "ordered by severity"),
        ("level >= Warning", 9, "Did you mean warning"),
        ("size > 5 ms", 7, "10kB"),
        ("time > 25:00", 7, "12:01:07"),
        ("job == x", 7, "job's number"),
        ("job < 3", 0, "not ordered"),
        ("dt contains 3", 0, "works only on text"),
        ("irregular == maybe", 13, "true or false"),
        ("a && b", 2, "Use and"),
        ('method matches "a(b"', 19, "regular expression"),
        ("method matches *", 15, "regular expression"),
        ("a < b", 0, 'Unknown field "a"'),
    ],
)
def test_a_mistake_is_named_where_it_is(text: str, position: int, message: str) -> None:
    error = _mistake(text)
    assert error.position == position
    assert message in str(error)
    assert f"character {position + 1}" in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "not (a " * 1_000 + ")" * 1_000,
        "(a or (b " * 600 + "))" * 600,
        "x" * (LONGEST + 1),
        "\x00\x1b[31m\u202e == 7",
        "params" + "[0]" * 3_000 + " = 1",
        '"' * 9_999,
        "token in (" + "1," * 4_000,
        "dt > " + "9" * 5_000,
        'text matches "' + "(" * 1_000 + '"',
        'text matches "' + "a" * 5_000 + '"',
        "text matches (?R",
    ],
)
def test_hostile_texts_are_refused_at_once(text: str) -> None:
    begun_s = time.process_time()
    error = _mistake(text)
    assert time.process_time() - begun_s < 2
    assert len(str(error)) < 400


@pytest.mark.parametrize("text", ["(" * 4_000 + "x" + ")" * 4_000, "not " * 2_000 + "x"])
def test_brackets_around_nothing_cost_nothing(text: str) -> None:
    assert parse(text) == Text("x")


def test_a_filter_may_be_nested_as_deep_as_it_can_be_walked() -> None:
    deep = "not (a " * (DEEPEST // 2 - 1) + "b" + ")" * (DEEPEST // 2 - 1)
    found = parse(deep)
    assert parse(str(found)) == found
