"""Rows of Traffic with a gap: they behave like a list of their numbers."""

import bisect

from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.gui.traffic.rows import without

_places = st.integers(0, 12)


@given(_places, _places, _places, _places, _places, _places)
def test_it_is_what_a_list_would_be(
    start: int, end: int, low: int, high: int, begin: int, until: int
) -> None:
    gap = range(low, max(low, high))
    rows, expected = without(start, end, gap), [n for n in range(start, end) if n not in gap]
    assert list(rows) == expected
    assert len(rows) == len(expected)
    assert list(rows[begin:until]) == expected[begin:until]
    assert [rows[-n] for n in range(1, len(rows) + 1)] == expected[::-1]
    assert bisect.bisect_left(rows, begin) == bisect.bisect_left(expected, begin)
