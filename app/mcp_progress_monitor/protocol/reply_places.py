"""Where messages stand: in which batch, and over HTTP in the response to which request.

What comes behind a reply within one batch, or in another response, is late by its place alone. In
2026-07-28 a response brings what is about its own request and nothing else ("Streamable HTTP",
"Sending Messages to the Server"; rule PROG-15).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import Standing
from mcp_progress_monitor.protocol.reading import NotJsonError, TooDeepError, read_value

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.frame import Frame

PLACES_KEPT: Final = 4096
"""Replies whose places are remembered: as many as there are ended requests."""

OTHER_STREAM: Final = "it came in the response to another request"

_LONGEST: Final = 18
# Only its beginning is read: an event tells of every event of a chunk, a hundred thousand a second.
_HTTP_EVENTS: Final = re.compile(
    rb'\s*\{\s*"event"\s*:\s*"http_events"\s*,\s*"exchange"\s*:\s*(\d{1,%d})\s*[,}]' % _LONGEST
)


_HTTP_REQUEST: Final = b'{"event":"http_request",'


class _Place(NamedTuple):
    """The number of the batch's frame, and the HTTP exchange; None where there is none."""

    batch: int | None
    exchange: int | None


class ReplyPlaces:
    """Remembers where replies stood. Without batches and HTTP nothing is kept."""

    def __init__(self) -> None:
        self._exchange: int | None = None
        self._of: dict[int, _Place] = {}
        self._carried: dict[int, int] = {}

    def clear(self) -> None:
        """Forget everything."""
        self._exchange = None
        self._of.clear()
        self._carried.clear()

    @property
    def request(self) -> int | None:
        """The request whose response the messages stand in now; None where there is none."""
        return None if self._exchange is None else self._carried.get(self._exchange)

    def begin(self, raw: bytes) -> bool:
        """Learn from an event which exchange the messages that follow came on; whether it tells."""
        found = _HTTP_EVENTS.match(raw)
        if found is not None:
            self._exchange = int(found[1])
        elif raw.startswith(_HTTP_REQUEST):
            self._note_request(raw)
        return found is not None

    def _note_request(self, raw: bytes) -> None:
        """Remember which message an exchange carries to the server, if it does carry one."""
        try:
            fields = as_object(read_value(raw).value)
        except (NotJsonError, TooDeepError):
            return
        exchange, message = fields.get("exchange"), fields.get("message")
        if type(exchange) is int and type(message) is int:
            self._carried[exchange] = message
            if len(self._carried) > PLACES_KEPT:
                del self._carried[next(iter(self._carried))]

    def note(self, request: int | None, frame: Frame) -> None:
        """Remember where the reply to a request stands."""
        if request is None or (frame.part is None and self._exchange is None):
            return
        self._of[request] = _Place(_batch_of(frame), self._exchange)
        if len(self._of) > PLACES_KEPT:
            del self._of[next(iter(self._of))]

    def standing(self, request: int | None, frame: Frame) -> Standing:
        """The standing of an answered request, by where what names it stands itself."""
        place = self._of.get(request or 0)
        if place is None:
            return Standing.ANSWERED
        if place.batch is not None and place.batch == _batch_of(frame):
            return Standing.IN_BATCH
        return Standing.ANSWERED if place.exchange == self._exchange else Standing.ELSEWHERE


def _batch_of(frame: Frame) -> int | None:
    """The number of the batch's own frame: its elements have the numbers behind it."""
    return None if frame.part is None else frame.number - frame.part.index
