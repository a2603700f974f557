"""The elements of an array are found in any JSON, however its bytes come."""

import io
import json
from io import FileIO
from typing import Any, cast

import hypothesis
import pytest
from hypothesis import strategies as st

from mcp_progress_monitor.imports import har
from mcp_progress_monitor.imports.har import JsonStreamError, elements

PATH = ("log", "entries")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10) | st.just('"{[\\'),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["log", "entries", "a", '"']), inner, max_size=3)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=3)


def found(data: bytes) -> list[bytes]:
    return list(elements(cast("FileIO", io.BytesIO(data)), PATH))


@hypothesis.given(
    before=st.dictionaries(st.sampled_from(["a", "entries", "pages"]), VALUES, max_size=3),
    within=st.dictionaries(st.sampled_from(["log", "pages", "b"]), VALUES, max_size=3),
    entries=st.lists(OBJECTS, max_size=4),
    indent=st.sampled_from([None, 1]),
    block=st.integers(1, 40),
)
def test_the_entries_are_found_wherever_they_stand(
    before: dict[str, Any],
    within: dict[str, Any],
    entries: list[Any],
    indent: int | None,
    block: int,
) -> None:
    document = {**before, "log": {**within, "entries": entries, "z": 1}, "y": [2]}
    for ascii_only in (True, False):
        text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(har, "_BLOCK", block)
            raws = found(text.encode(errors="surrogatepass"))
        assert [json.loads(raw) for raw in raws] == entries


@hypothesis.given(
    st.binary(max_size=200) | st.text('{}[]":, logentris\\', max_size=200).map(str.encode)
)
def test_anything_ends_in_entries_or_one_error(data: bytes) -> None:
    try:
        found(data)
    except JsonStreamError:
        return


def test_a_file_that_is_cut_gives_what_is_whole() -> None:
    text = json.dumps({"log": {"entries": [{"a": 1}, {"b": "long " * 100}]}}).encode()
    stream = elements(cast("FileIO", io.BytesIO(text[:-20])), PATH)
    assert json.loads(next(stream)) == {"a": 1}
    with pytest.raises(JsonStreamError):
        next(stream)


def test_an_element_that_is_too_large_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(har, "LARGEST", 1000)
    monkeypatch.setattr(har, "_BLOCK", 100)
    small, large = {"a": "x" * 500}, {"b": "x" * 5000}
    stream = elements(
        cast("FileIO", io.BytesIO(json.dumps({"log": {"entries": [small, large]}}).encode())), PATH
    )
    assert json.loads(next(stream)) == small
    with pytest.raises(JsonStreamError, match="too large"):
        next(stream)


def test_what_precedes_the_entries_may_be_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(har, "LARGEST", 10_000)
    monkeypatch.setattr(har, "_BLOCK", 100)
    pages = [{"title": "x" * 100}] * 1000
    text = json.dumps({"log": {"pages": pages, "entries": [{"a": 1}]}})
    assert [json.loads(raw) for raw in found(text.encode())] == [{"a": 1}]
