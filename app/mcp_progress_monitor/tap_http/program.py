"""A tap as a process: it listens until it is signalled, and a thread writes its recording."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import itertools
import os
import queue
import sys
import threading
import time
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio
from anyio.abc import SocketAttribute

from mcp_progress_monitor import __version__, formatting, paths
from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.recording.folder import RecordingsFolder, part_path
from mcp_progress_monitor.recording.format import SUFFIX, header
from mcp_progress_monitor.recording.recorder import refusal
from mcp_progress_monitor.recording.settings import FOLDER, RecordingSettings, load_settings
from mcp_progress_monitor.recording.writer import Encoder, Writer
from mcp_progress_monitor.signal_watch import stop_on_signal
from mcp_progress_monitor.tap.files import file_name
from mcp_progress_monitor.tap_http.addresses import ListenAddress, TapAddresses, read_listen
from mcp_progress_monitor.tap_http.proxy import ProxyConnection
from mcp_progress_monitor.tap_http.recorder import TapRecorder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from anyio.abc import SocketStream
    from anyio.streams.stapled import MultiListener

    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.snapshots.definitions import OAuthClient
    from mcp_progress_monitor.snapshots.servers import SignIn
    from mcp_progress_monitor.tap.script import Script
    from mcp_progress_monitor.tap_http.changes import HttpChanges
    from mcp_progress_monitor.tap_http.rewrite_auth import AuthRewriter
    from mcp_progress_monitor.tap_http.sign_in import TapSignIn

LIVE: Final = "live"  # the folder of taps' recordings, within that of recordings
_AT_ONCE: Final = 1024 * 1024
_MANY: Final = 256 * 1024  # bytes that are handed over to the thread immediately
_CLOSE_S: Final = 3.0
_TRIES: Final = 100
_FAULT: Final = "The recording stopped because of an internal error"
GOES_ON: Final = "The session continues and is not recorded"


def live_folder(data_dir: Path) -> RecordingsFolder:
    """The folder of taps' recordings, which is not created."""
    return RecordingsFolder(data_dir / FOLDER / LIVE)


class _Blob(NamedTuple):
    """Bytes of a part of the recording."""

    part: int
    data: bytes


class HttpJournal:
    """One tap's recording; errors are reported once, and nothing more is written after one.

    A large file is continued in another part, and the oldest parts are deleted beyond the limit.
    """

    def __init__(
        self,
        folder: RecordingsFolder,
        name: str,
        fields: dict[str, Any],
        stamp: tuple[float, float],
        report: Callable[[str], None],
        settings: RecordingSettings | None = None,
    ) -> None:
        """Record to a new file in `folder`, whose name ends in `name`.

        `fields` are the header's member `tap`; `stamp` is wall and monotonic time of the start.
        `report` gets a line for the user, from any thread.
        """
        when, base = stamp
        started = datetime.datetime.fromtimestamp(when, datetime.UTC)
        begun = time.strftime("%Y-%m-%dT%H-%M-%S", time.localtime(when))
        self.path = folder.path / (f"{begun}-p{os.getpid()}-{file_name(name)}{SUFFIX}")
        """Its file, if that could be created."""
        self._folder = folder
        self._settings = settings or RecordingSettings()
        self.is_failed = not self._settings.is_on  # whether nothing (more) is written
        self._part = 1
        self._part_bytes = 0
        self._encoder = Encoder(base)
        self._report = report
        self._writer = Writer()
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._put_bytes = 0
        self._oldest = 1
        self._done_bytes = 0
        self._queue: queue.SimpleQueue[_Blob | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="recording", daemon=True)
        self._header = {
            "program": f"mcp-progress-monitor {__version__}",
            "started": started.isoformat(),
            "at": base,
            "first": 1,
            "part": 1,
            "run": os.urandom(16).hex(),
            "tap": fields,
        }
        self._put(header(self._header))
        self.hand_over()
        self._thread.start()

    @property
    def waiting_bytes(self) -> int:
        return self._put_bytes - self._done_bytes

    @property
    def is_gathering(self) -> bool:
        """True if there is something to hand over to the thread."""
        return bool(self._gathered)

    def take(self, frames: Sequence[Frame]) -> None:
        """Write frames of one connection in their order."""
        if self.is_failed or not frames:
            return
        if self._part_bytes > self._settings.part_limit and frames[0].part is None:
            self._next_part(frames[0].number)
        if len(frames) == 1 and len(frames[0].raw) > OVERSIZED and frames[0].part is None:
            for piece in self._encoder.encode_oversized(frames[0], self._part, 0)[0]:
                self._put(piece)
        else:
            self._put(self._encoder.encode(frames, self._part, 0).lines)

    def hand_over(self) -> None:
        """Make the thread write what was taken; waking it costs time."""
        if self._gathered:
            blobs, self._gathered = self._gathered, []
            data = b"".join(blobs) if len(blobs) > 1 else blobs[0]
            self._queue.put(_Blob(self._part, data))

    def close(self) -> None:
        """Write what is queued, within a short time, and end the recording."""
        self.hand_over()
        self._queue.put(None)
        self._thread.join(_CLOSE_S)

    def _next_part(self, first: int) -> None:
        """Start a part whose first frame has the number `first`."""
        self.hand_over()
        self._part += 1
        self._part_bytes = 0
        self._encoder.begin(first)
        self._put(header({**self._header, "first": first, "part": self._part}))

    def _put(self, blob: bytes) -> None:
        if not blob:
            return
        self._put_bytes += len(blob)
        self._part_bytes += len(blob)
        self._gathered_bytes += len(blob)
        self._gathered.append(blob)
        if self._gathered_bytes > _MANY:
            self._gathered_bytes = 0
            self.hand_over()

    # In the thread

    def _serve(self) -> None:
        is_last = False
        while not is_last:
            blobs, is_last = self._next()
            for part, group in itertools.groupby(blobs, attrgetter("part")):
                pieces = [blob.data for blob in group]
                if not self.is_failed:
                    self._write(part, pieces)
                self._done_bytes += sum(map(len, pieces))
        with contextlib.suppress(OSError):
            self._writer.close()
        self._folder.end()

    def _next(self) -> tuple[list[_Blob], bool]:
        """Wait for a batch; returns it, and whether it is the last one."""
        blob = self._queue.get()
        blobs: list[_Blob] = []
        size = 0
        while blob is not None:
            blobs.append(blob)
            size += len(blob.data)
            if size >= _AT_ONCE or self._queue.empty():
                return blobs, False
            blob = self._queue.get()
        return blobs, True

    def _write(self, part: int, pieces: list[bytes]) -> None:
        has_begun = self._done_bytes > 0
        path = self.path
        try:
            if not has_begun:
                self._begin()
            path = part_path(self.path, part)
            self._writer.write(path, pieces)
            self._prune(part)
        except Exception as error:  # noqa: BLE001  # a thread that ended would say nothing
            self.is_failed = True
            if isinstance(error, OSError):
                what = refusal(error, path, has_begun=has_begun).what
            else:
                what = formatting.one_line(f"{_FAULT}: {type(error).__name__}: {error}")
            self._report(f"{what} ({path}). {GOES_ON}.")

    def _prune(self, part: int) -> None:
        """Delete the oldest parts beyond the limit; `part` is the current one."""
        kept = max(self._settings.keep_bytes // self._settings.part_limit, 1)
        while self._oldest <= part - kept:
            with contextlib.suppress(OSError):
                part_path(self.path, self._oldest).unlink()
            self._oldest += 1

    def _begin(self) -> None:
        """Create the folder and claim a name; process ids in two containers may be equal."""
        from filelock import Timeout  # late, to start faster

        wanted = self.path
        for number in range(2, _TRIES):
            try:
                self._folder.begin(self.path)
                if not self.path.exists():
                    return
            except Timeout:
                pass
            self._folder.end()
            self.path = wanted.with_name(f"{wanted.name.removesuffix(SUFFIX)}-{number}{SUFFIX}")
        raise FileExistsError(None, "All names are taken")


PROGRAM: Final = "mcp-progress-monitor tap"
READY: Final = "Press Ctrl+C to stop."  # ends the last line of a start
_IS_OFF: Final = "Recording is turned off, so nothing is recorded and the window shows nothing."


class SignInOptions(NamedTuple):
    """Sign in as `client`; `lines_of` tells the user where."""

    client: OAuthClient
    lines_of: Callable[[SignIn], Sequence[str]]


@dataclasses.dataclass(frozen=True, slots=True)
class TapOptions:
    """The options of a tap.

    `name` is that of the server, by default the host of `to`; `client` is the client's, if known.
    With `sign_in`, clients use the tap without a token, and it adds one. With `rewrites_auth`, they
    sign in through it.
    """

    to: str
    listen: str | None = None
    name: str | None = None
    client: str | None = None
    data_dir: Path | None = None
    script: Script | None = None
    requests_progress: bool = False
    sign_in: SignInOptions | None = None
    rewrites_auth: bool = False


class HttpTap:
    """A listening tap; `addresses` are valid after `open`."""

    def __init__(self, options: TapOptions, report: Callable[[str], None]) -> None:
        """`report` gets lines for the user; `UserError` for invalid options."""
        self.addresses = TapAddresses(options.to)
        self._wanted = None if options.listen is None else read_listen(options.listen)
        data_dir = paths.chosen_data_dir(options.data_dir)
        self._folder = live_folder(data_dir)
        self._settings, _ = load_settings(data_dir)
        self._name = options.name or self.addresses.upstream.host
        self._client = options.client
        self._script = options.script
        self._requests_progress = options.requests_progress
        self._options = options
        self._data_dir = data_dir
        self._sign_in: TapSignIn | None = None
        self._rewriter: AuthRewriter | None = None
        self._report = report
        self._listener: MultiListener[SocketStream] | None = None
        self._journal: HttpJournal | None = None

    @property
    def change_text(self) -> str:
        """A notice that a script changes what passes; empty without one."""
        return "" if self._script is None else self._script.text

    @property
    def recording(self) -> Path | None:
        """The file that is recorded to; None before `open`, and if recording is off."""
        journal = self._journal
        return None if journal is None or not self._settings.is_on else journal.path

    async def open(self) -> None:
        """Sign in if that is wanted, and listen; `UserError` if either fails."""
        try:
            if self._options.sign_in is not None:
                await self._begin_sign_in(self._options.sign_in)
            elif self._options.rewrites_auth:
                self._rewriter = self._new_rewriter()
            await self._listen()
        except BaseException:
            await self._close_sign_in()
            raise

    async def _listen(self) -> None:
        wanted = self._wanted or ListenAddress("127.0.0.1", self.addresses.usual_port)
        try:
            listener = await self._listening(wanted)
        except OSError as error:
            if self._wanted is not None:
                what = f"Cannot listen on {wanted.host} port {wanted.port}"
                hint = "Choose another port with --listen, or 0 for any."
                raise UserError(ErrorDetails(what, "", hint, error.strerror or "")) from error
            listener = await self._listening(ListenAddress(wanted.host, 0))
        self._listener = listener
        port = listener.extra(SocketAttribute.local_port)  # noqa: S610  # of anyio
        self.addresses.listening = ListenAddress(wanted.host, port)
        clock = Clock()
        fields = {
            "client": self._client,
            "pid": os.getpid(),
            "parent": os.getppid(),
            "transport": "http",
        }
        if self._script is not None:
            fields["script"] = self._script.name
        if self._requests_progress:
            fields["requests_progress"] = True
        if self._rewriter is not None:
            fields["rewrites_auth"] = True
        stamp = clock.wall(), clock.monotonic()
        self._journal = HttpJournal(
            self._folder, self._name, fields, stamp, self._report, self._settings
        )

    async def run(self, stop: anyio.Event) -> None:
        """Serve until `stop` is set, then end all connections and the recording."""
        listener, journal = self._listener, self._journal
        if listener is None or journal is None:
            raise anyio.ClosedResourceError
        changes = self._changes()
        recorder = TapRecorder(
            self._name,
            self.addresses,
            journal,
            self._report,
            changes=changes,
            sign_in=self._sign_in,
            rewrites_auth=self._rewriter is not None,
        )
        try:
            async with listener, anyio.create_task_group() as tasks:
                tasks.start_soon(recorder.run)
                tasks.start_soon(listener.serve, functools.partial(self._serve, recorder))
                await stop.wait()
                tasks.cancel_scope.cancel()
        finally:
            recorder.close()
            journal.close()
            await self._close_sign_in()

    async def _close_sign_in(self) -> None:
        for each in (self._sign_in, self._rewriter):
            if each is not None:
                with anyio.move_on_after(_CLOSE_S, shield=True):
                    await each.aclose()

    async def _begin_sign_in(self, wanted: SignInOptions) -> None:
        from mcp_progress_monitor.snapshots.definitions import HttpDefinition
        from mcp_progress_monitor.tap_http.sign_in import TapSignIn

        server = HttpDefinition(
            name=self._name, url=self._options.to, auth="oauth", oauth=wanted.client
        )
        self._sign_in = await TapSignIn.create(
            server, self._data_dir, self._report, wanted.lines_of
        )
        await self._sign_in.begin()

    def _new_rewriter(self) -> AuthRewriter:
        from mcp_progress_monitor.sessions.transport.http.oauth import needs_sdk

        with needs_sdk(self._name):
            from mcp_progress_monitor.tap_http.rewrite_auth import AuthRewriter

        return AuthRewriter.create(self.addresses, self._report)

    def _changes(self) -> HttpChanges | None:
        """The changes to what passes; nothing of them is loaded without any."""
        if self._script is not None:
            from mcp_progress_monitor.tap_http.faults import HttpFaults

            return HttpFaults(self._script)
        if self._requests_progress:
            from mcp_progress_monitor.tap_http.progress import HttpProgress

            return HttpProgress()
        return None

    async def _listening(self, address: ListenAddress) -> MultiListener[SocketStream]:
        return await anyio.create_tcp_listener(
            local_host=address.host, local_port=address.port, reuse_port=False
        )

    async def _serve(self, recorder: TapRecorder, stream: SocketStream) -> None:
        """Serve one connection; an internal error ends only that one."""
        try:
            await ProxyConnection(stream, recorder, self._rewriter).serve()
        except Exception as error:  # noqa: BLE001  # the others must go on
            text = formatting.one_line(f"{type(error).__name__}: {error}")
            self._report(f"A connection was closed because of an internal error: {text}")


def run_tap(options: TapOptions) -> int:
    """Run a tap until a signal ends it; returns the exit code. `UserError` if it cannot start."""
    tap = HttpTap(options, _report)
    anyio.run(_run, tap)
    return 0


async def _run(tap: HttpTap) -> None:
    with stop_on_signal() as stop:
        if not await _is_open(tap, stop):
            return
        sys.stdout.write(f"{tap.addresses.own}\n")
        sys.stdout.flush()
        _report(f"Use the URL above in the client. It forwards to {tap.addresses.shown}")
        if tap.change_text:
            _report(tap.change_text)
        state = _IS_OFF if tap.recording is None else f"Recording to {tap.recording}."
        _report(f"{state} {READY}")
        await tap.run(stop)


async def _is_open(tap: HttpTap, stop: anyio.Event) -> bool:
    """Open a tap, which may wait for the user to sign in; False if `stop` comes first."""
    failure: UserError | None = None
    is_open = False
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_cancel_at, stop, tasks.cancel_scope)
        try:
            await tap.open()
            is_open = True
        except UserError as error:  # raised below, not in a group
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return is_open


async def _cancel_at(stop: anyio.Event, scope: anyio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()


def _report(line: str) -> None:
    """Write a line for the user, unless standard error is closed."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{PROGRAM}: {formatting.visible(line)}\n")
        sys.stderr.flush()
