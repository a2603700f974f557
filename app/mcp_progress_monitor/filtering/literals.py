"""What every match of a regular expression has in it: looked for first, it spares most searches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHORTEST: Final = 2
_ODD: Final = re.compile(r"\(\?(?!:)|\{(?!\d+(?:,\d*)?\})|�")
"""Flags, and what `regex` reads otherwise than `re`: nothing is told of such patterns."""
_GROUPS: Final = {"SUBPATTERN", "ATOMIC_GROUP"}
_REPEATS: Final = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}


def required(pattern: str) -> bytes:
    """The longest text that is in whatever the pattern matches, as UTF-8; empty if unknown."""
    if _ODD.search(pattern):
        return b""
    try:
        found = max(_runs(re._parser.parse(pattern)), key=len, default="")  # noqa: SLF001  # it alone can tell
        raw = found.encode()
    except (re.error, UnicodeEncodeError, RecursionError, OverflowError, ValueError):
        return b""
    return raw if len(raw) >= _SHORTEST else b""


def _runs(nodes: Any) -> Iterator[str]:
    """The texts that stand in a sequence of nodes, one of which any match passes through."""
    run = ""
    for op, value in nodes:
        if str(op) == "LITERAL":
            run += chr(value)
            continue
        yield run
        run = ""
        yield from _within(str(op), value)
    yield run


def _within(op: str, value: Any) -> Iterator[str]:
    if op in _GROUPS:
        yield from _runs(value[-1] if op == "SUBPATTERN" else value)
    elif op in _REPEATS and value[0] > 0:
        yield from _runs(value[2])
