"""What stands before a recorded frame's bytes, read slowly: what `stamps` must agree with."""

import datetime
import re
import urllib.parse
from typing import Final, NamedTuple

from mcp_progress_monitor.protocol.frames import Channel

_PREFIX: Final = re.compile(
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6})Z (-?\d{1,15}\.\d{6}) (\S{1,1000}) ([<>!*])([~+]*) "
)
_CHANNELS: Final = {
    b">": Channel.SENT,
    b"<": Channel.RECEIVED,
    b"!": Channel.STDERR,
    b"*": Channel.EVENT,
}


class Prefix(NamedTuple):
    """What stands before a frame's bytes; `length` is its own, in bytes."""

    connection: str
    channel: Channel
    when: float
    at: float
    is_complete: bool
    is_escaped: bool
    length: int


def read_prefix(line: bytes) -> Prefix | None:
    """Read what stands before a frame's bytes; None when the line is no frame."""
    found = _PREFIX.match(line)
    if found is None:
        return None
    stamp, at, name, mark, flags = found.groups()
    try:
        moment = datetime.datetime.fromisoformat(stamp.decode()).replace(tzinfo=datetime.UTC)
    except ValueError:
        return None
    connection = urllib.parse.unquote_to_bytes(name).decode(errors="replace")
    channel = _CHANNELS[mark]
    is_complete, is_escaped = b"~" not in flags, b"+" in flags
    when = moment.timestamp()
    return Prefix(connection, channel, when, float(at), is_complete, is_escaped, found.end())
