"""The format of a recording on disk: version 2, one line for each frame.

Files of every version can be read; none is rewritten.
"""

from __future__ import annotations

import datetime
import functools
import json
import re
import urllib.parse
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.protocol.frames import Channel

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

VERSION: Final = 2
SUFFIX: Final = ".mcprec"
HEADER: Final = b"#mcp-recording "
NUMBER: Final = b"#number "
FROM: Final = b"#from "
OVER: Final = b"#over "
NOW: Final = b"#now "
"""Lines of a stream of recordings: whose lines follow, which has ended, and what time it is."""
SAVES_ITSELF: Final = "saves"
"""Member of a header's `tap`: true if the program that writes it saves its resume tokens."""

_MARKS: Final = {Channel.SENT: ">", Channel.RECEIVED: "<", Channel.STDERR: "!", Channel.EVENT: "*"}
_INCOMPLETE: Final = "~"
_ESCAPED: Final = "+"
_UTC: Final = datetime.UTC
_ESCAPE: Final = re.compile(rb"\\[n\\]")
_SLICE: Final = 256 * 1024


def header(fields: Mapping[str, Any]) -> bytes:
    """The first line of a recording, with its line feed."""
    members = {"version": VERSION, **fields}
    return HEADER + json.dumps(members, ensure_ascii=False).encode() + b"\n"


def prefix(
    connection: str,
    channel: Channel,
    when: float,
    at: float,
    *,
    is_complete: bool = True,
    is_escaped: bool = False,
) -> bytes:
    """The text before a frame's bytes; `at` counts from the header's."""
    moment = datetime.datetime.fromtimestamp(round(when, 6), _UTC).isoformat("T", "microseconds")
    flags = ("" if is_complete else _INCOMPLETE) + (_ESCAPED if is_escaped else "")
    return f"{moment[:26]}Z {at:.6f} {_quoted(connection)} {_MARKS[channel]}{flags} ".encode()


@functools.lru_cache(maxsize=1024)
def _quoted(connection: str) -> str:
    return urllib.parse.quote(connection, safe="#:.-_@/", errors="surrogatepass")


def escaped(raw: bytes) -> bytes:
    return raw.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")


def unescaped(raw: bytes) -> bytes:
    return _ESCAPE.sub(lambda found: b"\n" if found[0] == b"\\n" else b"\\", raw)


def unescaped_in_slices(raw: bytes) -> Generator[None, None, bytes]:
    """Do the work of `unescaped` in slices of a few milliseconds, pausing by yielding None."""
    pieces: list[bytes] = []
    begin = 0
    while begin < len(raw):
        end = _whole_escapes(raw, begin, begin + _SLICE)
        pieces.append(unescaped(raw[begin:end]))
        begin = end
        yield
    return b"".join(pieces)


def _whole_escapes(raw: bytes, begin: int, end: int) -> int:
    """`end`, or one more if that would separate a backslash from what it escapes."""
    piece = raw[begin:end]
    is_parted = (len(piece) - len(piece.rstrip(b"\\"))) % 2 == 1
    return end + 1 if is_parted else end


_VERSION_UTC: Final = datetime.UTC


class LineFormat(NamedTuple):
    """Format of a line's prefix in a version.

    Groups of `pattern`: second, microseconds; monotonic seconds, their microseconds; connection;
    mark. `epoch_s` parses the second (`ValueError` if it is none), `connection` the name.
    """

    pattern: re.Pattern[bytes]
    epoch_s: Callable[[bytes], int]
    connection: Callable[[bytes], str]


def _iso_s(second: bytes) -> int:
    moment = datetime.datetime.fromisoformat(second.decode()).replace(tzinfo=_VERSION_UTC)
    return int(moment.timestamp())


LINE_FORMATS: Final = {
    1: LineFormat(
        re.compile(rb"(\d{1,11})\.(\d{6}) (-?\d{1,15})\.(\d{6}) (\S{1,1000}) ([<>!*]~?) "),
        int,
        lambda name: name.decode(errors="replace"),
    ),
    VERSION: LineFormat(
        re.compile(
            rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z "
            rb"(-?\d{1,15})\.(\d{6}) (\S{1,1000}) ([<>!*][~+]*) "
        ),
        _iso_s,
        lambda name: urllib.parse.unquote_to_bytes(name).decode(errors="replace"),
    ),
}
"""All readable versions."""
