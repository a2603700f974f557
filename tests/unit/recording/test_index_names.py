"""Names: one small number for each value, and tokens of different types apart."""

import pytest

from mcp_progress_monitor.recording.index import NONE, SharedValues, is_long, key_of


def test_values_are_numbered_from_one_in_the_order_of_their_coming() -> None:
    names: SharedValues[str] = SharedValues(100)
    assert [names.number(word, word) for word in ("a", "b", "a")] == [1, 2, 1]
    assert list(names) == [(1, "a"), (2, "b")]
    assert len(names) == 2


def test_a_number_gives_its_value_back() -> None:
    names: SharedValues[str] = SharedValues(100)
    number = names.number("a", "a")
    assert names.value(number) == "a"
    assert [names.value(other) for other in (NONE, -1, number + 1, names.many)] == [None] * 4


def test_what_is_too_much_shares_the_last_number() -> None:
    names: SharedValues[str] = SharedValues(3)
    assert [names.number(word, word) for word in "abcd"] == [1, 2, 3, 3]
    assert names.number("a", "a") == 1
    assert len(names) == 2


def test_long_values_are_not_kept() -> None:
    names: SharedValues[str] = SharedValues(100)
    assert names.number("x" * 201, "x" * 201) == names.many
    assert names.number("x" * 200, "x" * 200) == 1


@pytest.mark.parametrize(("value", "is_it"), [("", False), (7, False), ([], True), ({}, True)])
def test_values_that_may_hold_anything_are_long(value: object, *, is_it: bool) -> None:
    assert is_long(value) is is_it


def test_tokens_of_different_types_differ_though_python_calls_them_equal() -> None:
    tokens = [7, "7", 7.0, 1, True, 1.0, "true", None]
    assert len({key_of(token) for token in tokens}) == len(tokens)


def test_hostile_tokens_have_small_keys() -> None:
    assert len(repr(key_of(["x" * 10_000]))) < 300
