"""Parses `notifications/progress`, the message that arrives by the hundred thousand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.protocol.facts import (
    MESSAGE_LIMIT,
    NotificationReceived,
    ProgressReceived,
    RequestMade,
    Side,
    UnreadableReceived,
)
from mcp_progress_monitor.protocol.lenient_json import (
    Elided,
    colon_count,
    has_escaped_colon,
    is_shallow,
    read_object,
    shown,
)
from mcp_progress_monitor.protocol.messages import (
    CANCELLED,
    META,
    PARTS,
    PROGRESS,
    PROGRESS_TOKEN,
    STATUS_METHODS,
    ProgressMethod,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcp_progress_monitor.protocol.facts import Fact
    from mcp_progress_monitor.protocol.frames import Frame, PlainTick, Stamp
    from mcp_progress_monitor.protocol.ledger import Ledger, ReferredRequest

_LEAST_KEYS = 5  # jsonrpc, method, params, progressToken, progress
_ABSENT = msgspec.UNSET
_SERVER: Final = Side.SERVER  # looking up an enum member takes ten times as long as a global
_is_finite = math.isfinite
_new = tuple.__new__  # a named tuple's own constructor would double the time


class PlainParams(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The parameters of an ordinary progress notification."""

    progressToken: str | int  # noqa: N815  # as on the wire
    progress: int | float
    total: int | float | msgspec.UnsetType = msgspec.UNSET
    message: str | msgspec.UnsetType = msgspec.UNSET


class PlainProgress(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The whole notification: these members, of these types, and no others."""

    jsonrpc: Literal["2.0"]
    method: ProgressMethod
    params: PlainParams


decode_plain = msgspec.json.Decoder(PlainProgress).decode
"""Decodes a plain notification; raises ValueError for every other line. Three times as fast as
decoding into dictionaries (0.19 to 0.50 µs, measured), and its results need no type checks. Numbers
and strings are as `lenient_json.read_value` returns them."""


class _OpenParams(msgspec.Struct, gc=False):
    """The same with further members, of which `_meta` is common; with content, it is more."""

    progressToken: str | int  # noqa: N815  # as on the wire
    progress: int | float
    total: int | float | msgspec.UnsetType = msgspec.UNSET
    message: str | msgspec.UnsetType = msgspec.UNSET
    meta: Any = msgspec.field(default=msgspec.UNSET, name=META)
    content: None = None


class _OpenProgress(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    jsonrpc: Literal["2.0"]
    method: ProgressMethod
    params: _OpenParams


class _Notification(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A notification of any method, with these members and no others."""

    jsonrpc: Literal["2.0"]
    method: str
    params: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


_decode_open = msgspec.json.Decoder(_OpenProgress).decode
_decode_notification = msgspec.json.Decoder(_Notification).decode

_WITH_EFFECTS: Final = STATUS_METHODS | PARTS | {CANCELLED, PROGRESS}
"""Notifications that change what is open, or that belong to a request."""


def take_plain(  # noqa: C901  # one loop: a call for each message would take a third longer
    rows: Iterable[tuple[int, Stamp | None, bytes]],
    ledger: Ledger,
    here: int | None,
    ticks: list[PlainTick],
    others: list[Fact],
    places: list[int],
) -> bool:
    """Add messages before the first that is not plain; True if there is one.

    Plain progress goes to `ticks`: it has an active token, of the request `here` if it is not None,
    sound numbers and no key twice. Other notifications without findings or effects go to `others`,
    with the number of ticks before them in `places`. Local names and one tuple: this runs for every
    message of a flood.
    """
    owner_of, token_of, add = ledger.token_owners.get, ledger.tokens, ticks.append
    decode: Callable[[bytes], PlainProgress | _OpenProgress] = decode_plain
    absent = _ABSENT
    for number, stamp, raw in rows:
        if stamp is None:
            return True
        if b"progress" not in raw:
            # An error of the decoder costs as much as two messages.
            note = _plain_notification(number, stamp, raw) if raw[:1] == b"{" else None
            if note is None:
                return True
            others.append(note)
            places.append(len(ticks))
            continue
        try:
            params = decode(raw).params
        except (ValueError, RecursionError):
            if decode is _decode_open:
                return True
            # An error costs as much as two messages, and the next one is probably like this one.
            decode = _decode_open
            try:
                params = decode(raw).params
            except (ValueError, RecursionError):
                return True
        request = owner_of(params.progressToken)
        if request is None or (here is not None and request != here):
            return True
        total: Any = params.total
        text: Any = params.message
        # Every key has its colon: see `lenient_json.repeated_keys`.
        colons = raw.count(b":") - _LEAST_KEYS - (total is not absent) - (text is not absent)
        if not colons:
            decode = decode_plain
        elif not _is_exact(colons, raw, params):
            return True
        if total is absent:
            total = None
        if text is absent:
            text = None
        elif len(text) > MESSAGE_LIMIT:
            text = text[:MESSAGE_LIMIT]
        # The token of the request, not this one: a job keeps many ticks, all of them with it.
        add((number, stamp, token_of[request], request, params.progress, total, text))
    return False


def _is_exact(colons: int, raw: bytes, params: PlainParams | _OpenParams) -> bool:
    """Check that no key was lost: so many `colons` are in strings and `_meta`, none as an escape.

    If they are not, `params` has a key twice, or members that are not known.
    """
    token, text = params.progressToken, params.message
    if type(token) is str:
        colons -= token.count(":")
    if type(text) is str:
        colons -= text.count(":")
    if type(params) is _OpenParams:
        if params.meta is not _ABSENT:
            colons -= 1 + colon_count(params.meta)
        if colons or not is_shallow(raw):
            return read_object(raw) is not None
    return not colons and not has_escaped_colon(raw)


def _plain_notification(number: int, stamp: Stamp, raw: bytes) -> NotificationReceived | None:
    """State the fact of a server's notification; None if it has findings or effects, or may."""
    try:
        note = _decode_notification(raw)
    except (ValueError, RecursionError):
        return None
    params = note.params
    colons = raw.count(b":") - 2  # jsonrpc, method
    if params is msgspec.UNSET:
        params = {}
    else:
        colons -= 1 + colon_count(params)
    if colons or note.method in _WITH_EFFECTS or has_escaped_colon(raw) or not is_shallow(raw):
        return None
    connection, at, when = stamp
    fields = (number, connection, at, when, _SERVER, note.method, params, ())
    return _new(NotificationReceived, fields)


class PartSize:
    """Part of a run that is handled at once: what takes a few milliseconds on this machine.

    Ticks of a thousand jobs take twice as long as those of one, whose memory is at hand. Batches
    take longer as well, and so does everything on a slow machine.
    """

    def __init__(self) -> None:
        self._level = len(_PART_WEIGHTS) - 1

    @property
    def weight(self) -> int:
        """The weight (see `weight_of`) from which on no more is added to a part."""
        return _PART_WEIGHTS[self._level]

    def note(self, spent_s: float, *, is_cut: bool) -> None:
        """A part took so long in processor time; `is_cut` says that its run has more."""
        if spent_s > _LONG_PART_S:
            self._level = max(self._level - 1, 0)
        elif is_cut and spent_s < _SHORT_PART_S:
            self._level = min(self._level + 1, len(_PART_WEIGHTS) - 1)


_PART_WEIGHTS: Final = (64, 128, 256, 512, 640)
"""With the largest, a run of ticks alone is one part: a part has some 0.3 ms of work of its own."""
_LONG_PART_S: Final = 0.004
_SHORT_PART_S: Final = 0.0015


def weight_of(facts: Sequence[Fact]) -> int:
    """Tell how long it takes to handle the facts of one message, by the time that a tick takes."""
    kind = type(facts[0]) if facts else None
    if kind is RequestMade:
        return _REQUEST_WEIGHT
    return LIGHT_WEIGHT if kind in _LIGHT and len(facts) == 1 else _WEIGHT


_LIGHT: Final = frozenset({NotificationReceived, ProgressReceived, UnreadableReceived})
LIGHT_WEIGHT: Final = 4
_WEIGHT: Final = 20
_REQUEST_WEIGHT: Final = 40  # a request becomes a job, and a question


def any_progress(
    frame: Frame,
    sender: Side,
    params: dict[str, Any],
    owner: ReferredRequest,
    findings: tuple[Finding, ...],
) -> ProgressReceived:
    """State the fact of any progress notification; `owner` is the token's request.

    `findings` are those of the message's form.
    """
    notes = [*findings]
    token = params.get(PROGRESS_TOKEN)
    if PROGRESS_TOKEN not in params:
        notes.append(Finding(rules.TICK_TOKEN_MISSING))
    elif not isinstance(token, str | int) or isinstance(token, bool):
        notes.append(Finding(rules.TICK_TOKEN_TYPE, (_seen(token),)))
    progress = _number("progress", params, notes)
    if "progress" not in params:
        notes.append(Finding(rules.PROGRESS_MISSING))
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


def _number(name: str, params: dict[str, Any], notes: list[Finding]) -> int | float | None:
    value = params.get(name)
    if type(value) is int or (type(value) is float and _is_finite(value)):
        return value
    if name in params:
        notes.append(Finding(rules.NUMBER_TYPE, (name, _seen(value))))
    return None


def _message(params: dict[str, Any], notes: list[Finding]) -> str | None:
    value = params.get("message")
    if isinstance(value, str):
        return value[:MESSAGE_LIMIT]
    if "message" in params:
        notes.append(Finding(rules.MESSAGE_TYPE, (_seen(value),)))
    return None


def _seen(value: Any) -> str:
    return "too long" if isinstance(value, Elided) else shown(value)
