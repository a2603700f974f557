"""A resumable tool whose tokens, attempts and process fail in every way."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.resumption import Work, attempt, new_token
from mcp_progress_monitor.demo.tool import Tool, choice, integer, record, text
from mcp_progress_monitor.demo.tools.progress import interval
from mcp_progress_monitor.demo.wire import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    JsonObject,
    RpcError,
    text_result,
)

_EXIT_CODE: Final = 70


def resumable_export(
    call: Call,
    job: str,
    chunks: int,
    chunks_per_attempt: int,
    interval_s: float,
    token_is: str,
    fault: str,
    at_attempt: int,
    at_chunk: int,
) -> JsonObject:
    with attempt(call, job) as work:
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
    if token_is == "outside_meta":  # not a password
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
        resumable_export,
        "Resumable export",
        "Writes chunks to a file and returns a resume token, which survives a restart.",
        record(
            job=text("Name of the export and its file; restarts without a token", "export"),
            chunks=integer("Number of chunks", 20, 1, 1_000_000),
            chunks_per_attempt=integer("Chunks written per attempt", 5, 1, 1_000_000),
            interval_s=interval(0.2),
            token_is=choice("Kind of resume token", *TOKENS),
            fault=choice("Fault to simulate", *FAULTS),
            at_attempt=integer("Attempt of the fault; 2 is the first with a token", 2, 1, 1_000),
            at_chunk=integer("Chunk after which it crashes", 3, 1, 1_000_000),
        ),
    ),
)
