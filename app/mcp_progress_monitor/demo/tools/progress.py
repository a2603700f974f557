"""Well-behaved tools that report progress, one of which can be resumed."""

import time
from typing import Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.resumption import attempt, write_some
from mcp_progress_monitor.demo.tool import Tool, integer, number, record, text
from mcp_progress_monitor.demo.wire import JsonObject, text_result

_MOST_TICKS_PER_S: Final = 20
_DAY_S: Final = 86_400


def interval(default: float) -> JsonObject:
    return number("Seconds between ticks", default, 0, _DAY_S)


def steps(default: int) -> JsonObject:
    return integer("Number of ticks", default, 1, 1_000_000)


def known_total(call: Call, steps: int, interval_s: float) -> JsonObject:
    for step in range(1, steps + 1):
        call.sleep(interval_s)
        call.progress(step, steps, f"Step {step} of {steps}")
    return text_result(f"Finished all {steps} steps.")


def unknown_total(call: Call, steps: int, interval_s: float) -> JsonObject:
    for step in range(1, steps + 1):
        call.sleep(interval_s)
        call.progress(step, message=f"{step} found so far")
    return text_result(f"Found {steps}.")


def fraction(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Report fractions of 1.0, as in the specification's diagram (0.2, 0.4, … of 1.0)."""
    for step in range(1, steps + 1):
        call.sleep(interval_s)
        call.progress(step / steps, 1.0)
    return text_result("Reached 1.0.")


def worker(call: Call, name: str, items: int, items_per_s: float, unit: str) -> JsonObject:
    """Process items at a given speed, several per tick if it is fast."""
    stride = max(1, round(items_per_s / _MOST_TICKS_PER_S))
    done = 0
    while done < items:
        advance = min(stride, items - done)
        call.sleep(advance / items_per_s)
        done += advance
        call.progress(done, items, f"{name}: {done} of {items} {unit}")
    return text_result(f"{name} finished {items} {unit}.")


def download(call: Call, megabytes: float, megabytes_per_s: float) -> JsonObject:
    """Count bytes, at a speed that rises and falls by a half every twenty ticks."""
    total, done, tick = int(megabytes * 1e6), 0, 0
    while done < total:
        call.sleep(0.1)
        swing = abs(tick % 20 - 10) / 10
        done = min(total, done + max(1, int(megabytes_per_s * 1e5 * (0.5 + swing))))
        tick += 1
        call.progress(done, total, f"{done / 1e6:.1f} of {megabytes:g} MB")
    return text_result(f"Downloaded {total} bytes.")


def phases(call: Call, interval_s: float) -> JsonObject:
    """Go through named stages, with the name in the message."""
    total = sum(_STAGES.values())
    done = 0
    for stage, steps in _STAGES.items():
        for step in range(1, steps + 1):
            call.sleep(interval_s)
            done += 1
            call.progress(done, total, f"{stage} ({step}/{steps})")
    return text_result(f"Completed {', '.join(_STAGES)}.")


def stall(call: Call, before: int, silence_s: float, after: int, interval_s: float) -> JsonObject:
    total = before + after
    for step in range(1, total + 1):
        call.sleep(silence_s if step == before + 1 else interval_s)
        call.progress(step, total, f"Step {step} of {total}")
    return text_result(f"Silent for {silence_s:g} s after step {before}.")


def stamped_ticks(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Send the monotonic clock, in nanoseconds, in each message."""
    for step in range(1, steps + 1):
        call.sleep(interval_s)
        call.progress(step, steps, str(time.monotonic_ns()))
    return text_result(f"Stamped {steps} ticks.")


_STAGES: Final = {"Fetching sources": 8, "Compiling": 20, "Running tests": 14, "Packing": 6}


def resumable_export(
    call: Call, job: str, chunks: int, chunks_per_attempt: int, interval_s: float
) -> JsonObject:
    """Write some chunks of a file, and return a resume token if more are left."""
    lines = [f"chunk {number}" for number in range(1, chunks + 1)]
    with attempt(call, job) as work:
        write_some(call, work, lines, chunks_per_attempt, interval_s, "Chunk")
        done = len(work.lines)
    if done < chunks:
        return text_result(f"To be continued: {done} of {chunks} chunks are in {work.output}.")
    return text_result(f"Wrote all {chunks} chunks to {work.output}.")


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        known_total,
        "Known total",
        "Counts to a total that is known from the start.",
        record(steps=steps(20), interval_s=interval(0.2)),
    ),
    Tool(
        unknown_total,
        "Unknown total",
        "Counts without sending a total.",
        record(steps=steps(30), interval_s=interval(0.2)),
    ),
    Tool(
        fraction,
        "Fractions",
        "Reports fractions of 1.0: 0.2, 0.4 and so on.",
        record(steps=steps(5), interval_s=interval(0.5)),
    ),
    Tool(
        worker,
        "Worker",
        "Processes items at a given speed. Start several to see a bar for each.",
        record(
            name=text("Name of the worker", "Worker"),
            items=integer("Number of items", 100, 1, 10_000_000),
            items_per_s=number("Items per second", 10, 0.001, 1_000_000),
            unit=text("Unit of the items", "files"),
        ),
    ),
    Tool(
        download,
        "Download",
        "Counts bytes at a varying speed. Downloads nothing.",
        record(
            megabytes=number("Size", 50, 0.001, 1_000_000),
            megabytes_per_s=number("Average speed in MB/s", 5, 0.001, 100_000),
        ),
    ),
    Tool(
        phases,
        "Phases",
        "Goes through named stages, with the stage in each message.",
        record(interval_s=interval(0.25)),
    ),
    Tool(
        stall,
        "Silence in the middle",
        "Reports progress, pauses for a while, and continues.",
        record(
            before=integer("Ticks before the pause", 6, 0, 100_000),
            silence_s=number("Seconds without progress", 15, 0, _DAY_S),
            after=integer("Ticks after the pause", 6, 1, 100_000),
            interval_s=interval(0.3),
        ),
    ),
    Tool(
        stamped_ticks,
        "Stamped ticks",
        "Sends the current time in each message, to measure latency.",
        record(steps=steps(100), interval_s=interval(0.1)),
    ),
    Tool(
        resumable_export,
        "Resumable export",
        "Writes chunks to a file and returns a resume token, which survives a restart.",
        record(
            job=text("Name of the export and its file; restarts without a token", "export"),
            chunks=integer("Number of chunks", 20, 1, 1_000_000),
            chunks_per_attempt=integer("Chunks written per attempt", 5, 1, 1_000_000),
            interval_s=interval(0.2),
        ),
    ),
)
