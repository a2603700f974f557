"""Reading `notifications/progress`, the message that comes by the hundred thousand.

`plain_progress` reads what a well-formed one looks like and nothing else; `any_progress` reads
every one of them. Where both apply they state the same fact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from app.protocol.facts import MESSAGE_LIMIT, ProgressReceived, Side, Standing
from app.protocol.reading import COLON_ESCAPE, Elided, shown

if TYPE_CHECKING:
    from app.protocol.frame import Frame
    from app.protocol.ledger import Ended, Key

PROGRESS = "notifications/progress"

_LEAST_KEYS = 5  # jsonrpc, method, params, progressToken, progress
# Skips the named tuple's own constructor, which takes as long again for every notification.
_new = tuple.__new__
# An enum member is looked up in 0.04 µs, a global in a tenth of that.
_ACTIVE = Standing.ACTIVE
_SERVER = Side.SERVER
_ABSENT = msgspec.UNSET
_is_finite = math.isfinite


class PlainParams(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The parameters of a progress notification in which nothing is out of the ordinary."""

    progressToken: str | int  # noqa: N815  # as on the wire
    progress: int | float
    total: int | float | msgspec.UnsetType = msgspec.UNSET
    message: str | msgspec.UnsetType = msgspec.UNSET


class PlainProgress(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The whole notification: these members, of these types, and no others."""

    jsonrpc: Literal["2.0"]
    method: Literal["notifications/progress"]
    params: PlainParams


decode_plain = msgspec.json.Decoder(PlainProgress).decode
"""Decodes a plain notification; raises ValueError for every other line.

Three times as fast as decoding into dictionaries (0.19 to 0.50 µs, measured), and what it lets
through needs no checks of types. Numbers and strings come out as `reading.read_value` has them.
"""


def plain_progress(
    frame: Frame, params: PlainParams, owners: dict[Key, int]
) -> ProgressReceived | None:
    """State the fact of a server's notification with an active token and no repeated key.

    `params` were decoded from the frame, `owners` has the client's active tokens. None means that
    `any_progress` has to look at it. Local names and one tuple: this runs for every message of a
    flood, and takes a fifth of what all else does with it.
    """
    token = params.progressToken
    total: Any = params.total
    text: Any = params.message
    request = owners.get(token)
    if request is None:
        return None
    number, connection, _, when, at, raw, _, _ = frame
    colons = raw.count(b":")
    if text is _ABSENT:
        text = None
    elif len(text) > MESSAGE_LIMIT:
        return None
    else:
        colons -= 1
    if total is _ABSENT:
        total = None
    else:
        colons -= 1
    # Every key has its colon: see `reading.repeated_keys`.
    if colons != _LEAST_KEYS and not _are_in_strings(colons - _LEAST_KEYS, raw, token, text):
        return None
    return _new(
        ProgressReceived,
        (
            number,
            connection,
            at,
            when,
            _SERVER,
            token,
            request,
            _ACTIVE,
            params.progress,
            total,
            text,
            (),
        ),
    )


def _are_in_strings(colons: int, raw: bytes, token: str | int, text: str | None) -> bool:
    """Whether so many `colons` are in the token and the message, none written as an escape."""
    return colons == _colons_in(token, text) and COLON_ESCAPE not in raw


def _colons_in(token: str | int, text: str | None) -> int:
    """How many colons the token and the message have: those beyond one for each key."""
    in_text = text.count(":") if text else 0
    return in_text + token.count(":") if isinstance(token, str) else in_text


def any_progress(
    frame: Frame, sender: Side, params: dict[str, Any], owner: Ended, problems: tuple[str, ...]
) -> ProgressReceived:
    """State the fact of any progress notification; `owner` is whom the other side's token names.

    `problems` are those of the message's form.
    """
    notes = [*problems]
    token = params.get("progressToken")
    if not isinstance(token, str | int) or isinstance(token, bool):
        notes.append(_wrong("progressToken", params, "a string or an integer"))
    progress = _number("progress", params, notes)
    if "progress" not in params:
        notes.append('"progress" is missing')
    return ProgressReceived(
        frame.number,
        frame.connection,
        frame.at,
        frame.when,
        sender,
        token,
        owner.number,
        owner.standing,
        progress,
        _number("total", params, notes),
        _message(params, notes),
        tuple(notes),
    )


def _number(name: str, params: dict[str, Any], notes: list[str]) -> int | float | None:
    value = params.get(name)
    if type(value) is int or (type(value) is float and _is_finite(value)):
        return value
    if name in params:
        notes.append(_wrong(name, params, "a finite number"))
    return None


def _message(params: dict[str, Any], notes: list[str]) -> str | None:
    value = params.get("message")
    if isinstance(value, str):
        return value[:MESSAGE_LIMIT]
    if "message" in params:
        notes.append(_wrong("message", params, "a string"))
    return None


def _wrong(name: str, params: dict[str, Any], due: str) -> str:
    if name not in params:
        return f'"{name}" is missing'
    value = params[name]
    seen = "too long" if isinstance(value, Elided) else shown(value)
    return f'"{name}" is {seen}, not {due}'
