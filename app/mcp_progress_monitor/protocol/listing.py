"""The result of a list request, read whole: of an item nested too deep, all but what is too deep.

A server's one odd schema must not cost the names of its other tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.outline import Slices, array_elements, finish, object_members
from mcp_progress_monitor.protocol.reading import Elided, TooDeepError, read_value

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject


def read_list_result(raw: bytes, key: str) -> JsonObject:
    """The result of the reply `raw`, of which `key` is the list; empty if it has none.

    Takes as long as decoding takes. Values nested too deep become `Elided`: of the list's items
    only their members, elsewhere whole members of the result.

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
