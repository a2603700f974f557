"""Taps without clients: ``… tapping FOLDER TAPS RATE SECONDS`` writes that many recordings.

Each has `RATE` ticks a second, stamped with the moment they were written: the message is the
system's monotonic clock. A rate of 0 is silence. Prints a line when all have begun, and ends when
stdin closes.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Final

from mcp_progress_monitor.protocol.frames import Channel
from tests.taps import HandTap

_BURST_S: Final = 0.02


def _tick(number: int, total: int) -> bytes:
    return (
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"abc",'
        b'"progress":%d,"total":%d,"message":"%.6f"}}' % (number, total, time.monotonic())
    )


def _lines(tap: HandTap, first: int, count: int, total: int) -> bytes:
    """Ticks of one moment, as a tap writes what it read at once."""
    tap.at, tap.when = time.monotonic(), time.time()
    raws = [_tick(number, total) for number in range(first, first + count)]
    stamp = tap.line(Channel.RECEIVED, b"")[:-1]
    return b"".join(stamp + raw + b"\n" for raw in raws)


def _write(taps: list[HandTap], rate: int, seconds: float) -> None:
    """Write in bursts, as servers that are read in chunks; none where too late for it."""
    burst_s = max(_BURST_S, 1 / rate)
    burst, total = max(1, round(rate * burst_s)), round(rate * seconds)
    began = time.monotonic()
    for first in range(1, total + 1, burst):
        count = min(burst, total + 1 - first)
        for tap in taps:
            tap.write(_lines(tap, first, count, total))
        time.sleep(max(0.0, began + (first - 1) / burst * burst_s + burst_s - time.monotonic()))


def main() -> None:
    """Write until all is written and stdin is closed."""
    folder, count, rate, seconds = Path(sys.argv[1]), *map(float, sys.argv[2:5])
    taps = [HandTap(folder, f"tap-{n}", pid=10_000 + n) for n in range(int(count))]
    for tap in taps:
        tap.write(tap.opened(), tap.handshake(), tap.call())
    print("begun", flush=True)
    writing = None
    if sys.stdin.readline() and rate:
        writing = threading.Thread(target=_write, args=(taps, int(rate), seconds))
        writing.start()
    while sys.stdin.readline():
        pass
    if writing is not None:
        writing.join()
    for tap in taps:
        tap.write(tap.answer(), tap.closed())
        tap.end()


if __name__ == "__main__":
    main()
