"""Requests progress for a client that does not ask: adds a token, keeps the notifications back.

Only whole, valid lines are changed, and only those that need it; all other bytes pass as they came.
This module decides about lines; `relay` moves them.
"""

from __future__ import annotations

import json
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_METHODS = frozenset({"tools/call", "resources/read", "prompts/get"})
_PROGRESS = "notifications/progress"
_TOKEN = "progressToken"  # noqa: S105  # a member's name
_LONGEST = 1024 * 1024
"""Bytes of a line that may be held until its end; a longer one passes as it comes."""
_DECODE = json.JSONDecoder().raw_decode
_BLANKS = re.compile(r"[ \t\r\n]*")


class ProgressRequests:
    """The tokens of one session: given to requests without one, and recognised afterwards."""

    def __init__(self) -> None:
        """The random part keeps them apart from any token of a client."""
        self.prefix = f"mcp-progress-monitor:{os.urandom(6).hex()}:"
        self._bytes = self.prefix.encode()
        self._count = 0

    def with_token(self, raw: bytes) -> bytes | None:
        """A request with a token in its bytes; None if it is to pass as it is."""
        if b'"method"' not in raw or _TOKEN.encode() in raw:
            return None  # it has one, or says something about one: nothing is changed then
        try:
            text = raw.decode()
            message = json.loads(text)
            if not isinstance(message, dict) or message.get("method") not in _METHODS:
                return None
            params = message.get("params")
            if message.get("id") is None or not isinstance(params, dict):
                return None
            at = _places(text, _after_blanks(text, 0))["params"]
            meta = params.get("_meta", {})
            if "_meta" in params:
                at = _places(text, at)["_meta"]
        except (ValueError, RecursionError):
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
        """`change` gets a whole line without its line feed."""
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
            for line in (self._held + data[: end - 1]).split(b"\n"):
                record, passing = self._change(line)
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

    def change(line: bytes) -> tuple[bytes, bytes]:
        nonlocal count
        count += 1
        raw = line.rstrip(b"\r")
        changed = requests.with_token(raw) if line[:1] == b"{" else None
        if changed is None:
            return line + b"\n", line + b"\n"
        fields = {"event": "changed", **requests.change_of(count, raw)}
        note(json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        changed += line[len(raw) :] + b"\n"
        return changed, changed

    return LineChange(change)


def from_server(requests: ProgressRequests) -> LineChange:
    """The changes to what a server writes: progress that only the tap requested is withheld."""

    def change(line: bytes) -> tuple[bytes, bytes]:
        passed = b"" if requests.is_kept_back(line) else line + b"\n"
        return line + b"\n", passed

    return LineChange(change)


def _places(text: str, at: int) -> dict[str, int]:
    """Where the values of all members begin, in the valid object that begins at `at`.

    `ValueError` for a repeated key, since readers differ in which one counts.
    """
    places: dict[str, int] = {}
    at = _after_blanks(text, at + 1)
    while text[at] != "}":
        name, at = _DECODE(text, at)
        if name in places:
            raise ValueError(name)
        places[name] = at = _after_blanks(text, _after_blanks(text, at) + 1)  # behind the colon
        at = _after_blanks(text, _DECODE(text, at)[1])
        if text[at] == ",":
            at = _after_blanks(text, at + 1)
    return places


def _after_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()
