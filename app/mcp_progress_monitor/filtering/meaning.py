"""What fields, operators and values mean together: names found, units applied, mistakes named."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.filtering.errors import FilterError
from mcp_progress_monitor.filtering.expression import Comparison
from mcp_progress_monitor.filtering.fields import FIELDS, ROOTS, Field, Type
from mcp_progress_monitor.filtering.quantities import BYTES, SECONDS, moment, number, quantity
from mcp_progress_monitor.timed_regex import BadPatternError, compiled_pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.filtering.expression import Path, Scalar

_ESCAPE: Final = re.compile(r"""\\(?:u([0-9a-fA-F]{4})|(["'\\/nrt]))""")
_SHORT: Final = {"n": "\n", "r": "\r", "t": "\t"}
_STEP: Final = re.compile(r"""\.([^.\[]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]""", re.DOTALL)
_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_ORDERING: Final = ("<", "<=", ">", ">=")
_SEARCHING: Final = ("contains", "matches")


class Piece(NamedTuple):
    """A word or a text in quotes (given without them), and where it stands."""

    text: str
    position: int
    length: int
    is_quoted: bool

    def error(self, what: str, hint: str = "") -> FilterError:
        """Say what is wrong with it."""
        return FilterError(what, self.position, self.length, hint)


class Place(NamedTuple):
    """A field that was found, the path within it, and where it is written."""

    field: Field
    path: Path
    piece: Piece


def unquoted(text: str) -> str:
    r"""The text in some quotes: `\"`, `\\`, `\/`, `\n`, `\r`, `\t` and `\u00e9` are escapes.

    Other backslashes stay, so that most regular expressions can be written as usual.
    """
    plain = _ESCAPE.sub(_unescaped, text[1:-1])
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _SHORT.get(found[2], found[2])


def field_of(piece: Piece) -> Place:
    """The field that is meant.

    Raises:
        FilterError: there is none of that name.
    """
    field = FIELDS.get(piece.text)
    if field is not None:
        return Place(field, (), piece)
    root = re.split(r"[.\[]", piece.text, maxsplit=1)[0]
    if root in ROOTS:
        rest = piece.text[len(root) :]
        steps = _STEP.findall(rest)
        if "".join(f".{key}" if key else f"[{at or name}]" for key, at, name in steps) == rest:
            return Place(FIELDS[root], tuple(map(_step, steps)), piece)
    raise piece.error(f'There is no field "{piece.text[:40]}"', _likely(piece.text, root))


def _step(found: tuple[str, str, str]) -> str | int:
    key, at, name = found
    if name:
        return unquoted(name)
    return int(at) if at else key


def _likely(text: str, root: str) -> str:
    if root in FIELDS and root != text:
        return f"{root} has no parts" if root not in ROOTS else "Write params.name or result[0]"
    near = difflib.get_close_matches(text[:40].lower(), FIELDS, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    return "Fields of a message begin with params., result. or error.; put text in quotes"


def comparison(place: Place, op: str, *values: Piece) -> Comparison:
    """A comparison, its values read as the field's type wants them.

    Raises:
        FilterError: the operator or a value makes no sense for the field.
    """
    _check_operator(place, op, values[0])
    read = [_scalar(place.field, op, value) for value in values]
    value = tuple(read) if op == "in" else read[0]
    return Comparison(place.field.name, place.path, op, value)


def _check_operator(place: Place, op: str, value: Piece) -> None:
    field = place.field
    if op in _SEARCHING and not field.type.is_textual:
        raise place.piece.error(
            f"{field.name} is {field.type.value.split(' such')[0]}: {op} looks in texts",
            "Use == != < <= > >= or in" if field.type.is_ordered else "Use == != or in",
        )
    if op in _ORDERING and not field.type.is_ordered:
        what = f"{field.name} has no order: {op} does not compare it"
        raise place.piece.error(what, "Use == != or in")
    if op in _ORDERING and field.choices and value.text not in field.choices:
        what = f'{field.name} is ordered by severity, and "{value.text[:40]}" is none'
        raise value.error(what, _choices(field, value.text.lower()))
    if op == "matches":
        _check_pattern(value)


def _check_pattern(value: Piece) -> None:
    try:
        compiled_pattern(value.text)
    except BadPatternError as error:
        inner = min(error.position, max(value.length - 2 * value.is_quoted, 0))
        position = value.position + value.is_quoted + inner
        what = f"This is no regular expression: {error}"
        raise FilterError(what, position, 1) from None


def _scalar(field: Field, op: str, value: Piece) -> Scalar:
    if op in _SEARCHING:
        return value.text
    return _READERS[field.type](field, value)


def _text(_field: Field, value: Piece) -> Scalar:
    return value.text


def _json(_field: Field, value: Piece) -> Scalar:
    """Only what stands without quotes can be a number, true, false or null."""
    if value.is_quoted:
        return value.text
    if value.text in _CONSTANTS:
        return _CONSTANTS[value.text]
    found = number(value.text)
    return value.text if found is None else found


def is_typed_word(text: str) -> bool:
    """Whether the text is no text where it stands without quotes."""
    return text in _CONSTANTS or number(text) is not None


def _count(field: Field, value: Piece) -> Scalar:
    return _known(field, value, number(value.text))


def _seconds(field: Field, value: Piece) -> Scalar:
    return _known(field, value, quantity(value.text, SECONDS))


def _bytes(field: Field, value: Piece) -> Scalar:
    return _known(field, value, quantity(value.text, BYTES))


def _moment(field: Field, value: Piece) -> Scalar:
    return _known(field, value, moment(value.text))


def _known(field: Field, value: Piece, read: Scalar) -> Scalar:
    if read is None:
        what = f'{field.name} is compared with {field.type.value}, not "{value.text[:40]}"'
        raise value.error(what)
    return read


def _choice(field: Field, value: Piece) -> Scalar:
    word = value.text.lower()
    if word not in field.choices:
        raise value.error(f'{field.name} is never "{value.text[:40]}"', _choices(field, word))
    return word


def _choices(field: Field, word: str) -> str:
    near = difflib.get_close_matches(word[:40], field.choices, n=1)
    return f"Did you mean {near[0]}?" if near else f"It is one of {', '.join(field.choices)}"


def _flag(field: Field, value: Piece) -> Scalar:
    found = _CONSTANTS.get(value.text.lower())
    return _known(field, value, found)


def _job(field: Field, value: Piece) -> Scalar:
    found = number(value.text)
    return _known(field, value, found if isinstance(found, int) else None)


_READERS: Final[dict[Type, Callable[[Field, Piece], Scalar]]] = {
    Type.TEXT: _text,
    Type.JSON: _json,
    Type.COUNT: _count,
    Type.SECONDS: _seconds,
    Type.BYTES: _bytes,
    Type.MOMENT: _moment,
    Type.CHOICE: _choice,
    Type.FLAG: _flag,
    Type.JOB: _job,
}
