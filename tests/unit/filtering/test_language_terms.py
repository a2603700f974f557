"""Terms made by the program are read back as what they were made of."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.filtering.expressions import And, Comparison, Not, Or, Text, path_text
from mcp_progress_monitor.filtering.language import parse, term, text_term, with_term

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_STEPS = st.lists(_TEXT.filter(bool) | st.integers(0, 99), max_size=3).map(tuple)
_VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT
    | st.sampled_from(["true", "7", "and", "a b", "(", 'x"y', "5 min"])
)


@given(_STEPS, _VALUES)
def test_a_comparison_is_read_back(path: tuple[str | int, ...], value: Any) -> None:
    found = parse(term(path_text("params", path), "==", value))
    assert found == Comparison("params", path, "==", value)
    assert isinstance(found, Comparison)
    assert type(found.value) is type(value)


@given(_TEXT)
def test_a_text_is_searched_as_it_is(text: str) -> None:
    assert parse(text_term(text)) == Text(text)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (term("method", "==", "tools/call"), "method == tools/call"),
        (term("token", "==", 7), "token == 7"),
        (term("token", "==", "7"), 'token == "7"'),
        (term("method", "==", "7"), "method == 7"),
        (term("token", "in", ["a", 7]), 'token in ("a", 7)'),
        (term('params["a b"]', "!=", "x y"), 'params["a b"] != "x y"'),
        (text_term("plain"), "plain"),
        (text_term("a b"), '"a b"'),
    ],
)
def test_quotes_are_there_only_where_they_are_needed(made: str, text: str) -> None:
    assert made == text


def test_a_text_too_long_to_be_compared_is_searched_by_its_beginning() -> None:
    made = parse(term("params.x", "==", "y" * 20_000))
    assert isinstance(made, Comparison)
    assert made.op == "contains"


def test_a_term_narrows_what_is_there() -> None:
    narrowed = parse(with_term("a or b", "token == 7"))
    seven = Comparison("token", (), "==", 7)
    assert narrowed == And((Or((Text("a"), Text("b"))), seven))
    assert parse(with_term(" a ", "token == 7", exclude=True)) == And((Text("a"), Not(seven)))
    assert with_term("", "token == 7") == "token == 7"


def test_a_term_is_not_repeated_and_an_unreadable_filter_is_replaced() -> None:
    assert with_term("a and token == 7", "token==7") == "a and token == 7"
    assert with_term("token == 7", "token==7") == "token == 7"
    assert with_term("((", "x") == "x"
