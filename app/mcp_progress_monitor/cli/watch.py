"""`watch`: the jobs of live taps, of other programs' recordings, or of one recording.

Recordings are the channel, as for the window: nothing is opened, and nothing is sent to a server.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor import paths
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.output.job_text import TaskLines, Violations
from mcp_progress_monitor.cli.output.stdout import StandardOutput
from mcp_progress_monitor.cli.output.text_front import LineMeter
from mcp_progress_monitor.cli.telemetry import telemetry_here
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import one_line, visible
from mcp_progress_monitor.imports.convert import as_recording
from mcp_progress_monitor.playback.following import Spool, followed_file, wait_for_header
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.recording.folder import LIVE, RecordingsFolder
from mcp_progress_monitor.recording.settings import FOLDER
from mcp_progress_monitor.signal_watch import stop_on_signal
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.cli.orders import WatchOrder
    from mcp_progress_monitor.cli.output.front import Front
    from mcp_progress_monitor.cli.output.live_jobs import Session
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.telemetry.telemetry import Telemetry
    from mcp_progress_monitor.tracker.snapshot import JobId
    from mcp_progress_monitor.tracker.tracker import Jobs

_SLICE_S: Final = 0.01  # reading in one go
_IDLE_S: Final = 0.1
_LEAST_PAUSE_S: Final = 0.2  # a screen is drawn no oftener: many small readings cost the most
_STDIN: Final = "-"


class Watch:
    """A session, with what it is called and how it is read."""

    def __init__(self, session: Engine | Playback, title: str) -> None:
        self.session: Final = session
        self.title: Final = title
        self.telemetry: Telemetry | None = None

    async def run(self) -> None:
        """Read until nothing more can come; a folder never ends."""
        async with anyio.create_task_group() as tasks:
            if self.telemetry is not None:
                tasks.start_soon(self.telemetry.run)
            await self._read()
            tasks.cancel_scope.cancel()

    def follow(self, telemetry: Telemetry | None) -> None:
        """Send telemetry of what is read, until it is closed."""
        self.telemetry = telemetry
        if telemetry is not None and isinstance(self.session, Engine):
            telemetry.follow_engine(self.session)
        elif telemetry is not None and isinstance(self.session, Playback):
            telemetry.follow_recording(self.session)

    async def _read(self) -> None:
        session = self.session
        if isinstance(session, Engine):
            async with session:
                await anyio.sleep_forever()
        else:
            while session.advance(_SLICE_S) or not session.is_ended:  # noqa: ASYNC110  # a file
                await anyio.sleep(_IDLE_S if session.is_following else 0)

    @property
    def errors(self) -> list[ErrorDetails]:
        """The errors of the recording, as far as it was read."""
        return [] if isinstance(self.session, Engine) else self.session.errors


class ServerLabels(Mapping["JobId", "str | int"]):
    """A job's number with its server and client: the label that lines show after its name."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._labels: dict[JobId, str] = {}

    def __getitem__(self, job: JobId) -> str:
        """Return the label, made when the job is first shown."""
        label = self._labels.get(job)
        if label is None:
            snapshot = self._jobs.snapshot(job)
            server = "" if snapshot is None else one_line(job_texts.server(snapshot), 40)
            label = self._labels[job] = f"{job} {server}".strip()
        return label

    def __iter__(self) -> Iterator[JobId]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)


class WatchLines:
    """Jobs as lines on standard output: a change at once, then once a second, and the end."""

    def __init__(self, output: StandardOutput, session: Session) -> None:
        labels = ServerLabels(session.jobs)
        self._meter = LineMeter(output, session.jobs, is_numbered=True, numbers=labels)
        self._violations = Violations(session.jobs, labels)
        self._tasks = TaskLines(session.jobs, labels)

    def on_update(self, update: Update) -> None:
        for line in (*self._violations.lines(update.changes), *self._tasks.lines(update)):
            self._meter.say(line)
        self._meter.on_changes(update.changes)

    async def animate(self) -> None:
        """Print what is due with time, until cancelled."""
        await self._meter.animate()

    def close(self) -> None:
        """Nothing is left to print."""


def watch_jobs(common: CommonOptions, order: WatchOrder) -> int:
    """Show jobs until the recording ends, the user quits, or a signal.

    `CommandFailed` with code 8 if the file cannot be read or is not a recording, or standard output
    cannot be written.
    """
    output = StandardOutput(sys.stdout)
    telemetry = telemetry_here() if order.otel else None
    with contextlib.ExitStack() as stack:
        watch = _opened(common, order, stack)
        watch.follow(telemetry)
        if not order.as_json and has_screen(output):
            from mcp_progress_monitor.cli.output.live_jobs import show_jobs

            anyio.run(show_jobs, watch.session, watch.title, watch.run)
        else:
            anyio.run(_print, watch, output, order.as_json)
            output.check()
        if telemetry is not None:
            telemetry.close()
        unsent = None if telemetry is None else telemetry.problem
        for error in (*watch.errors, *filter(None, (unsent,))):
            _say(error.as_text())
    return ExitCode.DONE


def _receive(address: str, data_dir: Path, stack: contextlib.ExitStack) -> None:
    from mcp_progress_monitor.imports.otlp_receiver import OtlpReceiver  # late: few receive

    with failing(ExitCode.USAGE):
        receiver = OtlpReceiver(address, data_dir, _say)
    stack.callback(receiver.close)
    _say(f"Listening for OpenTelemetry: OTEL_EXPORTER_OTLP_ENDPOINT={receiver.url}")


def _opened(common: CommonOptions, order: WatchOrder, stack: contextlib.ExitStack) -> Watch:
    if order.file is not None and order.otlp is not None:
        what = "--otlp records what is sent, so it takes no FILE"
        raise CommandFailed(ExitCode.USAGE, ErrorDetails(what, str(order.file)))
    if order.file is None:
        with failing(ExitCode.USAGE):
            folder = paths.data_dir(common.data_dir) / FOLDER
        if order.otlp is not None:
            _receive(order.otlp, folder.parent, stack)
        engine = Engine(watched=(folder / LIVE, folder), restores=False)
        engine.watched.least_pause_s = _LEAST_PAUSE_S
        return Watch(engine, f"live recordings in {folder}")
    if str(order.file) == _STDIN:
        with failing(ExitCode.UNWRITABLE):
            spool = Spool(sys.stdin.buffer, paths.data_dir(common.data_dir))
            stack.callback(spool.close)
            wait_for_header(spool.followed())
            return Watch(Playback(spool.path, spool.followed()), "standard input")
    with failing(ExitCode.UNWRITABLE):
        path = stack.enter_context(as_recording(order.file, _say))
        is_growing = path == order.file and _is_growing(path)
        playback = Playback(path, followed_file(path) if is_growing else None)
    return Watch(playback, str(order.file))


def _is_growing(path: Path) -> bool:
    return RecordingsFolder(path.parent).is_written(path)


def has_screen(output: StandardOutput) -> bool:
    """Return whether a screen can be drawn: a terminal in UTF-8 that can move its cursor.

    The screen is drawn on standard error, so that one in a file would stay black.
    """
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    is_dumb = os.environ.get("TERM", "") in {"dumb", "unknown"}
    streams = output, StandardOutput(sys.stdin), StandardOutput(sys.stderr)
    return all(each.is_terminal for each in streams) and encoding == "utf8" and not is_dumb


async def _print(watch: Watch, output: StandardOutput, as_json: bool) -> None:
    front = _events(watch, output) if as_json else WatchLines(output, watch.session)
    watch.session.subscribe(front.on_update)
    with stop_on_signal() as stop:
        async with anyio.create_task_group() as tasks:
            output.when_gone(tasks.cancel_scope.cancel)
            tasks.start_soon(front.animate)
            tasks.start_soon(_cancel_at, stop, tasks.cancel_scope)
            await watch.run()
            tasks.cancel_scope.cancel()
    front.close()


async def _cancel_at(stop: anyio.Event, scope: anyio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()


def _events(watch: Watch, output: StandardOutput) -> Front:
    from mcp_progress_monitor.cli.output.events import JsonEvents  # late, with the judge

    errors = StandardOutput(sys.stderr)
    session = watch.session
    return JsonEvents(output, errors, session, session.now(), names_servers=True, clock=session.now)


def _say(line: str) -> None:
    StandardOutput(sys.stderr).text(f"{visible(line, keep_line_ends=True)}\n")
