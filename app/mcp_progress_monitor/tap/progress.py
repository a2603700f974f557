"""Requests progress for a client that does not ask: adds a token, keeps the notifications back.

Only whole, valid lines are changed, and only those that need it; all other bytes pass as they came.
This module decides about lines; `relay` moves them.
"""

from __future__ import annotations

import json
import os
import re
from json.scanner import make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcp_progress_monitor.tap.journal import JournalLane

_PROGRESS = "notifications/progress"
_TOKEN = "progressToken"  # noqa: S105  # a member's name
_TOKEN_BYTES = _TOKEN.encode()
_LONGEST = 1024 * 1024
"""Bytes of a line that may be held until its end; a longer one passes as it comes."""


def _not_json(constant: str) -> Any:
    """Refuse `NaN` and the infinities, with which Python reads what is not JSON."""
    raise ValueError(constant)


_DECODER = json.JSONDecoder(object_pairs_hook=tuple, parse_constant=_not_json)
_SCAN = make_scanner(_DECODER)  # type: ignore[arg-type]
"""Reads in one pass, in C: an object is a tuple of its members, so that repeated ones show."""
_STRING = r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?"
_PLAIN = rf"(?:{_STRING}|{_NUMBER}|true|false|null)"
_BLANK = r"[ \t\r\n]*+"
_COLON = rf"{_BLANK}:{_BLANK}"
_BESIDE = (
    rf'(?:"method"{_COLON}(?(1)(?!))'
    r'("(?:tools\\?/call|resources\\?/read|prompts\\?/get)")'
    rf'|"id"{_COLON}(?(2)(?!))({_STRING}|{_NUMBER})'
    rf'|"(?!(?:method|id|params)")[^"\\\x00-\x1f]*+"{_COLON}{_PLAIN})'
)
"""A member of a request beside its parameters; its method and its id once each."""
_HEAD = re.compile(rf'{_BLANK}\{{{_BLANK}(?:{_BESIDE}{_BLANK},{_BLANK})*"params"{_COLON}(?=\{{)')
_REST = re.compile(rf"{_BLANK}(?:,{_BLANK}{_BESIDE}{_BLANK})*\}}{_BLANK}\Z")
_NEXT = re.compile(
    rf'{_BLANK}[{{,]{_BLANK}(?:"[^"\\]*+"{_COLON}{_PLAIN}{_BLANK},{_BLANK})*+"([^"\\]*+)"{_COLON}'
)
"""The name of a member in a valid object, after all plain ones before it."""


class ProgressRequests:
    """The tokens of one session: given to requests without one, and recognised afterwards."""

    def __init__(self) -> None:
        """The random part keeps them apart from any token of a client."""
        self.prefix = f"mcp-progress-monitor:{os.urandom(6).hex()}:"
        self._bytes = self.prefix.encode()
        self._count = 0

    def with_token(self, raw: bytes) -> bytes | None:
        """A request with a token in its bytes; None if it is to pass as it is."""
        addition = self.addition(raw)
        if addition is None:
            return None
        place, added = addition
        return raw[:place] + added + raw[place:]

    def addition(self, raw: bytes) -> tuple[int, bytes] | None:
        """Where to add what to a request that needs a token; None if it is to pass as it is."""
        if _TOKEN_BYTES in raw:
            return None  # it has one, or says something about one: nothing is changed then
        try:
            text = raw.decode()
            at, params = _parameters(text)
            members = dict(params)
            beside = members.get("_meta", params)
            if beside is not params:
                if not isinstance(beside, tuple) or _TOKEN in dict(beside):
                    return None
                if len(members) < len(params):  # readers differ in which of two equal ones counts
                    return None
                at = _place(text, at, "_meta")
        except (TypeError, ValueError, StopIteration, RecursionError):
            return None
        self._count += 1
        added = f'"{_TOKEN}":"{self.prefix}{self._count}"'
        if beside is params:
            added = f'"_meta":{{{added}}}'
        if beside:
            added += ","
        at += 1
        return at if text.isascii() else len(text[:at].encode()), added.encode()

    def is_kept_back(self, raw: bytes) -> bool:
        """Tell whether a server's message is progress for a token that was given here."""
        if self._bytes not in raw:
            return False
        try:
            message = json.loads(raw)
        except (ValueError, RecursionError):
            return False
        if not isinstance(message, dict) or message.get("method") != _PROGRESS:
            return False
        params = message.get("params")
        token = params.get(_TOKEN) if isinstance(params, dict) else None
        return isinstance(token, str) and token.startswith(self.prefix)


class LineChange:
    """One direction, cut into lines, which are recorded and changed before they pass."""

    def __init__(self, lane: JournalLane) -> None:
        self._lane = lane
        self._held = b""
        self._is_passing = False  # a line that was too long to hold

    def change(self, lines: bytes) -> bytes:
        """Record whole lines with their line feeds, and return what to pass on of them."""
        raise NotImplementedError

    def feed(self, data: bytes) -> bytes:
        """Take bytes, and return those to pass on now."""
        if data[-1:] == b"\n" and not self._held and not self._is_passing:
            return self.change(data)  # as most write
        passed = []
        if self._is_passing:
            end = data.find(b"\n") + 1
            self._is_passing = not end
            head = data[:end] if end else data
            passed.append(self._as_it_is(head))
            data = data[len(head) :]
        end = data.rfind(b"\n") + 1
        if end:
            passed.append(self.change(self._held + data[:end]))
            self._held = b""
        self._held += data[end:]
        if len(self._held) > _LONGEST:
            passed.append(self.end())
            self._is_passing = True
        return b"".join(passed)

    def end(self) -> bytes:
        """The beginning of a last line without its end, which passes as it is."""
        rest, self._held = self._held, b""
        return self._as_it_is(rest)

    def _as_it_is(self, data: bytes) -> bytes:
        if data:
            self._lane.record(data)
        return data


class ClientChange(LineChange):
    """Adds tokens to what a client writes."""

    def __init__(self, requests: ProgressRequests, lane: JournalLane) -> None:
        super().__init__(lane)
        self._addition = requests.addition
        self._count = 0

    def change(self, lines: bytes) -> bytes:
        if lines.find(b"\n") + 1 == len(lines):
            return self._change_one(lines)
        return b"".join([self._change_one(line + b"\n") for line in lines[:-1].split(b"\n")])

    def _change_one(self, line: bytes) -> bytes:
        self._count += 1
        addition = self._addition(line) if line[:1] == b"{" else None
        if addition is None:
            self._lane.record(line)
            return line
        place, added = addition
        line = line[:place] + added + line[place:]
        self._lane.record_changed(line, self._count, place, len(added))
        return line


class ServerChange(LineChange):
    """Withholds progress that only the tap requested from what a server writes."""

    def __init__(self, requests: ProgressRequests, lane: JournalLane) -> None:
        super().__init__(lane)
        self._is_kept_back = requests.is_kept_back
        self._phrase = phrase = requests.prefix.encode()
        self._plain = re.compile(_PLAIN_PROGRESS % re.escape(phrase), re.MULTILINE)

    def change(self, lines: bytes) -> bytes:
        self._lane.record(lines)
        phrase, passed = self._phrase, lines
        if phrase in passed and _is_text(lines):
            passed = self._plain.sub(b"", passed)  # a flood, in a tenth of the time
        if phrase in passed:
            kept = (line for line in passed[:-1].split(b"\n") if not self._is_kept_back(line))
            passed = b"".join([line + b"\n" for line in kept])
        return passed


_MEMBER = (
    rb'"(?!progressToken")[^"\\\x00-\x1f]*+": ?'
    rb'(?:"[^"\\\x00-\x1f]*+"|-?(?:0|[1-9]\d*+)(?:\.\d++)?|true|false|null)'
)
_PLAIN_PROGRESS = (
    rb'^\{(?:"jsonrpc": ?"2\.0", ?)?"method": ?"notifications/progress", ?"params": ?'
    rb"\{(?:" + _MEMBER + rb', ?)*+"progressToken": ?"%b\d++"(?:, ?' + _MEMBER + rb")*+\}"
    rb'(?:, ?"jsonrpc": ?"2\.0")?\}\r?\n'
)
"""Lines of progress as servers write them, valid if they are text; `%b` begins their tokens."""


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parameters(text: str) -> tuple[int, tuple[tuple[str, Any], ...]]:
    """Where the parameters of a request begin, and their members.

    `ValueError` or `StopIteration` unless it is whole and valid, and of a method with progress.
    """
    if (head := _HEAD.match(text)) is None:
        raise ValueError(text)
    at = head.end()
    params, end = _SCAN(text, at)
    rest = _REST.match(text, end)
    if (
        rest is None
        or (head[1] is None) is (rest[1] is None)  # method
        or (head[2] is None) is (rest[2] is None)  # id
    ):
        raise ValueError(text)
    return at, params


def _place(text: str, at: int, name: str) -> int:
    """Where the value of a member begins, an object, in the valid object at `at`.

    `TypeError` if a name before it, or its own, is written with escapes.
    """
    while (found := _NEXT.match(text, at))[1] != name:  # type: ignore[index]
        at = _SCAN(text, found.end())[1]  # type: ignore[union-attr]
    return found.end()  # type: ignore[union-attr]
