"""Tool arguments that the schema marks to be repeated as HTTP headers (`x-mcp-header`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.lenient_json import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_progress_monitor.protocol.facts import JsonObject

_MARK: Final = "x-mcp-header"
_PLACE_SHOWN: Final = 200
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TYPES: Final = {"string", "integer", "boolean"}
_BELOW: Final = frozenset(
    {
        *("items", "contains", "unevaluatedItems", "additionalProperties", "propertyNames", "not"),
        *("unevaluatedProperties", "if", "then", "else", "contentSchema", "additionalItems"),
    }
)
"""Keywords whose value is a schema (JSON Schema 2020-12 and before)."""
_LISTED: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
"""Keywords whose value is a list of schemas."""
_NAMED: Final = frozenset({"patternProperties", "dependentSchemas", "$defs", "definitions"})
"""Keywords whose value is an object of schemas."""


class HeaderParameter(NamedTuple):
    """One mark: its header name, its place, the type there, and the argument, if any.

    `through` is the keyword that hides which argument is meant; empty if none does.
    """

    name: Any
    place: str
    kind: Any
    value: Any
    through: str = ""

    @property
    def finding(self) -> Finding | None:
        """The rule that it violates by itself; None if none."""
        if not self.place:
            return Finding(rules.HEADER_OF_NOTHING)
        where = one_line(self.place, _PLACE_SHOWN)
        if self.through:
            return Finding(rules.HEADER_BELOW, (where, self.through))
        if not isinstance(self.name, str) or not _TOKEN.fullmatch(self.name):
            return Finding(rules.HEADER_NAME, (where, shown(self.name)))
        if not isinstance(self.kind, str) or self.kind not in _TYPES:
            return Finding(rules.HEADER_TYPE, (where,))
        return None


def marked_arguments(schema: JsonObject, arguments: JsonObject) -> Mapping[str, Any]:
    """Arguments by the name of their header, None for a missing one.

    None for a schema whose marks break the rules: each header would be a guess.
    """
    marks = list(_marks(schema, arguments))
    return {} if _broken(marks) else {mark.name: mark.value for mark in marks}


def header_parameters_error(schema: JsonObject) -> str:
    """The violated rule of a tool schema's marks; empty if valid."""
    finding = header_parameters_finding(schema)
    return "" if finding is None else finding.text


def header_parameters_finding(schema: JsonObject) -> Finding | None:
    """The first violated rule of a tool schema's marks; None if valid."""
    return _broken(list(_marks(schema, {})))


def _broken(marks: list[HeaderParameter]) -> Finding | None:
    names: set[str] = set()
    for mark in marks:
        if finding := mark.finding:
            return finding
        if mark.name.lower() in names:
            return Finding(rules.HEADER_TWICE, (shown(mark.name),))
        names.add(mark.name.lower())
    return None


class _SchemaPart(NamedTuple):
    """A schema within a schema, and the value of its arguments, if any."""

    schema: JsonObject
    value: Any
    place: str
    through: str


def _marks(schema: JsonObject, arguments: JsonObject) -> Iterator[HeaderParameter]:
    parts = [_SchemaPart(schema, arguments, "", "")]
    while parts:
        part = parts.pop()
        if _MARK in part.schema:
            kind = part.schema.get("type")
            yield HeaderParameter(part.schema[_MARK], part.place, kind, part.value, part.through)
        parts += reversed(list(_within(part)))


def _within(part: _SchemaPart) -> Iterator[_SchemaPart]:
    """The direct subschemas of a schema."""
    begin = f"{part.place}." if part.place else ""
    for keyword, value in part.schema.items():
        if keyword == "properties":
            given = as_object(part.value)
            for name, below in as_object(value).items():
                yield _SchemaPart(as_object(below), given.get(name), f"{begin}{name}", part.through)
            continue
        for name, below in _schemas_of(keyword, value):
            yield _SchemaPart(as_object(below), None, f"{begin}{name}", part.through or keyword)


def _schemas_of(keyword: str, value: Any) -> list[tuple[str, Any]]:
    """The subschemas under keywords other than `properties`, with a description of their place.

    Values of other keywords are data: a mark there means nothing.
    """
    if keyword in _LISTED and isinstance(value, list):
        return [(f"{keyword}[{number}]", below) for number, below in enumerate(value)]
    if keyword in _NAMED:
        return [(f"{keyword}.{name}", below) for name, below in as_object(value).items()]
    return [(keyword, value)] if keyword in _BELOW else []
