"""A session with a server, made step by step by a test, recorded, and checked by the rules.

Without an event loop for its user: the engine runs in a thread of its own.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio
from anyio.from_thread import start_blocking_portal

from mcp_progress_monitor import __version__
from mcp_progress_monitor.checking.report import (
    UNTESTED,
    Baseline,
    CheckedFile,
    Report,
    ReportedResult,
)
from mcp_progress_monitor.checking.results import SEVERITIES
from mcp_progress_monitor.checking.text import as_text
from mcp_progress_monitor.cli.check import RecordingCheck
from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.findings.finding import Level
from mcp_progress_monitor.formatting import size
from mcp_progress_monitor.paths import APPLICATION
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.messages import CALL_TOOL
from mcp_progress_monitor.protocol.peer import AUTO
from mcp_progress_monitor.recording.recorder import Recorder, check_new
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.tracker.snapshot import Failure, JobState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from anyio.from_thread import BlockingPortal

    from mcp_progress_monitor.engine.call import Outcome
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.protocol.peer import TokenChoice

LevelName = Literal["error", "warning", "note"]

_CALL_S: Final = 60.0
_CONNECT_S: Final = 15.0
_CANCEL_GRACE_S: Final = 1.0
_CHECK_S: Final = 60.0  # how long checking a recording may take
_MOST_BYTES: Final = 1_000_000_000
_CANCEL_WHY: Final = "The test cancels this call"


class CallFailed(Exception):  # noqa: N818  # reads as what happened
    """A call had no result: the server answered with an error, or not at all.

    `code` and `data` are those of the JSON-RPC error, None where there was none.
    """

    def __init__(self, method: str, failure: Failure | None, state: str) -> None:
        self.code = None if failure is None else failure.code
        self.data = None if failure is None else failure.data
        code = "" if self.code is None else f" (code {self.code})"
        super().__init__(f"{method} {state}: {failure.message if failure else 'no answer'}{code}")


class CheckedRecording:
    """A recording, checked again for each request of its findings, since it may still grow."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def findings(self, level: LevelName = "note") -> tuple[ReportedResult, ...]:
        """Return the findings of this level and graver, in the order of the recording.

        `UserError` if no rule could be tested, which proves nothing.
        """
        return tuple(each for each in self._file().results if _has_error(each, level))

    def assert_no_findings(self, level: LevelName = "error", ignore: Collection[str] = ()) -> None:
        """Fail with the report of `check` if anything of this level or graver was found.

        `ignore` has the ids of rules that are not looked at. `AssertionError` otherwise.
        """
        __tracebackhide__ = True
        if isinstance(ignore, str):
            ignore = (ignore,)
        file = self._file()
        grave = tuple(
            each for each in file.results if each.rule not in ignore and _has_error(each, level)
        )
        if grave:
            kept = file._replace(results=grave)
            report = Report(APPLICATION, __version__, (kept,), Level(level))
            raise AssertionError(f"The session breaks rules of MCP\n\n{as_text(report)}")

    def _file(self) -> CheckedFile:
        """All that is found in the recording, as far as it was written.

        Warns if that takes too long: then the rest is not checked.
        """
        playback = Playback(self.path)
        check = RecordingCheck(playback, Baseline())
        unread = check.run(_CHECK_S)
        if unread:
            warnings.warn(f"{self.path.name}: {unread}", stacklevel=3)
        file = check.file(self.path.name, check.judge.results)
        if not (unread or file.tested):
            raise UserError(ErrorDetails("Nothing was tested", str(self.path), f"{UNTESTED}."))
        return file


class CheckedSession(CheckedRecording):
    """A server that runs, and the recording of all that it and we say.

    Every method waits for its end. Questions of the server are not answered.
    """

    def __init__(
        self, path: Path, portal: BlockingPortal, engine: Engine, server: str, most_bytes: int
    ) -> None:
        """`server` is connected in `engine`, which runs in the loop of `portal`.

        It is disconnected when more than `most_bytes` were recorded.
        """
        super().__init__(path)
        self._portal = portal
        self._engine = engine
        self._server = server
        self._is_open = True
        self._most_bytes = most_bytes
        self._is_full = False

    @property
    def tools(self) -> tuple[str, ...]:
        snapshot = self._portal.call(self._engine.servers.snapshot, self._server)
        return tuple(tool.name for tool in snapshot.tools)

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        token: TokenChoice = AUTO,
        timeout_s: float = _CALL_S,
    ) -> dict[str, Any]:
        """Call a tool; returns its result, also one with `isError`. `CallFailed` without one.

        `token` is the progress token to use, a string or an integer; None sends none.
        """
        params = {"name": tool, "arguments": dict(arguments or {})}
        return self.request(CALL_TOOL, params, token=token, timeout_s=timeout_s)

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        token: TokenChoice = None,
        timeout_s: float = _CALL_S,
    ) -> dict[str, Any]:
        """Send any request; returns its result. `CallFailed` without one."""
        if failure := self._overflow():
            raise CallFailed(method, failure, JobState.FAILED.value)
        call = self._call(method, params, token, timeout_s)
        outcome = self._portal.call(self._engine.calls.make, call)
        if outcome.result is None:
            failure = self._overflow() or outcome.failure
            raise CallFailed(method, failure, outcome.state.value)
        return dict(outcome.result)

    def cancel(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, after_s: float = 0.2
    ) -> bool:
        """Call a tool and cancel the call after a time; whether it came to that.

        False if the call was over before.
        """
        params = {"name": tool, "arguments": dict(arguments or {})}
        outcome = self._portal.call(
            self._cancelled, self._call(CALL_TOOL, params, AUTO, _CALL_S), after_s
        )
        return outcome.state is JobState.CANCELLED

    def close(self) -> None:
        """Disconnect the server and wait until it exits, which may add findings."""
        if self._is_open:
            self._is_open = False
            self._portal.call(self._engine.servers.disconnect, self._server)

    async def end_flood(self) -> None:
        """Disconnect the server once too much was recorded."""
        overflown = anyio.Event()

        def note(_update: Update) -> None:
            if self._engine.recording.size > self._most_bytes:
                overflown.set()

        unsubscribe = self._engine.subscribe(note)
        try:
            await overflown.wait()
            self._is_full = True
            await self._engine.servers.disconnect(self._server)
        finally:
            unsubscribe()

    def _overflow(self) -> Failure | None:
        """Say why no call can succeed any more; None if it can."""
        if not self._is_full:
            return None
        what = f"More than {size(self._most_bytes)} were recorded, and the server was disconnected"
        return Failure("local", what)

    def _call(
        self, method: str, params: Mapping[str, Any] | None, token: TokenChoice, timeout_s: float
    ) -> Call:
        return Call(
            self._server,
            method,
            dict(params or {}),
            token,
            idle_timeout_s=0,
            total_timeout_s=timeout_s,
        )

    async def _cancelled(self, call: Call, after_s: float) -> Outcome:
        engine, begun = self._engine, anyio.Event()
        known = frozenset(engine.jobs.ids())

        def note_begun(_update: Update) -> None:
            if not known.issuperset(engine.jobs.ids()):
                begun.set()

        async def cancel_later() -> None:
            await anyio.sleep(after_s)
            await begun.wait()
            for job in set(engine.jobs.ids()) - known:
                await engine.calls.cancel(job, _CANCEL_WHY)

        unsubscribe = engine.subscribe(note_begun)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(cancel_later)
                outcome = await engine.calls.make(call)
                group.cancel_scope.cancel()
        finally:
            unsubscribe()
        return outcome

    def _file(self) -> CheckedFile:
        if not self._is_open:
            return super()._file()
        # What was said so far is judged, in the engine's own thread: meanwhile nothing is read, and
        # a server that floods us has to wait.
        self._portal.call(self._engine.recording.flush)
        return self._portal.call(super()._file)


class SessionCheck:
    """Starts servers and checks their sessions, or checks recordings that exist."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def __call__(
        self,
        command: Sequence[str | os.PathLike[str]],
        *,
        name: str = "server",
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        era: Literal["auto", "handshake", "per-request"] = "auto",
        connect_timeout_s: float = _CONNECT_S,
        record: str | os.PathLike[str] | None = None,
        most_bytes: int = _MOST_BYTES,
    ) -> Iterator[CheckedSession]:
        """Run a server over stdio within a `with` block; it is ended behind it.

        `env` is added to the environment. `record` is a new file to record to instead of one in
        pytest's folder. A server is disconnected when more than `most_bytes` were recorded.
        `UserError` if the server cannot be started or connected.
        """
        first, *args = [os.fspath(word) for word in command]
        definition = StdioDefinition(
            name=name,
            command=first,
            args=tuple(args),
            cwd=None if cwd is None else os.fspath(cwd),
            env=dict(env or {}),
            era=era,
            connect_timeout_s=connect_timeout_s,
        )
        path = check_new(self._new_path() if record is None else Path(record))
        clock = Clock()
        engine = Engine(
            clock,
            recorder=Recorder(path, clock=clock),
            cancel_grace_s=_CANCEL_GRACE_S,
            restores=False,
            lists=frozenset({"tools"}),
            follows_lists=False,
        )
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(engine):
            server = portal.call(engine.servers.add, definition)
            portal.call(engine.servers.connect, server)
            session = CheckedSession(path, portal, engine, server, most_bytes)
            watch = portal.start_task_soon(session.end_flood)
            try:
                yield session
            finally:
                session.close()
                watch.cancel()

    def recording(self, path: str | os.PathLike[str]) -> CheckedRecording:
        """A recording that exists, of this program or of a tap. `UserError` when asked, if not."""
        return CheckedRecording(Path(path))

    def _new_path(self) -> Path:
        number = 1
        while (path := self._folder / f"session-{number}.mcprec").exists():
            number += 1
        return path


def _has_error(result: ReportedResult, level: LevelName) -> bool:
    return SEVERITIES.index(result.level) <= SEVERITIES.index(Level(level))
