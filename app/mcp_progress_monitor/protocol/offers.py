"""Parses servers' lists of tools, resources and prompts leniently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.lenient_json import Elided, TooDeepError, read_value, shown
from mcp_progress_monitor.protocol.messages import (
    LIST_EVENTS,
    LIST_PROMPTS,
    LIST_RESOURCES,
    LIST_SKILLS,
    LIST_TEMPLATES,
    LIST_TOOLS,
    NEXT_CURSOR,
    RESERVED,
)
from mcp_progress_monitor.protocol.outline import Slices, array_elements, finish, object_members

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_progress_monitor.protocol.facts import JsonObject


def read_list_result(raw: bytes, key: str) -> JsonObject:
    """The result of the reply `raw`, whose list is `key`; empty if it has none.

    Takes as long as decoding. Values nested too deep become `Elided`: of the list's items only
    their members, elsewhere whole members of the result.

    Raises:
        NotJsonError: the reply cannot be read after all, as is known of large ones only now.
    """
    try:
        return as_object(as_object(read_value(raw).value).get("result"))
    except TooDeepError:
        return finish(_shallow_result(raw, key))


def _shallow_result(raw: bytes, key: str) -> Slices[JsonObject]:
    members = yield from object_members(raw)
    result: JsonObject = {}
    for name, value in (yield from _members_if_object(members.get("result", b""))).items():
        is_list = name == key and value.startswith(b"[")
        result[name] = (yield from _items(value)) if is_list else _value(value)
    return result


def _items(raw: bytes) -> Slices[list[Any]]:
    items = []
    for element in (yield from array_elements(raw)):
        item = _value(element)
        if isinstance(item, Elided) and element.startswith(b"{"):
            members = yield from object_members(element)
            item = {name: _value(value) for name, value in members.items()}
        items.append(item)
    return items


def _members_if_object(raw: bytes) -> Slices[dict[str, bytes]]:
    return (yield from object_members(raw)) if raw.startswith(b"{") else {}


def _value(raw: bytes) -> Any:
    try:
        return read_value(raw).value
    except TooDeepError:
        return Elided(len(raw), is_too_deep=True)


T = TypeVar("T")


def declares(capabilities: JsonObject, name: str) -> bool:
    """Return whether a server has declared a list: as a capability, or by its extension."""
    return name in capabilities or f"{RESERVED}{name}" in as_object(capabilities.get("extensions"))


TASK_SUPPORT = ("forbidden", "optional", "required")


TOOL_PARTS: Final = (
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "execution",
)
"""The members of a tool that make up its definition."""
MOST_CHANGES: Final = 50  # tools that one event reports as changed


def definition_changes(fields: JsonObject) -> Iterator[tuple[str, str]]:
    """Tools that changed since the last session, each with its diff, from a recorded event."""
    listed = fields.get("tools")
    for each in listed[:MOST_CHANGES] if isinstance(listed, list) else ():
        about = as_object(each)
        tool, diff = about.get("tool"), about.get("diff")
        if isinstance(tool, str) and isinstance(diff, str):
            yield tool, diff


class Tool(NamedTuple):
    """A tool. `task_support` is one of `TASK_SUPPORT` (2025-11-25, "Tool-Level Negotiation")."""

    name: str
    title: str | None
    description: str | None
    input_schema: JsonObject
    task_support: str
    raw: JsonObject

    def has_hint(self, name: str) -> bool:
        """True if the server declares an annotation, such as `destructiveHint`, to be true."""
        annotations = self.raw.get("annotations")
        return isinstance(annotations, dict) and annotations.get(name) is True

    @property
    def may_destroy(self) -> bool:
        """True unless the server declares that it only reads or adds, as the protocol assumes."""
        annotations = self.raw.get("annotations")
        is_additive = isinstance(annotations, dict) and annotations.get("destructiveHint") is False
        return not (is_additive or self.has_hint("readOnlyHint"))


class Resource(NamedTuple):
    """A resource; `size` in bytes, None if unknown."""

    uri: str
    name: str
    title: str | None
    description: str | None
    mime_type: str | None
    size: int | None
    raw: JsonObject


class ResourceTemplate(NamedTuple):
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


class Prompt(NamedTuple):
    """A prompt template."""

    name: str
    title: str | None
    description: str | None
    arguments: tuple[PromptArgument, ...]
    raw: JsonObject


class EventType(NamedTuple):
    """A type of events that a server reports; the schema is that of a subscription's arguments."""

    name: str
    title: str | None
    description: str | None
    input_schema: JsonObject
    raw: JsonObject


class Skill(NamedTuple):
    """A skill, by the URI of its text; name and description are those of its front matter."""

    uri: str
    name: str | None
    description: str | None
    raw: JsonObject


class ListPage(NamedTuple, Generic[T]):
    """One page of a list; `next_cursor` requests the next one, None on the last."""

    items: tuple[T, ...]
    next_cursor: str | None
    errors: tuple[str, ...]


class _OfferedItem:
    """One object of a list, parsed member by member; collects its errors."""

    def __init__(self, entry: Any, label: str, errors: list[str]) -> None:
        received = as_object(entry)
        self.undecoded = {k: shown(v) for k, v in received.items() if isinstance(v, Elided)}
        self.members = {k: v for k, v in received.items() if k not in self.undecoded}
        self.raw = received | self.undecoded
        self._label = label
        self._errors = errors
        for key, text in self.undecoded.items():
            self.note(f'"{key}" is {text}')

    def text(self, key: str) -> str | None:
        value = self.members.get(key)
        if value is None or isinstance(value, str):
            return value
        self.note(f'"{key}" is {shown(value)}, not a string')
        return None

    def note(self, error: str) -> None:
        self._errors.append(f"{self._label}: {error}")


def read_tools(result: JsonObject) -> ListPage[Tool]:
    return _read_page(result, "tools", "name", _tool)


def read_resources(result: JsonObject) -> ListPage[Resource]:
    return _read_page(result, "resources", "uri", _resource)


def read_templates(result: JsonObject) -> ListPage[ResourceTemplate]:
    return _read_page(result, "resourceTemplates", "uriTemplate", _template)


def read_prompts(result: JsonObject) -> ListPage[Prompt]:
    return _read_page(result, "prompts", "name", _prompt)


def read_events(result: JsonObject) -> ListPage[EventType]:
    return _read_page(result, "events", "name", _event_type)


def read_skills(result: JsonObject) -> ListPage[Skill]:
    return _read_page(result, "skills", "uri", _skill)


class ListKind(NamedTuple):
    """One of a server's lists: its capability or extension, its method, and its parser."""

    capability: str
    read: Callable[[JsonObject], ListPage[Any]]
    member: str
    """The result's member with the items."""
    method: str


LISTS = (
    ListKind("tools", read_tools, "tools", LIST_TOOLS),
    ListKind("resources", read_resources, "resources", LIST_RESOURCES),
    ListKind("prompts", read_prompts, "prompts", LIST_PROMPTS),
    ListKind("events", read_events, "events", LIST_EVENTS),
    ListKind("skills", read_skills, "skills", LIST_SKILLS),
)
TEMPLATES = ListKind("resources", read_templates, "resourceTemplates", LIST_TEMPLATES)
ALL_LISTS = frozenset(kind.capability for kind in LISTS)


def _read_page(
    result: JsonObject, key: str, identity: str, build: Callable[[_OfferedItem, str], T]
) -> ListPage[T]:
    errors: list[str] = []
    listed = result.get(key)
    if not isinstance(listed, list):
        errors.append(f'"{key}" is {_instead_of_list(result, key)}')
        listed = []
    items = []
    for index, entry in enumerate(listed, 1):
        item = _OfferedItem(entry, f"{key} {index}", errors)
        name = item.members.get(identity)
        if isinstance(name, str):
            items.append(build(item, name))
        else:
            item.note(f'skipped: "{identity}" is {shown(name)}, not a string')
    return ListPage(tuple(items), _next_cursor(result, errors), tuple(errors))


def _instead_of_list(result: JsonObject, key: str) -> str:
    value = result.get(key)
    if isinstance(value, Elided) and value.is_too_deep:
        return shown(value)  # which may be a list
    return f"{shown(value) if key in result else 'missing'}, not a list"


def _next_cursor(result: JsonObject, errors: list[str]) -> str | None:
    cursor = result.get(NEXT_CURSOR)
    if cursor is None or isinstance(cursor, str):
        return cursor
    errors.append(f'"nextCursor" is {shown(cursor)}, not a string')
    return None


def _tool(item: _OfferedItem, name: str) -> Tool:
    schema = item.members.get("inputSchema")
    if not isinstance(schema, dict) and "inputSchema" not in item.undecoded:
        item.note('"inputSchema" is missing or not an object')
    support = as_object(item.members.get("execution")).get("taskSupport", TASK_SUPPORT[0])
    if support not in TASK_SUPPORT:
        item.note(f'"taskSupport" is {shown(support)}')
        support = TASK_SUPPORT[0]
    # `annotations.title` is where titles were before 2025-06-18.
    title = item.text("title") or _string(as_object(item.members.get("annotations")).get("title"))
    return Tool(name, title, item.text("description"), as_object(schema), support, item.raw)


def _resource(item: _OfferedItem, uri: str) -> Resource:
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


def _template(item: _OfferedItem, uri_template: str) -> ResourceTemplate:
    return ResourceTemplate(
        uri_template,
        item.text("name") or uri_template,
        item.text("title"),
        item.text("description"),
        item.text("mimeType"),
        item.raw,
    )


def _prompt(item: _OfferedItem, name: str) -> Prompt:
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


def _event_type(item: _OfferedItem, name: str) -> EventType:
    schema = as_object(item.members.get("inputSchema"))
    return EventType(name, item.text("title"), item.text("description"), schema, item.raw)


def _skill(item: _OfferedItem, uri: str) -> Skill:
    # Before the extension was final, both were members of the entry.
    known = {**item.members, **as_object(item.members.get("frontmatter"))}
    return Skill(uri, _string(known.get("name")), _string(known.get("description")), item.raw)


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None
