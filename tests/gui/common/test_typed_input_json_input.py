"""Typed JSON is read exactly; mistakes say where they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.gui.common.typed_input import (
    JsonInputError,
    read_json,
    read_number,
    write_json,
)


def test_integers_of_any_size_stay_exact() -> None:
    big = 2**200 + 1
    assert read_json(write_json({"n": big})) == {"n": big}
    assert read_number(str(-big), is_integer=True) == -big


def test_a_mistake_names_line_and_column() -> None:
    with pytest.raises(JsonInputError, match="line 3, column 8") as caught:
        read_json('{\n  "a": 1,\n  "b": nul\n}')
    assert (caught.value.line, caught.value.column) == (3, 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NaN", "NaN is not valid JSON"),
        ("[Infinity]", "Infinity is not valid JSON"),
        ("1e999", "too large"),
        ('{"a":1,"a":2}', "duplicate name"),
        ("9" * 5_000, "5,000 digits"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_json_cannot_keep_is_refused(text: str, message: str) -> None:
    with pytest.raises(JsonInputError, match=message):
        read_json(text)


@pytest.mark.parametrize("text", ["", "abc", "true", '"1"', "1.5", "[1]"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(JsonInputError):
        read_number(text, is_integer=True)


def test_fractions_are_numbers() -> None:
    assert read_number(" 0.25 ", is_integer=False) == 0.25
    assert read_number("5.0", is_integer=True) == 5


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    )
)
def test_what_is_written_is_read_back(value: object) -> None:
    assert read_json(write_json(value)) == value
