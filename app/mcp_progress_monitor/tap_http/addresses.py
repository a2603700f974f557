"""The addresses of a tap: which requests it accepts, and which URLs it rewrites to its own."""

from __future__ import annotations

import ipaddress
import urllib.parse
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

import httpx2

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.secrets import shown_url
from mcp_progress_monitor.protocol.sse import END_OF_LINE, SseFields

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCHEMES: Final = frozenset({"http", "https"})
_USUAL_PORTS: Final = {"http": 80, "https": 443}
_FIRST_PORT: Final = 20_000
_PORTS: Final = 10_000  # below the ports that systems choose for outgoing connections
_BOM: Final = b"\xef\xbb\xbf"
_LONGEST_BEGINNING: Final = 64 * 1024
ENDPOINT: Final = "endpoint"
"""The event with which an HTTP+SSE server names the URL to post to (2024-11-05)."""


class ListenAddress(NamedTuple):
    """A loopback address and a port, 0 for one chosen by the system."""

    host: str
    port: int


def read_listen(text: str) -> ListenAddress:
    """Parse `HOST:PORT`, `:PORT` or `PORT`; `UserError` unless it is a loopback address."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    is_port = port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 1 << 16
    if not is_port:
        hint = "Write it as HOST:PORT, such as 127.0.0.1:8123."
        raise UserError(ErrorDetails("Not a valid listen address", text, hint))
    if host.lower() == "localhost":
        host = "127.0.0.1"
    try:
        is_own = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_own = False
    if not is_own:
        what = "Only addresses of this machine can be listened on"
        hint = "Use 127.0.0.1:PORT or [::1]:PORT: nothing there asks clients to authenticate."
        raise UserError(ErrorDetails(what, text, hint))
    return ListenAddress(host, int(port))


def refusal_of(headers: Mapping[str, str], port: int, own: str, what: str) -> str:
    """Say why a request to `own`, the URL of `what`, is rejected; empty if it is accepted."""
    host = headers.get("host", "")
    if not _is_loopback(host, port):
        return f"The {what} does not answer to the host {host!r}. Use {own}"
    origin = headers.get("origin")
    if headers.get("sec-fetch-site") == "cross-site":
        return f"Pages of other sites may not use the {what}: only pages from this machine may"
    if origin is None:
        return ""
    parts = urllib.parse.urlsplit(origin)
    if parts.scheme in _SCHEMES and _is_loopback(parts.netloc, None):
        return ""
    return f"Pages of {origin} may not use the {what}: only pages from this machine may"


class TapAddresses:
    """The two sides of a tap: clients connect to `own`, the server is at `upstream`."""

    def __init__(self, to: str) -> None:
        """Forward to the URL `to`; `UserError` if it is invalid."""
        try:
            url = httpx2.URL(to)
        except httpx2.InvalidURL as error:
            raise _unusable(to, str(error)) from error
        if url.scheme not in _SCHEMES or not url.host:
            raise _unusable(to, "")
        if url.userinfo:
            what = "The URL has a user name or password"
            hint = "Put credentials into the client's headers: the tap passes them on, unrecorded."
            raise UserError(ErrorDetails(what, shown_url(to), hint))
        self.upstream = url
        self.shown = shown_url(to)  # the server's URL without secrets
        self.authority = url.netloc
        self.listening = ListenAddress("127.0.0.1", 0)

    @property
    def usual_port(self) -> int:
        """The default port, the same each time since clients' configurations contain it."""
        return _FIRST_PORT + zlib.crc32(str(self.upstream).encode()) % _PORTS

    @property
    def path(self) -> str:
        """The path of the server's endpoint, as in requests."""
        return self.upstream.raw_path.decode("ascii").partition("?")[0]

    @property
    def origin(self) -> str:
        return f"http://{_bracketed(self.listening.host)}:{self.listening.port}"

    @property
    def own(self) -> str:
        return self.origin + self.path

    @property
    def shown_own(self) -> str:
        """The URL for clients without secrets: it has the path of the server's."""
        return shown_url(self.own)

    def target(self, target: bytes) -> bytes:
        """The target for the server; a request for the bare path gets the tap's query."""
        path, mark, _ = target.partition(b"?")
        if target.startswith((b"http://", b"https://")):  # absolute form, as sent to proxies
            parts = urllib.parse.urlsplit(target)
            return parts._replace(scheme=b"", netloc=b"").geturl() or b"/"
        return self.upstream.raw_path if not mark and path == self.path.encode() else target

    @staticmethod
    def is_target(target: bytes) -> bool:
        """Return whether a request's target is a path, or a URL as sent to proxies."""
        if target.startswith((b"http://", b"https://")):
            try:
                return bool(urllib.parse.urlsplit(target).netloc)
            except ValueError:
                return False
        return target.startswith(b"/") or target == b"*"

    def upstream_url(self, target: str) -> str:
        return f"{self.upstream.scheme}://{self.authority.decode('ascii')}{target}"

    def refusal(self, headers: Mapping[str, str]) -> str:
        """Say why a request is rejected, by its `host` and `origin`; empty if it is accepted.

        Prevents DNS rebinding, by which a web page can reach any address under its own name.
        """
        return refusal_of(headers, self.listening.port, self.own, "tap")

    def rewritten(self, url: str) -> str:
        """Replace the server's origin in a URL by the tap's; other URLs are unchanged."""
        try:
            there = httpx2.URL(url)
        except httpx2.InvalidURL:
            return url
        if not there.is_absolute_url or _origin(there) != _origin(self.upstream):
            return url
        _, mark, fragment = url.partition("#")
        return self.origin + there.raw_path.decode("ascii") + mark + fragment

    def restored(self, url: str) -> str:
        """Replace the tap's origin in a URL by the server's; other URLs are unchanged."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not _is_loopback(parts.netloc, self.listening.port):
            return url
        return self.upstream_url(parts._replace(scheme="", netloc="").geturl())


class EndpointRewriter:
    """Rewrites the URL of the `endpoint` event of a legacy SSE stream to the tap's origin.

    A relative URL needs no change. Only an incomplete event is held back.
    """

    def __init__(self, addresses: TapAddresses) -> None:
        self._addresses = addresses
        self._held = b""
        self._is_done = False

    def pass_on(self, data: bytes) -> bytes:
        """Add the next bytes of a stream; returns what can be passed on."""
        if self._is_done:
            return data
        held, out, is_done = self._held + data, b"", False
        while not is_done and (end := _end_of_event(held)):
            piece, is_done = self._event(held[:end])
            out += piece
            held = held[end:]
        if is_done or len(held) > _LONGEST_BEGINNING:
            self._is_done = True
            self._held = b""
            return out + held
        self._held = held
        return out

    def rest(self) -> bytes:
        held, self._held = self._held, b""
        return held

    def _event(self, raw: bytes) -> tuple[bytes, bool]:
        """An event to pass on, and whether no later event can be the `endpoint` event."""
        fields = SseFields(len(_BOM) if raw.startswith(_BOM) else 0)
        fields.read(raw)
        if not (fields.name or fields.count):
            return raw, False  # a comment, or blank lines
        if fields.name != ENDPOINT or fields.count != 1:
            return raw, True
        begin, stop = fields.place
        url = raw[begin:stop].decode(errors="replace").strip()
        new = self._addresses.rewritten(url)
        return raw if new == url else raw[:begin] + new.encode() + raw[stop:], True


def _end_of_event(held: bytes) -> int:
    """The end of the first event, after its blank line; 0 if it is incomplete."""
    begin = 0
    for match in END_OF_LINE.finditer(held):
        if match.start() == begin:
            # The last CR may be the first half of a CRLF.
            is_cut = match.end() == len(held) and match[0] == b"\r" and b"\r\n" in held[:begin]
            return 0 if is_cut else match.end()
        begin = match.end()
    return 0


def _unusable(to: str, detail: str) -> UserError:
    hint = "Write the whole URL, such as https://example.com/mcp."
    return UserError(ErrorDetails("Not the URL of a server", shown_url(to), hint, detail))


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or _USUAL_PORTS.get(url.scheme)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _is_loopback(authority: str, port: int | None) -> bool:
    """Return whether an authority is a loopback address, with that port unless it is None."""
    try:
        parts = urllib.parse.urlsplit(f"//{authority}")
        host, named = parts.hostname or "", parts.port
    except ValueError:
        return False
    if port is not None and (named or 80) != port:
        return False
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
