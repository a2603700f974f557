"""Members of one name in one object of JSON, which readers of JSON drop without a word."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN: Final = re.compile(r'("(?:[^"\\]++|\\.)*+")(\s*+:)?|[{}\[\]]|\n', re.DOTALL)
_MOST_TOLD: Final = 100
"""As many are told of; a file with more has another problem."""


class DuplicateKey(NamedTuple):
    """A name that came again in one object, the names of what is around it, and its line."""

    path: tuple[str, ...]
    name: str
    line: int


class _Level:
    """An object or an array that is not closed yet."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.keys: set[str] = set()
        self.newest = ""


def duplicate_keys(words: str) -> Iterator[DuplicateKey]:
    """Every repetition in valid JSON without comments, in its order."""
    levels = [_Level("")]
    line, told = 1, 0
    for found in _TOKEN.finditer(words):
        token = found[0]
        if found[2] is not None and found[1] is not None:
            name = json.loads(found[1], strict=False)
            if name in levels[-1].keys:
                told += 1
                yield DuplicateKey(tuple(level.name for level in levels[2:]), name, line)
            levels[-1].keys.add(name)
            levels[-1].newest = name
        elif token in {"{", "["}:
            levels.append(_Level(levels[-1].newest))
        elif token in {"}", "]"} and len(levels) > 1:
            levels.pop()
        line += token.count("\n")
        if told >= _MOST_TOLD:
            return
