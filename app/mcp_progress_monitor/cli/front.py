"""What every way of showing a command has in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mcp_progress_monitor.cli.exits import CommandFailed
    from mcp_progress_monitor.monitor import Outcome, Update
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.sessions.snapshot import SignIn
    from mcp_progress_monitor.tracker.snapshot import JobId


class Front(Protocol):
    """Shows what happens while a command talks to a server; `JsonEvents` and `TextFront` do."""

    def on_update(self, update: Update) -> None:
        """Listen to the monitor; called once for each chunk of frames."""

    def show(self, outcome: Outcome) -> None:
        """Show how one call ended."""

    def fail(self, failure: CommandFailed) -> None:
        """Tell why the command cannot go on."""

    def decline(self, job: JobId, problem: Problem) -> None:
        """Tell why one job cannot be gone on with; the command goes on with others."""

    def warn(self, problem: Problem) -> None:
        """Tell what is wrong but keeps nothing from going on."""

    def note(self, line: str) -> None:
        """Tell on standard error what was done."""

    def quiet(self) -> AbstractContextManager[None]:
        """Write nothing to the terminal for a while: the user is asked something."""

    def tell_answer(self, question: Question, action: str, words: str) -> None:
        """Tell what was answered to a question without the user, and why.

        `action` is accept, decline, cancel, result or refuse.
        """

    def tell_sign_in(self, sign_in: SignIn) -> None:
        """Tell at which page the user is to sign in; nothing is opened."""

    def interrupt(self) -> None:
        """Tell that calls are being cancelled, which may take a while."""

    def terminate(self) -> None:
        """Tell that a signal ends the program now, with no time to cancel anything."""

    def leave(self) -> None:
        """Tell that calls which go on are left as they are."""

    async def animate(self) -> None:
        """Redraw what changes with time until cancelled, or return if nothing does."""

    def close(self) -> None:
        """Show the last things; nothing is shown afterwards."""
