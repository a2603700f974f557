"""Shapes of floods: what the notifications of a stream look like, and what stands between them.

Each is a few forms of messages that take turns. Some are recordings of public servers, with the
tokens and the numbers of the benchmark in them (`tests/recordings/streams`).
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.demo.eras import ERAS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_RECORDED: Final = Path(__file__).parents[1] / "recordings" / "streams"
_HANDSHAKE: Final = ERAS["handshake"]
_PER_REQUEST: Final = ERAS["both"]
"""A client that knows it chooses 2026-07-28."""
_BATCHED: Final = ("2025-03-26",)
_FALLS_EVERY: Final = 10
_AT_A_TIME: Final = 5_000
"""Lines of one piece of a stream."""


class Shape(NamedTuple):
    """Messages in turn, with fields for `%`: token, progress and total; and how they are sent."""

    forms: tuple[str, ...]
    revisions: tuple[str, ...] = _HANDSHAKE
    """What the server speaks."""
    falls: bool = False
    """Whether every tenth number is lower than the one before."""
    grows: bool = False
    """Whether the total is another one with each tick of a token."""
    batch: int = 0
    """Messages of a line; 0 where there are no batches."""

    def is_tick(self, place: int) -> bool:
        """Whether the message at a place of the stream is progress of a call."""
        return "%(token)s" in self.forms[place % len(self.forms)]

    def ticks(self, count: int) -> int:
        """How many of so many messages are progress of a call."""
        whole, rest = divmod(count, len(self.forms))
        of_round = sum(map(self.is_tick, range(len(self.forms))))
        return whole * of_round + sum(map(self.is_tick, range(rest)))

    def stream(self, tokens: Sequence[str | int], count: int) -> Iterator[bytes]:
        """So many messages over the tokens in turn, in pieces of whole lines."""
        lines = self._lines(tokens, count)
        while piece := list(itertools.islice(lines, _AT_A_TIME)):
            yield "".join([f"{line}\n" for line in piece]).encode()

    def _lines(self, tokens: Sequence[str | int], count: int) -> Iterator[str]:
        messages = self._messages(tokens, count)
        if not self.batch:
            return messages
        batches = iter(lambda: list(itertools.islice(messages, self.batch)), [])
        return (f"[{','.join(batch)}]" for batch in batches)

    def _messages(self, tokens: Sequence[str | int], count: int) -> Iterator[str]:
        quoted, total = [json.dumps(token) for token in tokens], -(-count // len(tokens))
        tick = 0
        for place, form in zip(range(count), itertools.cycle(self.forms), strict=False):
            turn, number = tick % len(quoted), tick // len(quoted) + 1
            fall = 2 if self.falls and number % _FALLS_EVERY == 0 else 0
            yield form % {
                "token": quoted[turn],
                "progress": number - fall,
                "total": total + number if self.grows else total,
                "place": place,
            }
            tick += "%(token)s" in form


def _message(method: str, **params: Any) -> str:
    message = {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}
    return _form(json.dumps(message, ensure_ascii=False, separators=(",", ":")))


def _form(text: str) -> str:
    """A form out of a message with these words for its fields."""
    expected = {
        '"TOKEN"': "%(token)s",
        "111": "%(progress)d",
        "999": "%(total)d",
        "777": "%(place)d",
    }
    text = text.replace("%", "%%")
    for word, field in expected.items():
        text = text.replace(word, field)
    return text


def _tick(**more: Any) -> str:
    return _message("progress", progressToken="TOKEN", progress=111, total=999, **more)


def _recorded(name: str) -> tuple[str, ...]:
    forms = []
    for line in (_RECORDED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        params = json.loads(line)["params"]
        if "progressToken" in params:
            for member, word in (
                ("progressToken", '"TOKEN"'),
                ("progress", "111"),
                ("total", "999"),
            ):
                value = json.dumps(params[member])
                tail = ".0" if isinstance(params[member], float) else ""
                line = line.replace(f'"{member}":{value}', f'"{member}":{word}{tail}')
        forms.append(_form(line))
    return tuple(forms)


_SUBSCRIBED: Final = {"io.modelcontextprotocol/subscriptionId": 3}
_PLAIN: Final = _tick()
_TEXT: Final = _tick(message="Row 111 of 999 exported")
_SPACED: Final = _form(
    '{ "method": "notifications/progress", "params": { "total": 999, "message": "Row 111",'
    ' "progress": 111, "progressToken": "TOKEN" }, "jsonrpc": "2.0" }'
)
_BEYOND_ASCII: Final = _tick(message="Zeile 111: „Größe“ 大小 🙂")
_FLOAT: Final = _PLAIN.replace("%(progress)d", "0.%(progress)07d").replace("%(total)d", "1.0")
_META: Final = _tick(_meta=_SUBSCRIBED)
_TRACE: Final = _tick(_meta={"traceparent": "00-0af7651916cd43dd8448eb211c80319c-777-01"})
_LISTED: Final = _tick(_meta={"tags": ["a", "b"]}, message="[111/999] Linking: app")
_EXTRA: Final = _tick(rate=0.5, unit="rows")
_LOG: Final = _message("message", level="info", logger="db", data={"text": "Row 777", "row": 777})
_UPDATED: Final = _message("resources/updated", uri="demo://resource/dynamic/text/1")
_UNKNOWN: Final = _PLAIN.replace("%(token)s", '"nobody-%(place)d"')
_LARGE: Final = _tick(message="Row 111: " + "0123456789abcdef" * 125)
_NO_JSON: Final = "INFO 777: wrote {block} to disk"
_LINE_LOG: Final = _message("message", level="debug", data="Wrote block 777: ok")

SHAPES: Final[Mapping[str, Shape]] = {
    "plain": Shape((_PLAIN,)),
    "message": Shape((_TEXT,)),
    "spaced": Shape((_SPACED,)),
    "beyond_ascii": Shape((_BEYOND_ASCII,)),
    "floats": Shape((_FLOAT,)),
    "decreasing": Shape((_PLAIN,), falls=True),
    "totals": Shape((_PLAIN,), grows=True),
    "unknown_tokens": Shape((_PLAIN, _PLAIN, _PLAIN, _UNKNOWN)),
    "large": Shape((_LARGE,)),
    "no_json": Shape((_PLAIN, _NO_JSON, _NO_JSON, _NO_JSON)),
    "meta": Shape((_META,)),
    "traced": Shape((_TRACE,)),
    "listed": Shape((_LISTED,)),
    "extra": Shape((_EXTRA,)),
    "logs": Shape((_PLAIN, _PLAIN, _PLAIN, _PLAIN, _LOG)),
    "updates": Shape((_TEXT, _TEXT, _TEXT, _TEXT, _UPDATED)),
    "per_request": Shape((_META,), _PER_REQUEST),
    "per_request_logs": Shape((_META, _META, _META, _META, _LOG), _PER_REQUEST),
    "batches": Shape((_PLAIN, _TEXT), _BATCHED, batch=16),
    "mix": Shape(
        (_PLAIN, _TEXT, _SPACED, _LOG, _META, _BEYOND_ASCII, _TRACE, _LINE_LOG, _EXTRA, _LISTED)
    ),
    "server_everything": Shape(_recorded("server_everything")),
    "python_sdk_1": Shape(_recorded("python_sdk_1")),
    "python_sdk_2": Shape(_recorded("python_sdk_2"), _PER_REQUEST),
}
"""By name; `mix` and the recorded ones have several of the others in turn."""
