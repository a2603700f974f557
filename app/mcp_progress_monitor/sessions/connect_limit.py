"""How long connecting may take: it stands still while the user signs in, in a browser.

A limit that the user chose is kept. Without one, a process may take longer than a URL: the first
start by `npx -y` or `uvx` downloads what it runs, npx without a word.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import anyio

from mcp_progress_monitor import text
from mcp_progress_monitor.problem import Problem

SIGN_IN_S: Final = 300.0
"""How long a user may take to sign in, each time that is asked."""
URL_S: Final = 15.0
"""How long a server that is reached by a URL may take."""
YOUNG_S: Final = 30.0
"""How long a process may be silent that was just started."""
SIGN_S: Final = 15.0
"""How much longer it may be once it has written to its standard error."""
LONGEST_S: Final = 60.0
"""How long a process may take whatever it writes, all its starts together."""

_LATER_S: Final = 10.0
"""How much later connecting ends than a sign-in that nobody made: that one knows more of why."""


class Waiting(NamedTuple):
    """What connecting waits for: `what` was asked, or nothing yet; times are monotonic seconds.

    It began at `began_at` and ends at `until` unless more comes; `stderr_at` is when the server
    last wrote to its standard error, None if it did not.
    """

    what: str
    began_at: float
    until: float
    stderr_at: float | None


class ConnectLimit:
    """A cancel scope whose time is held while a sign-in is open, and then goes on."""

    def __init__(self, limit_s: float | None, *, has_process: bool = False) -> None:
        """Count from now on; without `limit_s` as long as a URL or a process may usually take."""
        usual_s = YOUNG_S if has_process else URL_S
        self.began_at = anyio.current_time()
        self._is_patient = limit_s is None and has_process
        self.scope = anyio.CancelScope(
            deadline=self.began_at + (usual_s if limit_s is None else limit_s)
        )
        self._left_s: float | None = None

    @property
    def is_held(self) -> bool:
        """Whether a sign-in is waited for."""
        return self._left_s is not None

    @property
    def is_patient(self) -> bool:
        """Whether signs of life make it longer."""
        return self._is_patient

    @property
    def waited_s(self) -> float:
        """How long connecting takes by now."""
        return anyio.current_time() - self.began_at

    @property
    def left_s(self) -> float:
        """How long it may still take, as far as is known now."""
        return self.scope.deadline - anyio.current_time()

    def note_start(self) -> None:
        """Another process was started."""
        self._prolong(YOUNG_S)

    def note_sign(self, ago_s: float) -> None:
        """The process wrote to its standard error so long ago."""
        self._prolong(SIGN_S - ago_s)

    def renew(self) -> anyio.CancelScope | None:
        """A scope for one more start after the time was over; None if there is no time left."""
        now = anyio.current_time()
        left_s = min(self.began_at + LONGEST_S - now, SIGN_S)
        if not self._is_patient or left_s <= 0:
            return None
        self.scope = anyio.CancelScope(deadline=now + left_s)
        return self.scope

    def _prolong(self, by_s: float) -> None:
        if self._is_patient:
            latest = min(anyio.current_time() + by_s, self.began_at + LONGEST_S)
            self.scope.deadline = max(self.scope.deadline, latest)

    def hold(self) -> None:
        """A sign-in has begun."""
        if self._left_s is None:
            now = anyio.current_time()
            self._left_s = max(self.scope.deadline - now, 0.0)
            self.scope.deadline = now + SIGN_IN_S + _LATER_S

    def release(self) -> None:
        """It is over: what was left of the time goes on."""
        if self._left_s is not None:
            self.scope.deadline = anyio.current_time() + self._left_s
            self._left_s = None


def not_signed_in(address: str) -> Problem:
    """The user did not sign in within the time for that."""
    what = f"Nobody signed in within {text.duration(int(SIGN_IN_S))}"
    return Problem(what, address, "Connect it again, and sign in on the page that opens.")


def waiting_words(waiting: Waiting, now: float) -> str:
    """What connecting waits for and for how long, in words."""
    what = f"for the answer to {waiting.what}" if waiting.what else "for the server to start"
    waited = text.duration(int(max(now - waiting.began_at, 0.0)))
    left = text.duration(int(max(waiting.until - now, 0.0)))
    words = f"waiting {what} for {waited}, at most {left} more"
    if waiting.stderr_at is None:
        return words
    ago = text.duration(int(max(now - waiting.stderr_at, 0.0)))
    return f"{words}; it wrote to standard error {ago} ago"
