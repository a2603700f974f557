"""JSON-RPC between bytes and envelopes: reading accepts everything, writing only what is right.

Nothing a peer can send raises here: what is no message is a `Kind` of its own, and what breaks
a rule is described in `Envelope.problems`. Source: JSON-RPC 2.0, and MCP's narrower rules on
ids and parameters ("Base Protocol" in every revision).
"""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_progress_monitor.protocol.outline import Slices, finish, outlined
from mcp_progress_monitor.protocol.reading import (
    Elided,
    NotJsonError,
    TooDeepError,
    read_value,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "OVERSIZED",
    "Elided",
    "Envelope",
    "Kind",
    "canonical",
    "classify",
    "decode",
    "decode_in_slices",
    "encode",
]

OVERSIZED = 1024 * 1024
"""Messages of more bytes are outlined in slices; their big members become `Elided`."""

_SPACE = b" \t\r\n"
_BEGINNING = 1024


class Kind(enum.Enum):
    """What a line is. The values are words for people and for facts."""

    REQUEST = "request"
    NOTIFICATION = "notification"
    RESULT = "result"
    ERROR = "error"
    BATCH = "batch"
    """An array of messages."""
    INVALID = "invalid"
    """JSON, but no JSON-RPC message."""
    GARBAGE = "garbage"
    """No JSON."""
    BLANK = "blank"
    """Nothing but white space."""
    PARTIAL = "partial"
    """The stream ended within the line, which is no JSON so far."""


class Envelope(NamedTuple):
    """One decoded message. `params`, `result` and `error` are as received, None when absent.

    `id` is a string, a finite number or None; `method` is set for requests and notifications.
    """

    kind: Kind
    id: str | int | float | None = None
    method: str | None = None
    params: Any = None
    result: Any = None
    error: Any = None
    problems: tuple[str, ...] = ()


def decode(raw: bytes, *, is_complete: bool = True) -> Envelope:
    """Read one line, however broken; `is_complete` is False if the stream ended within it."""
    return finish(decode_in_slices(raw, is_complete=is_complete))


def decode_in_slices(raw: bytes, *, is_complete: bool = True) -> Slices[Envelope]:
    """Do the work of `decode` in slices of a few milliseconds, pausing by yielding None."""
    # A message of many megabytes is not copied for the line end that it may have.
    if not raw[:_BEGINNING].strip(_SPACE) and not raw.strip(_SPACE):
        return Envelope(Kind.BLANK, problems=("a blank line",))
    try:
        reading = None if len(raw) > OVERSIZED else _read_if_flat(raw)
        if reading is None:
            reading = yield from outlined(raw)
    except NotJsonError as error:
        kind = Kind.GARBAGE if is_complete else Kind.PARTIAL
        return Envelope(kind, problems=(_unreadable(raw, str(error), is_complete=is_complete),))
    problems = reading.problems
    if not is_complete:
        problems = (*problems, "the stream ended without a line end after this message")
    return classify(reading.value, problems)


def _read_if_flat(raw: bytes) -> Any:
    try:
        return read_value(raw)
    except TooDeepError:
        return None


def _unreadable(raw: bytes, reason: str, *, is_complete: bool) -> str:
    if not is_complete:
        return f"the stream ended within this line ({reason})"
    if b"\x00" in raw[:200]:
        return f"not JSON, and binary or UTF-16 by the look of it ({reason})"
    return f"not JSON ({reason})"


def classify(value: Any, problems: tuple[str, ...] = ()) -> Envelope:
    """Say which message a decoded JSON value is; `problems` are those of its text."""
    if isinstance(value, dict):
        return _classify_object(value, [*problems])
    if isinstance(value, list) and value:
        return Envelope(Kind.BATCH, problems=problems)
    what = "an empty batch" if isinstance(value, list) else f"{shown(value)} is no message"
    return Envelope(Kind.INVALID, problems=(*problems, what))


def _classify_object(members: dict[str, Any], problems: list[str]) -> Envelope:
    identity = members.get("id")
    if not _is_id(identity):
        problems.append(f"the id {shown(identity)} is neither a string nor an integer")
        return Envelope(Kind.INVALID, problems=tuple(problems))
    if isinstance(identity, float):
        problems.append(f"the id {shown(identity)} is no integer")
    if members.get("jsonrpc") != "2.0":
        problems.append(_version_problem(members))
    if "result" in members or "error" in members:
        return _reply(members, problems)
    if "method" in members:
        return _call(members, problems)
    problems.append("neither a method nor a result nor an error")
    return Envelope(Kind.INVALID, identity, problems=tuple(problems))


def _is_id(value: Any) -> bool:
    if isinstance(value, float):
        return value - value == 0  # finite
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


def _version_problem(members: dict[str, Any]) -> str:
    if "jsonrpc" not in members:
        return 'the member "jsonrpc" is missing'
    return f'"jsonrpc" is {shown(members["jsonrpc"])} instead of "2.0"'


def _call(members: dict[str, Any], problems: list[str]) -> Envelope:
    identity, method, params = (members.get(name) for name in ("id", "method", "params"))
    if not isinstance(method, str):
        problems.append(f"the method {shown(method)} is no string")
        return Envelope(Kind.INVALID, identity, problems=tuple(problems))
    if "params" in members and not isinstance(params, dict):
        problems.append(f"params is {shown(params)}, not an object")
    if "id" not in members:
        return Envelope(Kind.NOTIFICATION, None, method, params, problems=tuple(problems))
    if identity is None:
        problems.append("the id of a request is null")
    return Envelope(Kind.REQUEST, identity, method, params, problems=tuple(problems))


def _reply(members: dict[str, Any], problems: list[str]) -> Envelope:
    result, error = members.get("result"), members.get("error")
    is_error = error is not None or "result" not in members
    if "method" in members:
        problems.append("a reply with a method")
    if "id" not in members:
        problems.append("a reply without an id")
    elif members["id"] is None:
        problems.append("a reply whose id is null")
    if "result" in members and "error" in members:
        problems.append("a reply with both a result and an error")
    name, payload = ("error", error) if is_error else ("result", result)
    if not isinstance(payload, dict):
        problems.append(f"the {name} is {shown(payload, 200)}, not an object")
    kind = Kind.ERROR if is_error else Kind.RESULT
    return Envelope(
        kind,
        members.get("id"),
        result=None if is_error else result,
        error=error if is_error else None,
        problems=tuple(problems),
    )


def encode(message: Mapping[str, Any]) -> bytes:
    """Write one message: UTF-8 on one line, without the line end, members in their order.

    Raises:
        ValueError: `message` holds NaN, an infinity, half of a surrogate pair or something
            that JSON has no form for.
    """
    try:
        text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, RecursionError) as error:
        raise ValueError(f"this cannot be written as JSON: {error}") from error
    return text.encode()


def canonical(value: Any) -> bytes:
    """`value` as canonical JSON in ASCII: sorted keys, no spaces; equal values, equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
