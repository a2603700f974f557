"""The interface of a command's output, and the notices while servers connect."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.wording.servers import waiting_text

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mcp_progress_monitor.cli.exits import CommandFailed
    from mcp_progress_monitor.engine.call import Outcome
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.snapshots.questions import Question
    from mcp_progress_monitor.snapshots.servers import SignIn, Waiting
    from mcp_progress_monitor.tracker.snapshot import JobId


class Front:
    """The output of a command that is connected to a server: `JsonEvents` or `TextFront`."""

    def on_update(self, update: Update) -> None:
        """Show an update of the engine: one chunk of frames."""

    def show(self, outcome: Outcome) -> None:
        """Show how one call ended."""

    def fail(self, failure: CommandFailed) -> None:
        """Show why the command failed."""

    def decline(self, job: JobId, error: ErrorDetails) -> None:
        """Show why one job cannot be resumed; others continue."""

    def warn(self, error: ErrorDetails) -> None:
        """Show an error that does not stop the command."""

    def note(self, line: str) -> None:
        """Print a note to standard error."""

    def quiet(self) -> AbstractContextManager[None]:
        """Print nothing to the terminal while the user is asked a question."""
        return contextlib.nullcontext()

    def report_answer(self, question: Question, action: str, text: str) -> None:
        """Show how a question was answered without the user, and why.

        `action` is accept, decline, cancel, result or refuse.
        """

    def report_sign_in(self, sign_in: SignIn) -> None:
        """Show the URL at which the user must sign in; it is not opened."""

    def interrupt(self) -> None:
        """Show that calls are being cancelled, which may take a while."""

    def terminate(self) -> None:
        """Show that a signal ends the program immediately."""

    def leave(self) -> None:
        """Show that running calls are abandoned."""

    async def animate(self) -> None:
        """Redraw what changes with time until cancelled, or return if nothing does."""

    def close(self) -> None:
        """Print what is pending; nothing is printed afterwards."""


_REPEAT_S: Final = 5.0


class ServerNotices:
    """Listens to an engine; reports each new sign-in, and servers that are slow to connect."""

    def __init__(self, engine: Engine, front: Front) -> None:
        self._engine = engine
        self._front = front
        self._reported: dict[str, SignIn | None] = {}
        self._warned_at: dict[str, float] = {}

    def on_update(self, update: Update) -> None:
        for name in update.servers:
            server = None
            with contextlib.suppress(UserError):  # it was removed
                server = self._engine.servers.snapshot(name)
            self._note_sign_in(name, None if server is None else server.sign_in)
            self._note_waiting(name, None if server is None else server.waiting)

    def _note_sign_in(self, name: str, sign_in: SignIn | None) -> None:
        if sign_in is not None and sign_in != self._reported.get(name):
            self._front.report_sign_in(sign_in)
        self._reported[name] = sign_in

    def _note_waiting(self, name: str, waiting: Waiting | None) -> None:
        if waiting is None:
            self._warned_at.pop(name, None)
            return
        now = self._engine.now()
        if now - self._warned_at.setdefault(name, waiting.began_at) >= _REPEAT_S:
            self._warned_at[name] = now
            text = waiting_text(waiting, now)
            self._front.warn(ErrorDetails(f"Still connecting, {text}", name))
