"""The proxy of a request, according to the environment or the system."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

if TYPE_CHECKING:
    from collections.abc import Callable
    from urllib.parse import SplitResult

_USUAL_PORTS: Final = {"http": 80, "https": 443}
_ENTRY: Final = re.compile(
    r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[^:\[\]]*[^:\[\].]))(?::(?P<port>[0-9]{1,5}))?"
)
"""An entry of NO_PROXY: a name or an address, which may have a port."""


def proxy_for(url: str) -> str | None:
    parts = urlsplit(url)
    host, proxies = parts.hostname or "", getproxies()
    own, common = proxies.get(parts.scheme), proxies.get("all")
    proxy = own or (None if is_this_machine(host) else common)
    if not proxy or proxy_bypass(host) or _is_excepted(parts):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_excepted(url: SplitResult) -> bool:
    """Return whether NO_PROXY names the URL's host in a form that Python does not support.

    These are ports, networks, brackets around addresses, and an asterisk before a domain.
    """
    host = (url.hostname or "").rstrip(".")
    port = url.port or _USUAL_PORTS.get(url.scheme)
    entries = getproxies().get("no", "").lower().split(",")
    return any(_names(entry.strip(), host, port) for entry in entries)


def _names(entry: str, host: str, port: int | None) -> bool:
    if "/" in entry:
        return _is_within(host, entry)
    found = _ENTRY.fullmatch(entry)
    if found is None or (found["port"] and int(found["port"]) != port):
        return False
    name = found["address"] or found["name"]
    if name.startswith("*."):
        return host.endswith(name[1:])
    name = name.lstrip(".")
    return host == name or host.endswith(f".{name}")


def _is_within(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost" or host.lower().endswith(".localhost")


def is_choice_needed() -> bool:
    """Return whether the client's own choice of a proxy is wrong."""
    return any(
        scheme == "all" or proxy.startswith("socks")
        for scheme, proxy in getproxies().items()
        if scheme in {"http", "https", "all"}
    )


class Routes(httpx2.AsyncBaseTransport):
    """Sends each request through its proxy, whose transport is created when first needed."""

    def __init__(self, make: Callable[[str | None], httpx2.AsyncBaseTransport]) -> None:
        """`make` creates the transport through a proxy; for None, a direct one."""
        self._make = make
        self._ways: dict[str | None, httpx2.AsyncBaseTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; raises what `make` raises if the transport cannot be created."""
        proxy = proxy_for(str(request.url))
        if proxy not in self._ways:
            self._ways[proxy] = self._make(proxy)
        return await self._ways[proxy].handle_async_request(request)

    async def aclose(self) -> None:
        for way in self._ways.values():
            await way.aclose()
