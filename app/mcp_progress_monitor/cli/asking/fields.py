"""The fields of a form on the terminal: their labels, and values from typed text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.cli.calls.arguments import convert, property_types
from mcp_progress_monitor.cli.exits import CommandFailed
from mcp_progress_monitor.cli.output.results import as_json
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.sessions.arguments import Checked, check_value
from mcp_progress_monitor.wording.json_values import schema_limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.protocol.facts import JsonObject

_SEPARATOR: Final = ","
_EMPTY: Final = '""'  # what to type for an empty string
_DESCRIPTION: Final = 400
_SHARED: Final = ("$schema", "$defs", "definitions")
"""The parts of a form's schema that a field's own may refer to."""
_FORMATS: Final = {"email": "email address", "uri": "URL", "date": "YYYY-MM-DD"}
_YES: Final = frozenset({"y", "yes", "true", "1"})
_NO: Final = frozenset({"n", "no", "false", "0"})


class PromptChoice(NamedTuple):
    """A choice and its title."""

    value: Any
    title: str


class PromptField(NamedTuple):
    """One field of a form: its own schema, and that of the whole form."""

    name: str
    schema: JsonObject
    form: JsonObject
    is_required: bool
    choices: tuple[PromptChoice, ...] = ()

    @property
    def has_default(self) -> bool:
        return "default" in self.schema

    @property
    def takes_many(self) -> bool:
        return self.schema.get("type") == "array"

    @property
    def title(self) -> str:
        title = self.schema.get("title")
        if isinstance(title, str) and title and title != self.name:
            return f"{one_line(title)} ({one_line(self.name)})"
        return one_line(self.name)

    def notes(self) -> list[str]:
        description = self.schema.get("description")
        lines = [one_line(description, _DESCRIPTION)] if isinstance(description, str) else []
        lines += [f"{i}) {choice.title}" for i, choice in enumerate(self.choices, 1)]
        return lines

    def kind(self) -> str:
        """What to type: `integer, at least 1, required`."""
        parts = [self._type(), *self._limits()]
        parts.append("required" if self.is_required else "optional")
        return ", ".join(parts)

    def read(self, text: str) -> Any:
        """Parse and validate typed text; `ValueError` with a message if it is invalid."""
        value = self._typed(text)
        found = self.check(value).violations
        if found:
            raise ValueError("; ".join(found))
        return value

    def check(self, value: Any) -> Checked:
        shared: JsonObject = {name: self.form[name] for name in _SHARED if name in self.form}
        alone = {**shared, "type": "object", "properties": {self.name: self.schema}}
        return check_value(alone, {self.name: value})

    def written(self, value: Any) -> str:
        if self.takes_many and isinstance(value, list):
            return f"{_SEPARATOR} ".join(self._one_written(item) for item in value)
        return self._one_written(value)

    def _one_written(self, value: Any) -> str:
        if self.choices:
            named = [choice.title for choice in self.choices if choice.value == value]
            return named[0] if named else as_json(value)
        if isinstance(value, bool):
            return "yes" if value else "no"
        return one_line(value if isinstance(value, str) else as_json(value))

    def _type(self) -> str:
        types = property_types(self.name, self.form)
        if self.choices:
            many = f"numbers or names from above, separated by {_SEPARATOR!r}"
            return many if self.takes_many else "a number or name from above"
        if types == ["boolean"]:
            return "yes or no"
        if types == ["string"]:
            return "text"
        return " or ".join(types) or "any value"

    def _limits(self) -> Iterator[str]:
        yield from schema_limits(self.schema)
        pattern, format_ = self.schema.get("pattern"), self.schema.get("format")
        if isinstance(pattern, str):
            yield f"matching {one_line(pattern)}"
        if isinstance(format_, str):
            yield _FORMATS.get(format_, one_line(format_))

    def _typed(self, text: str) -> Any:
        if self.choices:
            parts = [part.strip() for part in text.split(_SEPARATOR)] if self.takes_many else [text]
            chosen = [self._chosen(part.strip()) for part in parts if part.strip()]
            return chosen if self.takes_many else chosen[0]
        if property_types(self.name, self.form) == ["boolean"]:
            return _truth(text.strip().lower())
        if text == _EMPTY and "string" in property_types(self.name, self.form):
            return ""
        try:
            return convert([(self.name, text)], self.form)[self.name]
        except CommandFailed as failure:
            raise ValueError(failure.details.what) from failure

    def _chosen(self, text: str) -> Any:
        """A choice by its value, its name or its number, in this order."""
        for choice in self.choices:
            if text in {choice.title, choice.value if isinstance(choice.value, str) else ""}:
                return choice.value
        if text.isascii() and text.isdecimal() and 1 <= int(text) <= len(self.choices):
            return self.choices[int(text) - 1].value
        raise ValueError(f"{text!r} is not one of the choices 1 to {len(self.choices)}")


def fields_of(schema: JsonObject | None) -> list[PromptField] | None:
    """The fields of a form in the schema's order; None if the schema has no properties."""
    properties = as_object(schema).get("properties")
    if schema is None or not isinstance(properties, dict):
        return None
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    return [
        PromptField(name, as_object(part), schema, name in names, tuple(_choices(as_object(part))))
        for name, part in properties.items()
    ]


def defaults_of(schema: JsonObject | None) -> JsonObject:
    properties = as_object(as_object(schema).get("properties"))
    fields = ((name, as_object(field)) for name, field in properties.items())
    return {name: field["default"] for name, field in fields if "default" in field}


def _choices(schema: JsonObject) -> Iterator[PromptChoice]:
    """The choices of a field, in any of the forms that the revisions define."""
    if schema.get("type") == "array":
        schema = as_object(schema.get("items"))
    for part in _listed(schema, "oneOf") or _listed(schema, "anyOf"):
        if isinstance(part, dict) and "const" in part:
            yield PromptChoice(part["const"], _title(part.get("title"), part["const"]))
    names = _listed(schema, "enumNames")
    for index, value in enumerate(_listed(schema, "enum")):
        yield PromptChoice(value, _title(names[index] if index < len(names) else None, value))


def _listed(schema: JsonObject, name: str) -> list[Any]:
    value = schema.get(name)
    return value if isinstance(value, list) else []


def _title(name: object, value: Any) -> str:
    text = name if isinstance(name, str) and name else value
    return one_line(text if isinstance(text, str) else as_json(text))


def _truth(text: str) -> bool:
    if text in _YES:
        return True
    if text in _NO:
        return False
    raise ValueError(f"{text!r} is not yes or no")
