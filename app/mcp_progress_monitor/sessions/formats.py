"""Whether the texts of a form have the formats that its fields ask for.

Source: 2025-11-25 "Elicitation", "Requested Schema": email, uri, date and date-time. JSON Schema
itself checks no format, and others than these are not known to servers either.
"""

from __future__ import annotations

import datetime
import re
import urllib.parse
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.protocol.eras import as_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.protocol.facts import JsonObject

_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def format_problems(schema: JsonObject, content: JsonObject) -> list[str]:
    """Which fields of `content` have not the format that `schema` asks for, each by its name."""
    found = []
    for name, field in as_object(schema.get("properties")).items():
        value, wanted = content.get(name), as_object(field).get("format")
        fits, words = _FORMATS.get(wanted if isinstance(wanted, str) else "", _ANY)
        if isinstance(value, str) and not fits(value):
            found.append(f"{name}: {value!r} is no {words}")
    return found


def _fits(_value: str) -> bool:
    return True


def _is_email(value: str) -> bool:
    return _EMAIL.fullmatch(value) is not None


def _is_uri(value: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(value)
    except ValueError:
        return False
    return bool(parts.scheme) and bool(parts.netloc or parts.path) and " " not in value


def _is_date(value: str) -> bool:
    return _DATE.fullmatch(value) is not None and _is_iso(datetime.date.fromisoformat, value)


def _is_time(value: str) -> bool:
    """Whether it is a time as RFC 3339 has it, which does not go without a time zone."""
    if _TIME.fullmatch(value) is None:
        return False
    return _is_iso(datetime.datetime.fromisoformat, value[:19])


def _is_iso(read: Callable[[str], object], value: str) -> bool:
    try:
        read(value)
    except ValueError:
        return False
    return True


_ANY: Final = (_fits, "")
_FORMATS: Final[dict[str, tuple[Callable[[str], bool], str]]] = {
    "email": (_is_email, "email address"),
    "uri": (_is_uri, "address (a URI such as https://example.com)"),
    "date": (_is_date, "date (such as 2026-07-28)"),
    "date-time": (_is_time, "time with its zone (such as 2026-07-28T12:00:00Z)"),
}
