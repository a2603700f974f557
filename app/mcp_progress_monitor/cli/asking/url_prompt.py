"""A page that a server wants visited: shown in full, opened only when the user says so."""

from __future__ import annotations

import urllib.parse
import webbrowser
from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.sessions.questions import Accept, Decline, Dismiss

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.asking.dialogue import Dialogue
    from mcp_progress_monitor.sessions.questions import Answer, Question

_OPEN: Final = "open"
_CHOICES: Final = ("accept", "decline", "cancel")


async def visit_page(question: Question, dialogue: Dialogue) -> Answer:
    """What the user makes of a page: the server learns of consent, not of what happens there."""
    url = question.url or ""
    host, may_open = _host(url)
    dialogue.say(question.message)
    if host:
        dialogue.say_whole(f"Its host is {host}. The whole address, which is not opened by itself:")
    else:
        dialogue.say_whole("The whole address, which does not name a host:")
    dialogue.say_whole(url, indent="    ")
    choices = (_OPEN, *_CHOICES) if may_open else _CHOICES
    words = "Open it here, accept and visit it yourself, or" if may_open else "Accept it, or"
    choice = await dialogue.choose(f"{words} say no?", choices)
    if choice == _OPEN and not await _open(url):
        dialogue.say("No browser could be started: visit the address yourself.")
    if choice == "decline":
        return Decline()
    return Dismiss() if choice == "cancel" else Accept()


async def _open(url: str) -> bool:
    """Open a page in the user's browser, which may take its time to start."""
    return await anyio.to_thread.run_sync(webbrowser.open, url, abandon_on_cancel=True)


def _host(url: str) -> tuple[str, bool]:
    """The host that an address leads to, as the network knows it; and whether it is a web page's.

    Letters beyond ASCII are written out in the form that cannot be mistaken for others.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "", False
    try:
        host = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        return host, False
    return host, bool(host) and parts.scheme.lower() in {"http", "https"}
