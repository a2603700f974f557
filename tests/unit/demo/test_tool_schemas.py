"""Arguments are checked and completed before a tool sees them."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.demo import tool as schemas
from mcp_progress_monitor.demo.tool import ArgumentError, complete
from mcp_progress_monitor.demo.tools import TOOLS

SCHEMA = schemas.record(
    count=schemas.integer("", 3, 1, 10),
    speed=schemas.number("", 0.5, 0, 1),
    mode=schemas.choice("", "fast", "slow"),
    is_loud=schemas.flag(""),
    size={"type": "integer"},
)


def test_defaults_are_filled_in() -> None:
    completed = complete(SCHEMA, {"size": 1})
    assert completed == {"count": 3, "speed": 0.5, "mode": "fast", "is_loud": False, "size": 1}


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
        ({"size": None}, "size"),
        ({}, "size"),
        ({"colour": "red"}, "colour"),
        ([], "arguments"),
    ],
)
def test_a_misfit_is_refused_with_its_place(given_arguments: Any, path: str) -> None:
    whole = given_arguments and {"size": 1, **given_arguments}
    with pytest.raises(ArgumentError) as refusal:
        complete(SCHEMA, whole)
    assert refusal.value.name == path


def test_a_whole_float_is_an_integer() -> None:
    assert complete(SCHEMA, {"size": 3.0})["size"] == 3


@given(
    st.dictionaries(
        st.sampled_from(["count", "speed", "mode", "is_loud", "size", "other"]),
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-2, 12),
            st.floats(allow_nan=False, allow_infinity=False),
            st.sampled_from(["fast", "slow", ""]),
            st.lists(st.integers(), max_size=2),
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
def test_each_tool_publishes_a_valid_schema_with_a_message_for_every_argument(tool: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(tool.schema)
    assert tool.title
    assert tool.description
    assert all(member.get("description") for member in tool.schema["properties"].values())
