"""What a large message is, told from its first bytes, without reading the rest."""

from __future__ import annotations

import re
from typing import NamedTuple

from mcp_progress_monitor.text import one_line

LARGE = 64 * 1024
"""Bytes of a message that are read for a row of the log; larger ones are not decoded for it."""

_ENDS = 2_048
_SIMPLE = rb'("(?:[^"\\]|\\.)*+"|-?[0-9][0-9.eE+-]*+)'
_MEMBER = re.compile(rb'\s*+"(jsonrpc|id|method)"\s*+:\s*+' + _SIMPLE + rb"\s*+,")


class Head(NamedTuple):
    """Words of the simple members before the payload; empty where there is none."""

    method: str
    id: str


def head_of(raw: bytes) -> Head:
    """Read the method and the id where they stand before the payload."""
    members: dict[bytes, bytes] = {}
    pos = raw[:_ENDS].find(b"{") + 1
    while pos and (match := _MEMBER.match(raw, pos, pos + _ENDS)):
        members[match[1]] = match[2]
        pos = match.end()
    return Head(_words(members.get(b"method")), _words(members.get(b"id")))


def _words(value: bytes | None) -> str:
    return "" if value is None else one_line(value.decode(errors="replace").strip('"'), 80)
