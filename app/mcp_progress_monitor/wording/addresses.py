"""A URL that a server wants opened, split so that its host stands out."""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import urlsplit

from mcp_progress_monitor.formatting import visible

_SCHEMES: Final = frozenset({"http", "https"})
_LONGEST: Final = 8_000  # characters of a URL that is opened: browsers accept no more


class UrlParts(NamedTuple):
    """`shown` is the full address with invisible characters made visible; `host` is part of it.

    `warnings` say what is odd; `refusal` why it is not opened, empty when it can be.
    """

    shown: str
    host: str = ""
    warnings: tuple[str, ...] = ()
    refusal: str = ""


def url_parts(url: str) -> UrlParts:
    """Split `url`; never raises. Nothing is decoded: hosts are shown as they are."""
    shown = visible(url)
    try:
        split = urlsplit(url)
        host, port = split.hostname or "", split.port
    except ValueError:
        return UrlParts(shown, refusal="The address cannot be parsed.")
    refusal = _refusal(url, shown, split.scheme.lower(), host)
    written = _as_written(split.netloc, host)
    where = written if port is None else f"{written}:{port}"
    warnings = tuple(_warnings(split.scheme.lower(), split.netloc, host))
    return UrlParts(shown, visible(where), warnings, refusal)


def _refusal(url: str, shown: str, scheme: str, host: str) -> str:
    if scheme not in _SCHEMES:
        words = "Only web pages (http, https) can be opened, not {}."
        return words.format(visible(scheme[:40]) + ":" if scheme else "an address without one")
    if not host:
        return "The address has no host."
    if shown != url or "\\" in url or " " in url:
        return "The address contains invisible or invalid characters."
    return "The address is too long to open." if len(url) > _LONGEST else ""


def _as_written(netloc: str, host: str) -> str:
    """The host with its capitals as written in the URL."""
    place = netloc.lower().rfind(host)
    return netloc[place : place + len(host)] if host and place >= 0 else host


def _warnings(scheme: str, netloc: str, host: str) -> list[str]:
    found = []
    if any(label.startswith("xn--") for label in host.split(".")):
        found.append("The host is in Punycode, which stands for non-ASCII letters.")
    if not host.isascii():
        found.append("The host contains letters that may look like others.")
    if "@" in netloc:
        found.append("The part before the @ is not the host.")
    if host.replace(".", "").isdecimal() or ":" in host:
        found.append("The host is an IP address, not a name.")
    if scheme == "http":
        found.append("The page is not encrypted (http).")
    return found
