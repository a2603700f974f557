"""Lists of tools, resources and prompts, read leniently."""

from typing import Any

import pytest

from mcp_progress_monitor.protocol.lenient_json import Elided
from mcp_progress_monitor.protocol.offers import (
    Prompt,
    PromptArgument,
    Resource,
    Skill,
    Tool,
    declares,
    read_events,
    read_prompts,
    read_resources,
    read_skills,
    read_tools,
)


def test_a_tool_is_read_whole() -> None:
    raw = {
        "name": "sleep",
        "title": "Sleep",
        "description": "Does nothing.",
        "inputSchema": {"type": "object"},
        "execution": {"taskSupport": "optional"},
        "x": 1,
    }
    page = read_tools({"tools": [raw], "nextCursor": "more"})
    assert page.items == (
        Tool("sleep", "Sleep", "Does nothing.", {"type": "object"}, "optional", raw),
    )
    assert page.next_cursor == "more"
    assert page.errors == ()


def test_a_title_is_taken_from_the_annotations_when_there_is_no_other() -> None:
    tool = {"name": "a", "inputSchema": {}, "annotations": {"title": "A"}}
    assert read_tools({"tools": [tool]}).items[0].title == "A"
    assert read_tools({"tools": [tool | {"title": "B"}]}).items[0].title == "B"


def test_a_resource_is_read_whole() -> None:
    raw = {"uri": "file:///a", "name": "a", "title": "A", "mimeType": "text/plain", "size": 5}
    assert read_resources({"resources": [raw]}).items == (
        Resource("file:///a", "a", "A", None, "text/plain", 5, raw),
    )


def test_a_prompt_is_read_whole() -> None:
    arguments = [{"name": "a", "title": "A", "description": "d", "required": True}, {"name": "b"}]
    raw = {"name": "p", "title": "P", "description": "d", "arguments": arguments}
    assert read_prompts({"prompts": [raw]}).items == (
        Prompt(
            "p",
            "P",
            "d",
            (PromptArgument("a", "A", "d", True), PromptArgument("b", None, None, False)),
            raw,
        ),
    )


def test_an_item_without_its_name_is_left_out_and_reported() -> None:
    page = read_tools({"tools": [{"inputSchema": {}}, 5, {"name": "a", "inputSchema": {}}]})
    assert [tool.name for tool in page.items] == ["a"]
    assert page.errors == (
        'tools 1: skipped: "name" is null, not a string',
        'tools 2: skipped: "name" is null, not a string',
    )


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ({}, '"tools" is missing, not a list'),
        ({"tools": {}}, '"tools" is {}, not a list'),
        ({"tools": [], "nextCursor": 5}, '"nextCursor" is 5, not a string'),
        ({"tools": [{"name": "a"}]}, 'tools 1: "inputSchema" is missing or not an object'),
        (
            {"tools": [{"name": "a", "inputSchema": {}, "execution": {"taskSupport": "x"}}]},
            'tools 1: "taskSupport" is "x"',
        ),
        (
            {"tools": [{"name": "a", "inputSchema": {}, "description": 5}]},
            'tools 1: "description" is 5, not a string',
        ),
    ],
)
def test_what_is_wrong_with_a_list_of_tools_is_reported(result: dict[str, Any], error: str) -> None:
    page = read_tools(result)
    assert page.errors == (error,)
    assert all(tool.input_schema == {} for tool in page.items)
    assert page.next_cursor is None


def test_odd_members_of_other_items_do_no_harm() -> None:
    (resource,) = read_resources({"resources": [{"uri": "a:b", "size": True}]}).items
    assert (resource.name, resource.size) == ("a:b", None)
    page = read_prompts({"prompts": [{"name": "p", "arguments": {"a": 1}}]})
    assert page.items[0].arguments == ()
    assert page.errors == ('prompts 1: "arguments" is {"a": 1}, not a list',)
    (prompt,) = read_prompts({"prompts": [{"name": "p", "arguments": [5, {"name": 1}]}]}).items
    assert prompt.arguments == ()


def test_a_tool_whose_schema_was_not_decoded_keeps_its_name_and_words_stand_in_its_place() -> None:
    deep = Elided(12_350, is_too_deep=True)
    page = read_tools({"tools": [{"name": "a", "inputSchema": deep}]})
    text = "a value of 12,350 bytes, nested too deeply to decode"
    assert page.items == (
        Tool("a", None, None, {}, "forbidden", {"name": "a", "inputSchema": text}),
    )
    assert page.errors == (f'tools 1: "inputSchema" is {text}',)


def test_what_was_not_decoded_is_no_name_and_no_title() -> None:
    deep = Elided(900, is_too_deep=True)
    page = read_tools({"tools": [{"name": deep}, {"name": "a", "title": deep, "inputSchema": {}}]})
    assert [(tool.name, tool.title) for tool in page.items] == [("a", None)]


def test_a_list_that_was_not_decoded_is_not_said_to_be_no_list() -> None:
    page = read_tools({"tools": Elided(900, is_too_deep=True)})
    assert page.errors == ('"tools" is a value of 900 bytes, nested too deeply to decode',)


def test_types_of_events_and_skills_are_read_with_unknown_members() -> None:
    raw = {"name": "build.finished", "delivery": ["push"], "inputSchema": {"a": 1}, "x": 2}
    (kind,) = read_events({"events": [raw]}).items
    assert (kind.name, kind.input_schema, kind.raw) == ("build.finished", {"a": 1}, raw)
    raw = {"uri": "skill://a/SKILL.md", "frontmatter": {"name": "a", "description": "b"}, "x": 2}
    page = read_skills({"skills": [raw, {"frontmatter": {}}], "nextCursor": "c"})
    assert page.items == (Skill("skill://a/SKILL.md", "a", "b", raw),)
    assert (page.next_cursor, len(page.errors)) == ("c", 1)


@pytest.mark.parametrize(
    ("capabilities", "is_declared"),
    [
        ({"events": {}}, True),
        ({"extensions": {"io.modelcontextprotocol/events": {}}}, True),
        ({"extensions": {"io.modelcontextprotocol/skills": {}}}, False),
        ({"extensions": None}, False),
    ],
)
def test_a_list_is_declared_as_a_capability_or_by_an_extension(
    capabilities: dict[str, Any], is_declared: bool
) -> None:
    assert declares(capabilities, "events") is is_declared


@pytest.mark.parametrize(
    ("hints", "may"),
    [
        (None, True),
        ({}, True),
        ({"destructiveHint": True}, True),
        ({"destructiveHint": False}, False),
        ({"readOnlyHint": True}, False),
        ({"readOnlyHint": "yes"}, True),
        ([], True),
    ],
)
def test_a_tool_may_destroy_unless_it_declares_otherwise(hints: object, may: bool) -> None:
    raw = {"name": "t", "inputSchema": {"type": "object"}, "annotations": hints}
    assert read_tools({"tools": [raw]}).items[0].may_destroy is may
