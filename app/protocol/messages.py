"""What servers offer: tools, resources, prompts, read leniently from the results of lists.

An item that lacks what it must have is left out and described; anything else that is wrong is
described only. Source: "Tools", "Resources", "Prompts" of every revision. `raw` is the item as
received.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from app.protocol.eras import as_object
from app.protocol.reading import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.protocol.facts import JsonObject

T = TypeVar("T")

TASK_SUPPORT = ("forbidden", "optional", "required")


@dataclasses.dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `task_support` is one of `TASK_SUPPORT` (2025-11-25, "Tool-Level Negotiation")."""

    name: str
    title: str | None
    description: str | None
    input_schema: JsonObject
    task_support: str
    raw: JsonObject


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """A resource; `size` in bytes, None if unknown."""

    uri: str
    name: str
    title: str | None
    description: str | None
    mime_type: str | None
    size: int | None
    raw: JsonObject


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceTemplate:
    """A family of resources; `uri_template` follows RFC 6570."""

    uri_template: str
    name: str
    title: str | None
    description: str | None
    mime_type: str | None
    raw: JsonObject


class PromptArgument(NamedTuple):
    """One argument of a prompt; its value is a string."""

    name: str
    title: str | None
    description: str | None
    is_required: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt template."""

    name: str
    title: str | None
    description: str | None
    arguments: tuple[PromptArgument, ...]
    raw: JsonObject


@dataclasses.dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list; `next_cursor` asks for the next one, None on the last."""

    items: tuple[T, ...]
    next_cursor: str | None
    problems: tuple[str, ...]


class _Item:
    """One object of a list, read member by member; notes what is wrong with it."""

    def __init__(self, raw: JsonObject, label: str, problems: list[str]) -> None:
        self.raw = raw
        self._label = label
        self._problems = problems

    def text(self, key: str) -> str | None:
        """An optional string."""
        value = self.raw.get(key)
        if value is None or isinstance(value, str):
            return value
        self.note(f'"{key}" is {shown(value)}, not a string')
        return None

    def note(self, problem: str) -> None:
        self._problems.append(f"{self._label}: {problem}")


def read_tools(result: JsonObject) -> Page[Tool]:
    """Read the result of `tools/list`."""
    return _read_page(result, "tools", "name", _tool)


def read_resources(result: JsonObject) -> Page[Resource]:
    """Read the result of `resources/list`."""
    return _read_page(result, "resources", "uri", _resource)


def read_resource_templates(result: JsonObject) -> Page[ResourceTemplate]:
    """Read the result of `resources/templates/list`."""
    return _read_page(result, "resourceTemplates", "uriTemplate", _resource_template)


def read_prompts(result: JsonObject) -> Page[Prompt]:
    """Read the result of `prompts/list`."""
    return _read_page(result, "prompts", "name", _prompt)


def _read_page(
    result: JsonObject, key: str, identity: str, build: Callable[[_Item, str], T]
) -> Page[T]:
    """Read the list `key`, whose items must have the string `identity`."""
    problems: list[str] = []
    listed = result.get(key)
    if not isinstance(listed, list):
        seen = shown(listed) if key in result else "missing"
        problems.append(f'"{key}" is {seen}, not a list')
        listed = []
    items = []
    for index, entry in enumerate(listed, 1):
        raw = as_object(entry)
        item = _Item(raw, f"{key} {index}", problems)
        name = raw.get(identity)
        if isinstance(name, str):
            items.append(build(item, name))
        else:
            item.note(f'left out: "{identity}" is {shown(name)}, not a string')
    return Page(tuple(items), _next_cursor(result, problems), tuple(problems))


def _next_cursor(result: JsonObject, problems: list[str]) -> str | None:
    cursor = result.get("nextCursor")
    if cursor is None or isinstance(cursor, str):
        return cursor
    problems.append(f'"nextCursor" is {shown(cursor)}, not a string')
    return None


def _tool(item: _Item, name: str) -> Tool:
    schema = item.raw.get("inputSchema")
    if not isinstance(schema, dict):
        item.note('"inputSchema" is missing or no object')
    support = as_object(item.raw.get("execution")).get("taskSupport", TASK_SUPPORT[0])
    if support not in TASK_SUPPORT:
        item.note(f'"taskSupport" is {shown(support)}')
        support = TASK_SUPPORT[0]
    # `annotations.title` is where titles were before 2025-06-18.
    title = item.text("title") or _string(as_object(item.raw.get("annotations")).get("title"))
    return Tool(name, title, item.text("description"), as_object(schema), support, item.raw)


def _resource(item: _Item, uri: str) -> Resource:
    size = item.raw.get("size")
    return Resource(
        uri,
        item.text("name") or uri,
        item.text("title"),
        item.text("description"),
        item.text("mimeType"),
        size if type(size) is int else None,
        item.raw,
    )


def _resource_template(item: _Item, uri_template: str) -> ResourceTemplate:
    return ResourceTemplate(
        uri_template,
        item.text("name") or uri_template,
        item.text("title"),
        item.text("description"),
        item.text("mimeType"),
        item.raw,
    )


def _prompt(item: _Item, name: str) -> Prompt:
    arguments = item.raw.get("arguments") or []
    if not isinstance(arguments, list):
        item.note(f'"arguments" is {shown(arguments)}, not a list')
        arguments = []
    return Prompt(
        name,
        item.text("title"),
        item.text("description"),
        tuple(
            PromptArgument(
                entry["name"],
                _string(entry.get("title")),
                _string(entry.get("description")),
                entry.get("required") is True,
            )
            for entry in map(as_object, arguments)
            if isinstance(entry.get("name"), str)
        ),
        item.raw,
    )


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None
