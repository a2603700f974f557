"""Offers of a server: tools, resources and prompts as one searchable list."""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    GET_PROMPT,
    GET_SKILL,
    READ_RESOURCE,
    STREAM_EVENTS,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.gui.schema_form.schema import Schema
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.offers import Prompt, Resource, Skill, Tool
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

_Index = QModelIndex | QPersistentModelIndex


class OfferKind(enum.Enum):
    """Kind of a callable offer; the values are the methods."""

    TOOL = CALL_TOOL
    RESOURCE = READ_RESOURCE
    PROMPT = GET_PROMPT
    EVENT = STREAM_EVENTS
    SKILL = GET_SKILL


_HINTS: Final = {
    "readOnlyHint": "read-only",
    "destructiveHint": "destructive",
    "idempotentHint": "repeating has no further effect",
    "openWorldHint": "reaches other systems",
}
ADDRESSED: Final = frozenset({OfferKind.RESOURCE, OfferKind.SKILL})
"""Named by a URI, their only argument."""


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """One tool, resource or prompt. `schema` is that of `arguments` in `params`.

    `task_support` is that of a tool, empty for others. One that is not `is_listed` was named by the
    user: the server may have it nevertheless.
    """

    kind: OfferKind
    name: str
    title: str
    description: str
    schema: Schema
    task_support: str = ""
    is_listed: bool = True
    is_destructive: bool = False
    hints: tuple[str, ...] = ()
    """The effects that the server declares of a tool; nothing proves them."""

    def params(self, arguments: JsonObject) -> JsonObject:
        if self.kind in ADDRESSED:
            return arguments
        return {"name": self.name, "arguments": arguments}


def offers_of(server: ServerSnapshot, kind: OfferKind) -> list[Offer]:
    match kind:
        case OfferKind.TOOL:
            return [_of_tool(tool) for tool in server.tools]
        case OfferKind.RESOURCE:
            return [_of_resource(resource) for resource in server.resources]
        case OfferKind.PROMPT:
            return [_of_prompt(prompt) for prompt in server.prompts]
        case OfferKind.EVENT:
            return [
                Offer(kind, each.name, each.title or "", each.description or "", each.input_schema)
                for each in server.events
            ]
        case OfferKind.SKILL:
            return [_of_skill(skill) for skill in server.skills]


def unlisted(kind: OfferKind, name: str) -> Offer:
    """Return an offer for a name that the server does not list; nothing else is known of it."""
    schema: Schema = {} if kind not in ADDRESSED else _address_schema(name)
    return Offer(kind, name, "", "", schema, is_listed=False)


def _of_tool(tool: Tool) -> Offer:
    return Offer(
        OfferKind.TOOL,
        tool.name,
        tool.title or "",
        tool.description or "",
        tool.input_schema,
        tool.task_support,
        is_destructive=tool.has_hint("destructiveHint") and not tool.has_hint("readOnlyHint"),
        hints=tuple(text for name, text in _HINTS.items() if tool.has_hint(name)),
    )


def _of_resource(resource: Resource) -> Offer:
    schema = _address_schema(resource.uri)
    title = resource.title or (resource.name if resource.name != resource.uri else "")
    return Offer(OfferKind.RESOURCE, resource.uri, title, resource.description or "", schema)


def _of_skill(skill: Skill) -> Offer:
    schema = _address_schema(skill.uri)
    return Offer(OfferKind.SKILL, skill.uri, skill.name or "", skill.description or "", schema)


def _address_schema(uri: str) -> Schema:
    return {
        "type": "object",
        "properties": {"uri": {"type": "string", "title": "URI", "default": uri}},
        "required": ["uri"],
    }


def _of_prompt(prompt: Prompt) -> Offer:
    properties = {
        argument.name: {
            "type": "string",
            "title": argument.title or "",
            "description": argument.description or "",
        }
        for argument in prompt.arguments
    }
    required = [argument.name for argument in prompt.arguments if argument.is_required]
    schema: Schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": {"type": "string"},
    }
    return Offer(
        OfferKind.PROMPT, prompt.name, prompt.title or "", prompt.description or "", schema
    )


class OffersModel(QAbstractListModel):
    """Offers that contain all search words in name, title or description.

    After them comes the name exactly as typed, unless there is an offer with that name: servers may
    run what they do not list.
    """

    OFFER = Qt.ItemDataRole.UserRole + 1  # the row's `Offer`

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: Sequence[Offer] = ()
        self._text = ""
        self._kind: OfferKind | None = None
        self._shown: list[Offer] = []

    def set_offers(self, offers: Sequence[Offer], kind: OfferKind | None = None) -> None:
        """Set the offers to search; with `kind`, also offer an unlisted name."""
        self._all = offers
        self._kind = kind
        self._show()

    def set_search(self, text: str) -> None:
        """Show only offers with all words of `text`, ignoring case."""
        self._text = text.strip()
        self._show()

    def offer(self, row: int) -> Offer | None:
        return self._shown[row] if 0 <= row < len(self._shown) else None

    def row_of(self, name: str) -> int | None:
        """Return the row of the offer with that name; None if it is not shown."""
        return next((row for row, each in enumerate(self._shown) if each.name == name), None)

    @property
    def matching_row(self) -> int | None:
        """The row of the listed offer that is named as searched, or else of the first one."""
        listed = [row for row, each in enumerate(self._shown) if each.is_listed]
        named = (row for row in listed if self._shown[row].name == self._text)
        return next(named, next(iter(listed), None))

    @property
    def unlisted_row(self) -> int | None:
        """The row of the unlisted name that was typed; None if there is none."""
        last = len(self._shown) - 1
        return last if self._shown and not self._shown[last].is_listed else None

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return an offer's name and title on one line, and the offer itself."""
        offer = self.offer(index.row()) if index.isValid() else None
        if offer is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            if not offer.is_listed:
                return f"Call “{one_line(offer.name, 120)}”, not listed"
            title = f"  {one_line(offer.title, 80)}" if offer.title else ""
            return one_line(offer.name, 120) + title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            described = one_line(offer.description, 200)
            return ", ".join(part for part in (offer.name, offer.title, described) if part)
        return offer if role == self.OFFER else None

    def _show(self) -> None:
        self.beginResetModel()
        words = self._text.casefold().split()
        self._shown = [offer for offer in self._all if _holds(offer, words)]
        is_known = any(offer.name == self._text for offer in self._all)
        if self._kind is not None and self._text and not is_known:
            self._shown.append(unlisted(self._kind, self._text))
        self.endResetModel()


def _holds(offer: Offer, words: Sequence[str]) -> bool:
    text = f"{offer.name}\n{offer.title}\n{offer.description}".casefold()
    return all(word in text for word in words)
