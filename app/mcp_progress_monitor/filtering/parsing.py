"""From what a user typed to an `Expression`, or to what is wrong with it, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.filtering.errors import FilterError
from mcp_progress_monitor.filtering.expression import And, Comparison, Not, Or, Text
from mcp_progress_monitor.filtering.grammar import parser
from mcp_progress_monitor.filtering.meaning import Piece, comparison, field_of, unquoted

if TYPE_CHECKING:
    from collections.abc import Collection

    from lark import Token

    from mcp_progress_monitor.filtering.expression import Expression

LONGEST: Final = 10_000
"""Characters of the longest filter."""
DEEPEST: Final = 100
"""Most levels of `and`, `or`, `not` within each other."""
_EXPECTED: Final = (
    ("STRING", "WORD", "a field, a word or a text in quotes"),
    ("STRING", "VALUE", "a value"),
    ("STRING", "ITEM", "a value"),
    ("LPAR", "LPAR", '"("'),
    ("COMMA", "COMMA", '","'),
    ("RPAR", "RPAR", '")"'),
)
_FOREIGN: Final = {"&&": "and", "||": "or", "&": "and", "|": "or"}
_QUOTES: Final = ('"', "'")


def parse(text: str) -> Expression | None:
    """Read a filter; None when the text is blank.

    Raises:
        FilterError: it cannot be understood.
    """
    if not text.strip():
        return None
    if len(text) > LONGEST:
        what = f"A filter has at most {LONGEST:,} characters, this has {len(text):,}"
        raise FilterError(what, LONGEST, len(text) - LONGEST)
    found = _parsed(text)
    _check_depth(found, len(text))
    return found


def _parsed(text: str) -> Expression:
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken  # `grammar`

    try:
        return parser(_Builder).parse(text)  # type: ignore[return-value]  # the builder's
    except UnexpectedToken as error:
        at = error.token.start_pos
        at = len(text) if at is None or error.token.type == "$END" else at
        raise _unexpected(text, at, error.accepts or error.expected) from None
    except UnexpectedCharacters as error:
        # It is declared to have no position.
        position: int = error.pos_in_stream  # type: ignore[assignment]
        raise _unexpected(text, position, error.allowed or ()) from None


class _Builder:
    """Makes nodes of what the parser finds, from the leaves on; the methods are its rules."""

    @staticmethod
    def either(parts: list[Expression]) -> Expression:
        return Or(tuple(parts))

    @staticmethod
    def both(parts: list[Expression]) -> Expression:
        return And(tuple(parts))

    @staticmethod
    def without(parts: list[Expression]) -> Expression:
        part = parts[0]
        return part.part if isinstance(part, Not) else Not(part)

    @staticmethod
    def text(tokens: list[Token]) -> Expression:
        piece = _piece(tokens[0])
        meant = None if piece.is_quoted else _FOREIGN.get(piece.text)
        if meant is not None:
            what = f"{piece.text} is not of this language"
            hint = f'Write {meant}, or "{piece.text}" to search for it'
            raise FilterError(what, piece.position, piece.length, hint)
        return Text(piece.text)

    @staticmethod
    def field(tokens: list[Token]) -> Piece:
        return _piece(tokens[0])

    value = item = field

    @staticmethod
    def comparison(parts: tuple[Piece, Token, Piece]) -> Comparison:
        field, op, value = parts
        return comparison(field_of(field), str(op).lower(), value)

    @staticmethod
    def membership(parts: list[Piece]) -> Comparison:
        return comparison(field_of(parts[0]), "in", *parts[1:])


def _piece(token: Token) -> Piece:
    text, position = str(token), token.start_pos or 0
    if token.type == "STRING":
        return Piece(unquoted(text), position, len(text), is_quoted=True)
    return Piece(text, position, len(text), is_quoted=False)


def _unexpected(text: str, position: int, expected: Collection[str]) -> FilterError:
    found = text[position : position + 1]
    if found in _QUOTES and found:
        return FilterError("The quote is not closed", position, len(text) - position)
    if found == "=" and text[position : position + 2] != "==":
        return FilterError("= alone does not compare", position, 1, "Write ==")
    words = [words for one, other, words in _EXPECTED if one in expected and other in expected]
    wanted = " or ".join(dict.fromkeys(words)) or "the end"
    hint = "Put text with such characters in quotes" if found else ""
    if not found:
        return FilterError(f"The filter ends too early: {wanted} is missing", position)
    return FilterError(f"{found!r} was not expected, but {wanted}", position, 1, hint)


def _check_depth(expression: Expression, length: int) -> None:
    """See that whoever walks the tree by recursion can."""
    level: list[Expression] = [expression]
    for _ in range(DEEPEST):
        below: list[Expression] = []
        for node in level:
            if isinstance(node, Not):
                below.append(node.part)
            elif isinstance(node, And | Or):
                below.extend(node.parts)
        if not below:
            return
        level = below
    what = f"The filter is nested more than {DEEPEST} levels deep"
    raise FilterError(what, 0, length)
