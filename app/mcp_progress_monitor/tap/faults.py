"""Changes messages by the rules of a script, to test clients and servers.

The recording has what was passed on: `>` marks what the server received, `<` what the client
received. For each message that a rule acted on, an event `changed` has the message as it was sent,
and its number among those of its sender.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import os
import signal
import threading
import time

from mcp_progress_monitor.tap.journal import Journal, JournalLane
from mcp_progress_monitor.tap.relay import Stream, ThreadStream, close_number
from mcp_progress_monitor.tap.script import Effect, Script, ScriptRule, ScriptRun, as_sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sys
    from collections.abc import Callable

    if sys.platform == "win32":
        from mcp_progress_monitor.tap.windows import TappedServer
    else:
        from mcp_progress_monitor.tap.posix import TappedServer

_QUEUE_BYTES = 64 * 1024 * 1024  # of delayed messages; beyond that, the sender has to wait
_STREAMS = {"stdin": "client", "stdout": "server"}


class Faults:
    """Applies a script to the streams of a process."""

    def __init__(self, server: TappedServer, script: Script) -> None:
        self._server = server
        self._script = script
        self._run = ScriptRun(script)
        self._lock = threading.Lock()
        self._events: JournalLane | None = None
        self._streams: dict[str, ScriptedStream] = {}
        self._is_over = False
        self._killed_by: ScriptRule | None = None

    def streams(self, server: TappedServer, journal: Journal) -> tuple[Stream, Stream, Stream]:
        """The three streams of the server; the rules apply to those with messages."""
        self._events = JournalLane(journal, "*")
        of_errors = ThreadStream(server, server.stderr, 2, JournalLane(journal, "!"))
        self._streams = {
            "client": ScriptedStream(
                server, 0, server.stdin, JournalLane(journal, ">"), "client", self
            ),
            "server": ScriptedStream(
                server, server.stdout, 1, JournalLane(journal, "<"), "server", self
            ),
        }
        self._note({"event": "script", **self._run.opening()})
        for rule in self._script.rules:
            if rule.is_final and rule.after_s is not None:
                timer = threading.Timer(rule.after_s, self.finish, (rule,))
                timer.daemon = True
                timer.start()
        return self._streams["client"], self._streams["server"], of_errors

    def end_reason(self) -> str:
        rule = self._killed_by
        return "" if rule is None else f"The script killed the server: line {rule.line}"

    def judged(self, side: str, raw: bytes) -> Effect:
        with self._lock:
            return self._run.judged(side, raw)

    def note_changed(self, side: str, number: int, raw: bytes, effect: Effect) -> None:
        """Record a message as it was sent, with its number and the rules applied to it."""
        self._note({"event": "changed", **self._run.change(side, number, raw, effect)})

    def note_closed(self, side: str, raw: bytes) -> None:
        """Record a message that arrived after its stream was closed."""
        fields = {"event": "changed", "actions": ["close"], "from": side, "passed": 0, "rules": []}
        self._note({**fields, "by": self._script.name, **as_sent(raw)})

    def finish(self, rule: ScriptRule) -> None:
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
        """The server has ended: its process id may be reused."""
        with self._lock:
            self._is_over = True

    def _note(self, fields: dict[str, object]) -> None:
        line = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        assert self._events is not None  # noqa: S101  # the streams are made first of all
        with self._lock:
            _record(self._events, line.encode(errors="replace") + b"\n")


class ScriptedStream(ThreadStream):
    """One direction, message by message: one thread reads and applies rules, another passes on.

    Messages keep their order unless a rule says otherwise: a delayed one delays those after it.
    """

    def __init__(
        self,
        server: TappedServer,
        source: int,
        target: int,
        lane: JournalLane,
        side: str,
        faults: Faults,
    ) -> None:
        super().__init__(server, source, target, lane)
        self._side = side
        self._faults = faults
        self._condition = threading.Condition()
        self._waiting: list[tuple[float, int, Callable[[], None], bool]] = []
        """A heap of due times, numbers, actions, and whether the end need not wait for them."""
        self._awaited = 0  # how many actions the end waits for
        self._waiting_bytes = 0
        self._numbers = itertools.count()
        self._latest = 0.0  # when the last message that keeps its order is due
        self._held: dict[int, list[Effect]] = {}
        self._count = 0
        self._is_read = False
        self._is_closed = False

    def finish(self) -> None:
        """Pass on what is left in the source and what is delayed, then end."""
        self._faults.end()
        super().finish()

    @property
    def moved(self) -> int:
        """A value that changes while something is still to be passed on."""
        return time.monotonic_ns() if self._awaited else super().moved

    def close(self) -> None:
        """Close the stream for the other side, while its source stays open."""
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

    def _hold(self, rule: ScriptRule, effect: Effect) -> None:
        held = self._held.setdefault(rule.line, [])
        held.append(effect)
        if len(held) == rule.group:
            self._release(rule.line)
        elif len(held) == 1:
            # No effect if another group has been started meanwhile.
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
        """Pass on a group of messages in reverse order."""
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
        if not self.is_refused and not self._is_closed:
            _record(self.lane, data)
            if not self._write(memoryview(data)):
                self.is_refused = not self._is_closed
        elif self._is_closed:
            self._faults.note_closed(self._side, data.rstrip(b"\r\n"))
        with self._condition:
            self._waiting_bytes -= len(data)
            self._condition.notify()


def _record(lane: JournalLane, data: bytes) -> None:
    """Queue lines for the journal, and wake it."""
    lane.record(data)
    if lane.journal.is_asleep:
        lane.journal.wake()
