r"""What a recording looks like on disk: version 2, one line for each frame.

A recording is a text file of lines that stand alone, so that `grep`, `head` and `sed` leave a
recording that can be opened. The first line is a header, `#mcp-recording ` and a JSON object. Each
frame is one line::

    2026-11-20T19:03:11.123456Z 12.345678 demo#1 < {"jsonrpc":"2.0",…}

wall time in UTC · monotonic seconds since the header's `at` · connection, percent-encoded · a mark
for the channel · the exact bytes. The marks are `>` sent, `<` received, `!` stderr, `*` event; with
`~` behind it the stream ended within the line; with `+` behind it the message has line feeds, which
are written `\n`, and backslashes `\\`. Elements of a batch have no line: the batch's is cut again.

Events are JSON objects with their name in `event` (see `Framer.event`). A session over HTTP has
`http_request`, `http_response`, `http_events`, `http_body` and `http_ended` among them, in the
order of the wire, with the number of their `exchange`: what stood around the messages.

Lines that begin with `#` are not frames. `#number N`: the next frame has that number; without it,
one more than the frame before. Unknown ones are passed over.
"""

from __future__ import annotations

import datetime
import functools
import json
import re
import urllib.parse
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.protocol.frame import Channel

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

VERSION: Final = 2
SUFFIX: Final = ".mcprec"
HEADER: Final = b"#mcp-recording "
NUMBER: Final = b"#number "

_MARKS: Final = {
    Channel.SENT: ">",
    Channel.RECEIVED: "<",
    Channel.STDERR: "!",
    Channel.EVENT: "*",
}
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
    """What stands before a frame's bytes; `at` counts from the header's."""
    moment = datetime.datetime.fromtimestamp(round(when, 6), _UTC).isoformat("T", "microseconds")
    flags = ("" if is_complete else _INCOMPLETE) + (_ESCAPED if is_escaped else "")
    return f"{moment[:26]}Z {at:.6f} {_quoted(connection)} {_MARKS[channel]}{flags} ".encode()


@functools.lru_cache(maxsize=1024)
def _quoted(connection: str) -> str:
    return urllib.parse.quote(connection, safe="#:.-_@/", errors="surrogatepass")


def escaped(raw: bytes) -> bytes:
    r"""Write line feeds as `\n` and backslashes as `\\`."""
    return raw.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")


def unescaped(raw: bytes) -> bytes:
    """Undo `escaped`."""
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
    """`end`, or one more where that would part a backslash from what it escapes."""
    piece = raw[begin:end]
    is_parted = (len(piece) - len(piece.rstrip(b"\\"))) % 2 == 1
    return end + 1 if is_parted else end
