"""Edits of TOML documents, judged by the standard library's reader."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.catalogue.documents import UneditableError
from mcp_progress_monitor.catalogue.toml_editing import toml_value, with_entries

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_PLAIN = (
    st.booleans()
    | st.integers(-(2**62), 2**62)
    | _TEXT
    | st.floats(allow_nan=False, allow_infinity=False)
)
_VALUES = st.recursive(
    _PLAIN | st.lists(_PLAIN, max_size=3),
    lambda inner: st.dictionaries(_TEXT, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)
_ENTRIES = st.dictionaries(_TEXT, st.dictionaries(_TEXT, _VALUES, max_size=3), max_size=3)
_MINE = """\
# mine
model = "o3"  # why

[servers.other]
command = "k"

# about a
[servers.a]
command = "y"  # the command
gone = 1

[servers.a.env]
KEEP = "1"  # kept

[profiles.x]
depth = 1
"""


@given(_ENTRIES)
def test_whatever_is_written_is_read_again(entries: dict[str, object]) -> None:
    assert tomllib.loads(with_entries("", "servers", entries)).get("servers", {}) == entries


@given(_ENTRIES, _ENTRIES)
def test_entries_take_the_place_of_those_before(
    before: dict[str, object], after: dict[str, object]
) -> None:
    text = with_entries(with_entries("", "servers", before), "servers", after)
    assert tomllib.loads(text).get("servers", {}) == {**before, **after}


def test_it_reads_as_people_write_it() -> None:
    entries = {"a": {"x": 1, "y": ["b", {"c": True}], "z z": {"d": "e"}}, "b": {"x": 2}}
    assert with_entries("", "s", entries) == (
        '[s.a]\nx = 1\ny = ["b", {c = true}]\n\n[s.a."z z"]\nd = "e"\n\n[s.b]\nx = 2\n'
    )


def test_comments_and_order_stay() -> None:
    entries = {"a": {"command": "z", "env": {"KEEP": "1"}}, "new": {"command": "n"}}
    added = '\n[servers.new]\ncommand = "n"\n'
    wanted = _MINE.replace('"y"', '"z"').replace("gone = 1\n", "")
    wanted = wanted.replace("# kept\n", f"# kept\n{added}")
    assert with_entries(_MINE, "servers", entries) == wanted


@pytest.mark.parametrize("text", [_MINE, _MINE.replace("\n", "\r\n")])
def test_what_is_there_already_changes_nothing(text: str) -> None:
    entries = tomllib.loads(text)["servers"]
    assert with_entries(text, "servers", entries) == text


def test_a_table_is_added_behind_what_is_there() -> None:
    written = with_entries('model = "o3"', "servers", {"a": {"x": 1}})
    assert written == 'model = "o3"\n\n[servers.a]\nx = 1\n'


@pytest.mark.parametrize("text", ['servers = "none"', "servers = [1]"])
def test_what_is_no_table_is_not_edited(text: str) -> None:
    with pytest.raises(UneditableError):
        with_entries(text, "servers", {"a": {"x": 1}})


def test_what_toml_cannot_hold_is_left_out() -> None:
    value = {"a": None, "b": [1, None, "\ud800"], "\udfff": {"c": None}}
    assert toml_value(value) == {"b": [1, "\ufffd"], "\ufffd": {}}
