"""JSON values as bounded text."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.jsonrpc import Elided
from mcp_progress_monitor.wording.content import compact, pretty, searchable


def test_small_values_are_shown_whole() -> None:
    value = {"a": [1, 2.5, None, True, "x"], "b": {}}
    assert compact(value, 100) == '{"a": [1, 2.5, null, true, "x"], "b": {}}'


def test_only_as_much_is_looked_at_as_fits() -> None:
    class Watched(list[int]):
        seen = 0

        def __iter__(self) -> Any:
            for each in super().__iter__():
                self.seen += 1
                yield each

    long = Watched(range(100_000))
    assert len(compact(long, 40)) == 40
    assert long.seen < 50


def test_invisible_characters_are_made_visible() -> None:
    assert compact("a\u202eb\x1b", 40) == r'"a\u202eb\x1b"'


def test_huge_integers_have_a_size_instead_of_digits() -> None:
    assert compact(-(10**5000), 50) == "integer of about 5,000 digits"
    assert compact(10**40, 50) == "1" + "0" * 40


def test_values_left_out_say_so_in_copies() -> None:
    assert json.loads(pretty({"a": [Elided(5_000)]})) == {"a": ["… 5,000 bytes omitted …"]}
    assert compact(Elided(5_000), 40) == "… 5.0 kB …"


def test_a_searched_value_looks_as_in_the_bytes() -> None:
    assert searchable('say "hi"') == r"say \"hi\""
    assert searchable(1.5) == "1.5"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    ),
    st.integers(5, 80),
)
def test_no_value_is_longer_than_the_limit(value: Any, limit: int) -> None:
    assert len(compact(value, limit)) <= limit
