"""Formats numbers, rates, durations and untrusted text, the same in window and terminal."""

from __future__ import annotations

import datetime
import itertools
import json
import math
import re
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ELLIPSIS: Final = "…"
INFINITE: Final = "∞"

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86400
_STEPS: Final = ((20 * _MINUTE, _MINUTE), (2 * _MINUTE, 10))
_SPAN_UNITS: Final = (
    (3 * _DAY, "d", _DAY, 1),
    (3 * _HOUR, "h", _HOUR, 1),
    (90 * _MINUTE, "min", _MINUTE, 30),
    (20 * _MINUTE, "min", _MINUTE, 5),
    (3 * _MINUTE, "min", _MINUTE, 1),
    (20, "s", 1, 10),
    (-1, "s", 1, 5),
)
"""From how many seconds on which unit is used, its length, and its step."""
_LONG_INTEGER: Final = 10**30

_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control, direction and invisible characters, and lone surrogates, which no terminal can print.

The joiners U+200C and U+200D stay: scripts and emoji need them.
"""
_SHORT_ESCAPES: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_MARKDOWN: Final = str.maketrans({each: f"\\{each}" for each in "\\`*_{}[]<>#|~@&"})
_LINKS: Final = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
"""Characters that make a link of a bare address on GitHub."""
_SUMMARY_DEPTH: Final = 2
_SUMMARY_ITEMS: Final = 12
_SUMMARY_STRING: Final = 60


def number(value: int | float) -> str:
    """A number exactly as received, with its digits grouped: `1,204`, `0.2`, `1e+22`.

    Integers of more than 30 digits are the exception: `1.234e+56`.
    """
    if isinstance(value, float):
        return repr(value) if "e" in repr(value) or not math.isfinite(value) else f"{value:,}"
    return f"{value:,}" if abs(value) < _LONG_INTEGER else _power_of_ten(value)


def rounded(value: int | float, decimals: int = 2) -> str:
    """A number for reading: `632`, `0.717`, `12.35`, `39.8 M`; exact up to ten million."""
    size = abs(value)
    if size >= 1e15 or not math.isfinite(value):
        return number(value) if isinstance(value, int) else f"{value:.3g}"
    for unit, one in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if size >= max(one, 1e7):
            return f"{value / one:,.4g} {unit}"
    if isinstance(value, int) or value.is_integer():
        return f"{value:,.0f}"
    return f"{value:,.{decimals}f}" if size >= 1 else f"{value:.{decimals + 1}g}"


def _power_of_ten(value: int) -> str:
    sign = "-" if value < 0 else ""
    # Python refuses to write out more than 4,300 digits. The logarithm has no such limit, but is
    # rounded: near a power of ten it may be off by one.
    exponent = math.floor(math.log10(abs(value)))
    exponent += (abs(value) >= 10 ** (exponent + 1)) - (abs(value) < 10**exponent)
    digits = abs(value) // 10 ** (exponent - 3)
    return f"{sign}{digits // 1000}.{digits % 1000:03}e+{exponent}"


def amount(progress: int | float | None, total: int | float | None) -> str:
    """A count and its total if known: `632 / 1,000`, `4,812`; empty if unknown."""
    if progress is None:
        return ""
    return number(progress) if total is None else f"{number(progress)} / {number(total)}"


def progress(done: int | float | None, total: int | float | None, fraction: float | None) -> str:
    """An amount, with its percentage if known: `632 / 1,000 (63.2 %)`."""
    known = amount(done, total)
    return known if fraction is None else f"{known} ({percent(fraction)})"


def percent(fraction: float) -> str:
    """A fraction of 0 to 1 as `63.2 %`; rounded down, so that `100 %` means the end."""
    if fraction >= 1.0:
        return "100 %"
    # The inner rounding undoes the error of the product: 0.283 * 1000 is 282.99….
    return f"{min(math.floor(round(max(fraction, 0.0) * 1000, 6)), 999) / 10:.1f} %"


def rate(per_second: float, unit: str = "") -> str:
    """A rate per the most readable time: `5.5 M/s`, `1,204/s`, `1.2/s`, `3.0/min`, `2.5/h`."""
    for span, seconds in (("s", 1), ("min", _MINUTE)):
        value = per_second * seconds
        if value >= 1:
            return f"{_three_digits(value)}{unit}/{span}"
    return f"{_three_digits(per_second * _HOUR)}{unit}/h"


def _three_digits(value: float) -> str:
    """One decimal below ten, whole and grouped above, in millions, as a power of ten."""
    if value >= 1e15:
        return f"{value:.1e}"
    for unit, one in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if value >= one:
            return f"{value / one:,.1f} {unit}"
    return f"{value:,.1f}" if value < 9.95 else f"{value:,.0f}"


def on_machine(client: str, machine: str) -> str:
    """A client with its machine, unless that is this one."""
    return f"{client} on {machine}" if machine else client


def duration(seconds: int | float) -> str:
    """A span of time: `350 ms`, `3.2 s`, `31 s`, `4 min 12 s`, `1 h 4 min`, `2 d 3 h`.

    An integer is whole seconds, shown as such: `3 s`, not `3.0 s`.
    """
    if isinstance(seconds, int):
        return _whole_duration(max(seconds, 0))
    if not math.isfinite(seconds):
        return INFINITE
    seconds = max(seconds, 0.0)
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return _whole_duration(round(seconds))


def _whole_duration(seconds: int) -> str:
    """The two largest units of a whole number of seconds."""
    if seconds < _MINUTE:
        return f"{seconds} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min {seconds % _MINUTE} s"
    if seconds < _DAY:
        return f"{seconds // _HOUR} h {seconds % _HOUR // _MINUTE} min"
    return f"{number(seconds // _DAY)} d {seconds % _DAY // _HOUR} h"


def time_left(eta_s: float, span_s: tuple[float, float] | None = None) -> str:
    """`31 s left`, `4 min 10 s left`, `24 min left`; a range if only that is known.

    Rounded up, and no finer than useful, so that it does not flicker; `∞ left` beyond a hundred
    days.
    """
    if not math.isfinite(eta_s):
        return f"{INFINITE} left"
    if span_s is not None:
        return f"{_span(*span_s)} left"
    step = next((step for least, step in _STEPS if eta_s > least), 1)
    seconds = math.ceil(max(eta_s, 0.0) / step) * step
    whole = _whole_duration(seconds)
    return f"{whole.removesuffix(' 0 s') if step > 1 else whole} left"


def _span(low_s: float, high_s: float) -> str:
    """A range, both ends in the unit of the later one; `up to 2 min` from now on."""
    unit, one, step = next(unit for unit in _SPAN_UNITS if high_s > unit[0])[1:]
    low = math.floor(low_s / one / step) * step
    high = math.ceil(high_s / one / step) * step
    if low == 0:
        return f"up to {number(high)} {unit}"
    return f"{number(low)}\N{EN DASH}{number(high)} {unit}"


def ago(seconds: float) -> str:
    """`14 s ago`, in whole seconds."""
    if not math.isfinite(seconds):
        return f"{INFINITE} ago"
    return f"{_whole_duration(math.floor(max(seconds, 0.0)))} ago"


def last_tick(silent_s: float) -> str:
    """`last tick 14 s ago`."""
    return f"last tick {ago(silent_s)}"


def count(value: int, singular: str, plural: str = "") -> str:
    """A count with its noun: `1 tick`, `1,204 ticks`."""
    return f"{number(value)} {singular if value == 1 else plural or singular + 's'}"


def count_in_short(value: int) -> str:
    """A possibly large count: `1,204`, and from a million on `1.2 M`, `3.4 G`; rounded down."""
    for unit, one in (("G", 10**9), ("M", 10**6)):
        if value >= one:
            return f"{number(value * 10 // one / 10)} {unit}"
    return number(value)


def size(byte_count: int) -> str:
    """A size in bytes with decimal prefixes: `812 B`, `1.2 kB`, `64.0 MB`."""
    if byte_count < 1000:
        return f"{byte_count} B"
    value = float(byte_count)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.95:
            return f"{value:.1f} {unit}"
    return f"{value / 1000:,.1f} TB"


def clock(when: float) -> str:
    """Wall time, local, with milliseconds: `12:01:07.123`."""
    moment = local_time(when)
    return "--:--:--.---" if moment is None else moment.isoformat(timespec="milliseconds")[11:23]


def date_and_clock(when: float) -> str:
    """Wall time with its date, local: `2026-11-20 12:01:07.123`."""
    moment = local_time(when)
    if moment is None:
        return "---------- --:--:--.---"
    return moment.isoformat(sep=" ", timespec="milliseconds")[:23]


def iso(when: float, precision: str = "microseconds") -> str | None:
    """A wall time in ISO 8601 and UTC; None outside the calendar."""
    try:
        moment = datetime.datetime.fromtimestamp(when, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


def local_time(when: float) -> datetime.datetime | None:
    """The local time of seconds since the epoch; None beyond the calendar's range.

    In UTC where the variable `TZ` names an offset of a day or more, which Python does not support.
    """
    try:
        moment = datetime.datetime.fromtimestamp(when, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        return None
    try:
        return moment.astimezone()
    except (OverflowError, OSError, ValueError):
        return moment


def since(seconds: float) -> str:
    """The time between two neighbours in a list: `+0.021`; grouped, never in another unit."""
    return f"{seconds:+,.3f}"


def visible(text: str, *, keep_line_ends: bool = False) -> str:
    r"""Untrusted text with what cannot be seen written as escapes: `a\u202eb`, `one\ntwo`.

    A direction override could make a message read as another one; a control sequence could drive
    a terminal. With `keep_line_ends`, line feeds and tabs stay, for views of many lines.
    """
    if _UNSEEN.search(text) is None:
        return text
    if keep_line_ends:
        return _UNSEEN.sub(_escape_but_lines, text.replace("\r\n", "\n"))
    return _UNSEEN.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[char]
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _escape_but_lines(match: re.Match[str]) -> str:
    """As `_escape`, but line feeds and tabs stay."""
    return match[0] if match[0] in "\n\t" else _escape(match)


def markdown(text: str) -> str:
    """Text of one line as Markdown that shows it as it is."""
    return _LINKS.sub(r"\\\g<0>", visible(text).translate(_MARKDOWN))


def elide(text: str, limit: int) -> str:
    """At most `limit` characters of a text, ending in an ellipsis if anything is left out."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + ELLIPSIS


def one_line(text: str, limit: int = 200) -> str:
    """Untrusted text for a row: visible, at most `limit` characters, with bounded work."""
    return elide(visible(text[: limit + 1]), limit)


def summary(arguments: Mapping[str, object], limit: int = 120) -> str:
    """JSON arguments on one line: `path="a.txt" rows=1,000 options={deep: true}`.

    Takes bounded work however large the arguments are.
    """
    parts: list[str] = []
    room = limit
    for name, value in arguments.items():
        if room < 0:
            break
        part = f"{one_line(str(name), _SUMMARY_STRING)}={_brief(value, _SUMMARY_DEPTH)}"
        parts.append(part)
        room -= len(part) + 1
    return elide(" ".join(parts), limit)


def _brief(value: object, depth: int) -> str:
    """One JSON value in few characters; structures to `depth` more levels and a dozen members."""
    if isinstance(value, str):
        return encode_basestring(one_line(value, _SUMMARY_STRING)).replace(r"\\", "\\")
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, dict):
        return "{" + ", ".join(_brief_members(value, depth)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_brief_elements(value, depth)) + "]"
    return one_line(str(value), _SUMMARY_STRING)


def _brief_members(value: dict[object, object], depth: int) -> Iterator[str]:
    for name, member in itertools.islice(value.items(), _SUMMARY_ITEMS if depth else 0):
        yield f"{one_line(str(name), _SUMMARY_STRING)}: {_brief(member, depth - 1)}"
    if len(value) > (_SUMMARY_ITEMS if depth else 0):
        yield ELLIPSIS


def _brief_elements(value: list[object] | tuple[object, ...], depth: int) -> Iterator[str]:
    for element in itertools.islice(value, _SUMMARY_ITEMS if depth else 0):
        yield _brief(element, depth - 1)
    if len(value) > (_SUMMARY_ITEMS if depth else 0):
        yield ELLIPSIS
