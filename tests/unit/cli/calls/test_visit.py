"""A command's course with one server: reported to its front, ended cleanly, whatever happens."""

import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import anyio
import pytest

from mcp_progress_monitor.cli.calls import visit
from mcp_progress_monitor.cli.calls.visit import (
    EngineCommand,
    SavedStore,
    SessionRecording,
    connected,
    run_visit,
)
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.output.front import Front
from mcp_progress_monitor.cli.output.stdout import StandardOutput
from mcp_progress_monitor.engine.call import Outcome
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.secrets.references import Keyring
from mcp_progress_monitor.secrets.system_keyring import SystemKeyring
from mcp_progress_monitor.sessions.settings_file import SettingsFile
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.questions import Question
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, SignIn
from mcp_progress_monitor.store.resumes import ResumeStore
from mcp_progress_monitor.tracker.snapshot import JobId

DEFINITION = StdioDefinition(name="demo", command="unused")


class FakeEngine:
    """A monitor whose one server connects at once, or does not; it publishes one update."""

    error: ErrorDetails | None = None
    token_error: ErrorDetails | None = None
    error_at_end: ErrorDetails | None = None

    def __init__(
        self,
        *,
        store: ResumeStore | None,
        restores: bool,
        cancel_grace_s: float,
        recorder: Recorder,
        settings: SettingsFile,
        keyring: Keyring,
        prompt: object,
        folder: Path | None,
        lists: frozenset[str],
        follows_lists: bool,
    ) -> None:
        self.recording = recorder
        self.servers = SimpleNamespace(add=self.add, connect=self.connect, snapshots=list)
        self.questions = SimpleNamespace(open=list, find=lambda _question: None)
        self.tasks = SimpleNamespace(leave=lambda: None)
        self.jobs = SimpleNamespace(snapshot=lambda _job: None)
        assert settings.error is None
        assert isinstance(keyring, SystemKeyring)
        assert prompt is None  # there is no terminal
        assert folder is None
        assert lists == {"tools"}
        assert not follows_lists
        assert not restores
        assert cancel_grace_s <= 1
        assert store is None
        self._listeners: list[Callable[[Update], None]] = []
        self.is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.is_closed = True
        self.token_error = self.error_at_end or self.token_error

    def subscribe(self, listener: Callable[[Update], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return self._listeners.clear

    @property
    def resumer(self) -> SimpleNamespace:
        return SimpleNamespace(error=self.token_error)

    def add(self, definition: StdioDefinition) -> str:
        return definition.name

    async def connect(self, name: str) -> ServerSnapshot:
        for listener in self._listeners:
            listener(Update())
        if self.error is not None:
            raise UserError(self.error)
        await anyio.lowlevel.checkpoint()
        return ServerSnapshot(name=name, definition=DEFINITION)


class NotedFront(Front):
    """Notes each call, in order."""

    def __init__(self, error: Exception | None = None) -> None:
        self.reported: list[str] = []
        self._error = error

    def on_update(self, update: Update) -> None:
        self.reported.append(f"update of {len(update.frames)}")
        if self._error is not None:
            raise self._error

    def show(self, outcome: Outcome) -> None:
        raise AssertionError(outcome)

    def fail(self, failure: CommandFailed) -> None:
        self.reported.append(f"failed: {failure.details.what}")

    def decline(self, job: JobId, error: ErrorDetails) -> None:
        raise AssertionError(error)

    def warn(self, error: ErrorDetails) -> None:
        self.reported.append(f"warned: {error.what}")

    def note(self, line: str) -> None:
        self.reported.append(f"noted: {line}")

    def quiet(self) -> AbstractContextManager[None]:
        raise AssertionError("nobody is asked")

    def report_answer(self, question: Question, action: str, text: str) -> None:
        raise AssertionError(question)

    def report_sign_in(self, sign_in: SignIn) -> None:
        self.reported.append(f"sign in to {sign_in.server}: {sign_in.url}")

    def interrupt(self) -> None:
        raise AssertionError("nobody interrupts")

    def terminate(self) -> None:
        self.reported.append("terminated")

    def leave(self) -> None:
        if self.reported == ["terminated"]:
            return
        raise AssertionError("nobody leaves")

    async def animate(self) -> None:
        await anyio.sleep_forever()

    def close(self) -> None:
        self.reported.append("closed")


@pytest.fixture(autouse=True)
def _fake_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit, "Engine", FakeEngine)


def go(
    front: Front, work: Any = None, output: StandardOutput | None = None, **more: Any
) -> ExitCode:
    async def done(engine: Engine) -> ExitCode:
        await connected(engine, DEFINITION)
        return ExitCode.ANSWERED_ERROR

    command, recorded = EngineCommand(), more.pop("recorded", SessionRecording(Recorder()))
    command.output = output or StandardOutput(None)
    shows: Any = {"make_front": lambda _engine: front, "work": work or done}
    vars(command).update(shows)
    return run_visit(command, recorded, **more)


def test_what_cannot_be_recorded_is_reported_once_and_keeps_nothing_from_going_on() -> None:
    front, error = NotedFront(), ErrorDetails("The disk is full", "/recordings")
    recorder = Recorder()
    recorder.error = error
    assert go(front, recorded=SessionRecording(recorder, error)) is ExitCode.ANSWERED_ERROR
    assert front.reported == ["warned: The disk is full", "update of 0", "closed"]


@pytest.mark.skipif(os.name == "nt", reason="os.kill ends the test run on Windows")
def test_a_signal_to_end_is_not_taken_for_ctrl_c() -> None:
    async def asked_to_end(engine: Engine) -> ExitCode:
        os.kill(os.getpid(), signal.SIGTERM)
        await anyio.sleep_forever()
        return ExitCode.DONE

    front = NotedFront()
    assert go(front, asked_to_end) is ExitCode.CANCELLED
    assert front.reported == ["terminated", "closed"]


def test_the_works_code_is_the_commands() -> None:
    front = NotedFront()
    assert go(front) is ExitCode.ANSWERED_ERROR
    assert front.reported == ["update of 0", "closed"]


def test_a_failed_connection_is_reported_to_the_front_and_to_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(FakeEngine, "error", ErrorDetails("It does not start"))
    front = NotedFront()
    with pytest.raises(CommandFailed) as caught:
        go(front)
    assert caught.value.code is ExitCode.NOT_CONNECTED
    assert front.reported == ["update of 0", "failed: It does not start", "closed"]


def test_a_defect_in_showing_ends_the_command_and_is_not_swallowed() -> None:
    front = NotedFront(ValueError("our mistake"))

    async def work(engine: Engine) -> ExitCode:
        await connected(engine, DEFINITION)
        await anyio.sleep_forever()
        return ExitCode.DONE

    with pytest.raises(ValueError, match="our mistake"):
        go(front, work)
    assert front.reported == ["update of 0", "closed"]


def test_a_defect_in_the_work_is_not_swallowed() -> None:
    front = NotedFront()

    async def work(_engine: Engine) -> ExitCode:
        raise KeyError("our mistake")

    with pytest.raises(ExceptionGroup):
        go(front, work)
    assert front.reported[-1] == "closed"


def test_a_reader_that_leaves_ends_the_work() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        output = StandardOutput(stream)

        async def work(_engine: Engine) -> ExitCode:
            output.write(b"x")
            await anyio.sleep_forever()
            return ExitCode.DONE

        assert go(NotedFront(), work, output) is ExitCode.CANCELLED


def test_what_is_wrong_with_the_store_is_reported_once_and_the_work_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = ErrorDetails("The disk is full")
    monkeypatch.setattr(FakeEngine, "token_error", error)
    monkeypatch.setattr(FakeEngine, "error_at_end", error)
    front = NotedFront()
    assert go(front) is ExitCode.ANSWERED_ERROR
    assert front.reported == ["warned: The disk is full", "update of 0", "closed"]


def test_what_goes_wrong_with_the_store_later_is_reported_before_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(FakeEngine, "error_at_end", ErrorDetails("The disk is full"))
    front = NotedFront()
    go(front, saved=SavedStore(error=ErrorDetails("No folder")))
    assert front.reported == [
        "warned: No folder",
        "update of 0",
        "warned: The disk is full",
        "closed",
    ]
