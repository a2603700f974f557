"""Events in a row that are alike, cut all at once: what a flood over HTTP comes as.

A shape is what usual events of a stream have in common. Cutting by it takes a fraction of what
reading event by event takes, and gives the very same; what does not fit to the byte is left to
that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.sse import SseEvent

_BLANKS = (b"\n\n", b"\r\n\r\n")


class SseRun(NamedTuple):
    """Messages in a row, each its own event: `opening`, id and `middle`, its data, `blank`.

    Where events have no ids, `ids` is None and `middle` empty.
    """

    opening: bytes
    middle: bytes
    blank: bytes
    datas: list[bytes]
    ids: list[str] | None = None

    @property
    def around_last(self) -> tuple[bytes, bytes]:
        """What stands before and after the data of its last event."""
        id_ = self.ids[-1].encode() if self.ids else b""
        return self.opening + id_ + self.middle, self.blank


class Shape(NamedTuple):
    """What stands around the data of usual events; where `has_ids`, an id after `opening`."""

    opening: bytes
    middle: bytes
    blank: bytes
    has_ids: bool

    def cut(self, text: bytes) -> tuple[SseRun, bytes] | None:
        """The events that `text` begins with, and what follows the last; None if any differs."""
        end = text.rfind(self.blank)
        if end < 0 or not text.startswith(self.opening) or self._may_strip(text):
            return None
        body, rest = text[len(self.opening) : end], text[end + len(self.blank) :]
        pieces = body.split(self.blank + self.opening)
        if not self._has_only(body, len(pieces)) or _may_end(rest):
            return None
        ids, datas = self._read(pieces) if self.has_ids else (None, pieces)
        # Without data an event is no message.
        if b"" in datas or (self.has_ids and ids is None):
            return None
        return SseRun(self.opening, self.middle, self.blank, datas, ids), rest

    def _may_strip(self, text: bytes) -> bool:
        """Whether a space may stand where the standard takes one away."""
        leads = (self.opening, self.middle)
        return any(lead.endswith(b":") and lead + b" " in text for lead in leads)

    def _has_only(self, body: bytes, count: int) -> bool:
        """Whether all ends of line in `body` are those of so many events of this shape."""
        between = self.blank + self.opening
        return all(
            body.count(end) == (count - 1) * between.count(end) + count * self.middle.count(end)
            for end in (b"\n", b"\r")
        )

    def _read(self, pieces: list[bytes]) -> tuple[list[str] | None, list[bytes]]:
        """Ids and data of the events; None for ids that have to be looked at one by one."""
        parts = [piece.partition(self.middle) for piece in pieces]
        datas = [part[2] for part in parts]
        whole, middles = b"\n".join([part[0] for part in parts]), [part[1] for part in parts]
        # With as many ends of line as there are middles, none has two if each has one.
        if b"\0" in whole or not all(middles):
            return None, datas
        try:
            return whole.decode().split("\n"), datas
        except UnicodeDecodeError:
            return None, datas


def _may_end(rest: bytes) -> bool:
    """Whether an event may end within `rest`, by a blank line of another kind."""
    return (b"\n\n" in rest) or (b"\n\r" in rest) or (b"\r\r" in rest)


def shape_of(event: SseEvent) -> Shape | None:
    """The shape of an event, for those that come after it; None if it is no usual one."""
    before, blank = event.before, event.after
    if event.whole is not None or not event.is_message or blank not in _BLANKS:
        return None
    if event.retry_ms is not None or not _is_plain(before):
        return None
    lines = before.replace(b"\r\n", b"\n").split(b"\n")
    if event.id is None:
        return Shape(before, b"", blank, has_ids=False)
    if b"id" in lines or sum(line.startswith(b"id:") for line in lines) != 1:
        return None
    return _with_id(before, blank, event.id.encode())


def _is_plain(before: bytes) -> bool:
    """Whether it has whole lines, in UTF-8, with ends of line of two kinds at most."""
    try:
        before.decode()
    except UnicodeDecodeError:
        return False
    is_begun = before[:1] in {b"\n", b"\r"} or before.startswith(b"\xef\xbb\xbf")
    return not is_begun and before.count(b"\r") == before.count(b"\r\n")


def _with_id(before: bytes, blank: bytes, id_: bytes) -> Shape | None:
    """The shape of an event whose one line of an id says `id_`."""
    place = 0 if before.startswith(b"id:") else before.find(b"\nid:") + 1
    begin = place + len(b"id: ") if before[place:].startswith(b"id: ") else place + len(b"id:")
    stop = begin + len(id_)
    opening, middle = before[:begin], before[stop:]
    if before[begin:stop] != id_ or middle[:1] not in {b"\n", b"\r"}:
        return None
    return Shape(opening, middle, blank, has_ids=True)
