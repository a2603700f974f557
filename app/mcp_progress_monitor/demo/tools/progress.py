"""Well-behaved tools that report progress, one of which can be resumed."""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.resumption import Work, attempt, new_token
from mcp_progress_monitor.demo.tool import (
    Tool,
    choice,
    flag,
    integer,
    listing,
    number,
    record,
    text,
)
from mcp_progress_monitor.demo.wire import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    JsonObject,
    RpcError,
    text_result,
)

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


def phases(
    call: Call, stages: list[dict[str, Any]], interval_s: float, settings: dict[str, Any]
) -> JsonObject:
    """Go through named stages, with the name in the message."""
    total = sum(stage["steps"] for stage in stages)
    done = 0
    for stage in stages:
        for step in range(1, stage["steps"] + 1):
            call.sleep(interval_s)
            done += 1
            detail = f" ({step}/{stage['steps']})" if settings["with_counts"] else ""
            call.progress(done, total, f"{stage['name']}{detail}")
    names = ", ".join(stage["name"] for stage in stages)
    labels = ", ".join(settings["labels"]) or "none"
    return text_result(f"Completed {names}.", f"{settings['priority']}; labels: {labels}")


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


_STAGE: Final = record(
    "One stage",
    name=text("Message during the stage", "Working"),
    steps=integer("Number of ticks", 5, 1, 100_000),
)

_STAGES: Final = [
    {"name": "Fetching sources", "steps": 8},
    {"name": "Compiling", "steps": 20},
    {"name": "Running tests", "steps": 14},
    {"name": "Packing", "steps": 6},
]

_SETTINGS: Final = record(
    "Settings",
    priority=choice("Priority", "normal", "low", "high"),
    with_counts=flag("Include the step within the stage in messages", default=True),
    labels=listing("Labels to repeat in the result", text("A label", ""), default=[]),
)


_EXIT_CODE: Final = 70


def resumable_export(
    call: Call,
    job: str,
    chunks: int,
    chunks_per_attempt: int,
    interval_s: float,
    token_is: str,
    expires_s: float,
    ignores_tokens: bool,
    fault: str,
    at_attempt: int,
    at_chunk: int,
) -> JsonObject:
    with attempt(call, job, expires_s=expires_s, ignores_tokens=ignores_tokens) as work:
        fault_now = fault if _is_due(fault, work.attempts, at_attempt) else ""
        _fail(fault_now)
        if fault_now != "silence":
            _write(call, work, chunks, chunks_per_attempt, interval_s, at_chunk, fault_now)
            is_error = fault_now == "error_with_token"
            return _answered(call, work, chunks, token_is, is_error)
    while True:  # outside, so that this silent attempt does not block another one
        call.sleep(3_600)


def _is_due(fault: str, attempts: int, at_attempt: int) -> bool:
    """Whether the fault occurs in this attempt, counted from 1."""
    if fault in {"crash", "none"}:
        return fault == "crash"
    return attempts > 1 if fault == "always_refused" else attempts == at_attempt


def _fail(fault: str) -> None:
    if fault in {"refused", "always_refused"}:
        raise RpcError(INVALID_PARAMS, "This resume token is no longer accepted")
    if fault == "rpc_error":
        raise RpcError(INTERNAL_ERROR, "The backend went away")


def _write(
    call: Call, work: Work, chunks: int, most: int, interval_s: float, at_chunk: int, fault: str
) -> None:
    done = len(work.lines)
    for chunk in range(done + 1, min(done + most, chunks) + 1):
        call.sleep(interval_s)
        work.write(f"chunk {chunk}")
        call.progress(chunk, chunks, f"Chunk {chunk} of {chunks}")
        if fault == "crash" and chunk == at_chunk:
            sys.stderr.write(f"demo server: crashing after chunk {chunk}, as requested\n")
            sys.stderr.flush()
            os._exit(_EXIT_CODE)


def _answered(call: Call, work: Work, chunks: int, token_is: str, is_error: bool) -> JsonObject:
    done = len(work.lines)
    if done == chunks and not is_error:
        work.finish()
        return text_result(f"Wrote all {chunks} chunks to {work.output}.")
    state = "The disk was full" if is_error else "To be continued"
    result = text_result(f"{state}: {done} of {chunks} chunks are in {work.output}.")
    if is_error:
        result["isError"] = True
    token = work.issue(TOKENS[token_is](work))
    if token_is == "outside_meta":  # noqa: S105  # not a password
        return {**result, "nextResumeToken": token}
    call.result_meta["nextResumeToken"] = token
    return result


def _same_token(work: Work) -> str:
    first = next(iter(work.tokens), None)
    return new_token() if first is None else str(json.loads(first))


TOKENS: Final[dict[str, Callable[[Work], Any]]] = {
    "new_each_time": lambda _work: new_token(),
    "constant": _same_token,
    "empty": lambda _work: "",
    "number": lambda _work: 42,
    "object": lambda _work: {"chunk": 1},
    "outside_meta": lambda _work: new_token(),
}
"""Kinds of tokens: name and factory."""

FAULTS: Final = (
    "none",
    "refused",
    "always_refused",
    "rpc_error",
    "error_with_token",
    "silence",
    "crash",
)


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
        record(
            stages=listing("The stages", _STAGE, minItems=1, default=_STAGES),
            interval_s=interval(0.25),
            settings={**_SETTINGS, "default": {}},
        ),
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
            token_is=choice("Kind of resume token", *TOKENS),
            expires_s=number("Seconds until a token expires; 0 means never", 0, 0, 86_400),
            ignores_tokens=flag("Ignore tokens and always start over"),
            fault=choice("Fault to simulate", *FAULTS),
            at_attempt=integer("Attempt of the fault; 2 is the first with a token", 2, 1, 1_000),
            at_chunk=integer("Chunk after which it crashes", 3, 1, 1_000_000),
        ),
    ),
)
