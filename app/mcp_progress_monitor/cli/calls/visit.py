"""Runs the engine for one command, with its recording and resume store, and handles signals."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import anyio

from mcp_progress_monitor.cli.asking.asker import NO_MEANS, Asker, WindowRules, means_of
from mcp_progress_monitor.cli.asking.terminal import Dialogue, HungUpError, terminal_of_user
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.options import SavedId
from mcp_progress_monitor.cli.output.front import Front, ServerNotices
from mcp_progress_monitor.cli.output.job_text import NUMBERS, Label
from mcp_progress_monitor.cli.output.results import answer_text, exact_outcome
from mcp_progress_monitor.cli.output.stdout import StandardOutput, own_command
from mcp_progress_monitor.cli.output.text_front import LineMeter, Meter, TextFront
from mcp_progress_monitor.cli.telemetry import telemetry_here
from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.path_checks import absolute
from mcp_progress_monitor.paths import chosen_data_dir, data_dir
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.secrets import shown_arguments, shown_url
from mcp_progress_monitor.recording.recorder import Recorder, check_new, recorder_for
from mcp_progress_monitor.secrets.system_keyring import SystemKeyring
from mcp_progress_monitor.sessions.transport.process_guard import guard
from mcp_progress_monitor.signal_watch import SignalWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.cli.asking.asker import AnswerMeans, RuledAnswer
    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.cli.options import Invocation
    from mcp_progress_monitor.cli.orders import WaitOrder
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.snapshots.limits import LogLevel
    from mcp_progress_monitor.snapshots.questions import Question
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot
    from mcp_progress_monitor.store.resumes import ResumeStore
    from mcp_progress_monitor.telemetry.telemetry import Telemetry
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot


class ResultFormat(NamedTuple):
    """Form in which the result of a reply is shown: as `text`, and in events as `exact` JSON."""

    text: Callable[[bytes], str] = answer_text
    exact: Callable[[bytes], str] = exact_outcome


USUAL_RESULT_FORMAT = ResultFormat()  # the format of tool results


def front_of(
    invocation: Invocation,
    output: StandardOutput,
    engine: Engine,
    *,
    as_json: bool,
    is_numbered: bool,
    numbers: Mapping[JobId, Label] = NUMBERS,
    result_format: ResultFormat = USUAL_RESULT_FORMAT,
    server_log: str | None = None,
    shows_jobs: bool = True,
) -> Front:
    """The front for calls: events on `output`, or progress on standard error.

    With `is_numbered`, jobs have numbers: their own, or those in `numbers`. Server log messages are
    shown from the level `server_log` on, by default the program's own log level. Without
    `shows_jobs`, text output has results only.
    """
    errors = StandardOutput(sys.stderr)
    if as_json:
        from mcp_progress_monitor.cli.output.events import JsonEvents  # late, with the judge

        return JsonEvents(output, errors, engine, invocation.started_at, result_format.exact)
    level = invocation.common.log_level or "warning"
    meter = _meter(errors, engine, numbers, is_numbered=is_numbered)
    return TextFront(
        output,
        errors,
        meter,
        engine,
        level,
        numbers if is_numbered else None,
        text_of=result_format.text,
        server_log=server_log,
        shows_jobs=shows_jobs,
    )


def _meter(
    errors: StandardOutput, engine: Engine, numbers: Mapping[JobId, Label], *, is_numbered: bool
) -> Meter:
    if errors.is_terminal and os.environ.get("TERM") != "dumb":
        from mcp_progress_monitor.cli.output.bars import BarMeter

        return BarMeter(engine.jobs, numbers=numbers)
    return LineMeter(errors, engine.jobs, is_numbered=is_numbered, numbers=numbers)


@contextlib.contextmanager
def early_failures(invocation: Invocation, *, as_json: bool) -> Iterator[None]:
    """Also write errors before the command starts as events, since scripts may read only those."""
    try:
        yield
    except CommandFailed as failure:
        if as_json:
            from mcp_progress_monitor.cli.output.events import elapsed, error_line, summary_line

            seconds = elapsed(time.monotonic() - invocation.started_at)
            error = error_line(seconds, None, "local", failure.details.as_text())
            summary = summary_line(seconds, 0, 0, 0, None)
            StandardOutput(sys.stdout).write(f"{error}{summary}".encode())
        raise


class SavedStore(NamedTuple):
    """A store that is not open yet, or the error that prevents one.

    With `restores`, the command works on the jobs in it.
    """

    store: ResumeStore | None = None
    error: ErrorDetails | None = None
    restores: bool = False


NOTHING_SAVED = SavedStore()  # for commands that neither save nor resume anything


def saved_jobs(common: CommonOptions, *, restores: bool = False) -> SavedStore:
    """The store in the folder that `--data-dir` names; never raises."""
    from mcp_progress_monitor.store.resumes import ResumeStore  # late: a list of tools saves none

    try:
        return SavedStore(ResumeStore(data_dir(common.data_dir)), restores=restores)
    except UserError as error:
        return SavedStore(error=error.details)


class SessionRecording(NamedTuple):
    """A recorder that has written nothing yet, and the error that prevents recording, if any.

    `folder` is the data folder, which may not exist; sign-ins are kept in it.
    """

    recorder: Recorder
    error: ErrorDetails | None = None
    folder: Path | None = None


def session_recorder(common: CommonOptions) -> SessionRecording:
    """The recorder of a command's session.

    `CommandFailed` with code 2 if the `--record` file cannot be used. Without that option, a
    session that cannot be recorded runs anyway.
    """
    record, clock = named_record(common), Clock()
    kept = None
    try:
        kept = chosen_data_dir(common.data_dir)
        folder = data_dir(common.data_dir) if record is None else None
    except UserError as error:
        return SessionRecording(Recorder(clock=clock), error.details, kept)
    return SessionRecording(*recorder_for(folder, record, clock), kept)


def named_record(common: CommonOptions) -> Path | None:
    """The absolute path of the `--record` file; `CommandFailed` as above."""
    if common.record is None:
        return None
    with failing(ExitCode.USAGE):
        return check_new(common.record)


LAST_S: Final = 2.0  # how long the command may take to end after a request to exit immediately
_NOTIFY_S: Final = 0.2  # how long to wait for a busy loop before the servers are ended


class Interrupts:
    """Turns signals into two events, within a `with` block inside a running event loop.

    `polite` is set by the first Ctrl+C, `firm` by the second or by SIGTERM or SIGHUP. A thread
    receives the signals (see `SignalWatch`): the loop may be busy, or blocked by a reader of our
    output. A command that does not exit within `LAST_S` after `firm`, or at the next signal, is
    ended here.
    """

    def __init__(
        self, output: StandardOutput, end_all: Callable[[], None], divert: Callable[[], bool]
    ) -> None:
        """`end_all` ends the servers' processes immediately, from any thread, and never raises.

        `divert` is called in a thread for each Ctrl+C before the first that counts, and returns
        whether it has handled that one.
        """
        self._output = output
        self._end_all = end_all
        self._count = 0
        self._is_leaving = False
        self._is_notified = threading.Event()
        self._left = threading.Event()
        self._signals = SignalWatch(self._on_signal)
        self._divert = divert
        self.polite = anyio.Event()
        self.firm = anyio.Event()

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._signals.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self._left.set()
        self._signals.__exit__(*details)

    def _on_signal(self, number: signal.Signals) -> None:
        if number is signal.SIGINT and not self._count and self._divert():
            return
        self._count += 1 if number is signal.SIGINT else 2
        if self._count > 1:
            self._output.hurry()
            if self._is_leaving or self._output.is_stuck:
                self._leave()
            self._is_leaving = True
            threading.Thread(target=self._leave_late, name="leaving", daemon=True).start()
        with contextlib.suppress(RuntimeError):  # the loop is closed: the command has ended
            self._loop.call_soon_threadsafe(self._notify)
        if self._is_leaving:
            # The loop must be notified first, or it reports the servers' exits as crashes.
            self._is_notified.wait(_NOTIFY_S)
            self._end_all()

    def _notify(self) -> None:
        self.polite.set()
        if self._is_leaving:
            self.firm.set()
            self._is_notified.set()

    def _leave_late(self) -> None:
        """Exit unless the command ends in time."""
        if not self._left.wait(LAST_S):
            self._leave()

    def _leave(self) -> None:
        """Exit the process from this thread: the main thread is blocked."""
        self._end_all()
        _show_cursor()
        os._exit(ExitCode.CANCELLED)


def _show_cursor() -> None:
    with contextlib.suppress(OSError):
        if os.isatty(2):
            os.write(2, b"\x1b[?25h\n")


_NAME: Final = 60  # characters of the name of a server or secret
_RECHECK_S = 0.1  # how often to look for jobs and attempts that started after Ctrl+C

_CANCEL_GRACE_S = 1.0
"""Most servers never reply to a cancelled request, as the specification requires.

Deadlines are checked once a second, so an interrupted command waits at most two seconds for them.
"""


class EngineCommand:
    """A command's work with the engine that `run_visit` opens for it."""

    output: StandardOutput
    level = "warning"  # the lowest level of messages to show
    restores = False  # whether it starts with the saved jobs
    means: AnswerMeans = NO_MEANS  # how questions of servers are answered
    lists: frozenset[str] = frozenset({"tools"})
    """The lists to read once a server is connected.

    Others are not read and changes are not subscribed to, so that no message of ours comes between
    a request and its reply.
    """
    server_log: LogLevel | None = None  # the level of log messages to ask servers for
    telemetry: Telemetry | None = None

    def make_front(self, engine: Engine) -> Front:
        """By default, progress and messages are lines on standard error."""
        stderr = StandardOutput(sys.stderr)
        meter = LineMeter(stderr, engine.jobs, is_numbered=False)
        return TextFront(self.output, stderr, meter, engine, self.level)

    async def work(self, engine: Engine) -> ExitCode:
        raise NotImplementedError

    def owns(self, _job: JobId) -> bool:
        """Return whether a job belongs to this command, so that Ctrl+C cancels it."""
        return True

    def left(self) -> list[SavedId]:
        """The IDs to pass to `resume`; called after everything is closed."""
        return []


class OrderedCommand(EngineCommand):
    """A command with the answers, log level and output format of its order."""

    def __init__(self, order: WaitOrder, invocation: Invocation) -> None:
        self.means = means_of(order.answer, as_json=order.as_json)
        self.server_log = order.server_log
        self.telemetry = telemetry_here() if order.otel else None
        self.output = StandardOutput(sys.stdout)
        self._invocation = invocation
        self._as_json = order.as_json

    def _front_of(self, engine: Engine, **how: Any) -> Front:
        """The front for its jobs: events, bars or lines (see `front_of`)."""
        self._front = front_of(
            self._invocation,
            self.output,
            engine,
            as_json=self._as_json,
            server_log=self.server_log,
            **how,
        )
        return self._front


def run_visit(
    command: EngineCommand, recorded: SessionRecording, saved: SavedStore = NOTHING_SAVED
) -> ExitCode:
    """Run a command's `work` with an engine that records and saves resume tokens.

    `CommandFailed` if its work raises it, or if standard output cannot be written. The servers'
    processes have ended in any case.
    """
    visit = Visit(command, recorded, saved)
    anyio.run(visit.run)
    return visit.exit_code()


async def connected(engine: Engine, definition: ServerDefinition) -> ServerSnapshot:
    """Add a server to the engine and connect it; `CommandFailed` if it cannot be connected."""
    with failing(ExitCode.NOT_CONNECTED):
        name = engine.servers.add(definition)
        return await engine.servers.connect(name)


class Visit:
    """One command from start to end; call `run` once, then `exit_code`."""

    def __init__(
        self, command: EngineCommand, recorded: SessionRecording, saved: SavedStore
    ) -> None:
        self._command = command
        self._output = command.output
        self._recorded = recorded
        self._saved = saved
        self._uncancelled: set[JobId] = set()
        self._reported: set[ErrorDetails] = set()
        self._rules = WindowRules(recorded.folder, command.means.answers, command.server_log)
        self._engine = Engine(
            store=saved.store,
            restores=saved.restores,
            cancel_grace_s=_CANCEL_GRACE_S,
            recorder=recorded.recorder,
            settings=self._rules,
            keyring=SystemKeyring(),
            prompt=None if terminal_of_user() is None else self._ask_secrets,
            folder=recorded.folder,
            lists=command.lists,
            follows_lists=False,
        )
        self._code = ExitCode.CANCELLED
        self._failure: CommandFailed | None = None
        self._defect: Exception | None = None

    async def run(self) -> None:
        """Open, work, close; interruptible at every point."""
        front = self._front = self._command.make_front(self._engine)
        asker = self._asker = Asker(
            self._engine.questions,
            self._engine.jobs.snapshot,
            front,
            self._command.means,
            self._ruled,
        )
        try:
            with Interrupts(self._output, guard.end_all, asker.interrupt) as interrupts:
                async with anyio.create_task_group() as group:
                    scope = anyio.CancelScope()
                    self._output.when_gone(scope.cancel)
                    group.start_soon(self._attend, interrupts, scope, front)
                    async with self._engine as engine:
                        engine.subscribe(self._listener(front, scope))
                        engine.subscribe(asker.on_update)
                        engine.subscribe(ServerNotices(engine, front).on_update)
                        self._warn(front)
                        self._follow(group, engine)
                        with scope:
                            await self._work_shown(front)
                    self._warn(front)
                    self._close_telemetry(front)
                    group.cancel_scope.cancel()
        finally:
            front.close()

    def _follow(self, group: TaskGroup, engine: Engine) -> None:
        telemetry = self._command.telemetry
        if telemetry is not None:
            telemetry.follow_engine(engine)
            group.start_soon(telemetry.run)

    def _close_telemetry(self, front: Front) -> None:
        """Send what is left, and report once what could not be sent."""
        telemetry = self._command.telemetry
        if telemetry is not None:
            telemetry.close()
            if telemetry.problem is not None:
                front.warn(telemetry.problem)

    async def _ask_secrets(self, server: str, names: Sequence[str]) -> dict[str, str] | None:
        """Ask on the terminal for secrets of a server; None at the end of input."""
        keyboard = terminal_of_user()
        if keyboard is None:
            return None
        dialogue = Dialogue(StandardOutput(sys.stderr), keyboard)
        with self._front.quiet(), contextlib.suppress(HungUpError):
            dialogue.begin(f"To connect, {one_line(server, _NAME)} needs:")
            entered = await dialogue.ask_secrets(one_line(name, _NAME) for name in names)
            return dict(zip(names, entered, strict=True))
        return None

    def exit_code(self) -> ExitCode:
        """The exit code; raises `CommandFailed` if the command failed."""
        if self._defect is not None:
            raise self._defect
        self._output.check()
        if self._failure is not None:
            raise self._failure
        return self._code

    def _ruled(self, question: Question) -> RuledAnswer | None:
        """The rule for a question, looked up by its server's fingerprint."""
        definition = self._engine.servers.snapshot(question.server).definition
        return self._rules.automatic(definition.fingerprint, question.kind)

    def _listener(self, front: Front, scope: anyio.CancelScope) -> Callable[[Update], None]:
        """Pass updates to the front; an internal error there ends the command.

        The recording is flushed before anything is printed.
        """

        def listen(update: Update) -> None:
            if self._defect is None:
                try:
                    self._recorded.recorder.flush()
                    front.on_update(update)
                except Exception as error:  # noqa: BLE001 - raised again in exit_code()
                    self._defect = error
                    scope.cancel()

        return listen

    async def _work_shown(self, front: Front) -> None:
        async with anyio.create_task_group() as animation:
            animation.start_soon(front.animate)
            animation.start_soon(self._asker.run)
            try:
                self._code = await self._command.work(self._engine)
            except CommandFailed as failure:
                self._failure = failure
                front.fail(failure)
            else:
                self._asker.report_unused()
            animation.cancel_scope.cancel()

    def _warn(self, front: Front) -> None:
        """Warn once if resume tokens or the recording cannot be saved; the command continues."""
        saved = (self._saved.error, self._engine.resumer.error)
        recorded = (self._recorded.error, self._recorded.recorder.error)
        for error in (*saved, *recorded, self._rules.error):
            if error is not None and error not in self._reported:
                self._reported.add(error)
                front.warn(error)

    async def _attend(self, interrupts: Interrupts, scope: anyio.CancelScope, front: Front) -> None:
        """Handle Ctrl+C: cancel running jobs and wait for them, or exit if there are none.

        The second time, `Interrupts` has already ended the servers' processes.
        """
        await interrupts.polite.wait()
        self._asker.stop()
        if interrupts.firm.is_set():
            front.terminate()
        elif self._busy():
            front.interrupt()
        else:
            scope.cancel()
        while not interrupts.firm.is_set():
            for job in self._busy():
                await self._cancel(job.id, front)
            with anyio.move_on_after(_RECHECK_S):
                await interrupts.firm.wait()
        self._engine.tasks.leave()  # they keep running on their servers
        front.leave()  # before the loop learns that the servers' processes have ended
        scope.cancel()

    async def _cancel(self, job: JobId, front: Front) -> None:
        """Cancel a job (again has no effect); warn if that is not possible."""
        if job in self._uncancelled:
            return
        try:
            await self._engine.calls.cancel(job)
        except UserError as error:
            self._uncancelled.add(job)
            front.warn(error.details)

    def _busy(self) -> list[JobSnapshot]:
        found = map(self._engine.jobs.snapshot, self._engine.jobs.ids())
        return [
            job
            for job in found
            if job is not None
            and job.sender is Side.CLIENT
            and self._command.owns(job.id)
            and (job.task is None or job.task.is_followed)
            and (not job.state.is_over or job.next_attempt_at is not None)
        ]


def run_resumable(
    command: EngineCommand, common: CommonOptions, recorded: SessionRecording
) -> ExitCode:
    """Run a command with the resume store; at the end, print how to resume its jobs.

    This applies however it stopped: after an attempt, by Ctrl+C, or because its output was closed.
    """
    code = ExitCode.CANCELLED
    left: list[SavedId] = []
    saved = saved_jobs(common, restores=command.restores)
    try:
        code = run_visit(command, recorded, saved)
    finally:
        left = command.left()
        if left:
            server = _server_of(common) if command.restores else ()
            show_resume_command(StandardOutput(sys.stderr), left, common.data_dir, server)
    return ExitCode.RESUMABLE if left and code is ExitCode.CANCELLED else code


def resumable_ids(engine: Engine, jobs: Iterable[JobId]) -> list[SavedId]:
    return [saved for job in jobs if (saved := _saved_id(engine, job)) is not None]


def _saved_id(engine: Engine, job: JobId) -> SavedId | None:
    found, task = engine.jobs.snapshot(job), engine.tasks.saved_id(job)
    if task is not None:
        return SavedId(task, is_task=True)
    if found is None or found.chain is None or not found.can_resume:
        return None
    return SavedId(found.chain)


def show_resume_command(
    errors: StandardOutput,
    ids: Sequence[SavedId],
    data_dir: Path | None,
    server: Sequence[str] = (),
) -> None:
    """Print how to resume, with the command on its own line."""
    command = f"  {resume_command(ids, data_dir, server)}\n"
    if all(each.is_task for each in ids):
        what = "The task" if len(ids) == 1 else f"{len(ids)} tasks"
        errors.text(
            f"{what} may still be running on the server. To wait for the result:\n{command}"
        )
        return
    what = "The job stopped" if len(ids) == 1 else f"{len(ids)} jobs stopped"
    errors.text(f"{what} but can be resumed. To resume:\n{command}")


def _server_of(common: CommonOptions) -> tuple[str, ...]:
    """The options that name a server, which is not saved with a job; secrets are shown as `***`."""
    named = {
        "--url": common.url and shown_url(common.url),
        "--config": common.config and absolute(common.config),
        "--server": common.server,
        "--cwd": common.cwd and absolute(common.cwd),
    }
    given = [word for option in named.items() if option[1] for word in map(str, option)]
    command = () if common.command is None else ("--", *shown_arguments(common.command))
    return (*(["--demo"] if common.demo else []), *given, *command)


def resume_command(
    ids: Sequence[SavedId], data_dir: Path | None, server: Sequence[str] = ()
) -> str:
    """The command line, quoted for the user's shell, with the folder the user chose if any.

    `server` are the options of another server than the original one.
    """
    arguments = ["resume", *map(str, ids)]
    if data_dir is not None:
        arguments += ["--data-dir", str(absolute(data_dir))]
    return own_command(*arguments, *server)
