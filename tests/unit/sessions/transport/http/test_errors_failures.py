"""Why a server could not be reached, as text."""

import errno
import socket
import ssl
from pathlib import Path

import httpx2
import pytest

from mcp_progress_monitor.sessions.transport.http.client import trusted
from mcp_progress_monitor.sessions.transport.http.errors import (
    BrokenError,
    UnreachableError,
    no_client,
    translated,
)


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (httpx2.ConnectTimeout(""), "within 3 s"),
        (httpx2.ProxyError("407"), "proxy"),
        (
            caused(httpx2.ConnectError("x"), OSError(errno.ECONNREFUSED, "refused")),
            "nothing is listening",
        ),
        (caused(httpx2.ConnectError("x"), OSError(errno.EHOSTUNREACH, "no")), "No route"),
        (caused(httpx2.ConnectError("x"), OSError(errno.ECONNRESET, "no")), "immediately"),
        (caused(httpx2.ConnectError("x"), socket.gaierror(-2, "no")), "resolved"),
        (httpx2.ConnectError("strange"), "could not be reached"),
        (httpx2.UnsupportedProtocol("x"), "not valid for a request"),
    ],
)
def test_what_never_got_there_is_unreachable(error: Exception, text: str) -> None:
    found = translated(error, "http://host/", 3)
    assert isinstance(found, UnreachableError)
    assert text in found.details.what
    assert found.details.where == "http://host/"
    assert found.details.hint


PAGE = b"<p>It's \x1b!"


@pytest.mark.parametrize("value", [b"secret-abcdef\n", b"it's secret\0"])
def test_the_value_of_a_header_that_cannot_be_sent_is_not_reported(value: bytes) -> None:
    error = httpx2.LocalProtocolError(f"Illegal header value {value!r}")
    found = translated(error, "http://host/", 3)
    assert isinstance(found, UnreachableError)
    assert found.details.detail == "Illegal header value"


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("certificate verify failed: self-signed certificate", "not signed by a trusted authority"),
        ("certificate verify failed: unable to get local issuer certificate", "SSL_CERT_FILE"),
        ("certificate verify failed: certificate has expired", "date"),
        ("certificate verify failed: Hostname mismatch", "another host"),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number", "http://"),
        ("something else", "certificate"),
    ],
)
def test_a_tls_failure_says_what_to_do(said: str, hint: str) -> None:
    group = ExceptionGroup("all", [ssl.SSLError(1, said)])
    found = translated(caused(httpx2.ConnectError("x"), group), "https://host/", 3)
    assert isinstance(found, UnreachableError)
    assert "secure connection" in found.details.what
    assert hint in found.details.hint


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (httpx2.RemoteProtocolError("Server disconnected without sending a response."), "without"),
        (httpx2.RemoteProtocolError("incomplete chunked read"), "in the middle of the response"),
        (httpx2.RemoteProtocolError("illegal status line"), "not valid HTTP"),
        (
            httpx2.RemoteProtocolError(f"illegal chunk header: {bytearray(PAGE)!r}"),
            "not valid HTTP (illegal chunk header: “<p>It's \\x1b!”)",
        ),
        (
            httpx2.RemoteProtocolError(
                f"malformed chunk footer: {bytearray(b'xy')!r} (expected {b'z' * 70!r})"
            ),
            f"not valid HTTP (malformed chunk footer: “xy” (expected “{'z' * 59}…”))",
        ),
        (httpx2.ReadError(""), "connection was lost"),
        (httpx2.DecodingError("bad"), "compressed"),
        (httpx2.WriteError("why"), "why"),
    ],
)
def test_what_was_sent_has_broken(error: Exception, text: str) -> None:
    found = translated(error, "http://host/", 3)
    assert isinstance(found, BrokenError)
    assert text in found.reason


REFUSED = caused(httpx2.ConnectError("x"), OSError(errno.ECONNREFUSED, "refused"))
UNKNOWN = caused(httpx2.ConnectError("x"), socket.gaierror(-2, "no"))


@pytest.fixture
def through_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://me:secret@127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://me:secret@127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "near")


@pytest.mark.usefixtures("through_proxy")
@pytest.mark.parametrize(
    "error",
    [REFUSED, UNKNOWN, httpx2.ConnectTimeout(""), httpx2.ProxyError("x"), httpx2.ConnectError("")],
)
def test_a_proxy_that_cannot_be_reached_is_named_and_not_the_server(error: Exception) -> None:
    found = translated(error, "http://far/", 3)
    assert isinstance(found, UnreachableError)
    assert found.details.what.startswith("The proxy http://127.0.0.1:9")
    assert "HTTP_PROXY" in found.details.hint
    near = translated(error, "http://near/", 3)
    assert isinstance(near, UnreachableError)
    assert "127.0.0.1" not in near.details.what


@pytest.mark.usefixtures("through_proxy")
def test_a_proxy_that_answers_rubbish_is_named() -> None:
    rubbish = httpx2.RemoteProtocolError("illegal status line")
    assert "from the proxy http://127.0.0.1:9 is no" in str(translated(rubbish, "http://far/", 3))
    assert "the data from the server" in str(translated(rubbish, "http://near/", 3))
    silent = httpx2.RemoteProtocolError("Server disconnected without sending a response.")
    assert "or the proxy http://127.0.0.1:9" in str(translated(silent, "http://far/", 3))


@pytest.mark.usefixtures("through_proxy")
def test_without_a_secure_connection_it_may_be_the_proxy() -> None:
    error = caused(httpx2.ConnectError("x"), ssl.SSLError(1, "wrong version number"))
    for host, is_between in (("far", True), ("near", False)):
        found = translated(error, f"https://{host}/", 3)
        assert isinstance(found, UnreachableError)
        assert ("HTTPS_PROXY" in found.details.hint) is is_between


def test_a_socks_proxy_that_cannot_be_used_is_named_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("all_proxy", "socks5://me:secret@127.0.0.1:1080")
    with pytest.raises(ImportError) as caught:
        httpx2.AsyncClient()
    error = no_client(caught.value, "http://host/")
    assert error.what.startswith("The proxy socks5://127.0.0.1:1080 uses SOCKS")
    assert "ALL_PROXY" in error.hint
    assert "pip" not in str(error)


@pytest.mark.parametrize("what", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_named(
    what: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own.pem"
    if what is not None:
        path.write_text(what)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with pytest.raises(OSError, match=r".") as caught:
        trusted()
    error = no_client(caught.value, "http://host/")
    assert str(path) in error.what
    assert "SSL_CERT_FILE" in error.what
    assert "PROXY" not in str(error)


def test_a_client_that_cannot_be_made_otherwise_says_why() -> None:
    error = no_client(ValueError("Unknown scheme for proxy URL"), "http://host/")
    assert "Unknown scheme" in (error.detail or "")
    assert "HTTP_PROXY" in error.hint


@pytest.mark.parametrize(
    "said",
    [
        "peer closed connection without sending complete message body (received 8, expected 9)",
        "peer unexpectedly closed connection",
    ],
)
def test_what_the_client_says_of_an_answer_cut_short_is_reported_plainly(said: str) -> None:
    found = translated(httpx2.RemoteProtocolError(said), "http://host/", 3)
    assert str(found) == "the connection ended in the middle of the response"


def test_what_the_client_quotes_of_an_answer_is_bounded_and_visible() -> None:
    found = translated(httpx2.RemoteProtocolError("\x1b" + "x" * 10_000), "http://host/", 3)
    assert len(str(found)) < 300
    assert "\x1b" not in str(found)
