"""Ways to a server over HTTP: with TLS, and through proxies of the environment."""

import itertools
from pathlib import Path

import pytest

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.http_servers import http_server, self_signed
from tests.integration.proxy import proxy

CALL = Call("demo", "tools/call", {"name": "known_total", "arguments": {"steps": 3}})
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's own proxies and certificates."""
    for name, is_upper in itertools.product(VARIABLES, (True, False)):
        monkeypatch.delenv(name.upper() if is_upper else name, raising=False)


async def outcome(url: str) -> JobState:
    """What becomes of a call to the server there."""
    async with Engine() as engine:
        engine.servers.add(HttpDefinition(name="demo", url=url))
        await engine.servers.connect("demo")
        return (await engine.calls.make(CALL)).state


async def test_a_certificate_that_nobody_trusts_is_explained(tmp_path: Path) -> None:
    async with http_server("--tls", *self_signed(tmp_path)) as server:
        with pytest.raises(UserError) as caught:
            await outcome(server.url)
    error = caught.value.details
    assert error.what == "Cannot establish a secure connection to the server"
    assert "not signed by a trusted authority" in error.hint
    assert "SSL_CERT_FILE" in error.hint


async def test_a_certificate_of_ones_own_is_trusted_once_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = self_signed(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    async with http_server("--tls", certificate, key) as server:
        assert await outcome(server.url) is JobState.DONE


async def test_the_proxy_of_the_environment_forwards_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with http_server() as server, proxy() as through:
        monkeypatch.setenv("HTTP_PROXY", through.url)
        assert await outcome(server.url) is JobState.DONE
    assert f"POST {server.url} HTTP/1.1" in through.asked


async def test_servers_with_tls_are_reached_through_a_tunnel_of_the_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = self_signed(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    async with http_server("--tls", certificate, key) as server, proxy() as through:
        monkeypatch.setenv("HTTPS_PROXY", through.url)
        assert await outcome(server.url) is JobState.DONE
    assert set(through.asked) == {f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"}


@pytest.mark.parametrize("exception", ["127.0.0.1", "*"])
async def test_a_server_that_is_to_be_reached_without_the_proxy_is(
    exception: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with http_server() as server, proxy() as through:
        monkeypatch.setenv("HTTP_PROXY", through.url)
        monkeypatch.setenv("NO_PROXY", exception)
        assert await outcome(server.url) is JobState.DONE
    assert through.asked == []


async def test_a_proxy_that_lets_nothing_through_is_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with proxy("403 Forbidden") as through:
        monkeypatch.setenv("HTTPS_PROXY", through.url)
        with pytest.raises(UserError) as caught:
            await outcome("https://127.0.0.1:1/mcp")
    text = f"The proxy {through.url} rejected the request to the server"
    assert caught.value.details.what == text
    assert "HTTPS_PROXY" in caught.value.details.hint
