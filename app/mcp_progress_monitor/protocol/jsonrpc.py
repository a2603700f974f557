"""JSON-RPC between bytes and envelopes: reading accepts everything, writing only what is valid."""

from __future__ import annotations

import enum
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding, texts
from mcp_progress_monitor.protocol.lenient_json import (
    Elided,
    NotJsonError,
    TooDeepError,
    read_object,
    read_value,
    shown,
)
from mcp_progress_monitor.protocol.messages import OF_NOTIFICATIONS
from mcp_progress_monitor.protocol.outline import Slices, finish, outlined

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

OVERSIZED = 1024 * 1024  # larger messages are outlined in slices; their big members become `Elided`

_SPACE = b" \t\r\n"
_BEGINNING = 1024


class Kind(enum.Enum):
    """The kind of a line. The values are used in texts and in facts."""

    REQUEST = "request"
    NOTIFICATION = "notification"
    RESULT = "result"
    ERROR = "error"
    BATCH = "batch"  # an array of messages
    INVALID = "invalid"  # JSON, but not a JSON-RPC message
    GARBAGE = "garbage"  # not JSON
    BLANK = "blank"  # only white space
    PARTIAL = "partial"  # the stream ended within the line, which is not JSON so far


class Envelope(NamedTuple):
    """One decoded message.

    `params`, `result` and `error` are as received, None when absent. `id` is a string, a finite
    number or None; `method` is set for requests and notifications.
    """

    kind: Kind
    id: str | int | float | None = None
    method: str | None = None
    params: Any = None
    result: Any = None
    error: Any = None
    findings: tuple[Finding, ...] = ()

    @property
    def violations(self) -> tuple[str, ...]:
        return texts(self.findings)


def decode(raw: bytes, *, is_complete: bool = True) -> Envelope:
    """Decode one line, however broken; `is_complete` is False if the stream ended within it."""
    is_plain = is_complete and raw[:1] == b"{" and len(raw) <= OVERSIZED
    value = read_object(raw) if is_plain else None
    if value is not None:
        return classify(value)
    if is_complete and (text := _TEXT.match(raw)) is not None:  # in a tenth of the time
        reason = f"Expecting value at character {text.end() + 1:,}"
        return Envelope(Kind.GARBAGE, findings=(_unreadable(raw, reason, is_complete=True),))
    return finish(decode_in_slices(raw, is_complete=is_complete))


# Text that no JSON begins with; behind a byte order mark, it is read with more care.
_TEXT = re.compile(rb'[ \t\n\r]*+(?![\[{"\-0-9]|true|false|null|NaN|Infinity|\xef\xbb\xbf|\Z)')
_QUOTED = 60
"""Bytes shown of a line that is not JSON: enough to find what printed it."""


def decode_in_slices(raw: bytes, *, is_complete: bool = True) -> Slices[Envelope]:
    """Like `decode` in slices of a few milliseconds, pausing by yielding None."""
    # A message of many megabytes is not copied to remove a line end.
    if not raw[:_BEGINNING].strip(_SPACE) and not raw.strip(_SPACE):
        return Envelope(Kind.BLANK, findings=(Finding(rules.BLANK_LINE),))
    try:
        reading = None if len(raw) > OVERSIZED else _read_if_flat(raw)
        if reading is None:
            reading = yield from outlined(raw)
    except NotJsonError as error:
        kind = Kind.GARBAGE if is_complete else Kind.PARTIAL
        return Envelope(kind, findings=(_unreadable(raw, str(error), is_complete=is_complete),))
    findings = reading.findings
    if not is_complete:
        findings = (*findings, Finding(rules.NO_LINE_END))
    return classify(reading.value, findings)


def _read_if_flat(raw: bytes) -> Any:
    try:
        return read_value(raw)
    except TooDeepError:
        return None


def _unreadable(raw: bytes, reason: str, *, is_complete: bool) -> Finding:
    if not is_complete:
        return Finding(rules.CUT_LINE, (reason,))
    if b"\x00" in raw[:200]:
        return Finding(rules.NOT_TEXT, (reason,))
    return Finding(rules.NOT_JSON, (shown(raw[:_QUOTED].decode(errors="replace").strip()), reason))


def classify(value: Any, findings: tuple[Finding, ...] = ()) -> Envelope:
    """Classify a decoded JSON value; `findings` are those of its text."""
    if isinstance(value, dict):
        return _classify_object(value, [*findings])
    if isinstance(value, list) and value:
        return Envelope(Kind.BATCH, findings=findings)
    is_empty = isinstance(value, list)
    what = Finding(rules.EMPTY_BATCH) if is_empty else Finding(rules.NO_MESSAGE, (shown(value),))
    return Envelope(Kind.INVALID, findings=(*findings, what))


def _classify_object(members: dict[str, Any], findings: list[Finding]) -> Envelope:
    identity = members.get("id")
    if not _is_id(identity):
        findings.append(Finding(rules.ID_TYPE, (shown(identity),)))
        return Envelope(Kind.INVALID, findings=tuple(findings))
    if isinstance(identity, float):
        findings.append(Finding(rules.ID_NO_INTEGER, (shown(identity),)))
    if members.get("jsonrpc") != "2.0":
        findings.append(_version_finding(members))
    if "result" in members or "error" in members:
        return _reply(members, findings)
    if "method" in members:
        return _call(members, findings)
    findings.append(Finding(rules.NO_KIND))
    return Envelope(Kind.INVALID, identity, findings=tuple(findings))


def _is_id(value: Any) -> bool:
    if isinstance(value, float):
        return value - value == 0  # finite
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


def _version_finding(members: dict[str, Any]) -> Finding:
    if "jsonrpc" not in members:
        return Finding(rules.VERSION_MISSING)
    return Finding(rules.VERSION_WRONG, (shown(members["jsonrpc"]),))


def _call(members: dict[str, Any], findings: list[Finding]) -> Envelope:
    identity, method, params = (members.get(name) for name in ("id", "method", "params"))
    if not isinstance(method, str):
        findings.append(Finding(rules.METHOD_TYPE, (shown(method),)))
        return Envelope(Kind.INVALID, identity, findings=tuple(findings))
    if "params" in members and not isinstance(params, dict):
        findings.append(Finding(rules.PARAMS_TYPE, (shown(params),)))
    is_named_so = method.startswith(OF_NOTIFICATIONS)
    if is_named_so and "id" in members:  # no request of that name can be meant
        findings.append(Finding(rules.NOTIFICATION_ID, (shown(identity),)))
    if is_named_so or "id" not in members:
        return Envelope(Kind.NOTIFICATION, None, method, params, findings=tuple(findings))
    if identity is None:
        findings.append(Finding(rules.ID_NULL))
    return Envelope(Kind.REQUEST, identity, method, params, findings=tuple(findings))


def _reply(members: dict[str, Any], findings: list[Finding]) -> Envelope:
    result, error = members.get("result"), members.get("error")
    is_error = error is not None or "result" not in members
    if "method" in members:
        findings.append(Finding(rules.REPLY_WITH_METHOD))
    if "id" not in members:
        findings.append(Finding(rules.ERROR_WITHOUT_ID if is_error else rules.REPLY_WITHOUT_ID))
    elif members["id"] is None:
        findings.append(Finding(rules.ERROR_ID_NULL if is_error else rules.REPLY_ID_NULL))
    if "result" in members and "error" in members:
        findings.append(Finding(rules.REPLY_WITH_BOTH))
    name, payload = ("error", error) if is_error else ("result", result)
    if not isinstance(payload, dict):
        findings.append(Finding(rules.REPLY_TYPE, (name, shown(payload, 200))))
    kind = Kind.ERROR if is_error else Kind.RESULT
    return Envelope(
        kind,
        members.get("id"),
        result=None if is_error else result,
        error=error if is_error else None,
        findings=tuple(findings),
    )


_to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def encode(message: Mapping[str, Any]) -> bytes:
    """Encode one message: UTF-8 on one line, without the line end, members in their order.

    Half of a surrogate pair is written as its JSON escape, as it came or was typed.

    Raises:
        ValueError: `message` holds NaN, an infinity or something that JSON has no form for.
    """
    try:
        text = _to_json(message)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"not representable as JSON: {error}") from error
    return text.encode(errors="backslashreplace")


def canonical(value: Any) -> bytes:
    """`value` as canonical JSON in ASCII: sorted keys, no spaces; equal values, equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
