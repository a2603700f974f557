"""Numbers with units, and times, as people write them in a filter."""

from __future__ import annotations

import datetime
import math
import re
from typing import Final

from mcp_progress_monitor.filtering.expression import Moment

SECONDS: Final = {
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1,
    "sec": 1,
    "min": 60,
    "m": 60,
    "h": 3600,
    "d": 86400,
}
BYTES: Final = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}
_QUANTITY: Final = re.compile(r"(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s?([^\W\d_]*)")
_WHOLE: Final = re.compile(r"-?\d{1,4000}")
_DAILY: Final = re.compile(r"(\d?\d):(\d\d)(?::(\d\d)(\.\d{1,6})?)?")
_DATE: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?P<s>:\d\d(?P<f>\.\d{1,6})?)?(?:Z|[-+]\d\d:?\d\d)?)?"
)
_DAY_S: Final = 86400.0
_LARGEST: Final = 10**18


def number(text: str) -> int | float | None:
    """A number as JSON writes it, or nearly; None when the text is none, or is beyond bounds."""
    found = _QUANTITY.fullmatch(text)
    if found is None or found[2]:
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    value = float(text)
    return value if math.isfinite(value) else None


def quantity(text: str, units: dict[str, float] | dict[str, int]) -> int | float | None:
    """A number with one of the units, or without; None when the text is none of them."""
    found = _QUANTITY.fullmatch(text.strip())
    if found is None:
        return None
    value = number(found[1])
    if not found[2] or value is None:
        return value
    factor = units.get(found[2]) or units.get(found[2].lower())
    if factor is None:
        return None
    if abs(value) > _LARGEST:
        return None
    return value * factor if factor >= 1 else round(value * factor, 9)


def moment(text: str) -> Moment | None:
    """A time of day or a date, local unless it says otherwise; as long as its last digit counts.

    None when the text is neither.
    """
    daily = _DAILY.fullmatch(text)
    if daily is not None:
        return _time_of_day(text, daily)
    dated = _DATE.fullmatch(text)
    return None if dated is None else _date(text, dated)


def _time_of_day(text: str, found: re.Match[str]) -> Moment | None:
    hours, minutes, seconds = (int(found[group] or 0) for group in (1, 2, 3))
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    begin = hours * 3600 + minutes * 60 + seconds + float(found[4] or 0)
    length = _length(found[3], found[4], 60.0)
    return Moment(text, begin, begin + length, is_daily=True)


def _date(text: str, found: re.Match[str]) -> Moment | None:
    try:
        begin = datetime.datetime.fromisoformat(text)
        after = begin + datetime.timedelta(days=1)
        if len(text) == len("2026-11-20"):
            return Moment(text, begin.timestamp(), after.timestamp(), is_daily=False)
        moment = begin.timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    length = _length(found["s"], found["f"], 60.0)
    return Moment(text, moment, moment + length, is_daily=False)


def _length(seconds: str | None, fraction: str | None, otherwise: float) -> float:
    """How long the moment is that a text of this precision names."""
    if seconds is None:
        return otherwise
    return 1.0 if fraction is None else float(10 ** (1 - len(fraction)))


def utc_offset_s(when: float) -> float:
    """How far local time is ahead of UTC; it changes at quarters of an hour only."""
    try:
        local = datetime.datetime.fromtimestamp(when, datetime.UTC).astimezone()
    except (ValueError, OverflowError, OSError):
        return 0.0
    offset = local.utcoffset()
    return 0.0 if offset is None else offset.total_seconds()
