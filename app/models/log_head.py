"""What a large message is, told from its first and last bytes, without decoding the rest."""

from __future__ import annotations

import re
from typing import NamedTuple

from app.text import one_line

LARGE = 256 * 1024
"""Messages of more bytes are not decoded for a row of the log: at 64 MB that takes a second."""

_ENDS = 2_048
_SIMPLE = rb'("(?:[^"\\]|\\.)*+"|-?[0-9][0-9.eE+-]*+)'
_MEMBER = re.compile(rb'\s*+"(jsonrpc|id|method)"\s*+:\s*+' + _SIMPLE + rb"\s*+,")
_PAYLOAD = re.compile(rb'\s*+"(params|result|error)"\s*+:')
_LAST = re.compile(rb',\s*+"(jsonrpc|id|method)"\s*+:\s*+' + _SIMPLE + rb"\s*+\}?\s*+$")


class Head(NamedTuple):
    """`kind` is request, notification, result or error; `id` is words, empty without one."""

    kind: str
    method: str
    id: str


def head_of(raw: bytes) -> Head | None:
    """Read the simple members before and after the payload; None when they do not tell enough."""
    members: dict[bytes, bytes] = {}
    pos = raw[:_ENDS].find(b"{") + 1
    while match := _MEMBER.match(raw, pos, pos + _ENDS):
        members[match[1]] = match[2]
        pos = match.end()
    payload = _PAYLOAD.match(raw, pos, pos + _ENDS)
    if payload is None or not pos:
        return None
    _read_tail(raw[-_ENDS:], members)
    kind = payload[1].decode()
    if kind == "params":
        if b"method" not in members:
            return None
        kind = "request" if b"id" in members else "notification"
    return Head(kind, _words(members.get(b"method")), _words(members.get(b"id")))


def _read_tail(tail: bytes, members: dict[bytes, bytes]) -> None:
    tail = tail.rstrip()
    if not tail.endswith(b"}"):
        return
    tail = tail[:-1]
    while match := _LAST.search(tail):
        members.setdefault(match[1], match[2])
        tail = tail[: match.start()]


def _words(value: bytes | None) -> str:
    return "" if value is None else one_line(value.decode(errors="replace").strip('"'))
