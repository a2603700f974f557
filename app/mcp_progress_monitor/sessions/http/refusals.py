"""What an answer of HTTP means that brings no reply, in words with what to try."""

from __future__ import annotations

import email.utils
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import text
from mcp_progress_monitor.problem import Problem
from mcp_progress_monitor.sessions.transport import Loss

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.sessions.http.secrecy import Secrecy

_QUOTED: Final = 300
_CHARSET: Final = re.compile(r";\s*charset\s*=\s*\"?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_REASON: Final = 80
_LONGEST_DATE: Final = 40
_HINTS: Final = {
    400: "The server's own words, if there are any, say what it did not take.",
    401: "It wants to know who asks: give it a header such as Authorization (--header), or sign in "
    "with OAuth (--oauth); in the window, edit the server.",
    403: "What it was told of who asks is not enough there: check the header, token or account.",
    404: "Check the path of the URL: MCP servers are often at /mcp. Older ones are at /sse and "
    "need the transport sse (--transport sse).",
    405: "Check the path of the URL. A server that takes only GET there may be one of 2024-11-05, "
    "which needs the transport sse (--transport sse).",
    406: "The server gives neither JSON nor an event stream there: is it an MCP server?",
    407: "A proxy wants to know who asks: name and password can stand in HTTP_PROXY, HTTPS_PROXY.",
    408: "The request came too slowly for the server or a proxy before it: try again.",
    410: "What was at that URL is gone for good: ask who runs the server for the new one.",
    413: "The message is too long for the server or a proxy before it: send it less at once.",
    414: "The URL is too long for the server or a proxy before it: check its parameters.",
    415: "The server takes no JSON there: is it an MCP server?",
    429: "It is asked too often: wait a while, then try again.",
    431: "The headers are too long for the server or a proxy before it: check those that the "
    "server is given.",
    502: "A proxy before the server did not get through to it: check that the server is running.",
    503: "It is not ready, or has too much to do: wait a while, then try again.",
    504: "A proxy before the server got no answer from it in time. A server of long jobs answers "
    "with an event stream, which begins at once; or the proxy needs a longer limit.",
}
_MAY_BE_OLDER: Final = frozenset({400, 404, 405, 406, 415, 422, 500, 501})
"""Answers of servers of the handshake era to a first message that is no `initialize`."""


class Answer(NamedTuple):
    """A response and the beginning of its body, as far as that is no message.

    `now` is when it came, in seconds since the epoch; `unreadable` why its body, which was said to
    be JSON, is none.
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes = b""
    now: float = 0.0
    unreadable: str = ""

    @property
    def kind(self) -> str:
        """The media type, in lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def odd_charset(self) -> str:
        """What it says that its text is written in, where that is not UTF-8."""
        found = _CHARSET.search(self.headers.get("content-type", ""))
        charset = "" if found is None else found[1].lower()
        return "" if charset in {"utf-8", "utf8", "us-ascii"} else charset

    @property
    def line(self) -> str:
        """Status and reason, for people."""
        return f"{self.status} {text.one_line(self.reason, _REASON)}".rstrip()

    @property
    def retry_after_s(self) -> float | None:
        """How long to wait before the next try, where the server says so: as a number or a date."""
        value = self.headers.get("retry-after", "").strip()
        if value.isascii() and value.isdigit():
            return float(value) if len(value) < 10 else None
        then = _seconds_of(value)
        if then is None:
            return None
        # By the server's own clock, if it tells the time.
        now = _seconds_of(self.headers.get("date", ""))
        return max(then - (self.now if now is None else now), 0.0)

    @property
    def said(self) -> str:
        """The beginning of its body, for people."""
        return text.one_line(self.body[: 4 * _QUOTED].decode(errors="replace"), _QUOTED)


def refused(answer: Answer, where: str) -> Loss:
    """An answer that is an error."""
    what = f"The server answered {answer.line}"
    if answer.status == 401 and answer.headers.get("www-authenticate"):
        what += f", and wants {text.one_line(answer.headers['www-authenticate'], 120)}"
    hint = _HINTS.get(answer.status, _usual_hint(answer.status))
    pause_s = answer.retry_after_s
    if pause_s:
        what += f", and wants to be asked again in {text.duration(pause_s)} at the earliest"
    problem = Problem(what, where, hint, _quoted(answer))
    return Loss("failed", problem, answer.status in _MAY_BE_OLDER)


def with_hint(loss: Loss, hint: str) -> Loss:
    """A loss with other words on what to try."""
    return loss._replace(problem=loss.problem._replace(hint=hint))


def no_message(answer: Answer, where: str) -> Loss:
    """An answer that is no error, and no message either."""
    if not answer.body:
        return _nothing(answer, where)
    if answer.unreadable:
        return _unreadable(answer, where)
    kind = text.one_line(answer.kind, _REASON) or "no content type"
    what = f"The server answered {answer.line} with {kind}, which is no MCP message"
    hint = "Check the URL: it seems to lead to a page or another service, not to an MCP server."
    return Loss("failed", Problem(what, where, hint, _quoted(answer)), may_be_older=True)


def _unreadable(answer: Answer, where: str) -> Loss:
    reason = text.one_line(answer.unreadable, _QUOTED)
    what = f"The server answered {answer.line} with JSON that cannot be read: {reason}"
    hint = (
        "Its answer was cut on the way, or the server has a defect: its own log may say more. "
        "What came is in the log."
    )
    return Loss("failed", Problem(what, where, hint, _quoted(answer)), may_be_older=True)


def _nothing(answer: Answer, where: str) -> Loss:
    what = f"The server answered {answer.line} with nothing in it, where a reply was due"
    hint = "If its URL is that of an MCP server, the server has a defect: its own log may say more."
    return Loss("failed", Problem(what, where, hint), may_be_older=True)


def no_reply(answer: Answer, where: str) -> Loss:
    """Messages that came, with no reply among them."""
    what = f"The server answered {answer.line} without a reply to the request"
    hint = "The log shows what came. The server may use another id than the request had."
    return Loss("failed", Problem(what, where, hint, _quoted(answer)), may_be_older=True)


def redirected_for_ever(answer: Answer, where: str) -> Loss:
    """One redirection after the other."""
    what = f"The server answered {answer.line} again and again: it sends us on for ever"
    hint = "The server, or a proxy before it, is set up wrong. Check the URL, as its end with or "
    return Loss("failed", Problem(what, where, f"{hint}without a slash."))


def redirected(answer: Answer, where: str, secrecy: Secrecy) -> Loss:
    """A redirection that is not followed."""
    if not answer.headers.get("location"):
        return _nowhere(answer, where)
    to = text.one_line(secrecy.url(answer.headers["location"]), _QUOTED)
    what = f"The server answered {answer.line} and sends us to {to}, which is not followed"
    hint = (
        "Requests, with their credentials, go to another host or by another method only when you "
        "say so: use that URL if you trust it."
    )
    return Loss("failed", Problem(what, where, hint))


def _nowhere(answer: Answer, where: str) -> Loss:
    what = f"The server answered {answer.line}, which is no reply, and names no other place"
    hint = "Check the URL: MCP servers do not answer so. It may be a cache or another service."
    return Loss("failed", Problem(what, where, hint))


def too_large(size: int, most: int, where: str) -> Loss:
    """A message that is longer than is taken."""
    what = (
        f"The server sent a message of more than {text.size(most)} ({text.size(size)} so far): "
        "its response was closed"
    )
    hint = "Ask it for less at once. The request can be issued again; its work may run twice."
    return Loss("failed", Problem(what, where, hint))


def broken(reason: str, why_not: str, where: str) -> Loss:
    """A response that ended before the reply; `why_not` says why it is not taken up."""
    what = f"The answer ended before the reply: {reason}"
    hint = f"{why_not} The request can be issued again; its work may then run twice."
    return Loss("lost", Problem(what, where, hint), may_be_older=True)


def _seconds_of(date: str) -> float | None:
    """A date of HTTP in seconds since the epoch; None for what is none."""
    if not date.endswith("GMT") or len(date) > _LONGEST_DATE:
        return None
    try:
        return email.utils.parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None


def _usual_hint(status: int) -> str:
    if status >= 500:
        return "The server, or a proxy before it, failed: its own log says more."
    return "Check the URL and the headers in the server's definition."


def _quoted(answer: Answer) -> str:
    said = answer.said
    return f"It said: {said}" if said else ""
