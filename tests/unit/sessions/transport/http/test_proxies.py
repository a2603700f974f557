"""Which way requests go, and the error where there is none."""

import json
import sys

import httpx2
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd
from mcp_progress_monitor.sessions.transport.http.client import HttpClient, HttpRequest
from mcp_progress_monitor.sessions.transport.http.errors import UnreachableError
from mcp_progress_monitor.sessions.transport.http.proxies import (
    Routes,
    is_choice_needed,
    is_this_machine,
    proxy_for,
)
from mcp_progress_monitor.sessions.transport.http.receive_queue import ReceiveQueue
from mcp_progress_monitor.sessions.transport.http.record import ExchangeRecorder
from tests.unit.sessions.http.scripted import Asked, Out, connected, reply

SOCKS = "socks5://me:secret@127.0.0.1:1"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_the_proxy_of_a_scheme_goes_before_the_one_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", SOCKS)
    monkeypatch.setenv("HTTPS_PROXY", "secure:8")
    monkeypatch.setenv("NO_PROXY", "near,.inside.example")
    assert proxy_for("https://far/") == "http://secure:8"
    assert proxy_for("http://far/") == SOCKS
    assert proxy_for("http://near/") is None
    assert proxy_for("https://a.inside.example/") is None


@pytest.mark.parametrize(
    ("entry", "near", "far"),
    [
        ("near:8080", "http://near:8080/", "http://near/"),
        ("near:80", "http://near/", "http://near:8080/"),
        ("NEAR:443", "https://a.near/", "http://near/"),
        ("[fd00::1]", "http://[fd00::1]:8/", "http://[fd00::2]:8/"),
        ("[FD00::1]:8", "http://[fd00::1]:8/", "http://[fd00::1]/"),
        ("fd00::/8", "http://[fd00::1]:8/", "http://[fe80::1]/"),
        ("x, 10.0.0.0/8", "http://10.1.2.3/", "http://11.1.2.3/"),
        ("*.near", "http://a.near/", "http://near/"),
    ],
)
def test_no_proxy_names_ports_networks_and_addresses(
    entry: str, near: str, far: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://through:8")
    monkeypatch.setenv("NO_PROXY", entry)
    assert proxy_for(near) is None
    assert proxy_for(far) == "http://through:8"


def test_what_names_nothing_in_no_proxy_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://through:8")
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/99,:8,[,[],.,*.,far:x,far:99999,http://")
    assert proxy_for("http://far:8/") == proxy_for("http://10.1.2.3/") == "http://through:8"
    monkeypatch.setenv("NO_PROXY", "[,near:8")
    assert proxy_for("http://near:8/") is None


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.9.9"]
)
def test_this_machine_is_not_asked_for_through_a_proxy_for_all(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", SOCKS)
    assert is_this_machine(host)
    assert proxy_for(f"http://{host}:80/mcp") is None
    assert proxy_for("http://[::1]:80/mcp") is None
    monkeypatch.setenv("HTTP_PROXY", "http://looking:8")  # who asks for that means it
    assert proxy_for(f"http://{host}:80/mcp") == "http://looking:8"


def test_the_client_chooses_by_itself_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_choice_needed()
    monkeypatch.setenv("HTTP_PROXY", "http://through:8")
    assert not is_choice_needed()
    monkeypatch.setenv("HTTPS_PROXY", "socks5h://through:8")
    assert is_choice_needed()


async def in_json(asked: Asked, out: Out) -> None:
    await out.json(reply(asked))


@pytest.mark.parametrize("proxy", [SOCKS, "socks4://127.0.0.1:1", "http://127.0.0.1:1"])
async def test_a_server_on_this_machine_is_reached_whatever_the_proxy_for_all_is(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    async with connected(in_json) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.ANSWERED


@pytest.mark.parametrize(
    ("proxy", "text"),
    [
        (SOCKS, "The proxy socks5://127.0.0.1:1 uses SOCKS, and SOCKS support is not installed"),
        ("socks4://127.0.0.1:1", "Cannot create an HTTP client"),
        ("http://me:secret@127.0.0.1:port", "Cannot create an HTTP client"),
    ],
)
async def test_a_server_behind_a_proxy_that_cannot_be_spoken_to_is_explained(
    proxy: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("ALL_PROXY", proxy)
    inbound, url = ReceiveQueue(Framer("web#1", FrameNumbers()), Clock()), "http://far.example/mcp"
    wire = HttpClient(ExchangeRecorder(inbound), 5)
    wire.open({}, None, url)
    with pytest.raises(UnreachableError) as caught:
        async with wire.exchange(HttpRequest("GET", url, {}, "listen")):
            pass
    error = caught.value.details
    assert (text in error.what, error.where) == (True, url)
    assert "ALL_PROXY" in error.hint
    assert "secret" not in error.as_text()
    reported = [
        json.loads(frame.raw)
        for _ in range(2)
        for frames in await inbound.next()
        for frame in frames
    ]
    assert [event["event"] for event in reported] == ["http_request", "http_ended"]
    assert reported[1]["reason"].startswith("not sent: ")
    await wire.close()


async def test_all_ways_are_closed() -> None:
    closed: list[str | None] = []

    class Way(httpx2.AsyncBaseTransport):
        def __init__(self, proxy: str | None) -> None:
            self._proxy = proxy

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200, request=request)

        async def aclose(self) -> None:
            closed.append(self._proxy)

    async with httpx2.AsyncClient(transport=Routes(Way)) as client:
        for url in ("http://localhost/", "http://localhost/again"):
            assert (await client.get(url)).status_code == 200
    assert closed == [None]
