"""Reading one message whole for the details, in slices where it is large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, Envelope, Kind, classify, decode
from mcp_progress_monitor.protocol.outline import outlined
from mcp_progress_monitor.protocol.reading import NotJsonError, TooDeepError, read_value

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.protocol.outline import Slices
    from mcp_progress_monitor.protocol.reading import Reading


class Message(NamedTuple):
    """`value` is the JSON value with all its members; None, and `is_json` False, for other bytes.

    `envelope` says what it is; None for stderr and connection events.
    """

    value: Any
    is_json: bool
    envelope: Envelope | None
    problems: tuple[str, ...]


def read_message(frame: Frame) -> Slices[Message]:
    """Read `frame`, pausing by yielding None every few milliseconds; never raises."""
    if frame.channel is Channel.STDERR or not frame.raw.strip():
        return Message(None, is_json=False, envelope=None, problems=())
    try:
        reading = yield from _reading(frame.raw)
    except NotJsonError:
        return _unreadable(frame)
    if frame.channel is Channel.EVENT:
        return Message(reading.value, is_json=True, envelope=None, problems=())
    envelope = classify(reading.value, reading.problems)
    return Message(reading.value, is_json=True, envelope=envelope, problems=envelope.problems)


def _reading(raw: bytes) -> Slices[Reading]:
    if len(raw) <= OVERSIZED:
        try:
            return read_value(raw)
        except TooDeepError:
            pass
    return (yield from outlined(raw))


def _unreadable(frame: Frame) -> Message:
    if len(frame.raw) > OVERSIZED:
        problems: tuple[str, ...] = ("not JSON",)
        envelope = Envelope(Kind.GARBAGE, problems=problems)
    else:
        envelope = decode(frame.raw, is_complete=frame.is_complete)
        problems = envelope.problems
    return Message(None, is_json=False, envelope=envelope, problems=problems)
