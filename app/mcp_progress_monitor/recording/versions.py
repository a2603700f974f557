r"""The forms that recordings have had: files of every version are read, nothing is rewritten.

Version 1 was as version 2 (see `format`), with three differences: wall time was seconds since the
epoch, connection ids stood as they were, so that one with a space could not be read back, and a
frame with a line feed in it could not be written::

    1763665391.123456 12.345678 demo#1 < {"jsonrpc":"2.0",…}
"""

from __future__ import annotations

import datetime
import re
import urllib.parse
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.recording.format import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

_UTC: Final = datetime.UTC


class Form(NamedTuple):
    """How a version writes what stands before a frame.

    Groups of `pattern`: second, microseconds; monotonic seconds, their microseconds; connection;
    mark. `epoch_s` reads the second (`ValueError` if it is none), `connection` the name.
    """

    pattern: re.Pattern[bytes]
    epoch_s: Callable[[bytes], int]
    connection: Callable[[bytes], str]


def _iso_s(second: bytes) -> int:
    moment = datetime.datetime.fromisoformat(second.decode()).replace(tzinfo=_UTC)
    return int(moment.timestamp())


def _unquoted(name: bytes) -> str:
    return urllib.parse.unquote_to_bytes(name).decode(errors="replace")


def _plain(name: bytes) -> str:
    return name.decode(errors="replace")


FORMS: Final = {
    1: Form(
        re.compile(rb"(\d{1,11})\.(\d{6}) (-?\d{1,15})\.(\d{6}) (\S{1,1000}) ([<>!*]~?) "),
        int,
        _plain,
    ),
    VERSION: Form(
        re.compile(
            rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z "
            rb"(-?\d{1,15})\.(\d{6}) (\S{1,1000}) ([<>!*][~+]*) "
        ),
        _iso_s,
        _unquoted,
    ),
}
"""By version, all that can be read."""
