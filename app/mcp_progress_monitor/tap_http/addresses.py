"""Where a tap listens and where it leads: who may ask, and which URLs must lead back through it."""

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
"""The event by which a server of HTTP+SSE says where to post (2024-11-05)."""


class ListenAddress(NamedTuple):
    """A loopback address and a port; 0 for a port that the system chooses."""

    host: str
    port: int


def read_listen(text: str) -> ListenAddress:
    """Read `HOST:PORT`, `:PORT` or `PORT`; `UserError` unless it is this machine's own address."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    is_port = port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 1 << 16
    if not is_port:
        hint = "Write it as HOST:PORT, such as 127.0.0.1:8123."
        raise UserError(ErrorDetails("Not an address to listen on", text, hint))
    if host.lower() == "localhost":
        host = "127.0.0.1"
    try:
        is_own = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_own = False
    if not is_own:
        what = "The tap listens on this machine only"
        hint = "Use 127.0.0.1:PORT or [::1]:PORT. It has no sign-in of its own."
        raise UserError(ErrorDetails(what, text, hint))
    return ListenAddress(host, int(port))


class TapAddresses:
    """The two sides of a tap: `own` is where clients connect, `upstream` where the server is."""

    def __init__(self, to: str) -> None:
        """Lead to the URL `to`; `UserError` if nothing can be reached by it."""
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
        self.shown = shown_url(to)  # the server's URL as it may be printed and recorded
        self.authority = url.netloc
        self.listening = ListenAddress("127.0.0.1", 0)

    @property
    def usual_port(self) -> int:
        """The port for this URL: the same each time, for clients' configurations."""
        return _FIRST_PORT + zlib.crc32(str(self.upstream).encode()) % _PORTS

    @property
    def path(self) -> str:
        """The path of the server's endpoint, as it is written in requests."""
        return self.upstream.raw_path.decode("ascii").partition("?")[0]

    @property
    def origin(self) -> str:
        return f"http://{_bracketed(self.listening.host)}:{self.listening.port}"

    @property
    def own(self) -> str:
        return self.origin + self.path

    def target(self, asked: bytes) -> bytes:
        """What to ask the server for; parameters that the tap was given need not be repeated."""
        path, mark, _ = asked.partition(b"?")
        if asked.startswith((b"http://", b"https://")):  # as clients of proxies write it
            parts = urllib.parse.urlsplit(asked)
            return parts._replace(scheme=b"", netloc=b"").geturl() or b"/"
        return self.upstream.raw_path if not mark and path == self.path.encode() else asked

    def upstream_url(self, target: str) -> str:
        return f"{self.upstream.scheme}://{self.authority.decode('ascii')}{target}"

    def refusal(self, headers: Mapping[str, str]) -> str:
        """Why a request is not let through, by its `host` and `origin`; empty if it is.

        A page of the web can have a browser ask any address under any name (DNS rebinding).
        """
        host = headers.get("host", "")
        if not _is_loopback(host, self.listening.port):
            return f"The tap does not answer to the host {host!r}. Use {self.own}"
        origin = headers.get("origin")
        if origin is None:
            return ""
        parts = urllib.parse.urlsplit(origin)
        if parts.scheme in _SCHEMES and _is_loopback(parts.netloc, None):
            return ""
        return f"Pages of {origin} may not use the tap: only those of this machine may"

    def led_back(self, url: str) -> str:
        """A URL of the server's origin as one of the tap's; any other as it is."""
        try:
            there = httpx2.URL(url)
        except httpx2.InvalidURL:
            return url
        if not there.is_absolute_url or _origin(there) != _origin(self.upstream):
            return url
        _, mark, fragment = url.partition("#")
        return self.origin + there.raw_path.decode("ascii") + mark + fragment


class EndpointRewriter:
    """Leads the `endpoint` event of a legacy stream back through the tap; all else is untouched.

    Only that event's URL is changed, and only if it names the server's origin: one without an
    origin leads back by itself. Nothing is held but an event whose end is still to come.
    """

    def __init__(self, addresses: TapAddresses) -> None:
        self._addresses = addresses
        self._held = b""
        self._is_done = False

    def pass_on(self, data: bytes) -> bytes:
        """What of a stream can be passed on after its next bytes."""
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
        """An event as it is passed on, and whether no other one can be that of the endpoint."""
        fields = SseFields(len(_BOM) if raw.startswith(_BOM) else 0)
        fields.read(raw)
        if not (fields.name or fields.count):
            return raw, False  # a comment, or blank lines
        if fields.name != ENDPOINT or fields.count != 1:
            return raw, True
        begin, stop = fields.place
        told = raw[begin:stop].decode(errors="replace").strip()
        led = self._addresses.led_back(told)
        return raw if led == told else raw[:begin] + led.encode() + raw[stop:], True


def _end_of_event(held: bytes) -> int:
    """Where the first event ends, after its blank line; 0 if that is not there."""
    begin = 0
    for match in END_OF_LINE.finditer(held):
        if match.start() == begin:
            # Of two ends of line, the second may be half of one.
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
    """Whether an authority is this machine, and of that port; of any for None."""
    try:
        parts = urllib.parse.urlsplit(f"//{authority}")
        host, asked = parts.hostname or "", parts.port
    except ValueError:
        return False
    if port is not None and (asked or 80) != port:
        return False
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
