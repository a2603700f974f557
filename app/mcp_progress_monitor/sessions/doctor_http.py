"""What the last requests over HTTP tell of why a server cannot be used."""

from __future__ import annotations

import re
import urllib.parse
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.sessions.doctor import Cause
from mcp_progress_monitor.sessions.doctor_output import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.sessions.doctor import DoctorReport, HttpNote


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    text: str
    hint: str


def _rule(pattern: str, words: str, hint: str) -> _Rule:
    return _Rule(re.compile(pattern, re.IGNORECASE), words, hint)


_UNREACHED: Final = (
    _rule(
        r"name or service not known|getaddrinfo|nodename nor servname|no address associated|"
        r"name resolution|could not be resolved",
        "The name of the host is not known",
        "Check the URL. A name inside a company may need its VPN.",
    ),
    _rule(
        r"self[- ]signed",
        "The server's certificate is signed by nobody this system trusts",
        "Add the certificate, or the authority that signed it, to the system's trusted ones; "
        "SSL_CERT_FILE may name a file with it.",
    ),
    _rule(
        r"hostname mismatch|ip address mismatch|certificate is not valid for|doesn't match",
        "The server's certificate is for another name",
        "Use the name that the certificate has.",
    ),
    _rule(
        r"certificate has expired|certificate is not yet valid",
        "The server's certificate is out of date",
        "Have it renewed. If that was done, check this computer's clock.",
    ),
    _rule(
        r"unable to get (local )?issuer|CERTIFICATE_VERIFY_FAILED|unknown ca",
        "The server's certificate cannot be verified",
        "A proxy that looks into connections has an authority of its own: add it to the "
        "system's trusted ones.",
    ),
    _rule(
        r"wrong version number|record layer failure|unknown protocol|http request to an https",
        "One side speaks TLS and the other does not",
        "Try http:// in place of https://, or the other way round, and check the port.",
    ),
    _rule(
        r"proxy",
        "The proxy does not let the request through",
        "Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY in this program's environment.",
    ),
    _rule(
        r"refused|connection attempts failed|actively refused",
        "Nothing listens at that address",
        "Start the server, and check host and port of the URL.",
    ),
    _rule(
        r"unreachable|no route",
        "There is no way to that host",
        "Check the network, and whether a VPN is needed.",
    ),
    _rule(
        r"timed? ?out|not answer|no answer",
        "The server does not answer",
        "See whether it is up, and whether a firewall drops what is sent to it.",
    ),
    _rule(
        r"too many redirects|redirect",
        "The server sends us elsewhere",
        "Give the URL that it leads to, if you trust it: a redirect to another host is not "
        "followed, because secrets would go there.",
    ),
)
_STATUS: Final = {
    401: ("It wants to know who asks", "Sign in, or give it an Authorization header."),
    403: ("It does not allow this", "Check the rights of the token or account that is used."),
    404: ("There is nothing at this path", "MCP is often at /mcp, the older kind at /sse."),
    405: (
        "It does not take messages at this path",
        "It may be a server of the older kind (HTTP+SSE): choose that, or try the path /mcp.",
    ),
    406: ("It does not give what MCP asks for", "It may be no MCP server, or need an update."),
    407: ("A proxy wants to know who asks", "Give user name and password in HTTPS_PROXY."),
    415: ("It does not take JSON at this path", "It may be no MCP server: check the path."),
    421: ("It does not serve this name", "Use the host name that the server was set up with."),
    429: ("It is asked too often", "Wait, and make fewer calls at the same time."),
}
_BARE_FAILURE: Final = "Internal Server Error"
_PYTHON_SDK: Final = (
    "If the server uses the Python SDK 1.8 to 1.9.4, it fails for every client as soon as one has "
    "disconnected. Restart it, and update its package mcp to 1.10 or newer. Otherwise look into "
    "its log."
)
_SHOWN: Final = ("www-authenticate", "location", "retry-after", "content-type")


def causes(report: DoctorReport) -> Iterator[Cause]:
    """Causes whose evidence is in the last requests; of each kind the newest one."""
    told: set[str] = set()
    for note in reversed(report.http):
        for cause in _of_note(note, report):
            head = cause.text.partition(":")[0]
            if head not in told:
                told.add(head)
                yield cause
    if not report.http and report.problem is not None:
        yield from _unreached(report.problem.as_text())


def _of_note(note: HttpNote, report: DoctorReport) -> Iterator[Cause]:
    if note.status is None:
        yield from _unreached(note.words)
        return
    if 300 <= note.status < 400:
        yield from _redirected(note, report)
    elif _is_page(note):
        what = "It answers with a web page, and not as an MCP server"
        hint = "Check the path of the URL; a page to log in means that the server needs that first."
        yield Cause(f"{what}: {_evidence(note)}", hint)
    if note.status in _STATUS:
        what, hint = _STATUS[note.status]
        yield Cause(f"{what}: {_evidence(note)}", _by_path(hint, note, report))
    elif note.status >= 500:
        yield Cause(f"It failed: {_evidence(note)}", _of_failure(note))


def _of_failure(note: HttpNote) -> str:
    """What to try after an error of the server's own.

    The Python SDK 1.8.0 to 1.9.4 ends the work of all sessions when a client ends its own with
    DELETE: from then on it answers everybody so, until it is started again (fixed in 1.10.0).
    """
    kind = {name.lower(): value for name, value in note.headers}.get("content-type", "")
    is_plain = kind.lower().startswith("text/plain") and note.body.strip() == _BARE_FAILURE
    if note.status == 500 and is_plain:
        return _PYTHON_SDK
    return "That is the server's own trouble, or its proxy's: look into its log."


def _unreached(words: str) -> Iterator[Cause]:
    for rule in _UNREACHED:
        found = next((line for line in words.splitlines() if rule.pattern.search(line)), None)
        if found is not None:
            yield Cause(f"{rule.text}: {quoted(found)}", rule.hint)
            return


def _redirected(note: HttpNote, report: DoctorReport) -> Iterator[Cause]:
    target = {name.lower(): value for name, value in note.headers}.get("location", "")
    try:
        there = urllib.parse.urlsplit(urllib.parse.urljoin(report.address, target))
        host, here = there.hostname, urllib.parse.urlsplit(report.address).hostname
    except ValueError:
        host = here = None
    what = "It leads to another host" if host != here else "It leads to another path"
    hint = (
        "Give the URL that it leads to, if you trust it: a redirect to another host is not "
        "followed, because secrets would go there."
    )
    yield Cause(f"{what}: {_evidence(note)}", hint)


def _by_path(hint: str, note: HttpNote, report: DoctorReport) -> str:
    """A better hint where the path of the URL tells more."""
    path = urllib.parse.urlsplit(report.address).path.rstrip("/")
    if note.status in {404, 405} and path.endswith("/sse"):
        return "The path ends with /sse: choose the older kind (HTTP+SSE) for this server."
    if note.status == 404 and not path:
        return "The URL has no path: MCP is often at /mcp, the older kind at /sse."
    return hint


def _is_page(note: HttpNote) -> bool:
    kind = {name.lower(): value for name, value in note.headers}.get("content-type", "")
    body = note.body.lstrip()[:20].lower()
    return "text/html" in kind.lower() or body.startswith(("<!doctype html", "<html"))


def _evidence(note: HttpNote) -> str:
    """The request and what came, in short."""
    headers = [f"{k}: {v}" for k, v in note.headers if k.lower() in _SHOWN]
    parts = [f"{note.request} gave {note.status} {note.words}".strip(), *headers]
    if note.body.strip():
        parts.append(note.body)
    return quoted("; ".join(parts))
