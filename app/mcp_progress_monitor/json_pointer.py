"""Resolves JSON pointers, with which a schema refers to its own parts."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote


def part_at(reference: str, root: Any) -> Any:
    """The part of a document that a pointer such as `#/$defs/a` leads to; None if there is none.

    Source: RFC 6901, section 6.
    """
    found = root
    for step in reference.removeprefix("#").split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found
