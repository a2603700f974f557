"""What went wrong while signing in, in words, and what to try."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol.secret_names import shown_url
from mcp_progress_monitor.sessions.http.callback import HOST, PATH, REGISTERED_PORT
from mcp_progress_monitor.text import one_line, visible

if TYPE_CHECKING:
    from mcp_progress_monitor.sessions.http.callback import Answer

_LONGEST: Final = 2000
_AGAIN: Final = "Connect again to sign in anew."
_REGISTER: Final = (
    "Register this program there by hand, with the address that a browser comes back to, "
    f"http://{HOST}:{REGISTERED_PORT}{PATH}, and enter the client id in the server's settings."
)
_ADVICE: Final = (
    ("Registration failed", "The authorization server does not let clients register themselves"),
    ("Invalid registration", "The authorization server registered this program in a wrong way"),
    ("Authorization server registered", "This program cannot act as it was registered"),
    ("Token exchange failed", "The authorization server gives no token"),
    ("Invalid token response", "The authorization server's token cannot be read"),
    ("State parameter mismatch", "The browser came back from another sign-in than this one"),
    ("Authorization response", "The browser came back from another authorization server"),
    ("Authorization server metadata issuer", "The authorization server calls itself otherwise"),
    ("Protected resource ", "The server describes itself as another one"),
    ("Protected resource metadata request", "The server does not say where to sign in"),
)
"""How the SDK's messages begin, and what they mean; the longest beginning counts."""
_HIDDEN: Final = re.compile(
    r'("[\w-]*(?:token|secret|code|assertion)"\s*:\s*)"[^"]*"', re.IGNORECASE
)


def host_of(url: str) -> str:
    """Scheme, host and port of an address: its query may hold secrets."""
    parts = urlsplit(url)
    return visible(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"[:300])


def place(url: str) -> str:
    """An address without its query: for who reads the file of sign-ins."""
    return host_of(url) + visible(urlsplit(url).path[:300])


def refused(answer: Answer, url: str) -> ProblemError:
    """The authorization server sent the browser back with an error: in its own words."""
    words = f"{answer.error}: {answer.description}" if answer.description else answer.error
    is_denial = answer.error == "access_denied"
    what = "The sign-in was denied" if is_denial else "The authorization server refuses the sign-in"
    return ProblemError(Problem(what, host_of(url), _AGAIN, words))


def too_late(limit_s: float, strangers: int, url: str) -> ProblemError:
    """Nobody signed in."""
    detail = ""
    if strangers:
        detail = f"Answers that belong to no sign-in of this program came instead: {strangers}."
    what = f"Nobody signed in within {limit_s / 60:g} minutes"
    return ProblemError(Problem(what, host_of(url), _AGAIN, detail))


def not_permitted(url: str) -> ProblemError:
    """An address that credentials are not sent to."""
    what = "The server wants the sign-in at an address that is not encrypted"
    hint = "Ask who runs the server: authorization servers are reached by https."
    return ProblemError(Problem(what, host_of(url), hint))


def too_large(limit: str, url: str) -> ProblemError:
    """An answer that is larger or slower than any of these is."""
    what = f"The authorization server's answer is longer than {limit}, or did not end in time"
    return ProblemError(Problem(what, host_of(url), "Ask who runs it."))


def unusable_resource(fault: str, server: str) -> ProblemError:
    """The server's own metadata is missing where it said, or malformed."""
    what = "The server's description of its sign-in cannot be used"
    return ProblemError(Problem(what, server, "Ask who runs the server.", visible(fault)))


def another_resource(resource: str, url: str, server: str) -> ProblemError:
    """The server's metadata, at another origin, is that of another server (RFC 9728, 3.3)."""
    what = "The server refers to the sign-in of another server"
    hint = "Do not sign in. Ask who runs the server."
    detail = f"The metadata at {place(url)} is for {place(resource)}, not for {server}."
    return ProblemError(Problem(what, server, hint, detail))


def without_metadata(server: str, fault: str) -> ProblemError:
    """An authorization server publishes no metadata, or malformed or somebody else's."""
    what = "The authorization server publishes no usable metadata"
    hint = "Ask who runs it. No other server is used in its place."
    return ProblemError(Problem(what, place(server), hint, visible(fault)))


def without_pkce(issuer: str, methods: list[str]) -> ProblemError:
    """An authorization server whose codes could be stolen: it does not say that it checks PKCE."""
    what = "The authorization server does not support PKCE, so signing in there is not safe"
    hint = 'Ask who runs it: its metadata must list "S256" in code_challenge_methods_supported.'
    listed = one_line(", ".join(methods), 200)
    detail = f"code_challenge_methods_supported: {listed or 'missing or empty'}"
    return ProblemError(Problem(what, place(issuer), hint, detail))


def without_registration(issuer: str) -> ProblemError:
    """An authorization server where clients cannot register themselves."""
    what = "The authorization server does not let clients register themselves"
    return ProblemError(Problem(what, place(issuer), _REGISTER))


def not_renewed(status: int, url: str) -> ProblemError:
    """The authorization server has a defect at the moment; the tokens are kept."""
    what = f"The sign-in cannot be renewed: the authorization server answers {status}"
    return ProblemError(Problem(what, host_of(url), "Try again later; you stay signed in."))


def failed(error: Exception, server: str) -> ProblemError:
    """What the SDK found wrong."""
    said = str(error)
    found = max((each for each in _ADVICE if said.startswith(each[0])), key=_length, default=None)
    what = "The sign-in failed" if found is None else found[1]
    hint = _REGISTER if said.startswith("Registration failed") else _AGAIN
    if said.startswith("State parameter mismatch"):
        said = ""  # it quotes both states
    return ProblemError(Problem(what, server, hint, shown_url(_readable(said))))


def _length(each: tuple[str, str]) -> int:
    return len(each[0])


def _readable(said: str) -> str:
    """The words of an answer, bounded, with an OAuth error's own ones first."""
    start = said.find("{")
    try:
        document = json.loads(said[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict) and isinstance(document.get("error"), str):
        described = document.get("error_description")
        words = [document["error"], described if isinstance(described, str) else ""]
        return one_line(": ".join(filter(None, words)), _LONGEST)
    return visible(_HIDDEN.sub(r'\1"(hidden)"', said[:_LONGEST]), keep_line_ends=True)
