"""Tools with faults: decreasing progress, failures, a crash, silence, a flood.

Encoding each notification reaches some 200,000 lines per second. Joining a fixed head, the value
and a fixed tail, with thousands of lines per write, reaches several million.
"""

import os
import sys
from typing import Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.tool import Tool, integer, record, text
from mcp_progress_monitor.demo.tools.progress import interval, steps
from mcp_progress_monitor.demo.wire import (
    INTERNAL_ERROR,
    JsonObject,
    RpcError,
    encode,
    progress_notification,
    text_result,
)


def error_result(call: Call, at_tick: int, steps: int, interval_s: float) -> JsonObject:
    """Fail with an error result."""
    count_to(call, at_tick, steps, interval_s)
    return text_result(f"The disk was full at step {at_tick}.", is_error=True)


def rpc_error(
    call: Call, code: int, message: str, at_tick: int, steps: int, interval_s: float
) -> JsonObject:
    count_to(call, at_tick, steps, interval_s)
    raise RpcError(code, message, {"tick": at_tick, "hints": ["Try again", "Ask an operator"]})


def crash(call: Call, at_tick: int, steps: int, interval_s: float, exit_code: int) -> JsonObject:
    count_to(call, at_tick, steps, interval_s)
    sys.stderr.write(f"demo server: crashing at tick {at_tick}, as requested\n")
    sys.stderr.flush()
    os._exit(exit_code)


def never_answers(call: Call, steps: int, interval_s: float) -> JsonObject | None:
    """Send a few ticks, then wait for a cancellation."""
    count_to(call, steps, 2 * steps, interval_s)
    while True:
        call.sleep(3_600)


def count_to(call: Call, upto: int, total: int, interval_s: float) -> None:
    for step in range(1, upto + 1):
        call.sleep(interval_s)
        call.progress(step, total, f"Step {step} of {total}")


_AT_TICK: Final = integer("Fail after this tick; 0 fails immediately", 5, 0, 1_000_000)
_LINES_PER_BLOCK: Final = 4_000


def decreasing(call: Call, steps: int, every: int, interval_s: float) -> JsonObject:
    done = 0
    for step in range(1, steps + 1):
        call.sleep(interval_s)
        done += -2 if step % every == 0 else 1
        call.progress(done, steps, "Stepping back" if step % every == 0 else "Stepping forward")
    return text_result(f"Sent {steps} ticks; one in every {every} was lower than the one before.")


def burst(call: Call, count: int) -> JsonObject:
    if call.token is not None:
        tick = encode(
            progress_notification({"progressToken": call.token, "progress": 0, "total": count})
        )
        head, _, tail = tick.rpartition(b'"progress":0')
        for start in range(1, count + 1, _LINES_PER_BLOCK):
            steps = range(start, min(start + _LINES_PER_BLOCK, count + 1))
            call.sleep(0)
            call.wire.send_bytes(
                b"".join([b'%b"progress":%d%b' % (head, step, tail) for step in steps])
            )
    return text_result(f"Sent {count} ticks.")


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        error_result,
        "Error result",
        "Fails halfway with a result marked as an error.",
        record(at_tick=_AT_TICK, steps=steps(10), interval_s=interval(0.3)),
    ),
    Tool(
        rpc_error,
        "JSON-RPC error",
        "Fails halfway with a JSON-RPC error.",
        record(
            code=integer("The error's code", INTERNAL_ERROR, -2_147_483_648, 2_147_483_647),
            message=text("The error's message", "The backend went away"),
            at_tick=_AT_TICK,
            steps=steps(10),
            interval_s=interval(0.3),
        ),
    ),
    Tool(
        crash,
        "Crash",
        "Ends the server process and all running calls.",
        record(
            at_tick=_AT_TICK,
            steps=steps(10),
            interval_s=interval(0.3),
            exit_code=integer("The exit code", 70, 0, 255),
        ),
    ),
    Tool(
        never_answers,
        "Never answers",
        "Sends a few ticks, then never replies unless cancelled.",
        record(
            steps=integer("Ticks before the silence", 3, 0, 1_000_000), interval_s=interval(0.3)
        ),
    ),
    Tool(
        decreasing,
        "Decreasing",
        "Violates the specification: progress decreases every few ticks.",
        record(
            steps=steps(20),
            every=integer("Decrease at every Nth tick", 5, 2, 1_000),
            interval_s=interval(0.3),
        ),
    ),
    Tool(
        burst,
        "Burst",
        "Sends notifications as fast as it can.",
        record(count=integer("Number of notifications", 10_000, 1, 100_000_000)),
    ),
)
