"""What a command tells of sign-ins that servers wait for: once each, and nothing is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.sessions.connect_limit import SIGN_IN_S
from mcp_progress_monitor.text import one_line

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.front import Front
    from mcp_progress_monitor.monitor import Monitor, Update
    from mcp_progress_monitor.sessions.snapshot import SignIn

_LONGEST: Final = 8000
"""Characters of an address: browsers take no more."""


class SignInTeller:
    """Listens to a monitor and has a front tell each sign-in that begins."""

    def __init__(self, monitor: Monitor, front: Front) -> None:
        self._monitor = monitor
        self._front = front
        self._told: dict[str, SignIn | None] = {}

    def on_update(self, update: Update) -> None:
        """Tell of those among the servers that changed."""
        for name in update.servers:
            sign_in = self._sign_in(name)
            if sign_in is not None and sign_in != self._told.get(name):
                self._front.tell_sign_in(sign_in)
            self._told[name] = sign_in

    def _sign_in(self, name: str) -> SignIn | None:
        try:
            return self._monitor.server(name).sign_in
        except ProblemError:  # it was removed
            return None


def sign_in_lines(sign_in: SignIn) -> list[str]:
    """Where to sign in, in words for a terminal. The host stands apart from the whole address."""
    address = one_line(sign_in.url, _LONGEST)
    if address != sign_in.url:
        refusal = "The server names an address that no browser opens:"
        return [f"{one_line(sign_in.server)}: {refusal}", f"  {address}"]
    return [
        f"{one_line(sign_in.server)} needs you to sign in, within {SIGN_IN_S / 60:g} minutes.",
        f"Open this page of {_host(sign_in.url)} in your browser:",
        f"  {address}",
    ]


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an unknown host"
    return one_line(parts.netloc.rpartition("@")[2]) or "an unknown host"
