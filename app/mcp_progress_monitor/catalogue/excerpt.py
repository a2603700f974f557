"""The line of a file with a mistake in it, as it may be shown: a secret may stand beside that."""

from __future__ import annotations

import re
from typing import Final

from mcp_progress_monitor.protocol.secret_arguments import is_literal, shown_arguments
from mcp_progress_monitor.protocol.secret_names import is_secret_setting

_CHARACTERS: Final = 60
_LONGEST_LINE: Final = 100_000
"""Characters that are looked through: a file may have no line ends."""
_WORD: Final = re.compile(
    r"""(?P<quote>["'])(?P<quoted>(?:(?!(?P=quote))[^\\]|\\.)*+\\?)(?:(?P=quote)|\Z)"""
    r"""|(?P<bare>[^\s"',:=\[\]{}]++)"""
)
_KEY_END: Final = re.compile(r"\s*+[:=]")
_MASK: Final = "*"


def excerpt(words: str, line: int, column: int) -> str:
    """The line with a mistake, cut to its surroundings, and a mark under the place.

    What looks like a secret is covered, character by character, so that all stays in its place.
    """
    lines = words.split("\n")
    whole = lines[line - 1].rstrip("\r") if line <= len(lines) else ""
    start = max(0, column - 1 - _CHARACTERS // 2)
    end = start + _CHARACTERS
    begin = max(0, end - _LONGEST_LINE)
    shown = _covered(whole[begin : end + _LONGEST_LINE])[start - begin : end - begin]
    shown = shown.replace("\t", " ")
    return f"{shown}\n{' ' * (column - 1 - start)}^" if shown.strip() else ""


def _covered(line: str) -> str:
    """The line without the values of secrets, whatever is wrong with it elsewhere."""
    parts: list[str] = []
    end, previous, is_secret = 0, "", False
    for found in _WORD.finditer(line):
        group = "bare" if found["quoted"] is None else "quoted"
        word, (first, last) = found[group], found.span(group)
        if _KEY_END.match(line, found.end()):
            previous, is_secret = word, is_secret_setting(word)
            continue
        is_named = previous != "" and is_secret_setting(previous.lstrip("-"))
        if is_literal(word) and (is_secret or is_named or _is_shown_otherwise(previous, word)):
            parts += [line[end:first], _MASK * len(word)]
            end = last
        previous = "" if is_secret or is_named else word
    return "".join([*parts, line[end:]])


def _is_shown_otherwise(previous: str, word: str) -> bool:
    return shown_arguments((previous, word))[1] != word
