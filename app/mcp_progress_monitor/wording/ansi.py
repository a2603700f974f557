"""Lines as a terminal shows them: colours from SGR sequences, everything else as plain text.

Sources: ECMA-48 (control functions, SGR), ITU-T T.416 (colours of 256 and of 16 million), and the
common behaviour of terminals for carriage returns and backspaces. Rich's decoder does not replace
this: it drops progress bars that end in a carriage return, ignores backspaces and colours written
with colons, and keeps the content of control strings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from mcp_progress_monitor.formatting import ELLIPSIS, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

Colour: TypeAlias = int | tuple[int, int, int]
"""One of the 16 colours that a theme chooses (0 to 15), or red, green and blue (0 to 255)."""


class Style(NamedTuple):
    """The style of text; None is the view's own colour."""

    foreground: Colour | None = None
    background: Colour | None = None
    is_bold: bool = False
    is_dim: bool = False
    is_italic: bool = False
    is_underlined: bool = False
    is_struck: bool = False
    is_reversed: bool = False


class Run(NamedTuple):
    """A stretch of text in one style."""

    text: str
    style: Style


PLAIN: Final = Style()
_SEQUENCE: Final = re.compile(
    r"(?:\x1b\[|\x9b)(?P<parameters>[0-?]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"
    r"|\x1b[ -/]+[0-~]"  # such as selecting a character set
    r"|\x1b[0-Z\\^_`-~]"  # such as saving the cursor
    r"|(?P<back>[\r\x08])"
)
"""A control sequence, a control string, another escape sequence, CR or BS."""
_ON: Final[dict[int, dict[str, Any]]] = {
    1: {"is_bold": True},
    2: {"is_dim": True},
    3: {"is_italic": True},
    4: {"is_underlined": True},
    7: {"is_reversed": True},
    9: {"is_struck": True},
    21: {"is_underlined": True},
    22: {"is_bold": False, "is_dim": False},
    23: {"is_italic": False},
    24: {"is_underlined": False},
    27: {"is_reversed": False},
    29: {"is_struck": False},
    39: {"foreground": None},
    49: {"background": None},
}
_CUBE: Final = (0, 95, 135, 175, 215, 255)
_EXTENDED: Final = {38: "foreground", 48: "background"}
_FIRST_COLUMN: Final = frozenset({"", "0", "1"})
"""Parameters with which `CSI G` goes to the line's first column."""


def runs(line: str, style: Style = PLAIN, limit: int = 2000) -> tuple[list[Run], Style]:
    """A line as runs of visible text that begin in `style`, and the style at its end.

    A carriage return restarts the line, so that the last state of a progress bar is shown; a
    backspace removes one character. Other control sequences are ignored, other invisible characters
    are made visible. At most `limit` characters are returned, the last an ellipsis if there were
    more.
    """
    line = line.rstrip("\r\n")
    found = _Line()
    done = 0
    for match in _SEQUENCE.finditer(line):
        found.write(line[done : match.start()], style)
        done = match.end()
        if _is_line_start(match):
            found.return_to_start()
        elif match["back"]:
            found.erase_last()
        elif match["final"] == "m" and not match["between"]:
            style = styled(style, match["parameters"])
    found.write(line[done:], style)
    return _bounded(found.runs, limit), style


def plain(line: str, limit: int = 2000) -> str:
    return "".join(run.text for run in runs(line, PLAIN, limit)[0])


def styled(style: Style, parameters: str) -> Style:
    """The style after an SGR sequence with these parameters; unknown ones are ignored."""
    if parameters[:1] in ("<", "=", ">", "?"):
        return style
    numbers = iter(_numbers(parameters))
    for number in numbers:
        if number == 0:
            style = PLAIN
        elif number in _EXTENDED:
            colour = _extended(numbers)
            if colour is not None:
                style = _with(style, _EXTENDED[number], colour)
        elif number in _ON:
            style = style._replace(**_ON[number])
        else:
            style = _with_colour(style, number)
    return style


def _numbers(parameters: str) -> list[int]:
    """Parameters as numbers; a missing one is 0, colons separate like semicolons.

    `38:2::r:g:b` has an empty colour space, which the usual form leaves out.
    """
    text = re.sub(r"([34]8:2):\d*:(\d*:\d*:\d*)", r"\1:\2", parameters)
    return [int(word[:6]) if word.isdecimal() else 0 for word in re.split("[;:]", text)]


def _extended(numbers: Iterator[int]) -> Colour | None:
    """The colour announced by `38` or `48`; None if invalid."""
    kind = next(numbers, None)
    if kind == 5:
        number = next(numbers, -1)
        return _of_256(number) if 0 <= number < 256 else None
    if kind == 2:
        red, green, blue = (min(next(numbers, 0), 255) for _ in range(3))
        return red, green, blue
    return None


def _of_256(number: int) -> Colour:
    if number < 16:
        return number
    if number >= 232:
        grey = 8 + 10 * (number - 232)
        return grey, grey, grey
    number -= 16
    return _CUBE[number // 36], _CUBE[number // 6 % 6], _CUBE[number % 6]


def _with_colour(style: Style, number: int) -> Style:
    """One of the 16 colours: 30 to 37 and 90 to 97, as background 40 to 47 and 100 to 107."""
    for first, name, offset in (
        (30, "foreground", 0),
        (90, "foreground", 8),
        (40, "background", 0),
        (100, "background", 8),
    ):
        if first <= number < first + 8:
            return _with(style, name, number - first + offset)
    return style


def _with(style: Style, name: str, colour: Colour) -> Style:
    changes: dict[str, Any] = {name: colour}
    return style._replace(**changes)


class _Line:
    """The content of a line, which text after a carriage return replaces."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._is_at_start = False

    def write(self, text: str, style: Style) -> None:
        if text:
            if self._is_at_start:
                self.runs.clear()
                self._is_at_start = False
            self.runs.append(Run(text, style))

    def return_to_start(self) -> None:
        """Go to the first column; the text stays until something is written."""
        self._is_at_start = True

    def erase_last(self) -> None:
        if self.runs and not self._is_at_start:
            last = self.runs.pop()
            if len(last.text) > 1:
                self.runs.append(last._replace(text=last.text[:-1]))


def _is_line_start(match: re.Match[str]) -> bool:
    return match["back"] == "\r" or (match["final"] == "G" and match["parameters"] in _FIRST_COLUMN)


def _bounded(found: list[Run], limit: int) -> list[Run]:
    """The runs with invisible characters made visible, at most `limit` characters."""
    bounded: list[Run] = []
    room = limit
    for run in found:
        text = visible(run.text[: room + 1], keep_line_ends=True)
        if text[:room]:
            bounded.append(Run(text[:room], run.style))
        if len(text) > room:
            bounded[-1] = bounded[-1]._replace(text=bounded[-1].text[:-1] + ELLIPSIS)
            break
        room -= len(text)
    return bounded
