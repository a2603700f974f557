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
    from collections.abc import Callable
    from typing import Any

_METHODS = frozenset({"tools/call", "resources/read", "prompts/get"})
_PROGRESS = "notifications/progress"
_TOKEN = "progressToken"  # noqa: S105  # a member's name
_TOKEN_BYTES = _TOKEN.encode()
_LONGEST = 1024 * 1024
"""Bytes of a line that may be held until its end; a longer one passes as it comes."""
_SCAN = make_scanner(json.JSONDecoder())  # type: ignore[arg-type]  # what the decoder itself does
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_NAME = r'[ \t\r\n]*"([^"\\\x00-\x1f]*)"[ \t\r\n]*:[ \t\r\n]*'
_FIRST, _NEXT = re.compile(r"\{" + _NAME), re.compile(r"[ \t\r\n]*," + _NAME)
_END = re.compile(r"[ \t\r\n]*\}")


class ProgressRequests:
    """The tokens of one session: given to requests without one, and recognised afterwards."""

    def __init__(self) -> None:
        """The random part keeps them apart from any token of a client."""
        self.prefix = f"mcp-progress-monitor:{os.urandom(6).hex()}:"
        self._bytes = self.prefix.encode()
        self._count = 0

    def with_token(self, raw: bytes) -> bytes | None:
        """A request with a token in its bytes; None if it is to pass as it is."""
        if b'"method"' not in raw or _TOKEN_BYTES in raw:
            return None  # it has one, or says something about one: nothing is changed then
        try:
            text = raw.decode()
            begin = text.index("{")
            members, end = _members(text, begin)
            if (text[:begin] + text[end:]).strip() or members["method"][1] not in _METHODS:
                return None
            at, params = members["params"]
            if members["id"][1] is None or not isinstance(params, dict):
                return None
            meta = params.get("_meta", {})
            if "_meta" in params:
                at = _members(text, at)[0]["_meta"][0]
        except (KeyError, TypeError, ValueError, StopIteration, RecursionError):
            return None
        if not isinstance(meta, dict) or _TOKEN in meta:
            return None
        self._count += 1
        added = f'"{_TOKEN}":"{self.prefix}{self._count}"'
        beside = meta if "_meta" in params else params
        if "_meta" not in params:
            added = f'"_meta":{{{added}}}'
        return f"{text[: at + 1]}{added}{',' if beside else ''}{text[at + 1 :]}".encode()

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

    @staticmethod
    def change_of(number: int, raw: bytes) -> dict[str, object]:
        """The fields of an event with a request as the client wrote it, beside the changed one."""
        return {
            "actions": ["request-progress"],
            "from": "client",
            "message": number,
            "passed": 1,
            "rules": [],
            "by": "--request-progress",
            "sent": raw.decode(),
        }


class LineChange:
    """One direction, cut into lines; `change` returns what to record and what to pass on."""

    def __init__(self, change: Callable[[bytes], tuple[bytes, bytes]]) -> None:
        """`change` gets whole lines with their line feeds."""
        self._change = change
        self._held = b""
        self._is_passing = False  # a line that was too long to hold

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Take bytes; returns those to record and those to pass on now."""
        recorded, passed = [], []
        if self._is_passing:
            end = data.find(b"\n") + 1
            self._is_passing = not end
            head = data[:end] if end else data
            recorded.append(head)
            passed.append(head)
            data = data[len(head) :]
        end = data.rfind(b"\n") + 1
        if end:
            record, passing = self._change(self._held + data[:end])
            recorded.append(record)
            passed.append(passing)
            self._held = b""
        self._held += data[end:]
        if len(self._held) > _LONGEST:
            recorded.append(self._held)
            passed.append(self._held)
            self._held, self._is_passing = b"", True
        return b"".join(recorded), b"".join(passed)

    def end(self) -> bytes:
        """The beginning of a last line without its end, which passes as it is."""
        rest, self._held = self._held, b""
        return rest


def from_client(requests: ProgressRequests, note: Callable[[bytes], None]) -> LineChange:
    """The changes to what a client writes; `note` gets the line of an event for each."""
    count = 0
    fields = {"event": "changed", **requests.change_of(0, b"")}
    head, _, rest = _ENCODE(fields).partition("0")  # encoded once: the event costs a third then
    middle = rest.removesuffix('""}')

    def changed(line: bytes) -> bytes:
        nonlocal count
        count += 1
        raw = line.rstrip(b"\r")
        found = requests.with_token(raw) if line[:1] == b"{" else None
        if found is None:
            return line
        note(f"{head}{count}{middle}{_ENCODE(raw.decode())}}}\n".encode())
        return found + line[len(raw) :]

    def change(lines: bytes) -> tuple[bytes, bytes]:
        passed = b"\n".join([*map(changed, lines[:-1].split(b"\n")), b""])
        return passed, passed

    return LineChange(change)


def from_server(requests: ProgressRequests) -> LineChange:
    """The changes to what a server writes: progress that only the tap requested is withheld."""
    phrase = requests.prefix.encode()
    plain = re.compile(_PLAIN_PROGRESS % re.escape(phrase), re.MULTILINE)

    def change(lines: bytes) -> tuple[bytes, bytes]:
        passed = lines
        if phrase in passed and _is_text(lines):
            passed = plain.sub(b"", passed)  # a flood, in a tenth of the time
        if phrase in passed:
            kept = (line for line in passed[:-1].split(b"\n") if not requests.is_kept_back(line))
            passed = b"".join([line + b"\n" for line in kept])
        return lines, passed

    return LineChange(change)


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


def _members(text: str, at: int) -> tuple[dict[str, tuple[int, Any]], int]:
    """The members of the object that begins at `at`, with the places of their values, and its end.

    `ValueError` unless it is valid and has members, whose names are plain and not repeated: readers
    differ in which of two equal ones counts.
    """
    members: dict[str, tuple[int, Any]] = {}
    name = _FIRST.match(text, at)
    while name is not None:
        if name[1] in members:
            raise ValueError(text)
        begin = name.end()
        value, at = _SCAN(text, begin)
        members[name[1]] = begin, value
        name = _NEXT.match(text, at)
    end = _END.match(text, at)
    if end is None:
        raise ValueError(text)
    return members, end.end()
