"""TOML that comes back as what it was."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from app.catalogue.toml_text import toml_text

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_PLAIN = (
    st.booleans()
    | st.integers(-(2**62), 2**62)
    | _TEXT
    | st.floats(allow_nan=False, allow_infinity=False)
)
_VALUES = st.recursive(
    _PLAIN | st.lists(_PLAIN, max_size=3),
    lambda inner: st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(_TEXT, _VALUES, max_size=4))
def test_whatever_is_written_is_read_again(table: dict[str, object]) -> None:
    assert tomllib.loads(toml_text(table)) == table


def test_it_reads_as_people_write_it() -> None:
    table = {"a": {"x": 1, "y": ["b", {"c": True}], "z z": {"d": "e"}}}
    assert toml_text(table) == '[a]\nx = 1\ny = ["b", { c = true }]\n\n[a."z z"]\nd = "e"\n'
