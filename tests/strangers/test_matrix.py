"""Servers of every common SDK, old and new: connected, listed, called and cancelled by default."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.tracker.snapshot import JobSnapshot, JobState
from tests.integration.commands import DEMO, PROGRAM, linux_only, start
from tests.patience import PATIENCE_S
from tests.strangers.servers import STRANGERS, HttpKind, NotAvailableError, Stranger, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

pytestmark = linux_only

_SLOW_START_S = 3.0
_OFTEN = 3  # times in a row that a port listens: mcp-framework tries first whether it can
_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: nobody, user: {}}]
contexts: [{name: none, context: {cluster: none, user: nobody}}]
current-context: none
"""


class Ran(NamedTuple):
    """How a command of the program ended, and its events."""

    code: int
    events: list[dict[str, Any]]
    err: str

    def only(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == kind]


def _ran(process: subprocess.Popen[str], head: str = "") -> Ran:
    out, err = process.communicate(timeout=2 * PATIENCE_S)
    events = [json.loads(line) for line in (head + out).splitlines()]
    assert "Traceback" not in err.partition("stderr")[0]
    return Ran(process.returncode, events, err)


def _start(
    command: str, target: Sequence[str], *arguments: str, folder: Path
) -> subprocess.Popen[str]:
    """Start a command of the program with a fresh data folder: nothing is remembered."""
    options = [command, "--data-dir", str(folder), "--json", *arguments]
    return start(*options, *target)


def check_server(
    target: Sequence[str], tool: Tool, folder: Path, *, may_be_lost: bool = False
) -> None:
    """Connect with default settings; list, call with progress, cancel.

    With `may_be_lost` the server may end the connection when it reads a cancel, as the SSE servers
    of old Python SDKs do, on an exception of their own.
    """
    listing = _start("tools", target, folder=folder / "list")
    out, err = listing.communicate(timeout=2 * PATIENCE_S)
    assert listing.returncode == 0, err
    assert f'"{tool.name}"' in out
    _check_call(target, tool, folder / "call")
    if tool.long is not None:
        code = _check_cancel(target, tool, folder / "cancel")
        assert code in ((3, 5) if may_be_lost else (5,))


def _check_call(target: Sequence[str], tool: Tool, folder: Path) -> None:
    command_line = [tool.name, "--args", json.dumps(dict(tool.arguments))]
    called = _ran(_start("call", target, *command_line, folder=folder))
    assert called.code in ((0, 1) if tool.may_fail else (0,)), called.err
    assert len(called.only("result")) == 1
    ticks = [event["progress"] for event in called.only("progress")]
    assert tool.has_all(len(ticks)), ticks
    assert ticks == sorted(set(ticks))
    kinds = [event["event"] for event in called.events]
    assert "progress" not in kinds[kinds.index("result") :]


def _check_cancel(target: Sequence[str], tool: Tool, folder: Path) -> int:
    arguments = [tool.name, "--args", json.dumps(dict(tool.long or {}))]
    process = _start("call", target, *arguments, folder=folder)
    assert process.stdout is not None
    head, begun = "", "progress" if tool.ticks and not tool.is_late else "request"
    for line in process.stdout:
        head += line
        if f'"event":"{begun}"' in line:
            break
    process.send_signal(signal.SIGINT)
    cancelled = _ran(process, head)
    assert cancelled.only(begun)
    assert len(cancelled.only("error")) == 1, cancelled.err
    return cancelled.code


def _delayed(command: Sequence[str], delay_s: float) -> list[str]:
    """A command that starts after a while, as `npx` does that downloads first."""
    script = "import os,sys,time;time.sleep(float(sys.argv[1]));os.execvp(sys.argv[2],sys.argv[2:])"
    return [sys.executable, "-c", script, str(delay_s), *command] if delay_s else list(command)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextlib.contextmanager
def _served(command: Sequence[str], port: int, environment: Mapping[str, str]) -> Iterator[None]:
    """Run an HTTP server until the end of the context, and wait until it listens."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        ends_at = time.monotonic() + PATIENCE_S
        times = 0
        while times < _OFTEN:
            assert process.poll() is None, "the server exited before it listened"
            assert time.monotonic() < ends_at
            times = times + 1 if _listens(port) else 0
            time.sleep(0.1)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port))


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _slow_front(listened: int, port: int, delay_s: float) -> Iterator[None]:
    """A port that accepts at once and passes nothing on at first, as a cold start does.

    Bytes then go both ways unchanged.
    """
    ready_at = time.monotonic() + delay_s
    front = socket.create_server(("127.0.0.1", listened))

    def copy(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                sink.sendall(piece)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def serve(client: socket.socket) -> None:
        time.sleep(max(0.0, ready_at - time.monotonic()))
        with client, contextlib.suppress(OSError), _connected(port) as server:
            answers = threading.Thread(target=copy, args=(server, client), daemon=True)
            answers.start()
            copy(client, server)
            answers.join()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = front.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            front.shutdown(socket.SHUT_RDWR)
        front.close()
        thread.join()


@contextlib.contextmanager
def _web_page() -> Iterator[str]:
    """A web page for the server that fetches one."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<html><body><p>a page</p></body></html>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def _scratch(folder: Path) -> Path:
    """A folder for a server to work in: a repository, with a configuration of no cluster."""
    scratch = folder / "scratch"
    scratch.mkdir()
    git = shutil.which("git")
    assert git is not None
    subprocess.run([git, "init", "-q", str(scratch)], check=True)
    (scratch / "kubeconfig").write_text(_KUBECONFIG, encoding="utf-8")
    return scratch


def _installed(stranger: Stranger) -> None:
    try:
        stranger.install()
    except NotAvailableError as error:
        pytest.skip(f"{stranger.name} cannot be installed here: {error}")


_DELAYS = pytest.mark.parametrize("delay_s", [0.0, _SLOW_START_S], ids=["at-once", "slow"])
_ON_STDIO = pytest.mark.parametrize(
    "stranger",
    [stranger for stranger in STRANGERS if stranger.command],
    ids=lambda stranger: stranger.name,
)
_OVER_HTTP = pytest.mark.parametrize(
    ("stranger", "kind"),
    [
        pytest.param(stranger, kind, id=f"{stranger.name}-{kind}")
        for stranger in STRANGERS
        for kind in stranger.over_http
    ],
)
_ENDED = (JobState.DONE, JobState.FAILED)
# A tap that was killed recorded no end: then the cancel is the last word.
_OVER = (*_ENDED, JobState.CANCELLED, JobState.CANCELLING, JobState.LOST)


class OnStdio(NamedTuple):
    """A server of others: its command, the options that set its environment, and its tool."""

    command: list[str]
    options: list[str]
    tool: Tool


@contextlib.contextmanager
def on_stdio(stranger: Stranger, folder: Path) -> Iterator[OnStdio]:
    """Install a server, and give it what its command names."""
    _installed(stranger)
    with _web_page() as web:
        values = {"folder": stranger.folder, "scratch": _scratch(folder), "web": web}
        values["port"] = values["front"] = str(_free_port())
        environment = {k: v.format_map(values) for k, v in stranger.environment.items()}
        options = [word for pair in environment.items() for word in ("--env", "=".join(pair))]
        command = [word.format_map(values) for word in stranger.command]
        yield OnStdio(command, options, _filled(stranger.tool_over("stdio"), values))


@contextlib.contextmanager
def over_http(stranger: Stranger, kind: HttpKind, folder: Path, delay_s: float) -> Iterator[str]:
    """Install and run a server that listens on localhost; the context's value is its URL."""
    _installed(stranger)
    port, front = _free_port(), _free_port()
    values = {"folder": stranger.folder, "scratch": _scratch(folder), "port": port, "front": front}
    command = [word.format_map(values) for word in stranger.over_http[kind]]
    environment = {name: value.format_map(values) for name, value in stranger.environment.items()}
    path = "/sse" if kind == "sse" else stranger.path
    with _served(command, port, environment), _slow_front(front, port, delay_s):
        yield f"http://127.0.0.1:{front}{path}"


@pytest.mark.campaign
@pytest.mark.timeout(900)
@_DELAYS
@_ON_STDIO
def test_strangers_on_stdio_connect_list_call_and_cancel(
    stranger: Stranger, delay_s: float, tmp_path: Path
) -> None:
    with on_stdio(stranger, tmp_path) as server:
        target = [*server.options, "--", *_delayed(server.command, delay_s)]
        check_server(target, server.tool, tmp_path)


@pytest.mark.campaign
@pytest.mark.timeout(900)
@_DELAYS
@_OVER_HTTP
def test_strangers_over_http_connect_list_call_and_cancel(
    stranger: Stranger, kind: HttpKind, delay_s: float, tmp_path: Path
) -> None:
    tool = stranger.tool_over(kind)
    with over_http(stranger, kind, tmp_path, delay_s) as url:
        check_server(["--url", url], tool, tmp_path, may_be_lost=kind == "sse")


@pytest.mark.campaign
@pytest.mark.timeout(900)
@_ON_STDIO
def test_strangers_on_stdio_do_the_same_behind_a_tap(stranger: Stranger, tmp_path: Path) -> None:
    data = tmp_path / "tapped"
    tap = [*PROGRAM, "tap", "--data-dir", str(data), "--"]
    with on_stdio(stranger, tmp_path) as server:
        check_server([*server.options, "--", *tap, *server.command], server.tool, tmp_path)
        check_recorded(data, server.tool)


@pytest.mark.campaign
@pytest.mark.timeout(900)
@_OVER_HTTP
def test_strangers_over_http_do_the_same_behind_a_tap(
    stranger: Stranger, kind: HttpKind, tmp_path: Path
) -> None:
    data, tool = tmp_path / "tapped", stranger.tool_over(kind)
    with over_http(stranger, kind, tmp_path, 0) as url, tapped(url, data) as front:
        check_server(["--url", front], tool, tmp_path, may_be_lost=kind == "sse")
    check_recorded(data, tool)


@pytest.mark.campaign
@pytest.mark.timeout(900)
@_ON_STDIO
def test_check_finds_only_errors_of_strangers_that_are_theirs(
    stranger: Stranger, tmp_path: Path
) -> None:
    with on_stdio(stranger, tmp_path) as server:
        target = [*server.options, "--", *server.command]
        assert errors_in(target, server.tool, tmp_path) <= stranger.violated


@pytest.mark.campaign
@pytest.mark.timeout(900)
@_OVER_HTTP
def test_check_finds_only_errors_over_http_that_are_theirs(
    stranger: Stranger, kind: HttpKind, tmp_path: Path
) -> None:
    with over_http(stranger, kind, tmp_path, 0) as url:
        target = ["--url", url, "--transport", kind]
        assert errors_in(target, stranger.tool, tmp_path) <= stranger.violated


def errors_in(target: Sequence[str], tool: Tool, folder: Path) -> set[str]:
    """The rules that a server violates, as `check` finds with the call that shows something."""
    report = folder / "report.json"
    arguments = json.dumps({tool.name: dict(tool.arguments)})
    command_line = ["--format", "json", "-o", str(report), "--tool", tool.name, "--args", arguments]
    process = start("check", "--data-dir", str(folder / "check"), *command_line, *target)
    _, err = process.communicate(timeout=2 * PATIENCE_S)
    assert process.returncode in (0, 7), err
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    findings = [finding for file in files for finding in file["findings"]]
    return {finding["rule"] for finding in findings if finding["level"] == "error"}


@contextlib.contextmanager
def tapped(url: str, data: Path) -> Iterator[str]:
    """A tap before a server's URL; the context's value is the URL for clients."""
    command = [*PROGRAM, "tap", "--to", url, "--listen", "127.0.0.1:0", "--data-dir", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tap:
        try:
            assert tap.stdout is not None
            yield tap.stdout.readline().strip()
        finally:
            tap.terminate()


def check_recorded(data: Path, tool: Tool) -> None:
    """Check that a tap has recorded the call to its end, with each tick, and the one cancelled."""
    ends_at = time.monotonic() + PATIENCE_S
    expected = 1 + (tool.long is not None)
    while True:  # what records outlives a tap that was killed, and may be a moment later
        recordings = (data / "recordings" / "live").glob("*.mcprec")
        jobs = [job for path in recordings for job in _jobs(path)]
        over = [job for job in jobs if job.name == tool.name and job.state in _OVER]
        whole = [job for job in over if job.state in _ENDED and tool.has_all(job.tick_count)]
        if whole and len(over) == expected:
            return
        assert time.monotonic() < ends_at, [(job.name, job.state, job.tick_count) for job in jobs]
        time.sleep(0.1)


def _jobs(recording: Path) -> list[JobSnapshot]:
    playback = Playback(recording)
    while playback.advance(1.0):
        pass
    found = [playback.jobs.snapshot(job) for job in playback.jobs.ids()]
    return [job for job in found if job is not None]


def _filled(tool: Tool, values: Mapping[str, object]) -> Tool:
    arguments = {
        name: value.format_map(values) if isinstance(value, str) else value
        for name, value in tool.arguments.items()
    }
    return replace(tool, arguments=arguments)


def test_the_demo_server_passes_the_same_checks(tmp_path: Path) -> None:
    tool = Tool("known_total", {"steps": 3, "interval_s": 0}, ticks=3, long={"steps": 1000})
    check_server(["--", *_delayed(DEMO, 0.2)], tool, tmp_path)
    assert errors_in(["--", *DEMO], tool, tmp_path) == set()
