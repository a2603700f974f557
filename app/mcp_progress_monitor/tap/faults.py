"""Changes what passes, as a script says: for testing clients and servers, never for watching.

The recording's lines are what was passed on: behind `>` what the server received, behind `<` what
the client received. An event `changed` beside them holds each message that a rule acted on as its
sender sent it, and its number among those of that sender. All other messages passed unchanged.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import os
import random
import signal
import threading
import time

from mcp_progress_monitor.tap.journal import Journal, Lane
from mcp_progress_monitor.tap.relay import Stream, close_number
from mcp_progress_monitor.tap.script import Part, Rule, Script

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sys
    from collections.abc import Callable, Iterator

    if sys.platform == "win32":
        from mcp_progress_monitor.tap.windows import Server
    else:
        from mcp_progress_monitor.tap.posix import Server

_QUEUE_BYTES = 64 * 1024 * 1024
"""As much waits to be passed on later; then the sender waits."""
_OPEN_REQUESTS = 10_000
_DAMAGE = b"\x1a"
"""Stands in a message in place of one of its bytes: no JSON may have it anywhere."""
_STREAMS = {"stdin": "client", "stdout": "server"}


class Effect:
    """What the rules make of one message."""

    __slots__ = ("copies", "data", "delay_s", "finals", "group", "is_alone", "is_dropped", "rules")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.rules: list[Rule] = []
        self.finals: list[Rule] = []
        """What is killed or closed once it was passed on."""
        self.copies = 1
        self.delay_s = 0.0
        self.is_alone = False
        self.is_dropped = False
        self.group: Rule | None = None
        """The rule by which it waits for others, to be passed on in reverse order."""


class Faults:
    """A session's script at work: what it has counted, and the requests that are open."""

    def __init__(self, server: Server, script: Script) -> None:
        self._server = server
        self._script = script
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._counts = dict.fromkeys((rule.line for rule in script.rules), 0)
        self._random = {r.line: random.Random(f"{script.seed}:{r.line}") for r in script.rules}  # noqa: S311
        self._requests: dict[tuple[str, str], str] = {}
        self._events: Lane | None = None
        self._streams: dict[str, ScriptedStream] = {}
        self._is_over = False
        self._killed_by: Rule | None = None

    def streams(self, server: Server, journal: Journal) -> tuple[Stream, Stream, Stream]:
        """The three streams of the server; those with messages pass on what the rules leave."""
        self._events = Lane(journal, "*")
        of_errors = Stream(server, server.stderr, 2, Lane(journal, "!"))
        self._streams = {
            "client": ScriptedStream(server, 0, server.stdin, Lane(journal, ">"), "client", self),
            "server": ScriptedStream(server, server.stdout, 1, Lane(journal, "<"), "server", self),
        }
        rules = [f"{rule.line}: {rule.text}" for rule in self._script.rules]
        script = self._script
        self._note({"event": "script", "name": script.name, "seed": script.seed, "rules": rules})
        for rule in script.rules:
            if rule.is_final and rule.after_s is not None:
                timer = threading.Timer(rule.after_s, self.finish, (rule,))
                timer.daemon = True
                timer.start()
        return self._streams["client"], self._streams["server"], of_errors

    def end_reason(self) -> str:
        """Why the session ended, if a rule ended it."""
        rule = self._killed_by
        return "" if rule is None else f"The script killed the server: line {rule.line}"

    def judged(self, side: str, raw: bytes) -> Effect:
        """What the rules make of a message of one side."""
        effect = Effect(raw)
        with self._lock:
            parts = list(self._parts(side, raw))
            for rule in self._script.rules:
                if rule.side == side and self._fires(rule, raw, parts):
                    self._apply(rule, effect)
                    if effect.is_dropped:
                        break
        return effect

    def note_changed(self, side: str, number: int, raw: bytes, effect: Effect) -> None:
        """Record a message as it was sent, the one of this number, and what rules did about it."""
        fields: dict[str, object] = {
            "event": "changed",
            "actions": [rule.action for rule in effect.rules],
            "from": side,
            "message": number,
            "passed": effect.copies,
            "rules": [f"{rule.line}: {rule.text}" for rule in effect.rules],
            "by": self._script.name,
        }
        if effect.delay_s:
            fields["delay_s"] = round(effect.delay_s, 6)
        self._note({**fields, **_sent(raw)})

    def note_closed(self, side: str, raw: bytes) -> None:
        """Record a message that came after its stream was closed."""
        fields = {"event": "changed", "actions": ["close"], "from": side, "passed": 0, "rules": []}
        self._note({**fields, "by": self._script.name, **_sent(raw)})

    def finish(self, rule: Rule) -> None:
        """Kill the server, or close a stream."""
        with self._lock:
            if self._is_over:
                return
        target = "server" if rule.action == "kill" else rule.stream
        fields = {"event": "changed", "actions": [rule.action], "target": target}
        rules = [f"{rule.line}: {rule.text}"]
        self._note({**fields, "rules": rules, "by": self._script.name})
        if rule.action == "close":
            stream = self._streams.get(_STREAMS.get(rule.stream, ""))
            if stream is None:
                close_number(2)
            else:
                stream.close()
            return
        self._killed_by = rule
        with contextlib.suppress(OSError):  # it has just ended
            os.kill(self._server.pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    def end(self) -> None:
        """The server has ended: its number may be given to another process."""
        with self._lock:
            self._is_over = True

    def _fires(self, rule: Rule, raw: bytes, parts: list[Part]) -> bool:
        if not rule.matches(raw, parts):
            return False
        if rule.after_s is not None and time.monotonic() - self._began < rule.after_s:
            return False
        self._counts[rule.line] += 1
        return rule.fires(self._counts[rule.line], self._random[rule.line].random)

    def _apply(self, rule: Rule, effect: Effect) -> None:
        if rule.is_final:
            effect.finals.append(rule)
            return
        effect.rules.append(rule)
        chance = self._random[rule.line]
        match rule.action:
            case "drop":
                effect.is_dropped = True
                effect.copies = 0
            case "delay":
                effect.delay_s += chance.uniform(*rule.delay_s)
                effect.is_alone = effect.is_alone or rule.is_alone
            case "duplicate":
                effect.copies += rule.copies
            case "reorder":
                effect.group = rule
            case "cut":
                effect.data = effect.data[: len(effect.data) // 2]
            case "corrupt":
                place = chance.randrange(max(1, len(effect.data)))
                effect.data = effect.data[:place] + _DAMAGE + effect.data[place + 1 :]

    def _parts(self, side: str, raw: bytes) -> Iterator[Part]:
        """What a line says, for the rules; each message of a batch."""
        try:
            found = json.loads(raw)
        except (ValueError, RecursionError):
            found = None
        for message in found if isinstance(found, list) and found else [found]:
            yield self._part(side, message) if isinstance(message, dict) else Part("other")

    def _part(self, side: str, message: dict[str, object]) -> Part:
        method, found = message.get("method"), message.get("id")
        identity = json.dumps(found) if isinstance(found, str | int | float) else ""
        if isinstance(method, str):
            if "id" not in message:
                return Part("notification", method)
            if len(self._requests) >= _OPEN_REQUESTS:
                del self._requests[next(iter(self._requests))]
            self._requests[side, identity] = method
            return Part("request", method)
        if "result" not in message and "error" not in message:
            return Part("other")
        asker = "client" if side == "server" else "server"
        kind = "result" if "result" in message else "error"
        return Part(kind, self._requests.pop((asker, identity), ""))

    def _note(self, fields: dict[str, object]) -> None:
        line = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        assert self._events is not None  # noqa: S101  # the streams are made first of all
        with self._lock:
            _record(self._events, line.encode(errors="replace") + b"\n")


class ScriptedStream(Stream):
    """One direction, message by message: a thread reads and asks the rules, another passes on.

    Messages keep their order unless a rule says otherwise: one that is delayed holds up those
    behind it.
    """

    def __init__(
        self, server: Server, source: int, target: int, lane: Lane, side: str, faults: Faults
    ) -> None:
        super().__init__(server, source, target, lane)
        self._side = side
        self._faults = faults
        self._condition = threading.Condition()
        self._waiting: list[tuple[float, int, Callable[[], None], bool]] = []
        """When what is done, in this order; and whether the end of the source need not wait."""
        self._awaited = 0
        """How much of that the end waits for."""
        self._waiting_bytes = 0
        self._numbers = itertools.count()
        self._latest = 0.0
        """When the last of the messages that keep their order is passed on."""
        self._held: dict[int, list[Effect]] = {}
        self._count = 0
        self._is_read = False
        self._is_closed = False

    def finish(self) -> None:
        """Pass on what waits in the source and what is delayed, and then end."""
        self._faults.end()
        super().finish()

    @property
    def moved(self) -> int:
        """Changes as long as something is still to be passed on."""
        return time.monotonic_ns() if self._awaited else super().moved

    def close(self) -> None:
        """Have the other side see the end of the stream, while its source goes on."""
        with self._condition:
            self._push(0.0, self._close)

    def _close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            close_number(self._target)

    def _pass_on(self) -> None:
        writer = threading.Thread(target=self._deliver, daemon=True)
        writer.start()
        pieces: list[bytes] = []
        while not self.is_refused and (data := self._read()):
            end = data.rfind(b"\n") + 1
            if end:
                for line in b"".join((*pieces, data[: end - 1])).split(b"\n"):
                    self._take(line + b"\n")
                pieces.clear()
            if end < len(data):
                pieces.append(data[end:])
        if pieces and not self.is_refused:
            self._take(b"".join(pieces))
        with self._condition:
            for number in list(self._held):
                self._release(number)
            self._is_read = True
            self._condition.notify()
        writer.join()

    def _take(self, line: bytes) -> None:
        """Queue what the rules leave of a message."""
        raw = line.rstrip(b"\r\n")
        self._count += 1
        effect = self._faults.judged(self._side, raw)
        if effect.rules:
            self._faults.note_changed(self._side, self._count, raw, effect)
        effect.data += line[len(raw) :]
        with self._condition:
            while self._waiting_bytes > _QUEUE_BYTES and not self.is_refused:
                self._condition.wait()
            if effect.group is None or effect.is_dropped:
                self._queue(effect)
            else:
                self._hold(effect.group, effect)

    def _hold(self, rule: Rule, effect: Effect) -> None:
        held = self._held.setdefault(rule.line, [])
        held.append(effect)
        if len(held) == rule.group:
            self._release(rule.line)
        elif len(held) == 1:
            # Unless another group was begun meanwhile.
            self._push(
                time.monotonic() + rule.within_s,
                lambda: self._release_late(rule.line, held),
                is_spare=True,
            )

    def _release_late(self, number: int, held: list[Effect]) -> None:
        with self._condition:
            if self._held.get(number) is held:
                self._release(number)

    def _release(self, number: int) -> None:
        """Pass on, the last first, what waited for each other."""
        for effect in reversed(self._held.pop(number)):
            self._queue(effect)

    def _queue(self, effect: Effect) -> None:
        due = time.monotonic() + effect.delay_s
        if not effect.is_alone:
            due = self._latest = max(due, self._latest)
        self._waiting_bytes += len(effect.data) * effect.copies
        for _ in range(effect.copies):
            self._push(due, lambda: self._send(effect.data))
        for rule in effect.finals:
            self._push(due, lambda rule=rule: self._faults.finish(rule))  # type: ignore[misc]

    def _push(self, due: float, action: Callable[[], None], *, is_spare: bool = False) -> None:
        heapq.heappush(self._waiting, (due, next(self._numbers), action, is_spare))
        self._awaited += not is_spare
        self._condition.notify()

    def _deliver(self) -> None:
        """Do what is due, until there is nothing more to come."""
        while (action := self._next()) is not None:
            action()

    def _next(self) -> Callable[[], None] | None:
        with self._condition:
            while self._awaited or not self._is_read:
                left = self._waiting[0][0] - time.monotonic() if self._waiting else None
                if left is None or left > 0:
                    self._condition.wait(left)
                    continue
                _, _, action, is_spare = heapq.heappop(self._waiting)
                self._awaited -= not is_spare
                return action
        return None

    def _send(self, data: bytes) -> None:
        """Record a message and pass it on."""
        if not self.is_refused and not self._is_closed:
            _record(self._lane, data)
            if not self._write(memoryview(data)):
                self.is_refused = not self._is_closed
        elif self._is_closed:
            self._faults.note_closed(self._side, data.rstrip(b"\r\n"))
        with self._condition:
            self._waiting_bytes -= len(data)
            self._condition.notify()


def _record(lane: Lane, data: bytes) -> None:
    """Queue lines for the journal. Bytes pass on, whatever is wrong with it."""
    journal = lane.journal
    try:
        lane.take(time.monotonic(), data)
    except Exception as error:  # noqa: BLE001  # as where nothing is changed
        journal.give_up(repr(error))
    if journal.is_asleep:
        journal.wake()


def _sent(raw: bytes) -> dict[str, object]:
    """A message as it was sent: as text, or where it is none, in hexadecimal digits."""
    try:
        return {"sent": raw.decode()}
    except UnicodeDecodeError:
        return {"sent_hex": raw.hex()}
