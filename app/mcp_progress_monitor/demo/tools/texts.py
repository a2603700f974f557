"""Tools whose messages are hard to show."""

from typing import Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.messages import JsonObject, text_result
from mcp_progress_monitor.demo.schemas import choice, record
from mcp_progress_monitor.demo.tool import Tool
from mcp_progress_monitor.demo.tools.steady import interval


def hostile_text(call: Call, kind: str, interval_s: float) -> JsonObject:
    """Send messages that a careless window would render, obey or break on."""
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
"""What `hostile_text` can send: name and message."""

TOOLS: Final = (
    Tool(
        hostile_text,
        "Hostile text",
        "Sends messages with HTML, terminal codes, direction marks and the like.",
        record(
            kind=choice("Which of them", "all", *HOSTILE),
            interval_s=interval(0.2),
        ),
    ),
)
