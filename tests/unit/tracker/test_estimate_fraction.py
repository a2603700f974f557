"""Fractions of numbers that a server may make as odd as it likes."""

from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.tracker.estimate import as_float, fraction, is_above

NUMBERS = st.one_of(
    st.integers(),
    st.integers(-(10**400), 10**400),
    st.floats(allow_nan=False, allow_infinity=False),
)


def test_integers_are_above_by_any_amount_and_floats_by_more_than_a_hair() -> None:
    assert is_above(10**15 + 1, 10**15)
    assert not is_above(1.0 + 1e-12, 1)
    assert is_above(1.001, 1)
    assert not is_above(1, 1)


def test_a_negative_progress_is_an_empty_bar() -> None:
    assert fraction(-(10**400), 5) == 0.0


def test_the_whole_is_one() -> None:
    assert fraction(3, 3) == 1.0
    assert fraction(0.1 + 0.2, 0.3) == 1.0


def test_integers_beyond_floats_have_their_true_fraction() -> None:
    assert fraction(10**400, 4 * 10**400) == 0.25
    assert fraction(5.0, 10**400) == 5.0 / 1.7976931348623157e308


@given(NUMBERS, NUMBERS)
def test_a_fraction_is_within_the_bar_or_unknown(progress: float, total: float) -> None:
    share = fraction(progress, total)
    assert share is None or 0.0 <= share <= 1.0
    assert (share is None) == (total <= 0 or is_above(progress, total))


@given(NUMBERS)
def test_any_number_has_a_finite_float(value: float) -> None:
    assert abs(as_float(value)) <= 1.7976931348623157e308
