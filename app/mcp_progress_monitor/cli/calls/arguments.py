"""A tool's arguments from the command line, converted to the types in its schema."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from mcp_progress_monitor import formatting
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.output.stdout import as_json
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.json_pointer import part_at
from mcp_progress_monitor.path_checks import expanded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcp_progress_monitor.protocol.facts import JsonObject


def strict_json(text: str) -> Any:
    """Parse JSON; `NaN` and the infinities, which Python accepts by default, are errors.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, parse_constant=_finite, parse_float=_finite)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is not a valid JSON number")
    return number


LARGEST: Final = 256 * 1024 * 1024  # the most bytes to read: a device may have no end


def read_typed(path: Path) -> str:
    """The text of a UTF-8 file, without a byte order mark.

    `OSError` if it cannot be read, `ValueError` if it is not UTF-8 or larger than `LARGEST`.
    """
    with expanded(path).open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"The file is larger than {formatting.size(LARGEST)}")
    return content.decode("utf-8-sig")


_EXAMPLES = {
    "string": "text",
    "integer": "3",
    "number": "0.5",
    "boolean": "true",
    "null": "null",
    "array": '["a", "b"]',
    "object": '{"key": "value"}',
}
"""Each JSON Schema type with an example."""
_DEEPEST = 10  # how far references are followed: they may be circular
_MOST_EXAMPLES = 20


def read_document(document: str | None, option: str = "--args") -> JsonObject:
    """The object in an option such as `--args JSON|@FILE`; empty without the option."""
    if document is None:
        return {}
    where, text = option, document
    if document.startswith("@"):
        where = document[1:]
        text = _content(Path(where), option)
    sample = f"{option} '{{\"n\": 3}}'"
    try:
        value = strict_json(text)
    except (ValueError, RecursionError) as error:
        _refuse("The arguments are not valid JSON", where, sample, str(error))
    if not isinstance(value, dict):
        _refuse("The arguments are not a JSON object", where, sample)
    return value


def convert(
    pairs: Iterable[tuple[str, str]], schema: Mapping[str, Any], *, is_strict: bool = True
) -> JsonObject:
    """The `--arg`s, converted to the types in the tool's input schema.

    A value of another type is an error; unless `is_strict`, it is sent as JSON or text.
    """
    return {name: _value(name, text, schema, is_strict=is_strict) for name, text in pairs}


def property_types(name: str, schema: Mapping[str, Any]) -> list[str]:
    """The types that a schema allows for one argument, without duplicates; empty if unknown."""
    return list(dict.fromkeys(_types(_property(name, schema), schema, set())))


def example(schema: Mapping[str, Any]) -> str:
    """Example options for all required arguments of a tool; empty if it requires none."""
    required = schema.get("required")
    names = (
        [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    )
    options = [f"--arg {name}={_sample(name, schema)}" for name in names[:_MOST_EXAMPLES]]
    return " ".join([*options, "…"] if len(names) > _MOST_EXAMPLES else options)


def _sample(name: str, schema: Mapping[str, Any]) -> str:
    part = _property(name, schema)
    for key in ("default", "enum", "examples"):
        known = part.get(key) if isinstance(part, dict) else None
        value = known[0] if isinstance(known, list) and known and key != "default" else known
        if value is not None:
            return shlex.quote(value if isinstance(value, str) else as_json(value))
    types = property_types(name, schema)
    return shlex.quote(_EXAMPLES[types[0]] if types else _EXAMPLES["string"])


def _value(name: str, text: str, schema: Mapping[str, Any], *, is_strict: bool) -> Any:
    """One value: a string if the schema allows only that, JSON otherwise.

    If a string is one of several allowed types, JSON of another allowed type wins; without a type
    in the schema, any JSON does.
    """
    types = set(property_types(name, schema))
    if types == {"string"}:
        return text
    value = _json_or_text(text)
    if not types or _types_of(value) & types:
        return value
    if not is_strict:
        return value
    if "string" not in types:
        wanted, sample = " or ".join(sorted(types)), shlex.quote(_EXAMPLES[min(types)])
        what = f"{text!r} is not of type {wanted}"
        _refuse(what, f"argument {name!r}", f"--arg {name}={sample}")
    return text


def _json_or_text(text: str) -> Any:
    try:
        return strict_json(text)
    except (ValueError, RecursionError):
        return text


def _property(name: str, schema: Mapping[str, Any]) -> object:
    """The schema of one property, or that of additional properties."""
    properties = schema.get("properties")
    if isinstance(properties, dict) and name in properties:
        return properties[name]
    return schema.get("additionalProperties")


def _types(part: object, root: Mapping[str, Any], seen: set[int], depth: int = 0) -> Iterator[str]:
    """The types a schema allows, as far as it names any; tolerates invalid schemas.

    Each part is read once, however many references lead to it; `seen` holds those that were.
    """
    if not isinstance(part, dict) or depth > _DEEPEST or id(part) in seen:
        return
    seen.add(id(part))
    named = part.get("type")
    for kind in named if isinstance(named, list) else [named]:
        if isinstance(kind, str) and kind in _EXAMPLES:
            yield kind
    if named is None:
        for value in _fixed_values(part):
            yield from _types_of(value)
        for choice in _choices(part, root):
            yield from _types(choice, root, seen, depth + 1)


def _fixed_values(part: Mapping[str, Any]) -> list[Any]:
    listed = part.get("enum")
    values = list(listed) if isinstance(listed, list) else []
    return [*values, part["const"]] if "const" in part else values


def _choices(part: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[object]:
    for key in ("anyOf", "oneOf", "allOf"):
        listed = part.get(key)
        if isinstance(listed, list):
            yield from listed
    reference = part.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        yield part_at(reference, root)


def _types_of(value: object) -> set[str]:
    """JSON Schema's names for a value's type; a whole number is an integer and a number."""
    match value:
        case None:
            return {"null"}
        case bool():
            return {"boolean"}
        case int():
            return {"integer", "number"}
        case float():
            return {"integer", "number"} if value.is_integer() else {"number"}
        case str():
            return {"string"}
        case list():
            return {"array"}
        case _:
            return {"object"}


def _content(path: Path, option: str) -> str:
    try:
        return read_typed(path)
    except OSError as error:
        reason = error.strerror or str(error)
        _refuse("Cannot read the file with the arguments", str(path), f"{option} @FILE", reason)
    except ValueError as error:
        _refuse("Cannot read the file with the arguments", str(path), f"{option} @FILE", str(error))


def _refuse(what: str, where: str, example: str, detail: str = "") -> NoReturn:
    error = ErrorDetails(what, where, f"Example: {example}", detail)
    raise CommandFailed(ExitCode.USAGE, error)
