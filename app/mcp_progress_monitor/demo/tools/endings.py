"""Tools that end in some other way than with one good result."""

import os
import signal
import sys
from typing import Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.messages import (
    INTERNAL_ERROR,
    JsonObject,
    RpcError,
    encode,
    progress_notification,
    result_reply,
    text_result,
)
from mcp_progress_monitor.demo.schemas import choice, integer, record, text
from mcp_progress_monitor.demo.tool import Tool
from mcp_progress_monitor.demo.tools.steady import interval, steps


def error_result(call: Call, at_tick: int, steps: int, interval_s: float) -> JsonObject:
    """Fail in the tool: a result that says it is an error."""
    _count(call, at_tick, steps, interval_s)
    return text_result(f"The disk was full at step {at_tick}.", is_error=True)


def rpc_error(
    call: Call, code: int, message: str, at_tick: int, steps: int, interval_s: float
) -> JsonObject:
    """Fail in the protocol: a JSON-RPC error with data."""
    _count(call, at_tick, steps, interval_s)
    raise RpcError(code, message, {"tick": at_tick, "hints": ["Try again", "Ask an operator"]})


def crash(
    call: Call, at_tick: int, steps: int, interval_s: float, exit_code: int, how: str
) -> JsonObject:
    """End the whole process at some tick."""
    _count(call, at_tick, steps, interval_s)
    sys.stderr.write(f"demo server: crashing at tick {at_tick}, as it was told to\n")
    sys.stderr.flush()
    if how == "in_mid_line":
        call.wire.send_bytes(encode(progress_notification({"progressToken": call.token}))[:-20])
    call.wire.flush()
    if how == "killed":
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    os._exit(exit_code)


def never_answers(call: Call, steps: int, interval_s: float) -> JsonObject | None:
    """Report a little, then wait for a cancellation that may never come."""
    _count(call, steps, 2 * steps, interval_s)
    while True:
        call.sleep(3_600)


def reply_twice(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Answer, and answer again."""
    _count(call, steps, steps, interval_s)
    call.reply(text_result("The first answer."))
    return text_result("The second answer.")


def stray_reply(call: Call, id_is: str) -> JsonObject:
    """Answer a request nobody made, then the one that was made."""
    strays = {"unknown": "no-such-request", "null": None, "of_other_type": _other_type(call.id)}
    call.wire.send(result_reply(strays[id_is], text_result("Is this yours?")))
    return text_result("The right answer.")


def impossible_arguments(_call: Call, amount: int) -> JsonObject:
    """Take arguments whose default breaks their own schema, so that a plain call is refused."""
    return text_result(f"Took {amount}.")


def _count(call: Call, upto: int, total: int, interval_s: float) -> None:
    for step in range(1, upto + 1):
        call.sleep(interval_s)
        call.progress(step, total, f"Step {step} of {total}")


def _other_type(request_id: str | int) -> str | int:
    """Return `"7"` for 7; a string that is no number is changed in another way."""
    if isinstance(request_id, int):
        return str(request_id)
    return int(request_id) if request_id.isdecimal() else f"{request_id} "


_AT_TICK: Final = integer("The tick after which it happens; 0 is at once", 5, 0, 1_000_000)

TOOLS: Final = (
    Tool(
        error_result,
        "Error result",
        "Fails half-way with a result that is marked as an error.",
        record(at_tick=_AT_TICK, steps=steps(10), interval_s=interval(0.3)),
    ),
    Tool(
        rpc_error,
        "JSON-RPC error",
        "Fails half-way with an error of the protocol.",
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
        "Ends the whole server, with every call that is running.",
        record(
            at_tick=_AT_TICK,
            steps=steps(10),
            interval_s=interval(0.3),
            exit_code=integer("The exit code", 70, 0, 255),
            how=choice("In what manner", "exits", "in_mid_line", "killed"),
        ),
    ),
    Tool(
        never_answers,
        "Never answers",
        "Reports a little and is never heard of again, unless it is cancelled.",
        record(
            steps=integer("Ticks before the silence", 3, 0, 1_000_000),
            interval_s=interval(0.3),
        ),
    ),
    Tool(
        reply_twice,
        "Two replies",
        "Breaks a rule: answers the same request twice.",
        record(steps=integer("Ticks before", 3, 0, 1_000_000), interval_s=interval(0.2)),
    ),
    Tool(
        stray_reply,
        "Stray reply",
        "Breaks a rule: answers a request that was never made.",
        record(id_is=choice("The id of that reply", "unknown", "null", "of_other_type")),
        lasts=False,
    ),
    Tool(
        impossible_arguments,
        "Impossible arguments",
        "Its default is outside its own limits: refused unless you change it.",
        record(amount=integer("At least 1", 0, 1, 10)),
        lasts=False,
    ),
)
