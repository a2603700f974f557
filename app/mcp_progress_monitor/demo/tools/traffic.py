"""Tools that strain the pipe: floods, rubbish between messages, batches, huge lines, stderr."""

import json
import sys
from typing import Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.messages import JsonObject, progress_notification, text_result
from mcp_progress_monitor.demo.schemas import choice, flag, integer, number, record
from mcp_progress_monitor.demo.ticks import blocks
from mcp_progress_monitor.demo.tool import Tool
from mcp_progress_monitor.demo.tools.steady import interval

_MEGABYTE: Final = 1_000_000
_ITEM_SIZE: Final = 1_000


def burst(call: Call, count: int) -> JsonObject:
    """Send notifications as fast as the pipe takes them."""
    if call.token is not None:
        for block in blocks([call.token], count):
            call.sleep(0)
            call.wire.send_bytes(block)
    return text_result(f"Sent {count} ticks.")


def print_rubbish(call: Call, kind: str, interval_s: float) -> JsonObject:
    """Write to stdout what is no MCP message, with a good tick around each."""
    chosen = RUBBISH if kind == "all" else {kind: RUBBISH[kind]}
    total = len(chosen) + 1
    call.progress(1, total, "A good tick")
    for index, (name, rubbish) in enumerate(chosen.items(), start=2):
        call.sleep(interval_s)
        call.wire.send_bytes(rubbish)
        call.progress(index, total, f"A good tick after: {name}")
    return text_result(f"Printed: {', '.join(chosen)}")


def split_line(call: Call, pieces: int, pause_s: float) -> JsonObject:
    """Write one good tick slowly, cut anywhere, even inside a character."""
    params = {"progressToken": call.token, "progress": 1, "total": 1, "message": "Größe 10 €"}
    line = json.dumps(progress_notification(params), ensure_ascii=False).encode() + b"\n"
    size = -(-len(line) // pieces)
    if call.token is not None:
        call.wire.send_slowly([line[i : i + size] for i in range(0, len(line), size)], pause_s)
    return text_result(f"Wrote {len(line)} bytes in pieces of {size}.")


def batch(call: Call, ticks: int, has_result: bool) -> JsonObject | None:
    """Send queued ticks as one JSON array, with or without the result behind them."""
    result = text_result(f"Sent {ticks} ticks at once.")
    messages: list[JsonObject] = []
    if call.token is not None:
        for step in range(1, ticks + 1):
            params = {"progressToken": call.token, "progress": step, "total": ticks}
            messages.append(progress_notification(params))
    if has_result:
        messages.append(call.result_message(result))
    call.wire.send(messages)
    return None if has_result else result


def long_line(call: Call, megabytes: float, shape: str) -> JsonObject:
    """Answer with one line of that size, as one text or as many small ones."""
    size = int(megabytes * _MEGABYTE)
    call.progress(1, 2, f"Making {megabytes:g} MB")
    if shape == "text":
        result = text_result("x" * size)
    else:
        result = text_result(*["x" * _ITEM_SIZE] * max(1, size // _ITEM_SIZE))
    call.sleep(0)
    call.progress(2, 2, f"Sending {megabytes:g} MB")
    return result


def chatty_stderr(
    call: Call,
    lines: int,
    interval_s: float,
    has_bad_bytes: bool,
) -> JsonObject:
    """Talk on stderr while reporting as it should."""
    for line in range(1, lines + 1):
        call.sleep(interval_s)
        sys.stderr.buffer.write(f"[demo] line {line} of {lines}: all is well\n".encode())
        if has_bad_bytes:
            sys.stderr.buffer.write(b"[demo] \xff\xfe not UTF-8, \x1b[31mred\x1b[0m\n")
        sys.stderr.flush()
        call.progress(line, lines)
    return text_result(f"Wrote {lines} lines to stderr.")


RUBBISH: Final = {
    "a_print": b"Loading model, please wait...\n",
    "blank_line": b"\n",
    "spaces": b"   \t \n",
    "byte_order_mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"notifications/demo"}\n',
    "invalid_utf8": b'{"jsonrpc":"2.0","method":"notifications/demo","params":{"a":"\xff\xc3"}}\n',
    # Big endian: else half of its line feed would spoil whatever message comes next.
    "utf16": '{"jsonrpc":"2.0","method":"notifications/demo"}\n'.encode("utf-16-be"),
    "cut_off_json": b'{"jsonrpc":"2.0","method":"notifications/de\n',
    "duplicate_keys": b'{"jsonrpc":"2.0","method":"notifications/demo","method":"demo/other"}\n',
    "nan": b'{"jsonrpc":"2.0","method":"notifications/demo","params":{"a":NaN}}\n',
    "single_quotes": b"{'jsonrpc': '2.0', 'method': 'notifications/demo'}\n",
    "bare_number": b"42\n",
    "no_json_rpc": b'{"level":"info","msg":"a structured log line"}\n',
    "two_on_one_line": b'{"jsonrpc":"2.0","method":"a/b"}{"jsonrpc":"2.0","method":"a/b"}\n',
    "carriage_return": b'{"jsonrpc":"2.0","method":"notifications/demo"}\r\n',
    "null_bytes": b"\x00\x00\x00\n",
    "colours": b"\x1b[32mINFO\x1b[0m ready\n",
    "deep_nesting": b"[" * 2_000 + b"]" * 2_000 + b"\n",
    "lone_surrogate": b'{"jsonrpc":"2.0","method":"notifications/demo","params":{"a":"\\ud800"}}\n',
    "empty_batch": b"[]\n",
}
"""What `print_rubbish` can print: name and exact bytes."""

TOOLS: Final = (
    Tool(
        burst,
        "Burst",
        "Sends notifications as fast as it can.",
        record(count=integer("How many", 10_000, 1, 100_000_000)),
    ),
    Tool(
        print_rubbish,
        "Rubbish on stdout",
        "Breaks a rule: prints what is no message between its ticks.",
        record(
            kind=choice("Which rubbish", "all", *RUBBISH),
            interval_s=interval(0.1),
        ),
    ),
    Tool(
        split_line,
        "Split line",
        "Writes one line in pieces, cut inside a character.",
        record(
            pieces=integer("How many pieces", 40, 2, 200),
            pause_s=number("Seconds between them", 0.02, 0, 1),
        ),
    ),
    Tool(
        batch,
        "Batch",
        "Sends its ticks as one JSON array, which only revision 2025-03-26 allows.",
        record(
            ticks=integer("How many ticks", 5, 0, 100_000),
            has_result=flag("Put the result into the same array", default=True),
        ),
    ),
    Tool(
        long_line,
        "Long line",
        "Answers with one line of many megabytes.",
        record(
            megabytes=number("Its size", 1, 0.001, 1_000),
            shape=choice("One long text, or many of 1,000 characters", "text", "items"),
        ),
    ),
    Tool(
        chatty_stderr,
        "Talks on stderr",
        "Writes a line to stderr with each tick.",
        record(
            lines=integer("How many lines", 20, 1, 1_000_000),
            interval_s=interval(0.1),
            has_bad_bytes=flag("Write bytes that are not UTF-8, too"),
        ),
    ),
)
