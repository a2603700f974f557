"""A tool whose result has a part of every kind, one of them broken."""

import base64
import io
import math
import struct
import wave
import zlib
from typing import Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.tool import Tool, integer, record
from mcp_progress_monitor.demo.wire import JsonObject

_RATE: Final = 8_000  # samples a second
_SIDE: Final = 160  # pixels
_MARKDOWN: Final = """\
# Nightly report

All **orders** were exported. Details are in [the manual](https://modelcontextprotocol.io).

1. Read the table
2. Compare the totals

| shop | orders |
| --- | ---: |
| north | 120 |
| south | 64 |
"""
_DRAWING: Final = '<svg xmlns="http://www.w3.org/2000/svg"><circle r="9"/></svg>'
_SHOPS: Final = ("north", "south", "east", "west")


def result_parts(_call: Call, rows: int) -> JsonObject:
    """Return a text, an image, a sound, a link, resources, a table, and an image that is broken."""
    image, audio = (base64.b64encode(data).decode() for data in (rings(), sound()))
    drawing = {"uri": "demo://circle.svg", "mimeType": "image/svg+xml", "text": _DRAWING}
    archive = {"uri": "demo://orders.zip", "mimeType": "application/zip", "blob": "UEsFBg=="}
    orders = [
        {"order": 1_000 + row, "shop": _SHOPS[row % 4], "total": round(37.5 * (row * 7 % 11), 2)}
        for row in range(rows)
    ]
    return {
        "content": [
            {"type": "text", "text": _MARKDOWN},
            {"type": "image", "data": image, "mimeType": "image/png"},
            {"type": "audio", "data": audio, "mimeType": "audio/wav"},
            {
                "type": "resource_link",
                "uri": "demo://report",
                "name": "report",
                "title": "Slow report",
                "mimeType": "text/markdown",
            },
            {"type": "resource", "resource": drawing},
            {"type": "resource", "resource": archive},
            {"type": "image", "data": image[:200], "mimeType": "image/png"},
        ],
        "structuredContent": {"orders": orders},
    }


def rings() -> bytes:
    """Draw rings as a PNG in grey."""
    middle = _SIDE / 2
    rows = b"".join(
        b"\0"
        + bytes(
            int(127 + 127 * math.cos(math.hypot(x - middle, y - middle) / 4)) for x in range(_SIDE)
        )
        for y in range(_SIDE)
    )
    header = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def sound() -> bytes:
    """Sound an A for a second, as a WAV file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setparams((1, 2, _RATE, 0, "NONE", ""))
        samples = (int(9_000 * math.sin(at * 440 * math.tau / _RATE)) for at in range(_RATE))
        out.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))
    return file.getvalue()


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        result_parts,
        "Parts of a result",
        "Returns a part of every kind: text, image, sound, link, resources and a table.",
        record(rows=integer("Number of rows of the table", 40, 0, 100_000)),
    ),
)
