"""`python -m tests.servers.flood`: a tool that sends notifications as fast as the pipe allows.

For benchmarks. The tool `flood` waits until one call per token is open, sends their notifications
in turn, replies to each, and starts over. With `--shape`, the messages are those of
`tests.benchmarks.shapes`, built before the first is sent.
"""

import argparse
import json
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.eras import ERAS, Negotiation
from mcp_progress_monitor.demo.server import Server
from mcp_progress_monitor.demo.tool import NO_ARGUMENTS, Tool
from mcp_progress_monitor.demo.wire import INVALID_PARAMS, RpcError, Wire, serve, text_result
from tests.benchmarks.shapes import SHAPES, Shape

_LINES_PER_BLOCK: Final = 4_000


def blocks(
    tokens: Sequence[str | int],
    per_token: int,
    message: str | None = None,
    block_lines: int = _LINES_PER_BLOCK,
) -> Iterator[bytes]:
    """Yield the lines of ticks 1 to `per_token` for each of `tokens`, taking turns.

    Each block is about `block_lines` whole lines, and at least one round of all tokens.
    """
    heads = [_head(token) for token in tokens]
    tail = _tail(per_token, message)
    rounds = max(1, block_lines // len(tokens))
    for start in range(1, per_token + 1, rounds):
        ticks = range(start, min(start + rounds, per_token + 1))
        yield "".join([f"{head}{tick}{tail}" for tick in ticks for head in heads]).encode()


def _head(token: str | int) -> str:
    quoted = json.dumps(token)
    start = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'
    return f'{start}{quoted},"progress":'


def _tail(total: int, message: str | None) -> str:
    member = "" if message is None else f',"message":{json.dumps(message)}'
    return f',"total":{total}{member}}}}}\n'


class Flood:
    """Collects calls until there is one for each token, then serves them together."""

    def __init__(
        self,
        count: int,
        tokens: int,
        interval_s: float,
        message: str | None,
        shape: Shape | None = None,
    ) -> None:
        """Send `count` notifications, evenly distributed, with a pause between rounds if any."""
        self._count = count
        self._shape = shape
        self._per_token = max(1, count // tokens)
        self._tokens = tokens
        self._interval_s = interval_s
        self._message = message
        self._waiting: list[Call] = []
        self._lock = threading.Lock()

    def flood(self, call: Call) -> None:
        """Wait for the other calls; the last one sends for all.

        Raises:
            RpcError: The call has no progress token.
        """
        if call.token is None:
            raise RpcError(INVALID_PARAMS, "flood needs a progress token")
        with self._lock:
            self._waiting.append(call)
            if len(self._waiting) < self._tokens:
                return
            calls, self._waiting = self._waiting, []
        self._serve(calls)

    def _serve(self, calls: list[Call]) -> None:
        tokens = [call.token for call in calls if call.token is not None]
        for block in self._blocks(tokens):
            calls[-1].sleep(self._interval_s)
            calls[-1].wire.send_bytes(block)
        for call in calls:
            call.reply(text_result(f"Sent {self._per_token} ticks."))

    def _blocks(self, tokens: list[str | int]) -> Iterable[bytes]:
        if self._shape is not None:
            return list(self._shape.stream(tokens, self._count))
        lines = 1 if self._interval_s else _LINES_PER_BLOCK
        return blocks(tokens, self._per_token, self._message, lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the client disconnects; return the exit code."""
    options = _parser().parse_args(arguments)
    shape = SHAPES[options.shape] if options.shape else None
    flood = Flood(options.count, options.tokens, options.interval, options.message, shape)
    revisions = ERAS["both"] if shape is None else shape.revisions
    tool = Tool(flood.flood, "Flood", "Sends notifications for all of its calls in turn.",
                NO_ARGUMENTS)  # fmt: skip

    def run(wire: Wire) -> int:
        server = Server(wire, Negotiation(revisions), [tool])
        server.run()
        server.close()
        return 0

    return serve(run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.servers.flood", description="Floods its client with progress."
    )
    add = parser.add_argument
    add("--count", type=_positive, default=500_000, metavar="N", help="notifications in total")
    add("--tokens", type=_positive, default=1, metavar="T", help="calls that share them")
    add("--interval", type=float, default=0.0, metavar="S", help="pause before each round")
    add("--shape", choices=SHAPES, help="the messages to send")
    add("--message", metavar="TEXT", help="put this text into each notification")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


if __name__ == "__main__":
    sys.exit(main())
