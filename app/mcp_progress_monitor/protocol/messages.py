"""What servers offer: tools, resources, prompts, read leniently from the results of lists.

An item that lacks what it must have is left out and described; anything else that is wrong is
described only. Source: "Tools", "Resources", "Prompts" of every revision. `raw` is the item as
received, with words in place of a member that is nested too deep to be decoded.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.reading import Elided, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.protocol.facts import JsonObject

T = TypeVar("T")

ALL_LISTS = frozenset({"tools", "resources", "prompts"})
"""What a server may offer, each named as its capability."""

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
    """A template of the URIs of resources (RFC 6570)."""

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

    def __init__(self, entry: Any, label: str, problems: list[str]) -> None:
        received = as_object(entry)
        self.undecoded = {k: shown(v) for k, v in received.items() if isinstance(v, Elided)}
        self.members = {k: v for k, v in received.items() if k not in self.undecoded}
        self.raw = received | self.undecoded
        self._label = label
        self._problems = problems
        for key, words in self.undecoded.items():
            self.note(f'"{key}" is {words}')

    def text(self, key: str) -> str | None:
        """An optional string."""
        value = self.members.get(key)
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


def read_templates(result: JsonObject) -> Page[ResourceTemplate]:
    """Read the result of `resources/templates/list`."""
    return _read_page(result, "resourceTemplates", "uriTemplate", _template)


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
        problems.append(f'"{key}" is {_instead_of_list(result, key)}')
        listed = []
    items = []
    for index, entry in enumerate(listed, 1):
        item = _Item(entry, f"{key} {index}", problems)
        name = item.members.get(identity)
        if isinstance(name, str):
            items.append(build(item, name))
        else:
            item.note(f'left out: "{identity}" is {shown(name)}, not a string')
    return Page(tuple(items), _next_cursor(result, problems), tuple(problems))


def _instead_of_list(result: JsonObject, key: str) -> str:
    value = result.get(key)
    if isinstance(value, Elided) and value.is_too_deep:
        return shown(value)  # which may be a list
    return f"{shown(value) if key in result else 'missing'}, not a list"


def _next_cursor(result: JsonObject, problems: list[str]) -> str | None:
    cursor = result.get("nextCursor")
    if cursor is None or isinstance(cursor, str):
        return cursor
    problems.append(f'"nextCursor" is {shown(cursor)}, not a string')
    return None


def _tool(item: _Item, name: str) -> Tool:
    schema = item.members.get("inputSchema")
    if not isinstance(schema, dict) and "inputSchema" not in item.undecoded:
        item.note('"inputSchema" is missing or no object')
    support = as_object(item.members.get("execution")).get("taskSupport", TASK_SUPPORT[0])
    if support not in TASK_SUPPORT:
        item.note(f'"taskSupport" is {shown(support)}')
        support = TASK_SUPPORT[0]
    # `annotations.title` is where titles were before 2025-06-18.
    title = item.text("title") or _string(as_object(item.members.get("annotations")).get("title"))
    return Tool(name, title, item.text("description"), as_object(schema), support, item.raw)


def _resource(item: _Item, uri: str) -> Resource:
    size = item.members.get("size")
    return Resource(
        uri,
        item.text("name") or uri,
        item.text("title"),
        item.text("description"),
        item.text("mimeType"),
        size if type(size) is int else None,
        item.raw,
    )


def _template(item: _Item, uri_template: str) -> ResourceTemplate:
    return ResourceTemplate(
        uri_template,
        item.text("name") or uri_template,
        item.text("title"),
        item.text("description"),
        item.text("mimeType"),
        item.raw,
    )


def _prompt(item: _Item, name: str) -> Prompt:
    arguments = item.members.get("arguments") or []
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
