"""Parses `notifications/progress`, the message that arrives by the hundred thousand."""

from __future__ import annotations

import math
import operator
import re
from itertools import chain, compress, count, repeat
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.protocol.facts import (
    MESSAGE_LIMIT,
    NotificationReceived,
    ProgressReceived,
    RequestMade,
    RequestStanding,
    Side,
)
from mcp_progress_monitor.protocol.frames import FactRun, Frame, FrameRun
from mcp_progress_monitor.protocol.lenient_json import (
    Elided,
    are_shallow,
    colon_count,
    has_escaped_colon,
    read_objects,
    shown,
)
from mcp_progress_monitor.protocol.messages import (
    CANCELLED,
    PARTS,
    PROGRESS,
    PROGRESS_TOKEN,
    STATUS_METHODS,
    ProgressMethod,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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


class _Members(msgspec.Struct, frozen=True, gc=False):
    """Parameters of any notification: those that progress may have; others are left out.

    With content, which is more than a tick, decoding fails.
    """

    progressToken: str | int | msgspec.UnsetType = msgspec.UNSET  # noqa: N815  # as on the wire
    progress: int | float | msgspec.UnsetType = msgspec.UNSET
    total: int | float | msgspec.UnsetType = msgspec.UNSET
    message: str | msgspec.UnsetType = msgspec.UNSET
    content: None = None


_NO_MEMBERS: Final = _Members()


class _Line(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Any notification, as progress."""

    jsonrpc: Literal["2.0"]
    method: str
    params: _Members = _NO_MEMBERS


class _Note(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Any notification, with all of its parameters."""

    jsonrpc: Literal["2.0"]
    method: str
    params: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


_decode_lines = msgspec.json.Decoder(list[_Line]).decode
_decode_notes = msgspec.json.Decoder(list[_Note]).decode
_ODD: Final = re.compile(r"\$\[(\d+)\]|\(byte (\d+)\)")
"""Where a decoder has failed: at an element of the array, or at a byte of its text."""


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


class FurtherMembers:
    """What else the progress of a server has, such as `_meta`, so that it is decoded with the rest.

    A server that adds members adds the same to thousands of notifications.
    """

    def __init__(self) -> None:
        self._names: dict[str, None] = {}
        self._getters: list[operator.attrgetter[Any]] = []
        self.decode: Callable[[bytes], list[_Line]] = _decode_lines  # decodes the array of lines

    def learn(self, messages: Iterable[dict[str, Any]]) -> None:
        """Decode the members of these from now on, as far as there are not too many."""
        found = {
            name: None
            for message in messages
            if message.get("method") == PROGRESS
            for name in message["params"]
            if name not in self._names and name not in _Members.__struct_fields__
            if _NAME.fullmatch(name)
        }
        if found and len(self._names) + len(found) <= _MOST_FURTHER:
            self._names |= found
            self._use()

    def values(self, members: Sequence[_Members]) -> list[Any]:
        """All values of further members."""
        found = chain.from_iterable(map(get, members) for get in self._getters)
        return [value for value in found if value is not _ABSENT]

    def _use(self) -> None:
        fields = [
            (f"further_{n}", Any, msgspec.field(default=_ABSENT, name=name))
            for n, name in enumerate(self._names)
        ]
        known = msgspec.defstruct("_AllMembers", fields, bases=(_Members,), frozen=True, gc=False)
        params = [("params", known, known())]
        line = msgspec.defstruct(
            "_WholeLine", params, bases=(_Line,), forbid_unknown_fields=True, gc=False
        )
        self.decode = msgspec.json.Decoder(list[line]).decode  # type: ignore[valid-type]
        self._getters = [operator.attrgetter(name) for name, *_ in fields]


_MOST_FURTHER: Final = 16  # further members that are learnt: some servers make names up
_NAME: Final = re.compile(r"[\w.$/-]{1,64}")


class PartSize:
    """How much of a run is handled at once: what takes a few milliseconds on this machine.

    Ticks of a thousand jobs take twice as long as those of one, whose memory is at hand. Batches
    take longer as well, and so does everything on a slow machine.
    """

    def __init__(self) -> None:
        self._level = len(_PART_WEIGHTS) - 1

    @property
    def weight(self) -> int:
        """The weight (see `RunFacts`) from which on no more is added to a part."""
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


class RunFacts:
    """Gathers the facts of a run of lines: its ticks, and the others between them."""

    def __init__(self) -> None:
        self._ticks: list[PlainTick] = []
        self._columns: tuple[list[int], list[int | float], list[int | float | None]] = ([], [], [])
        self._others: list[tuple[int, Fact]] = []
        self._has_messages = False
        self.weight = 0
        """How long it takes to handle them, by the time that a tick takes."""

    @property
    def has_only_ticks(self) -> bool:
        return not self._others

    def take(self, facts: Sequence[Fact]) -> None:
        """Add the facts of one message."""
        self._others += [(len(self._ticks), fact) for fact in facts]
        is_request = type(facts[0]) is RequestMade if facts else False
        self.weight += _REQUEST_WEIGHT if is_request else _WEIGHT

    def take_plain(
        self, run: FrameRun, ledger: Ledger, further: FurtherMembers, here: int | None
    ) -> int:
        """Add the facts of the first lines, as many as are plain; how many.

        A plain line is a notification without findings or effects, of any method and with any
        members. Progress has an active token, of the request `here` if it is not None.
        """
        while run:
            found = _PlainLines(run, further)
            if found.read(ledger, here):
                self._add(found)
                return len(run)
            run = run.part(0, found.odd)
        return 0

    def _add(self, found: _PlainLines) -> None:
        place = len(self._ticks)
        self._others += [(place + before, note) for before, note in found.notes]
        self.weight += len(found.ticks) + _NOTE_WEIGHT * len(found.notes)
        if not self._ticks:
            self._ticks, self._columns = found.ticks, found.columns
        else:
            self._ticks += found.ticks
            for column, more in zip(self._columns, found.columns, strict=True):
                column += more  # type: ignore[operator]  # each of its own type
        self._has_messages = self._has_messages or found.has_messages

    def made(self, at: float) -> FactRun:
        """The run of these facts, all of them received `at` that time."""
        run = (at, self._ticks, *self._columns, self._others)
        return FactRun(*run, has_no_message=not self._has_messages)


class _PlainLines:
    """Lines that are decoded as one array, in columns; one after the other takes twice as long.

    As many elements as lines are one of each line: a line begins with a brace, which can only
    begin a new element after a comma, and a line feed is in no string; and the array is whole, so
    each line is. What decoding leaves out (members of progress that are not known, one of two
    equal keys) shows in the number of colons.
    """

    def __init__(self, run: FrameRun, further: FurtherMembers) -> None:
        self.odd = 0  # the first line that is not plain, or a place before it
        self.ticks: list[PlainTick] = []
        self.columns: tuple[list[int], list[int | float], list[int | float | None]] = ([], [], [])
        """Requests, values and totals of the ticks."""
        self.notes: list[tuple[int, NotificationReceived]] = []
        """The others, each with the number of ticks before it."""
        self.has_messages = False
        self._run = run
        self._numbers = run.numbers
        self._further = further
        self._text = b"[%b]" % b"\n,".join(run.raws)
        self._colons = self._text.count(b":")
        self._is_sure = True  # whether only keys were counted: then no escape can hide a colon

    def read(self, ledger: Ledger, here: int | None) -> bool:
        """Read all lines; if one of them is odd, False."""
        try:
            lines = self._further.decode(self._text)
        except ValueError as error:
            self.odd = self._place_of(error)
            return False
        except RecursionError:
            return self._is_odd(len(self._run) // 2)
        if len(lines) != len(self._run):
            return self._is_odd(len(self._run) // 2)
        methods = [line.method for line in lines]
        numbers = self._numbers
        if methods.count(PROGRESS) < len(lines):
            are_ticks = [method == PROGRESS for method in methods]
            if not self._read_notes(methods, list(map(operator.not_, are_ticks))):
                return False
            numbers = list(compress(numbers, are_ticks))
            lines = list(compress(lines, are_ticks))
        return self._read_ticks(numbers, lines, ledger, here) and self._is_whole()

    def _is_odd(self, place: int) -> bool:
        self.odd = place
        return False

    def _place_of(self, error: ValueError) -> int:
        """The line at which decoding failed, or a line before it if the error does not name it."""
        found = _ODD.search(str(error))
        if found is None:
            return len(self._run) // 2
        place = int(found[1]) if found[1] else self._text.count(b"\n", 0, int(found[2]))
        return place if place < len(self._run) else len(self._run) // 2

    def _read_notes(self, methods: Sequence[str], are_notes: Sequence[bool]) -> bool:
        """Read the notifications that are no progress."""
        if not _NOT_PLAIN.isdisjoint(methods):
            return self._is_odd(next(n for n, each in enumerate(methods) if each in _NOT_PLAIN))
        run = self._run
        try:
            notes = _decode_notes(b"[%b]" % b"\n,".join(compress(run.raws, are_notes)))
        except (ValueError, RecursionError):  # in what was left out before
            return self._is_odd(are_notes.index(True))
        params = [{} if note.params is _ABSENT else note.params for note in notes]
        stamp = map(repeat, (run.connection, run.at, run.when, _SERVER))
        numbers, their_methods = compress(self._numbers, are_notes), compress(methods, are_notes)
        rows = zip(numbers, *stamp, their_methods, params, repeat(()), strict=False)
        facts = map(_new, repeat(NotificationReceived), rows)
        places = map(operator.sub, compress(count(), are_notes), count())
        self.notes = list(zip(places, facts, strict=False))
        with_params = len(notes) - [note.params for note in notes].count(_ABSENT)
        self._colons -= 2 * len(notes) + with_params + colon_count(params)
        self._is_sure = False
        return True

    def _read_ticks(
        self, numbers: Sequence[int], lines: Sequence[_Line], ledger: Ledger, here: int | None
    ) -> bool:
        """Read progress, in columns."""
        members = [line.params for line in lines]
        owner_of = ledger.token_owners.get
        requests: list[Any] = [owner_of(each.progressToken) for each in members]
        values: list[Any] = [each.progress for each in members]
        kinds = set(map(type, values))
        if None in requests or not kinds <= _NUMBERS or not _are_of(requests, here):
            pairs = enumerate(zip(requests, values, strict=True))
            odd = next(
                n for n, (r, v) in pairs if r is None or v is _ABSENT or here not in {None, r}
            )
            return self._is_odd(self._numbers.index(numbers[odd]))
        totals, total_count = _column([each.total for each in members])
        words, word_count = _column([each.message for each in members])
        # Not those that were just decoded: a job keeps many ticks, all of them with one token.
        tokens = list(map(ledger.tokens.__getitem__, requests))
        self._colons -= _LEAST_KEYS * len(lines) + total_count + word_count
        further = self._further.values(members)
        if further:
            self._colons -= len(further) + colon_count(further)
            self._is_sure = False
        if word_count:
            words = self._messages(words)
        if self._colons:
            self._colons -= sum(token.count(":") for token in tokens if type(token) is str)
            self._is_sure = False
        run = self._run
        stamp = repeat((run.connection, run.at, run.when))
        self.columns = (requests, values, totals)
        ticks = zip(numbers, stamp, tokens, requests, values, totals, words, strict=False)
        self.ticks = list(ticks)
        return True

    def _messages(self, words: list[str | None]) -> list[str | None]:
        """The messages of ticks, cut to their limit."""
        self.has_messages = True
        texts = [text for text in words if text]
        colons = "".join(texts).count(":")
        if colons:
            self._colons -= colons
            self._is_sure = False
        if max(map(len, texts), default=0) > MESSAGE_LIMIT:
            return [text and text[:MESSAGE_LIMIT] for text in words]
        return words

    def _is_whole(self) -> bool:
        """Whether nothing in the lines was left out, or else does no harm."""
        if not self._colons:
            if self._is_sure:
                return True
            # No line has fewer colons than keys and colons in its strings: a fitting total fits
            # each, unless one is written as an escape.
            if not has_escaped_colon(self._text) and are_shallow(self._run.raws):
                return True
        found = read_objects(self._run.raws)
        known = [each for each in found if each is not None]
        self._further.learn(known)
        return len(known) == len(found) or self._is_odd(found.index(None))


def _are_of(requests: Sequence[int], here: int | None) -> bool:
    """Whether all requests are the one that is `here`, if only that may be."""
    return here is None or requests.count(here) == len(requests)


_NUMBERS: Final = frozenset({int, float})
_NOT_PLAIN: Final = STATUS_METHODS | PARTS | {CANCELLED}
_NOTE_WEIGHT: Final = 3  # how much longer than a tick another plain notification takes
_WEIGHT: Final = 20  # any other message
_REQUEST_WEIGHT: Final = 40  # a request becomes a job, and a question


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
