"""A server of many slow jobs: ``… pacing_server JOBS TICKS_PER_S SECONDS``.

Its tool `pace` waits until as many calls are open as there are jobs to be. Then each job ticks at
its own moment, the moments spread evenly, with a message of its own; after so many seconds each
call is answered. Built on the demo server, whose floods come in bursts: these jobs do not.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.demo.eras import ERAS, Negotiation
from mcp_progress_monitor.demo.server import Server
from mcp_progress_monitor.demo.tool import NO_ARGUMENTS, Tool
from mcp_progress_monitor.demo.wire import serve, text_result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_progress_monitor.demo.call import Call, ProgressToken
    from mcp_progress_monitor.demo.wire import Wire

_SLOT_S: Final = 0.005
"""Jobs whose moments lie within so long tick in one write, as a pipe would bring them anyway."""


class Pacer:
    """Gathers calls until there is one for each job, then serves them together."""

    def __init__(self, jobs: int, per_s: float, seconds: float) -> None:
        self._jobs = jobs
        self._slots = max(1, round(1 / per_s / _SLOT_S))
        self._period_s = 1 / per_s
        self._rounds = max(1, round(seconds * per_s))
        self._waiting: list[Call] = []
        self._lock = threading.Lock()

    def pace(self, call: Call) -> None:
        """Wait for the others; the last to come ticks and answers for all."""
        with self._lock:
            self._waiting.append(call)
            if len(self._waiting) < self._jobs:
                return
            calls, self._waiting = self._waiting, []
        self._tick(calls)
        for each in calls:
            each.reply(text_result(f"Sent {self._rounds} ticks."))

    def _tick(self, calls: list[Call]) -> None:
        slots = [calls[place :: self._slots] for place in range(self._slots)]
        begun = time.monotonic()
        for number in range(self._rounds):
            for place, slot in enumerate(slots):
                due = begun + (number + place / self._slots) * self._period_s
                time.sleep(max(0.0, due - time.monotonic()))
                tokens = [call.token for call in slot if call.token is not None]
                calls[0].wire.send_bytes(_lines(tokens, number + 1, self._rounds))


def _lines(tokens: Iterable[ProgressToken], tick: int, total: int) -> bytes:
    head = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'
    tail = f',"progress":{tick},"total":{total},"message":"Row {tick} of {total} exported"}}}}\n'
    return "".join([f"{head}{json.dumps(token)}{tail}" for token in tokens]).encode()


def main() -> int:
    """Serve until stdin closes and return the exit code."""
    jobs, per_s, seconds = sys.argv[1:]
    pacer = Pacer(int(jobs), float(per_s), float(seconds))
    tool = Tool(pacer.pace, "Pace", "Ticks for all of its calls.", NO_ARGUMENTS)

    def run(wire: Wire) -> int:
        server = Server(wire, Negotiation(ERAS["both"]), [tool])
        server.run()
        server.close()
        return 0

    return serve(run)


if __name__ == "__main__":
    sys.exit(main())
