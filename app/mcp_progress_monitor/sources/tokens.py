"""Reads TypeScript, JavaScript and Go by their tokens: strings, identifiers, signs, no comments."""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.sources.mentions import (
    DESCRIPTIONS,
    NAME_MEMBERS,
    Mention,
    Role,
    registers,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.sources.mentions import Names


def _token(raw_string: str) -> re.Pattern[str]:
    """Every alternative matches also where its end is missing, so that no text is read twice."""
    return re.compile(
        rf"""
          (?P<comment> //[^\n]* | /\*(?:.*?\*/|.*) )
        | (?P<string> "[^"\\\n]*(?:\\.[^"\\\n]*)*"? | '[^'\\\n]*(?:\\.[^'\\\n]*)*'?
            | {raw_string} )
        | (?P<word> [\w$]+ )
        | (?P<sign> := | => | [^\s\w] )
        """,
        re.VERBOSE | re.DOTALL,
    )


_SCRIPT: Final = _token(r"`[^`\\]*(?:\\.[^`\\]*)*(?:`|\Z)")
_GO: Final = _token(r"`[^`]*(?:`|\Z)")
_PATTERN: Final = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n]){0,300}+\]|[^/\\\n\[]){1,300}+/[a-z]*")
"""A regular expression of JavaScript, which may hold quotation marks."""
_FAILURES: Final = 2000
"""Slashes of a text that begin no such expression, after which none is looked for."""
_VALUES: Final = frozenset(")]}")
"""After these, or a word, a slash divides; elsewhere a regular expression begins."""
_KEYWORDS: Final = frozenset({"return", "typeof", "case", "in", "of", "delete", "void", "throw"})
_DECLARES: Final = _KEYWORDS | frozenset(
    {"const", "let", "var", "static", "readonly", "public", "private", "protected", "export"}
)
_NEAR: Final = 24  # tokens between a tool's name and its description
_BRACKETS: Final = {">": "<", "]": "["}


class Token(NamedTuple):
    """A string without its quotation marks, an identifier, or a sign."""

    text: str
    line: int
    kind: str

    @property
    def is_word(self) -> bool:
        return self.kind == "word"


def script_tokens(text: str) -> list[Token]:
    """The tokens of TypeScript or JavaScript."""
    return _tokens(text, _SCRIPT)


def go_tokens(text: str) -> list[Token]:
    return _tokens(text, _GO)


def _tokens(text: str, token: re.Pattern[str]) -> list[Token]:
    ends = [match.start() for match in re.finditer("\n", text)]
    found: list[Token] = []
    at = failures = 0
    while match := token.search(text, at):
        kind = match.lastgroup or ""
        at = match.end()
        if kind == "comment":
            continue
        value = match.group()
        if value == "/" and token is _SCRIPT and not _is_divided(found):
            over = _PATTERN.match(text, match.start()) if failures < _FAILURES else None
            failures += over is None
            if over is not None:
                at, kind = over.end(), "pattern"
        elif kind == "string":
            value = value[1:-1]
        found.append(Token(value, bisect.bisect_left(ends, match.start()) + 1, kind))
    return found


def _is_divided(before: Sequence[Token]) -> bool:
    if not before:
        return False
    last = before[-1]
    if last.is_word:
        return last.text not in _KEYWORDS
    return last.kind == "string" or last.text in _VALUES


def script_mentions(text: str, names: Names) -> Iterator[Mention]:
    """Yield the places in TypeScript or JavaScript that name a tool."""
    return _mentions(script_tokens(text), names)


def go_mentions(text: str, names: Names) -> Iterator[Mention]:
    """Yield the places in Go that name a tool."""
    return _mentions(go_tokens(text), names)


def _mentions(code: Sequence[Token], names: Names) -> Iterator[Mention]:
    for at, token in enumerate(code):
        if token.kind == "string" and token.text in names.tools:
            yield from _mentions_at(code, at, at, token.text)
        elif token.is_word:
            if (tool := names.constants.get(token.text, "")) in names.tools:
                yield from _mentions_at(code, _chain_start(code, at), at, tool, is_constant=True)
            elif token.text in names.tools and _is_key(code, at):
                yield Mention(token.text, token.line, Role.FUNCTION)


def _mentions_at(
    code: Sequence[Token], first: int, last: int, tool: str, *, is_constant: bool = False
) -> Iterator[Mention]:
    """Yield the use of the name, or of its constant, in the tokens `first` to `last`."""
    line = code[first].line
    before = code[first - 1] if first else Token("", 1, "")
    if _is_registered(code, first):
        yield Mention(tool, line, Role.REGISTERED)
    elif before.text == "case":
        yield Mention(tool, line, Role.HANDLED)
    elif before.text in {":", "=", ":="} and before.kind == "sign":
        holder = _holder(code, first - 1)
        if holder.lower() in NAME_MEMBERS:
            role = Role.DESCRIBED if _is_described(code, first, last) else Role.NAMED
            yield Mention(tool, line, role, holder)
        elif holder and not is_constant:
            yield Mention(tool, line, Role.CONSTANT, holder)
    elif not is_constant and _is_key(code, last):
        yield Mention(tool, line, Role.FUNCTION)


def _chain_start(code: Sequence[Token], at: int) -> int:
    """The first token of `a.b.c`, of which `at` is a later name."""
    while at >= 2 and code[at - 1].text == "." and code[at - 2].is_word:
        at -= 2
    return at


def _is_registered(code: Sequence[Token], at: int) -> bool:
    """Tell whether the token is the first, or second, argument of a registration."""
    at -= 1
    if at >= 1 and code[at].text == "," and code[at - 1].is_word:
        at = _chain_start(code, at - 1) - 1
        if at >= 0 and code[at].text == "&":
            at -= 1
    if at < 1 or code[at].text != "(":
        return False
    at -= 1
    opening = _BRACKETS.get(code[at].text)
    if opening:  # the arguments of a generic function
        around = range(at - 1, max(-1, at - _NEAR), -1)
        at = next((place - 1 for place in around if code[place].text == opening), -1)
    return at >= 0 and code[at].is_word and registers(code[at].text)


def _holder(code: Sequence[Token], sign: int) -> str:
    """The identifier or key before the sign: `NAME = …`, `NAME: Type = …`, `NAME Type = …`."""
    around = code[max(0, sign - 3) : sign]
    if not around or around[-1].kind not in {"word", "string"}:
        return ""
    if code[sign].text == "=" and len(around) == 3:
        first, second, _ = around
        if second.text == ":" and first.is_word:
            return first.text
    if code[sign].text == "=" and len(around) >= 2:
        typed = around[-2]
        is_line = typed.line == around[-1].line
        if typed.is_word and is_line and typed.text not in _DECLARES:
            return typed.text
    return around[-1].text


def _is_described(code: Sequence[Token], first: int, last: int) -> bool:
    """Tell whether a description or a schema stands beside the name, or `Tool{` before it."""
    if any(each.is_word and registers(each.text) for each in code[max(0, first - 6) : first - 2]):
        return True
    near = (*code[max(0, first - _NEAR) : first], *code[last + 1 : last + _NEAR])
    return any(
        each.kind in {"word", "string"} and each.text.lower() in DESCRIPTIONS for each in near
    )


def _is_key(code: Sequence[Token], at: int) -> bool:
    """Tell whether the token is a key of an object, or of a call that makes one."""
    after = code[at + 1 : at + 3]
    if len(after) < 2 or after[0].text != ":":
        return False
    return after[1].text == "{" or (after[1].is_word and registers(after[1].text))
