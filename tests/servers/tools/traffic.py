"""Tools with unusual traffic: invalid output, batches, huge lines, hostile text."""

import json
import os
import signal
import sys
from typing import Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.tool import Tool, choice, flag, integer, number, record
from mcp_progress_monitor.demo.tools.faults import count_to
from mcp_progress_monitor.demo.tools.progress import interval, steps
from mcp_progress_monitor.demo.wire import JsonObject, encode, progress_notification, text_result
from tests.servers.call import SharedWire, write_in_pieces

_MEGABYTE: Final = 1_000_000
_ITEM_SIZE: Final = 1_000


def print_rubbish(call: Call, kind: str, interval_s: float) -> JsonObject:
    """Write lines to stdout that are not MCP messages, with valid ticks between them."""
    chosen = RUBBISH if kind == "all" else {kind: RUBBISH[kind]}
    total = len(chosen) + 1
    call.progress(1, total, "A good tick")
    for index, (name, rubbish) in enumerate(chosen.items(), start=2):
        call.sleep(interval_s)
        call.wire.send_bytes(rubbish)
        call.progress(index, total, f"A good tick after: {name}")
    return text_result(f"Printed: {', '.join(chosen)}")


def crash(
    call: Call, at_tick: int, steps: int, interval_s: float, exit_code: int, how: str
) -> JsonObject:
    """End the process, possibly in the middle of a line."""
    count_to(call, at_tick, steps, interval_s)
    sys.stderr.write(f"demo server: crashing at tick {at_tick}, as requested\n")
    sys.stderr.flush()
    if how == "in_mid_line":
        call.wire.send_bytes(encode(progress_notification({"progressToken": call.token}))[:-20])
    if isinstance(call.wire, SharedWire):
        call.wire.flush()
    if how == "killed":
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    os._exit(exit_code)


def split_line(call: Call, pieces: int, pause_s: float) -> JsonObject:
    """Write one valid tick slowly, in pieces that may split a character."""
    params = {"progressToken": call.token, "progress": 1, "total": 1, "message": "Größe 10 €"}
    line = json.dumps(progress_notification(params), ensure_ascii=False).encode() + b"\n"
    size = -(-len(line) // pieces)
    if call.token is not None:
        parts = [line[i : i + size] for i in range(0, len(line), size)]
        write_in_pieces(call.wire, parts, pause_s)
    return text_result(f"Wrote {len(line)} bytes in pieces of {size}.")


def batch(call: Call, ticks: int, has_result: bool) -> JsonObject | None:
    """Send ticks as one JSON array, with or without the result."""
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
    """Reply with one line of a given size, as one text or as many small ones."""
    size = int(megabytes * _MEGABYTE)
    call.progress(1, 2, f"Making {megabytes:g} MB")
    if shape == "text":
        result = text_result("x" * size)
    else:
        result = text_result(*["x" * _ITEM_SIZE] * max(1, size // _ITEM_SIZE))
    call.sleep(0)
    call.progress(2, 2, f"Sending {megabytes:g} MB")
    return result


def chatty_stderr(call: Call, lines: int, interval_s: float, has_bad_bytes: bool) -> JsonObject:
    """Write to stderr while reporting valid progress."""
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
    # Big endian: otherwise half of its line feed would corrupt the next message.
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
"""The output of `print_rubbish`: names and exact bytes."""


def hostile_text(call: Call, kind: str, interval_s: float) -> JsonObject:
    """Send messages that a careless user interface would render, execute or fail on."""
    chosen = HOSTILE if kind == "all" else {kind: HOSTILE[kind]}
    for step, message in enumerate(chosen.values(), start=1):
        call.sleep(interval_s)
        call.progress(step, len(chosen), message)
    return text_result(*chosen.values())


HOSTILE: Final = {
    "html": "<b>bold</b> <a href='https://example.com'>a link</a> <h1>LARGE</h1>",
    "html_image": "<img src='file:///etc/hostname'><img src='https://example.com/pixel.png'>",
    "entities": "&lt;b&gt; &amp; &nbsp;|&#x202e;",
    "console_markup": "[bold red]markup[/] [link=https://example.com]link[/link] [/]",
    "terminal_codes": "\x1b[2J\x1b[31mred\x1b[0m \x1b]0;new title\x07 \x1b]8;;https://example.com\x07",
    "control": "bell \x07 null \x00 backspace \x08\x08\x08 delete \x7f next line \x85",
    "line_breaks": "first\nsecond\r\nthird\rfourth\u2028fifth\u2029sixth\ttabbed",
    "right_to_left": "report_\u202egnp.exe and \u2066isolated\u2069 and שלום עולם",
    "zero_width": "in\u200bvis\u200cib\u200dle\ufeff\u00ad\U000e0041",
    "combining": "Z" + "\u0351\u0310\u0315\u0324" * 40 + " algo",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 e\u0301 \U0001f9d1\U0001f3fd\u200d\U0001f680",
    "format_codes": "%s %d {0} {name} ${HOME} `id` $(id) %n",
    "only_spaces": "   \u00a0\u2003 ",
    "long": "A very long message without an end " * 300,
    "long_word": "x" * 10_000,
    "private_use": "\ue000\uf8ff\ufffe\uffff",
}
"""The messages of `hostile_text` by name."""

TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        print_rubbish,
        "Rubbish on stdout",
        "Violates a rule: prints lines that are not messages between its ticks.",
        record(kind=choice("Which rubbish", "all", *RUBBISH), interval_s=interval(0.1)),
    ),
    Tool(
        crash,
        "Crash",
        "Ends the server process and all running calls.",
        record(
            at_tick=integer("Crash after this tick; 0 crashes immediately", 5, 0, 1_000_000),
            steps=steps(10),
            interval_s=interval(0.3),
            exit_code=integer("The exit code", 70, 0, 255),
            how=choice("How to crash", "exits", "in_mid_line", "killed"),
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
        "Writes to stderr",
        "Writes a line to stderr with each tick.",
        record(
            lines=integer("How many lines", 20, 1, 1_000_000),
            interval_s=interval(0.1),
            has_bad_bytes=flag("Also write bytes that are not UTF-8"),
        ),
    ),
    Tool(
        hostile_text,
        "Hostile text",
        "Sends messages with HTML, terminal codes, direction marks and the like.",
        record(kind=choice("Which of them", "all", *HOSTILE), interval_s=interval(0.2)),
    ),
)
