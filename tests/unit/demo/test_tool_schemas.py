"""Arguments are checked and completed before a tool sees them."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.demo import tool as schemas
from mcp_progress_monitor.demo.tool import ArgumentError, complete
from tests.servers.tools import TOOLS

SCHEMA = schemas.record(
    count=schemas.integer("", 3, 1, 10),
    speed=schemas.number("", 0.5, 0, 1),
    mode=schemas.choice("", "fast", "slow"),
    is_loud=schemas.flag(""),
    parts=schemas.listing(
        "", schemas.record(name=schemas.text("", "x"), size={"type": "integer"}), default=[]
    ),
)


def test_defaults_are_filled_in_at_every_depth() -> None:
    completed = complete(SCHEMA, {"parts": [{"size": 1}]})
    assert completed == {
        "count": 3,
        "speed": 0.5,
        "mode": "fast",
        "is_loud": False,
        "parts": [{"name": "x", "size": 1}],
    }


@pytest.mark.parametrize(
    ("given_arguments", "path"),
    [
        ({"count": "3"}, "count"),
        ({"count": 0}, "count"),
        ({"count": 11}, "count"),
        ({"count": 2.5}, "count"),
        ({"count": True}, "count"),
        ({"speed": float("nan")}, "speed"),
        ({"speed": float("inf")}, "speed"),
        ({"mode": "sideways"}, "mode"),
        ({"is_loud": 1}, "is_loud"),
        ({"parts": {}}, "parts"),
        ({"parts": [{"name": "y"}]}, "parts[0].size"),
        ({"parts": [{"size": 1}, {"size": None}]}, "parts[1].size"),
        ({"colour": "red"}, "colour"),
        ([], ""),
    ],
)
def test_a_misfit_is_refused_with_its_place(given_arguments: Any, path: str) -> None:
    with pytest.raises(ArgumentError) as refusal:
        complete(SCHEMA, given_arguments)
    assert refusal.value.path == path


def test_too_few_items_are_refused() -> None:
    schema = schemas.listing("", schemas.text("", ""), minItems=2)
    with pytest.raises(ArgumentError, match="at least 2"):
        complete(schema, ["one"])


def test_a_whole_float_is_an_integer() -> None:
    assert complete(schemas.integer("", 1, 1, 5), 3.0) == 3


@given(
    st.dictionaries(
        st.sampled_from(["count", "speed", "mode", "is_loud", "parts", "other"]),
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-2, 12),
            st.floats(allow_nan=False, allow_infinity=False),
            st.sampled_from(["fast", "slow", ""]),
            st.lists(st.fixed_dictionaries({"size": st.integers() | st.text()}), max_size=2),
        ),
    )
)
def test_the_verdict_is_that_of_a_full_validator(arguments: dict[str, object]) -> None:
    is_valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(arguments)
    try:
        complete(SCHEMA, arguments)
    except ArgumentError:
        assert not is_valid
    else:
        assert is_valid


@pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])
def test_each_tool_publishes_a_valid_schema_with_words_for_every_argument(tool: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(tool.schema)
    assert tool.title
    assert tool.description
    assert all(member.get("description") for member in tool.schema["properties"].values())


def test_some_tool_takes_nested_objects_and_arrays() -> None:
    (phases,) = [tool for tool in TOOLS if tool.name == "phases"]
    properties = phases.schema["properties"]
    assert properties["stages"]["items"]["type"] == "object"
    assert properties["settings"]["properties"]["labels"]["type"] == "array"
