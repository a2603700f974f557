"""An address that a server wants opened, taken apart so that its host stands out."""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import urlsplit

from mcp_progress_monitor.models.job_texts import tr
from mcp_progress_monitor.text import visible

_SCHEMES: Final = frozenset({"http", "https"})
_LONGEST: Final = 8_000
"""Characters of an address that is opened: browsers take no more."""


class UrlParts(NamedTuple):
    """`shown` is the whole address, unseen characters made visible; `host` as it stands in it.

    `warnings` say what is odd; `refusal` why it is not opened, empty when it can be.
    """

    shown: str
    host: str = ""
    warnings: tuple[str, ...] = ()
    refusal: str = ""


def url_parts(url: str) -> UrlParts:
    """Take `url` apart; never raises. Nothing is decoded: hosts are shown as they are."""
    shown = visible(url)
    try:
        split = urlsplit(url)
        host, port = split.hostname or "", split.port
    except ValueError:
        return UrlParts(shown, refusal=tr("This is no address that can be read."))
    refusal = _refusal(url, shown, split.scheme.lower(), host)
    written = _as_written(split.netloc, host)
    where = written if port is None else f"{written}:{port}"
    warnings = tuple(_warnings(split.scheme.lower(), split.netloc, host))
    return UrlParts(shown, visible(where), warnings, refusal)


def _refusal(url: str, shown: str, scheme: str, host: str) -> str:
    if scheme not in _SCHEMES:
        words = tr("Only web pages (http, https) are opened, not {}.")
        return words.format(visible(scheme[:40]) + ":" if scheme else tr("an address without one"))
    if not host:
        return tr("The address names no host.")
    if shown != url or "\\" in url or " " in url:
        return tr("The address has characters that cannot be seen, or do not belong into one.")
    return tr("The address is too long to be opened.") if len(url) > _LONGEST else ""


def _as_written(netloc: str, host: str) -> str:
    """The host with its capitals as they stand in the address."""
    place = netloc.lower().rfind(host)
    return netloc[place : place + len(host)] if host and place >= 0 else host


def _warnings(scheme: str, netloc: str, host: str) -> list[str]:
    found = []
    if any(label.startswith("xn--") for label in host.split(".")):
        found.append(tr("The host is written in punycode: it stands for other letters."))
    if not host.isascii():
        found.append(tr("The host has letters that may look like others."))
    if "@" in netloc:
        found.append(tr("What stands before the @ is no part of the host."))
    if host.replace(".", "").isdecimal() or ":" in host:
        found.append(tr("The host is a number, not a name."))
    if scheme == "http":
        found.append(tr("The page is not encrypted (http)."))
    return found
