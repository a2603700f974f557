"""What a tap costs: a server behind it and the same server reached directly, in turn.

On raw pipes: a round trip, a flood, the start, the end, memory, and processor time without traffic;
what `--request-progress` adds to a tap. On raw sockets: a round trip over HTTP.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import psutil

from mcp_progress_monitor import paths
from tests.benchmarks.figures import Figure, Size
from tests.benchmarks.startup import compiling
from tests.benchmarks.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PYTHON: Final = (sys.executable, "-I", "-S", "-c")
_ECHO: Final = (*_PYTHON, "import os\nwhile data := os.read(0, 65536): os.write(1, data)")
_FLOOD: Final = (
    *_PYTHON,
    """
import os, sys, time
count, size, at_once, rate = map(int, sys.argv[1:])
_, _, token = os.read(0, 1000).partition(b'"progressToken":')
line = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'
line += token.partition(b"}")[0] or b'"token-1"'
line += b',"progress":1,"total":500000,"message":"'
line += b"x" * (size - len(line) - 4) + b'"}}\\n'
block = line * at_once
began = time.perf_counter()
for number in range(count // at_once):
    late = number * at_once / rate + began - time.perf_counter() if rate else 0
    if late > 0.001:
        time.sleep(late)
    view = memoryview(block)
    while view:
        view = view[os.write(1, view):]
os.write(2, b"%f" % (time.perf_counter() - began))
os.read(0, 1)
""",
)
_ANSWER: Final = (*_PYTHON, "import os\nwhile os.read(0, 65536): os.write(1, b'{\"id\":1}\\n')")
_HTTP_ECHO: Final = (
    *_PYTHON,
    """
import socket, threading
body = b'{"jsonrpc":"2.0","id":1,"result":{}}'
answer = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n"
def serve(client):
    asked = b""
    while data := client.recv(65536):
        asked += data
        if asked.endswith(b"}"):
            client.sendall(answer % len(body) + body)
            asked = b""
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
""",
)
_PING: Final = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
_CALL: Final = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export"}}\n'
_LINE: Final = 150
_LARGE: Final = 10_000
_READ: Final = 1024 * 1024
_UNPACED: Final = ("blocks", "singles", "large")
_TURN: Final = 250
_HTTP_TURN: Final = 20
_PATIENCE_S: Final = 60
_STARTS_S: Final = 0.1
"""How long a server may take to start before its flood is timed."""


def tap(size: Size) -> list[Figure]:
    """A tap's costs, each beside what it may be."""
    waiting = Waiting()
    with tempfile.TemporaryDirectory(prefix="bench-tap-") as name:
        environ = os.environ if size is Size.TINY else compiling(name)
        bench = _Bench(Path(name), environ)
        requesting = _Bench(Path(name) / "requesting", environ, "--request-progress")
        figures = [
            *_round_trips(bench, size.pick(40_000, 10_000, 500)),
            *_floods(bench, size),
            *_requesting(bench, requesting, size),
            *_starts(bench, size.pick(21, 7, 1)),
            *_at_rest(bench, size.pick(10.0, 3.0, 0.1)),
            *_http_round_trips(bench, size.pick(4_000, 1_000, 20)),
        ]
    return [*figures, Figure("waiting_for_cpu", waiting.percent(), "% of time")]


class _Session(NamedTuple):
    """A server behind a tap, or reached directly."""

    process: subprocess.Popen[bytes]

    @property
    def stdin(self) -> int:
        assert self.process.stdin is not None
        return self.process.stdin.fileno()

    @property
    def stdout(self) -> int:
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def turn(self, asked: bytes = _PING) -> float:
        """One round trip, in seconds."""
        began = time.perf_counter()
        os.write(self.stdin, asked)
        os.read(self.stdout, _READ)
        return time.perf_counter() - began


class _Kind(NamedTuple):
    """A flood: so many messages of so many bytes, some written at once, at a rate (0: the most)."""

    messages: int
    size: int
    at_once: int
    rate: int = 0


class _Flooded(NamedTuple):
    """What a flood came to: how long the server needed, and the client, in seconds."""

    server_s: float
    client_s: float
    peak_mb: float | None
    missing: int


class _Bench:
    """Starts servers both ways."""

    def __init__(self, folder: Path, environ: Mapping[str, str], *options: str) -> None:
        self._folder = folder
        self._environ = environ
        tap = [*paths.program_command(), "tap", "--data-dir", str(folder / "data"), *options, "--"]
        self._texts: Mapping[bool, Sequence[str]] = {False: (), True: tap}

    @contextlib.contextmanager
    def session(self, *command: str, is_tapped: bool) -> Iterator[_Session]:
        """A server that is ended by closing its input."""
        with subprocess.Popen(
            [*self._texts[is_tapped], *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environ,
            bufsize=0,
        ) as process:
            yield _Session(process)
            if process.stdin is not None:
                process.stdin.close()
            process.wait()

    def flood(self, kind: _Kind, *, is_tapped: bool) -> _Flooded:
        """Have a server write, and read as fast as it comes."""
        count = kind.messages // kind.at_once * kind.at_once
        with self.session(*_FLOOD, *map(str, kind), is_tapped=is_tapped) as session:
            self._await_start(is_tapped=is_tapped)
            os.write(session.stdin, b"!\n")
            began, left = time.perf_counter(), count * kind.size
            while left:
                left -= len(os.read(session.stdout, _READ))
            client_s = time.perf_counter() - began
            assert session.process.stderr is not None
            server_s = float(session.process.stderr.read(100))
            peak_mb = _peak_mb(session.process.pid) if is_tapped else None
        missing = count - self._recorded() if is_tapped else 0
        return _Flooded(server_s, client_s, peak_mb, missing)

    def held_flood(self, kind: _Kind) -> float:
        """Have a server write progress that nobody asked for but the tap; the server's seconds."""
        with self.session(*_FLOOD, *map(str, kind), is_tapped=True) as session:
            self._await_start(is_tapped=True)
            os.write(session.stdin, _CALL)
            assert session.process.stderr is not None
            server_s = float(session.process.stderr.read(100))
        self.clear()
        return server_s

    def _await_start(self, *, is_tapped: bool) -> None:
        """Wait until a server has started, and its recording."""
        ends_at = time.monotonic() + _PATIENCE_S
        while is_tapped and not self._recordings():
            assert time.monotonic() < ends_at
            time.sleep(0.01)
        time.sleep(_STARTS_S)

    @contextlib.contextmanager
    def http_tap(self, port: int) -> Iterator[int]:
        """A tap to a server on a port of this machine; the port of the tap."""
        arguments = [*self._texts[True][:-1], "--to", f"http://127.0.0.1:{port}/mcp"]
        with _port_of([*arguments, "--listen", "127.0.0.1:0"], self._environ) as own:
            yield own

    def _recordings(self) -> list[Path]:
        live = self._folder / "data" / "recordings" / "live"
        return sorted(live.glob("*.mcprec"))

    def _recorded(self) -> int:
        """How many messages are in the recording, which is deleted."""
        found = 0
        for path in self._recordings():
            with path.open("rb") as file:
                found += sum(b'"notifications/progress"' in line for line in file)
        self.clear()
        return found

    def clear(self) -> None:
        """Delete all recordings."""
        shutil.rmtree(self._folder / "data", ignore_errors=True)


def _round_trips(bench: _Bench, count: int) -> list[Figure]:
    """Both servers run at once; each has its turn of some round trips."""
    with (
        bench.session(*_ECHO, is_tapped=False) as direct,
        bench.session(*_ECHO, is_tapped=True) as tapped,
    ):
        (direct_s, direct_p99), (tapped_s, tapped_p99) = _in_turn(direct, tapped, count, _PING)
    return [
        Figure("round_trip", tapped_s * 1e6, "µs"),
        Figure("direct_round_trip", direct_s * 1e6, "µs"),
        Figure("added_round_trip", max(0.0, tapped_s - direct_s) * 1e6, "µs", "<= 50"),
        Figure("added_p99", max(0.0, tapped_p99 - direct_p99) * 1e6, "µs", "<= 1,000"),
    ]


def _in_turn(one: _Session, other: _Session, count: int, asked: bytes) -> list[tuple[float, float]]:
    """The spread of the round trips of either, which take turns."""
    for session in (one, other):
        for _ in range(3):  # they start
            session.turn(asked)
    time.sleep(0.5)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(max(1, count // _TURN)):
        for found, session in zip(times, (one, other), strict=True):
            found += (session.turn(asked) for _ in range(_TURN))
    return [*map(_spread, times)]


def _requesting(plain: _Bench, requesting: _Bench, size: Size) -> list[Figure]:
    """Measure the cost of `--request-progress` for a request, and for floods passed or held."""
    with (
        plain.session(*_ANSWER, is_tapped=True) as one,
        requesting.session(*_ANSWER, is_tapped=True) as other,
    ):
        (plain_s, _), (added_s, _) = _in_turn(one, other, size.pick(40_000, 10_000, 500), _CALL)
    requesting.clear()
    plain.clear()
    share, rounds = size.pick(10, 3, 0.002), size.pick(5, 3, 1)
    blocks = _Kind(int(200_000 * share), _LINE, 100)
    paced = _Kind(int(90_000 * share), _LINE, 33, 330_000)
    floods = [requesting.flood(blocks, is_tapped=True) for _ in range(rounds)]
    passed = _pairs(requesting, paced, rounds)
    kept = statistics.median(requesting.held_flood(paced) for _ in range(rounds))
    direct = statistics.median(flooded.server_s for flooded, _ in passed)
    rate = blocks.messages / statistics.median(flooded.client_s for flooded in floods)
    return [
        Figure("request_progress_per_request", max(0.0, added_s - plain_s) * 1e6, "µs", "<= 20"),
        Figure("request_progress_messages_per_s", rate, "/s", ">= 300,000"),
        Figure("request_progress_server_time_at_330,000/s", _slower(passed), "x", "<= 1.05"),
        Figure("request_progress_server_time_kept_back", kept / direct, "x", "<= 1.05"),
    ]


def _http_round_trips(bench: _Bench, count: int) -> list[Figure]:
    """As with pipes, on two connections that are kept.

    Due is half of what the official Python SDK's server takes for a ping, which is 2 to 3 ms, so
    that the tap is never the slower part; and for the slowest what no eye sees.
    """
    with _port_of(_HTTP_ECHO) as port, bench.http_tap(port) as own:
        times: dict[bool, list[float]] = {False: [], True: []}
        with (
            socket.create_connection(("127.0.0.1", port)) as direct,
            socket.create_connection(("127.0.0.1", own)) as tapped,
        ):
            for _ in range(max(1, count // _HTTP_TURN)):
                for is_tapped, to, connection in ((False, port, direct), (True, own, tapped)):
                    asked = _http_ping(to)
                    turns = [_http_turn(connection, asked) for _ in range(_HTTP_TURN)]
                    times[is_tapped] += turns
    (direct_s, direct_p99), (tapped_s, tapped_p99) = map(_spread, times.values())
    return [
        Figure("http_round_trip", tapped_s * 1e6, "µs"),
        Figure("direct_http_round_trip", direct_s * 1e6, "µs"),
        Figure("added_http_round_trip", max(0.0, tapped_s - direct_s) * 1e6, "µs", "<= 1,000"),
        Figure("added_http_p99", max(0.0, tapped_p99 - direct_p99) * 1e6, "µs", "<= 10,000"),
    ]


def _http_ping(port: int) -> bytes:
    body = _PING.strip()
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _http_turn(connection: socket.socket, asked: bytes) -> float:
    """One round trip, in seconds."""
    began = time.perf_counter()
    connection.sendall(asked)
    answer = b""
    while not answer.endswith(b"}"):
        data = connection.recv(_READ)
        assert data, answer
        answer += data
    return time.perf_counter() - began


@contextlib.contextmanager
def _port_of(command: Sequence[str], environ: Mapping[str, str] | None = None) -> Iterator[int]:
    """Run a command that prints a port, or a URL with one."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ, text=True
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"(\d+)(?:/mcp)?$", process.stdout.readline())
            assert found is not None
            yield int(found[1])
        finally:
            process.terminate()


def _spread(times: list[float]) -> tuple[float, float]:
    """Median and 99th percentile."""
    return statistics.median(times), sorted(times)[int(len(times) * 0.99)]


def _floods(bench: _Bench, size: Size) -> list[Figure]:
    """As fast as they go, by the block and, as servers write them, one by one; and at a rate."""
    bench.clear()
    rounds = size.pick(5, 3, 1)
    share = size.pick(10, 3, 0.002)
    kinds = {
        "blocks": _Kind(int(200_000 * share), _LINE, 100),
        "singles": _Kind(int(60_000 * share), _LINE, 1),
        "large": _Kind(int(5_000 * share), _LARGE, 1),
        "paced": _Kind(int(90_000 * share), _LINE, 33, 330_000),
        "paced_large": _Kind(int(1_800 * share), _LARGE, 1, 6_000),
    }
    pairs = {name: _pairs(bench, kind, rounds) for name, kind in kinds.items()}
    rates = {
        name: [[kind.messages / flooded.client_s for flooded in pair] for pair in pairs[name]]
        for name, kind in kinds.items()
    }
    direct, tapped = (
        {name: statistics.median(pair[side] for pair in rates[name]) for name in kinds}
        for side in (0, 1)
    )
    tapped_floods = {name: [pair[1] for pair in found] for name, found in pairs.items()}
    peaks = [f.peak_mb for found in tapped_floods.values() for f in found if f.peak_mb is not None]
    missing = {name: sum(f.missing for f in found) for name, found in tapped_floods.items()}
    sent = rounds * sum(kinds[name].messages for name in _UNPACED)
    dropped = sum(missing[name] for name in _UNPACED) / sent * 100
    mb = _LARGE / 1e6
    return [
        Figure("messages_per_s", tapped["blocks"], "/s", ">= 300,000"),
        Figure("direct_messages_per_s", direct["blocks"], "/s"),
        Figure("single_messages_per_s", tapped["singles"], "/s"),
        Figure("direct_single_messages_per_s", direct["singles"], "/s"),
        Figure("mb_per_s", tapped["large"] * mb, "MB/s", ">= 50"),
        Figure("direct_mb_per_s", direct["large"] * mb, "MB/s"),
        Figure("server_time_at_330,000/s", _slower(pairs["paced"]), "x", "<= 1.05"),
        Figure("server_time_at_60_MB/s", _slower(pairs["paced_large"]), "x", "<= 1.05"),
        Figure("server_time_one_by_one", _slower(pairs["singles"]), "x"),
        Figure("memory_flood", max(peaks, default=None), "MB", "<= 90"),
        Figure("not_recorded_at_those_rates", missing["paced"] + missing["paced_large"], "", "0"),
        Figure("not_recorded_at_full_speed", max(0.0, dropped), "%"),
    ]


def _pairs(bench: _Bench, kind: _Kind, rounds: int) -> list[tuple[_Flooded, _Flooded]]:
    """Floods reached directly, and through a tap, in turn."""
    return [
        (bench.flood(kind, is_tapped=False), bench.flood(kind, is_tapped=True))
        for _ in range(rounds)
    ]


def _slower(pairs: list[tuple[_Flooded, _Flooded]]) -> float:
    """How much longer the server needs through a tap."""
    return statistics.median(tapped.server_s / direct.server_s for direct, tapped in pairs)


def _starts(bench: _Bench, rounds: int) -> list[Figure]:
    """From the start to the first byte back, and from the end of input to the end."""
    firsts: dict[bool, list[float]] = {False: [], True: []}
    lasts: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(rounds + 1):  # the first compiles
        for is_tapped in (False, True):
            began = time.perf_counter()
            with bench.session(*_ECHO, is_tapped=is_tapped) as session:
                session.turn()
                firsts[is_tapped].append(time.perf_counter() - began)
                time.sleep(0.2)
                ended = time.perf_counter()
            lasts[is_tapped].append(time.perf_counter() - ended)
    first, direct_first = (statistics.median(firsts[way][1:]) for way in (True, False))
    last, direct_last = (statistics.median(lasts[way][1:]) for way in (True, False))
    return [
        Figure("first_byte", first * 1e3, "ms"),
        Figure("direct_first_byte", direct_first * 1e3, "ms"),
        Figure("first_byte_later", max(0.0, first - direct_first) * 1e3, "ms", "<= 60"),
        Figure("end_later", max(0.0, last - direct_last) * 1e3, "ms", "<= 200"),
    ]


def _at_rest(bench: _Bench, seconds: float) -> list[Figure]:
    """A tap of which nothing is asked."""
    with bench.session(*_ECHO, is_tapped=True) as session:
        session.turn()
        time.sleep(0.5)
        process = psutil.Process(session.process.pid)
        before = process.cpu_times()
        time.sleep(seconds)
        after = process.cpu_times()
        memory = process.memory_info().rss / 1e6
    spent = max(0.0, round(after.user + after.system - before.user - before.system, 6))
    return [
        Figure("memory_idle", memory, "MB", "<= 20"),
        Figure("idle_cpu", spent / seconds * 100, "% of a core", "0.0"),
    ]


def _peak_mb(pid: int) -> float | None:
    """The most memory that a process has had; None where the system does not tell."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return None
    (row,) = (row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
    return int(row.split()[1]) * 1024 / 1e6
