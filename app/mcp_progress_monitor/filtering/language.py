"""The filter language: grammar, parser, checks of fields and values, filters built by clicks."""

from __future__ import annotations

import contextlib
import difflib
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from mcp_progress_monitor.filtering.expressions import (
    BYTES,
    SECONDS,
    And,
    Comparison,
    Not,
    Or,
    Text,
    moment,
    number,
    path_text,
    quantity,
    quoted,
    value_text,
)
from mcp_progress_monitor.filtering.fields import FIELDS, ROOTS, FieldDefinition, FieldType
from mcp_progress_monitor.filtering.filter import FilterError
from mcp_progress_monitor.timed_regex import BadPatternError, compiled_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from lark import Lark, Token

    from mcp_progress_monitor.filtering.expressions import Expression, Path, Scalar

__all__ = ["path_text", "term", "text_term", "with_term", "written"]

GRAMMAR: Final = r"""
?start: either
?either: both (_OR both)*
?both: negation (_AND? negation)*
?negation: _NOT negation -> without | atom
?atom: "(" either ")" | comparison | text
text: WORD | PATH | STRING
comparison: field OP value | field _IN "(" item ("," item)* ")" -> membership
field: WORD | PATH
value: VALUE | QUANTITY | STRING
item: ITEM | STRING

OP.3: "==" | "!=" | "<=" | ">=" | "<" | ">" | /(?i:contains|matches)(?=[\s"'(]|$)/
_IN.3: /(?i:in)(?=[\s(]|$)/
_AND.3: /(?i:and)(?=[\s"'()]|$)/
_OR.3: /(?i:or)(?=[\s"'()]|$)/
_NOT.3: /(?i:not)(?=[\s"'()]|$)/
STRING.3: /"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'/s
PATH.2: /(?:params|result|error)(?:\.[^\s"'()\[\],=!<>.]+|\[\d{1,9}\]|\["(?:[^"\\]|\\.)*+"\])+/s
QUANTITY.2: /-?\d+(?:\.\d+)?\s(?:us|µs|ms|sec|s|min|m|h|d|[kKMGT]?i?[bB])(?=[\s)]|$)/
WORD: /(?:[^\s"'()=<>!]|!(?!=))(?:[^\s"()=<>!]|!(?!=))*/
VALUE: /[^\s"'()=<>!,][^\s"()]*/
ITEM: /[^\s"'()=<>!,][^\s"(),]*/

%ignore /\s+/
"""


@cache
def parser(transformer: Any) -> Lark:
    """The parser, built for the first filter: importing lark and building takes 0.1 s."""
    from lark import Lark

    return Lark(GRAMMAR, parser="lalr", transformer=transformer, propagate_positions=False)


_ESCAPE: Final = re.compile(r"""\\(?:u([0-9a-fA-F]{4})|(["'\\/nrt]))""")
_SHORT: Final = {"n": "\n", "r": "\r", "t": "\t"}
_STEP: Final = re.compile(r"""\.([^.\[]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]""", re.DOTALL)
_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_ORDERING: Final = ("<", "<=", ">", ">=")
_SEARCHING: Final = ("contains", "matches")


class Piece(NamedTuple):
    """A word, or quoted text without its quotes, and its position."""

    text: str
    position: int
    length: int
    is_quoted: bool

    def error(self, what: str, hint: str = "") -> FilterError:
        return FilterError(what, self.position, self.length, hint)


class FieldReference(NamedTuple):
    """A field, the path within it, and its position."""

    field: FieldDefinition
    path: Path
    piece: Piece


def unquoted(text: str) -> str:
    r"""The text within quotes: `\"`, `\\`, `\/`, `\n`, `\r`, `\t` and `\u00e9` are escapes.

    Other backslashes are kept, so that most regular expressions can be written as usual.
    """
    plain = _ESCAPE.sub(_unescaped, text[1:-1])
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _SHORT.get(found[2], found[2])


def field_of(
    piece: Piece, fields: Mapping[str, FieldDefinition] = FIELDS, roots: Collection[str] = ROOTS
) -> FieldReference:
    """The field of that name; `roots` are the fields that paths start with.

    Raises:
        FilterError: The field is unknown.
    """
    field = fields.get(piece.text)
    if field is not None:
        return FieldReference(field, (), piece)
    root = re.split(r"[.\[]", piece.text, maxsplit=1)[0]
    if root in roots:
        rest = piece.text[len(root) :]
        steps = _STEP.findall(rest)
        if "".join(f".{key}" if key else f"[{at or name}]" for key, at, name in steps) == rest:
            return FieldReference(fields[root], tuple(map(_step, steps)), piece)
    raise piece.error(
        f'Unknown field "{piece.text[:40]}"', _likely(piece.text, root, fields, roots)
    )


def _step(found: tuple[str, str, str]) -> str | int:
    key, at, name = found
    if name:
        return unquoted(name)
    return int(at) if at else key


def _likely(
    text: str, root: str, fields: Mapping[str, FieldDefinition], roots: Collection[str]
) -> str:
    if root in fields and root != text:
        return f"{root} has no members" if root not in roots else "Write params.name or result[0]"
    near = difflib.get_close_matches(text[:40].lower(), fields, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    if not roots:
        return f"Use one of {', '.join(fields)}; quote text to search for it"
    return "Members of a message start with params., result. or error.; quote text to search for it"


def comparison(place: FieldReference, op: str, *values: Piece) -> Comparison:
    """A comparison with its values parsed by the field's type.

    Raises:
        FilterError: the operator or a value does not apply to the field.
    """
    _check_operator(place, op, values[0])
    read = [_scalar(place.field, op, value) for value in values]
    value = tuple(read) if op == "in" else read[0]
    return Comparison(place.field.name, place.path, op, value)


def _check_operator(place: FieldReference, op: str, value: Piece) -> None:
    field = place.field
    if op in _SEARCHING and not field.type.is_textual:
        raise place.piece.error(
            f"{field.name} is {field.type.value.split(' such')[0]}; {op} works only on text",
            "Use == != < <= > >= or in" if field.type.is_ordered else "Use == != or in",
        )
    if op in _ORDERING and not field.type.is_ordered:
        what = f"{field.name} is not ordered, so {op} does not apply"
        raise place.piece.error(what, "Use == != or in")
    if op in _ORDERING and field.choices and value.text not in field.choices:
        what = f'{field.name} is ordered by severity; unknown level "{value.text[:40]}"'
        raise value.error(what, _choices(field, value.text.lower()))
    if op == "matches":
        _check_pattern(value)


def _check_pattern(value: Piece) -> None:
    try:
        compiled_pattern(value.text)
    except BadPatternError as error:
        inner = min(error.position, max(value.length - 2 * value.is_quoted, 0))
        position = value.position + value.is_quoted + inner
        what = f"Invalid regular expression: {error}"
        raise FilterError(what, position, 1) from None


def _scalar(field: FieldDefinition, op: str, value: Piece) -> Scalar:
    if op in _SEARCHING:
        return value.text
    return _READERS[field.type](field, value)


def _text(_field: FieldDefinition, value: Piece) -> Scalar:
    return value.text


def _json(_field: FieldDefinition, value: Piece) -> Scalar:
    """Parse unquoted text as a number, true, false or null if it is one."""
    if value.is_quoted:
        return value.text
    if value.text in _CONSTANTS:
        return _CONSTANTS[value.text]
    found = number(value.text)
    return value.text if found is None else found


def is_typed_word(text: str) -> bool:
    return text in _CONSTANTS or number(text) is not None


def _known(field: FieldDefinition, value: Piece, read: Scalar) -> Scalar:
    if read is None:
        what = f'{field.name} must be compared with {field.type.value}, not "{value.text[:40]}"'
        raise value.error(what)
    return read


def _choice(field: FieldDefinition, value: Piece) -> Scalar:
    word = value.text.lower()
    if word not in field.choices:
        raise value.error(f'{field.name} is never "{value.text[:40]}"', _choices(field, word))
    return word


def _choices(field: FieldDefinition, word: str) -> str:
    near = difflib.get_close_matches(word[:40], field.choices, n=1)
    return f"Did you mean {near[0]}?" if near else f"Use one of {', '.join(field.choices)}"


def _flag(field: FieldDefinition, value: Piece) -> Scalar:
    found = _CONSTANTS.get(value.text.lower())
    return _known(field, value, found)


def _job(field: FieldDefinition, value: Piece) -> Scalar:
    found = number(value.text)
    return _known(field, value, found if isinstance(found, int) else None)


_READERS: Final[dict[FieldType, Callable[[FieldDefinition, Piece], Scalar]]] = {
    FieldType.TEXT: _text,
    FieldType.JSON: _json,
    FieldType.COUNT: lambda field, value: _known(field, value, number(value.text)),
    FieldType.SECONDS: lambda field, value: _known(field, value, quantity(value.text, SECONDS)),
    FieldType.BYTES: lambda field, value: _known(field, value, quantity(value.text, BYTES)),
    FieldType.MOMENT: lambda field, value: _known(field, value, moment(value.text)),
    FieldType.CHOICE: _choice,
    FieldType.FLAG: _flag,
    FieldType.JOB: _job,
}


LONGEST: Final = 10_000  # characters of the longest filter
DEEPEST: Final = 100  # levels of nested `and`, `or`, `not`
_EXPECTED: Final = (
    ("STRING", "WORD", "a field, a word or quoted text"),
    ("STRING", "VALUE", "a value"),
    ("STRING", "ITEM", "a value"),
    ("LPAR", "LPAR", '"("'),
    ("COMMA", "COMMA", '","'),
    ("RPAR", "RPAR", '")"'),
)
_FOREIGN: Final = {"&&": "and", "||": "or", "&": "and", "|": "or"}
_QUOTES: Final = ('"', "'")


def parse(text: str, builder: type[FilterBuilder] | None = None) -> Expression | None:
    """Parse a filter; None if the text is blank. `builder` has the fields, by default of messages.

    Raises:
        FilterError: the text is not a valid filter.
    """
    if not text.strip():
        return None
    if len(text) > LONGEST:
        what = f"A filter may have at most {LONGEST:,} characters; this one has {len(text):,}"
        raise FilterError(what, LONGEST, len(text) - LONGEST)
    found = _parsed(text, builder or FilterBuilder)
    _check_depth(found, len(text))
    return found


def _parsed(text: str, builder: type[FilterBuilder]) -> Expression:
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken  # late, see `parser`

    try:
        return parser(builder).parse(text)  # type: ignore[return-value, arg-type]  # the builder's
    except UnexpectedToken as error:
        at = error.token.start_pos
        at = len(text) if at is None or error.token.type == "$END" else at
        raise _unexpected(text, at, error.accepts or error.expected) from None
    except UnexpectedCharacters as error:
        # lark declares the attribute without a type.
        position: int = error.pos_in_stream  # type: ignore[assignment]
        raise _unexpected(text, position, error.allowed or ()) from None


class FilterBuilder:
    """Builds nodes from the parse tree, bottom up; each method handles a rule of the grammar.

    Subclasses have the fields of something other than messages.
    """

    known: ClassVar[Mapping[str, FieldDefinition]] = FIELDS
    roots: ClassVar[Collection[str]] = ROOTS

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
        operator = None if piece.is_quoted else _FOREIGN.get(piece.text)
        if operator is not None:
            hint = f'Use {operator}, or "{piece.text}" to search for it'
            raise piece.error(f"Unknown operator {piece.text}", hint)
        return Text(piece.text)

    @staticmethod
    def field(tokens: list[Token]) -> Piece:
        return _piece(tokens[0])

    value = item = field

    @classmethod
    def comparison(cls, parts: tuple[Piece, Token, Piece]) -> Comparison:
        field, op, value = parts
        return comparison(field_of(field, cls.known, cls.roots), str(op).lower(), value)

    @classmethod
    def membership(cls, parts: list[Piece]) -> Comparison:
        return comparison(field_of(parts[0], cls.known, cls.roots), "in", *parts[1:])


def _piece(token: Token) -> Piece:
    text, position = str(token), token.start_pos or 0
    if token.type == "STRING":
        return Piece(unquoted(text), position, len(text), is_quoted=True)
    return Piece(text, position, len(text), is_quoted=False)


def _unexpected(text: str, position: int, expected: Collection[str]) -> FilterError:
    found = text[position : position + 1]
    if found in _QUOTES and found:
        return FilterError("Missing closing quote", position, len(text) - position)
    if found == "=" and text[position : position + 2] != "==":
        return FilterError("= is not a comparison operator", position, 1, "Write ==")
    names = [name for one, other, name in _EXPECTED if one in expected and other in expected]
    wanted = " or ".join(dict.fromkeys(names)) or "the end of the filter"
    hint = "Quote text that contains such characters" if found else ""
    if not found:
        return FilterError(f"Unexpected end of the filter: expected {wanted}", position)
    return FilterError(f"Unexpected {found!r}: expected {wanted}", position, 1, hint)


def _check_depth(expression: Expression, length: int) -> None:
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


if TYPE_CHECKING:
    Value = str | int | float | bool | None

_LONGEST: Final = 2_000
_BARE: Final = re.compile(
    r"""[^\s"'()=<>!,\\\x00-\x20\ud800-\udfff][^\s"(),\x00-\x20\ud800-\udfff]*"""
)
_TEXTS: Final = frozenset(
    name for name, field in FIELDS.items() if field.type in (FieldType.TEXT, FieldType.CHOICE)
)


def term(field: str, op: str, value: Value | Sequence[Value]) -> str:
    """A comparison as text; `field` may have a path (see `path_text`).

    Text is quoted only if necessary. For `in` the value is a sequence. Text that is too long for a
    filter is truncated, and searched instead of compared.
    """
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{field} contains {quoted(value[:_LONGEST])}"
    if value is None or isinstance(value, str | bool | int | float):
        return f"{field} {op} {written(field, value)}"
    return f"{field} {op} {value_text(tuple(value))}"


def text_term(text: str) -> str:
    """A search for `text`, quoted only if necessary."""
    with contextlib.suppress(FilterError):
        if parse(text) == Text(text):
            return text
    return quoted(text[:_LONGEST])


def written(field: str, value: Value) -> str:
    """A value to compare with a field; text is unquoted if it parses to the same value."""
    if not isinstance(value, str):
        return json.dumps(value)
    is_typed = field.partition(".")[0].partition("[")[0] not in _TEXTS
    if _BARE.fullmatch(value) is None or (is_typed and is_typed_word(value)):
        return quoted(value)
    return value


def with_term(text: str, term: str, *, exclude: bool = False) -> str:
    """The filter `text` narrowed by a term or its negation, unless it has that term already.

    An invalid filter is replaced.
    """
    added = f"not {term}" if exclude else term
    try:
        before = parse(text)
        wanted = parse(added)
    except FilterError:
        return added
    if before is None:
        return added
    if wanted == before or (isinstance(before, And) and wanted in before.parts):
        return text
    old = f"({text.strip()})" if isinstance(before, Or) else text.strip()
    return f"{old} and {added}"
