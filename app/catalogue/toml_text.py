"""TOML for people to read: tables of texts, numbers, lists and tables."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_DELETE: Final = "\x7f"


def toml_text(table: Mapping[str, Any]) -> str:
    """A document with the members of `table`; inner tables come after what else is in one."""
    return "\n".join(_lines(table, ())).strip("\n") + "\n"


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    inner = {key: value for key, value in table.items() if isinstance(value, dict)}
    plain = {key: value for key, value in table.items() if key not in inner and value is not None}
    if path and (plain or not inner):
        yield f"[{'.'.join(map(_key, path))}]"
    for key, value in plain.items():
        yield f"{_key(key)} = {_value(value)}"
    if plain or (path and not inner):
        yield ""
    for key, value in inner.items():
        yield from _lines(value, (*path, key))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        members = (f"{_key(key)} = {_value(inner)}" for key, inner in value.items())
        return f"{{ {', '.join(members)} }}"
    if isinstance(value, str):
        # JSON's texts are TOML's, but for one character and halves of pairs of surrogates.
        words = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return json.dumps(words, ensure_ascii=False).replace(_DELETE, r"\u007f")
    return json.dumps(value)
