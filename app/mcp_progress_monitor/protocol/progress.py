"""Parses `notifications/progress`, the message that arrives by the hundred thousand."""

from __future__ import annotations

import itertools
import math
from itertools import repeat
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.protocol.facts import (
    MESSAGE_LIMIT,
    NotificationReceived,
    ProgressReceived,
    RequestStanding,
    Side,
)
from mcp_progress_monitor.protocol.frames import FactRun, Frame, FrameRun
from mcp_progress_monitor.protocol.lenient_json import Elided, has_escaped_colon, shown
from mcp_progress_monitor.protocol.messages import (
    CANCELLED,
    PROGRESS,
    PROGRESS_TOKEN,
    STATUS_METHODS,
    ProgressMethod,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_progress_monitor.protocol.facts import Fact
    from mcp_progress_monitor.protocol.frames import PlainTick
    from mcp_progress_monitor.protocol.ledger import Key, Ledger, ReferredRequest

_LEAST_KEYS = 5  # jsonrpc, method, params, progressToken, progress
# Skips the named tuple's own constructor, which doubles the time of every notification.
_new = tuple.__new__
# An enum member is looked up in 0.04 µs, a global in a tenth of that.
_ACTIVE = RequestStanding.ACTIVE
_SERVER = Side.SERVER
_ABSENT = msgspec.UNSET
_is_finite = math.isfinite


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

_decode_all = msgspec.json.Decoder(list[PlainProgress]).decode


def plain_progress(
    frame: Frame, params: PlainParams, owners: dict[Key, int]
) -> ProgressReceived | None:
    """State the fact of a server's notification with an active token and no repeated key.

    `params` were decoded from the frame, `owners` has the client's active tokens. None means that
    `any_progress` has to read it. Local names and one tuple: this runs for every message of a
    flood, and takes a fifth of the total time.
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
    # Every key has its colon: see `lenient_json.repeated_keys`.
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


def plain_run(run: FrameRun, ledger: Ledger) -> FactRun | None:
    """State the facts of a run in which each line is plain for `plain_progress`; None otherwise.

    The lines are decoded as one array. As many elements as lines are one of each line: a line
    begins with a brace, which can only begin a new element after a comma, and a line feed is in no
    string; and the array is whole, so each line is.
    """
    raws, owners = run.raws, ledger.token_owners
    text = b"[%b]" % b"\n,".join(raws)
    try:
        messages = _decode_all(text)
        members = [message.params for message in messages]
        requests = [owners[each.progressToken] for each in members]
    except (ValueError, KeyError):
        return None
    # Not those that were just decoded: a job keeps many ticks, all of them with one token.
    tokens = list(map(ledger.tokens.__getitem__, requests))
    totals, total_count = _column([each.total for each in members])
    words, word_count = _column([each.message for each in members])
    colons = text.count(b":") - _LEAST_KEYS * len(raws) - total_count - word_count
    is_plain = (
        len(messages) == len(raws)
        and (not word_count or max(map(len, filter(None, words)), default=0) <= MESSAGE_LIMIT)
        # No line has fewer colons than keys and colons in its strings: a fitting total fits each.
        and (not colons or _are_in_all(colons, text, tokens, words))
    )
    if not is_plain:
        return None
    values = [each.progress for each in members]
    ticks = zip(
        range(run.first, run.first + len(raws)),
        repeat((run.connection, run.at, run.when)),
        tokens,
        requests,
        values,
        totals,
        words,
        strict=False,
    )
    has_none = not word_count
    return FactRun(run.at, list(ticks), requests, values, totals, has_no_message=has_none)


class RunFacts:
    """Gathers the facts of a run of lines: its ticks, and the others between them."""

    def __init__(self) -> None:
        self._ticks: list[PlainTick] = []
        self._others: list[tuple[int, Fact]] = []
        self._weight = 0

    @property
    def is_enough(self) -> bool:
        """Whether it takes a few milliseconds to handle them."""
        return self._weight >= _MOST_WEIGHT

    def take(self, facts: Iterable[Fact]) -> None:
        """Add the facts of a message."""
        self._others += [(len(self._ticks), fact) for fact in facts]
        self._weight += _WEIGHT

    def take_plain(
        self,
        first: int,
        stamp: tuple[str, float, float],
        messages: Sequence[dict[str, Any] | None],
        ledger: Ledger,
        here: int | None,
    ) -> bool:
        """Add the facts of messages if all are plain notifications: no findings, no effects.

        They are numbered from `first` on. Progress may have any further members, such as `_meta`.
        """
        known = [message for message in messages if message is not None and len(message) == 3]
        if len(known) != len(messages):
            return False
        methods = [message.get("method") for message in known]
        if methods.count(PROGRESS) == len(methods):
            ticks = _ticks(range(first, first + len(methods)), stamp, known, ledger)
            return ticks is not None and self._add(ticks, (), here)
        others: list[tuple[int, Fact]] = []
        numbers: list[int] = []
        of_ticks: list[dict[str, Any]] = []
        for number, method, message in zip(itertools.count(first), methods, known, strict=False):
            if method == PROGRESS:
                numbers.append(number)
                of_ticks.append(message)
                continue
            fact = _plain_notification(number, stamp, message)
            if fact is None:
                return False
            others.append((len(self._ticks) + len(of_ticks), fact))
        ticks = _ticks(numbers, stamp, of_ticks, ledger)
        return ticks is not None and self._add(ticks, others, here)

    def _add(
        self, ticks: list[PlainTick], others: Sequence[tuple[int, Fact]], here: int | None
    ) -> bool:
        if here is not None and any(tick[3] != here for tick in ticks):
            return False
        self._ticks += ticks
        self._others += others
        self._weight += len(others)
        return True

    def made(self, at: float) -> FactRun:
        """The run of these facts, all of them received `at` that time."""
        requests, values, totals, words = ([tick[n] for tick in self._ticks] for n in (3, 4, 5, 6))
        has_none = words.count(None) == len(words)
        run = (at, self._ticks, requests, values, totals, self._others)
        return FactRun(*run, has_no_message=has_none)


def _ticks(
    numbers: Sequence[int],
    stamp: tuple[str, float, float],
    messages: Sequence[dict[str, Any]],
    ledger: Ledger,
) -> list[PlainTick] | None:
    """The ticks of messages; None if one is none, or has a finding.

    Columns, not one after the other: a third of the time.
    """
    owners = ledger.token_owners
    try:
        params = [message["params"] for message in messages]
        tokens = [each[PROGRESS_TOKEN] for each in params]
        values = [each["progress"] for each in params]
        requests = [owners[token] for token in tokens]
    except (KeyError, TypeError):
        return None
    totals = [each.get("total") for each in params]
    words = [each.get("message") for each in params]
    is_plain = (
        {len(message) for message in messages} <= {3}
        and [message.get("jsonrpc") for message in messages].count("2.0") == len(messages)
        and [message.get("method") for message in messages].count(PROGRESS) == len(messages)
        and _NUMBERS.issuperset(map(type, values))
        and _TOKENS.issuperset(map(type, tokens))
        and _are_of(_NUMBERS, "total", totals, params)
        and _are_of(_TEXTS, "message", words, params)
    )
    if not is_plain:
        return None
    if max(map(len, filter(None, words)), default=0) > MESSAGE_LIMIT:
        words = [word and word[:MESSAGE_LIMIT] for word in words]
    # Not the tokens that were just decoded: a job keeps many ticks, all of them with one token.
    tokens = list(map(ledger.tokens.__getitem__, requests))
    return list(zip(numbers, repeat(stamp), tokens, requests, values, totals, words, strict=False))


def _are_of(
    kinds: frozenset[type], member: str, values: Sequence[Any], params: Sequence[dict[str, Any]]
) -> bool:
    """Whether a member is of these types in all parameters that have it."""
    found = set(map(type, values))
    if NoneType not in found:
        return found <= kinds
    found.remove(NoneType)
    return found <= kinds and len(values) - values.count(None) == sum(member in p for p in params)


def _plain_notification(
    number: int, stamp: tuple[str, float, float], message: dict[str, Any]
) -> NotificationReceived | None:
    """The fact of a notification of three members that has no effect; None for any other."""
    method, params = message.get("method"), message.get("params")
    is_plain = type(method) is str and type(params) is dict and method not in _NOT_PLAIN
    if not is_plain or message.get("jsonrpc") != "2.0":
        return None
    connection, at, when = stamp
    return _new(NotificationReceived, (number, connection, at, when, _SERVER, method, params, ()))


_NUMBERS: Final = frozenset({int, float})
_TOKENS: Final = frozenset({str, int})
_TEXTS: Final = frozenset({str})
_NOT_PLAIN: Final = STATUS_METHODS | {PROGRESS, CANCELLED}
_MOST_WEIGHT: Final = 256
"""Plain notifications, other than ticks, that are handled at once: 3 ms of work …"""
_WEIGHT: Final = 8
"""… and how much longer another message takes."""


def _column(values: list[Any]) -> tuple[list[Any], int]:
    """Values with None for missing ones, and how many are present.

    Equal values become the same object: many are kept for long.
    """
    kinds = set(map(type, values))
    if msgspec.UnsetType not in kinds:
        # 0.0 and -0.0 are equal but not the same.
        is_one = len(kinds) == 1 and values[0] != 0 and values.count(values[0]) == len(values)
        return values[:1] * len(values) if is_one else values, len(values)
    if len(kinds) == 1:
        return [None] * len(values), 0
    found = [None if value is _ABSENT else value for value in values]
    return found, len(found) - found.count(None)


def _are_in_all(
    colons: int, text: bytes, tokens: Sequence[Any], words: Sequence[str | None]
) -> bool:
    """Whether so many `colons` are in tokens and messages, none written as an escape."""
    return colons == sum(map(_colons_in, tokens, words)) and not has_escaped_colon(text)


def _are_in_strings(colons: int, raw: bytes, token: str | int, text: str | None) -> bool:
    """Whether so many `colons` are in the token and the message, none written as an escape."""
    return colons == _colons_in(token, text) and not has_escaped_colon(raw)


def _colons_in(token: str | int, text: str | None) -> int:
    """How many colons the token and the message have: those beyond one for each key."""
    in_text = text.count(":") if text else 0
    return in_text + token.count(":") if isinstance(token, str) else in_text


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
