"""Reading `notifications/progress`, the message that comes by the hundred thousand.

`plain_progress` reads what a well-formed one looks like and nothing else; `any_progress` reads
every one of them. Where both apply they state the same fact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from app.protocol.facts import MESSAGE_LIMIT, ProgressReceived, Side, Standing
from app.protocol.reading import COLON_ESCAPE, Elided, shown

if TYPE_CHECKING:
    from app.protocol.frame import Frame
    from app.protocol.ledger import Ended, Key

PROGRESS = "notifications/progress"

_INFINITY = math.inf
_TOP_LEVEL_KEYS = 3  # jsonrpc, method, params
# Skips the named tuple's own constructor, which takes as long again for every notification.
_new = tuple.__new__
# An enum member is looked up in 0.04 µs, a global in a tenth of that.
_ACTIVE = Standing.ACTIVE


def plain_progress(
    frame: Frame,
    message: dict[str, Any],
    sender: Side,
    owners: dict[Key, int],
) -> ProgressReceived | None:
    """State the fact of a progress notification in which nothing is out of the ordinary.

    `message` is the decoded frame, `owners` the active tokens of the other side. None means
    that `any_progress`, or another reader altogether, has to look at it. Raises KeyError or
    TypeError for a `message` of quite another shape.
    """
    if message["method"] != PROGRESS or len(message) != _TOP_LEVEL_KEYS:
        return None
    params = message["params"]
    token = params["progressToken"]
    progress = params["progress"]
    total = params.get("total")
    text = params.get("message")
    count = len(params)
    number, connection, _, when, at, raw, _, _ = frame
    kind = type(token)
    if (
        (kind is str or kind is int)
        and (request := owners.get(token)) is not None
        # Null for total or message is as good as absent only to `get`.
        and count == 2 + (total is not None) + (text is not None)
        and (type(progress) is int or (type(progress) is float and _is_finite(progress)))
        and (total is None or type(total) is int or (type(total) is float and _is_finite(total)))
        and (text is None or (type(text) is str and len(text) <= MESSAGE_LIMIT))
        and message["jsonrpc"] == "2.0"
        and (
            # Every key has its colon: see `reading.repeated_keys`.
            (more_colons := raw.count(b":") - _TOP_LEVEL_KEYS - count) == 0
            or (more_colons == _colons_in(token, text) and COLON_ESCAPE not in raw)
        )
    ):
        return _new(
            ProgressReceived,
            (
                number,
                connection,
                at,
                when,
                sender,
                token,
                request,
                _ACTIVE,
                progress,
                total,
                text,
                (),
            ),
        )
    return None


_is_finite = math.isfinite


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
