"""How long connecting may take: it stands still while the user signs in, in a browser."""

from __future__ import annotations

from typing import Final

import anyio

from app import text
from app.problem import Problem

SIGN_IN_S: Final = 300.0
"""How long a user may take to sign in, each time that is asked."""


_LATER_S: Final = 10.0
"""How much later connecting ends than a sign-in that nobody made: that one knows more of why."""


class ConnectLimit:
    """A cancel scope whose time is held while a sign-in is open, and then goes on."""

    def __init__(self, limit_s: float) -> None:
        """Count `limit_s` from now on."""
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + limit_s)
        self._left_s: float | None = None

    @property
    def is_held(self) -> bool:
        """Whether a sign-in is waited for."""
        return self._left_s is not None

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
