"""A tap that signs in: clients need no token, and no token goes anywhere else."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.sessions.transport.http.oauth import auth_for
from mcp_progress_monitor.snapshots.definitions import OAuthClient
from mcp_progress_monitor.tap_http.program import SignInOptions
from mcp_progress_monitor.tap_http.sign_in import TapSignIn
from tests.unit.sessions.http.authorization import ISSUER, SERVER, Site
from tests.unit.sessions.http.visiting import Visit, visiting
from tests.unit.tap_http.tapped import Peer, ask, reply, response, rpc, server, tapped

CALL = rpc("tools/call", 7, name="work")
EVIL = "https://evil.example"
METADATA = f"{ISSUER}/.well-known/oauth-authorization-server"
RESOURCE = "https://mcp.example/.well-known/oauth-protected-resource/mcp"


class SignedIn:
    """The sign-in of a tap to the protected server, and what it reported."""

    def __init__(self, sign_in: TapSignIn, visit: Visit, lines: list[str]) -> None:
        self.sign_in = sign_in
        self.site = visit.site
        self.browser = visit.browser
        self.lines = lines

    async def ask(self, body: bytes = b"x", **headers: str) -> httpx2.Response:
        """Pass on a client's request."""
        request = httpx2.Request("POST", SERVER, content=body, headers=headers)
        answer = await self.sign_in.answered(request, self.site.handle)
        await answer.aread()
        return answer

    async def failure(self) -> ErrorDetails:
        with pytest.raises(UserError) as caught:
            await self.ask()
        return caught.value.details


@contextlib.asynccontextmanager
async def signed_in(site: Site | None = None) -> AsyncIterator[SignedIn]:
    async with visiting(site=site) as visit:
        auth = await auth_for(visit.definition, visit.means, "remote")
        assert auth is not None
        transport = httpx2.MockTransport(visit.site.handle)
        lines: list[str] = []
        async with httpx2.AsyncClient(transport=transport) as client:
            sign_in = TapSignIn(auth, client, visit.definition, lines.append)
            yield SignedIn(sign_in, visit, lines)


async def test_clients_are_answered_without_a_token_of_their_own() -> None:
    async with signed_in() as tap:
        first = await tap.ask(b"hello")
        second = await tap.ask(b"again")
    assert (first.json(), second.json()) == ({"said": "hello"}, {"said": "again"})
    assert len(tap.browser.shown) == 1
    assert tap.lines == []


async def test_the_credentials_of_a_client_are_replaced() -> None:
    async with signed_in() as tap:
        answer = await tap.ask(Authorization="Bearer mine")
    assert answer.status_code == 200
    sent = [request.headers.get("Authorization", "") for request in tap.site.asked]
    assert "Bearer mine" not in sent


async def test_the_user_signs_in_before_a_client_connects() -> None:
    async with signed_in() as tap:
        await tap.sign_in.begin()
        assert len(tap.browser.shown) == 1
        await tap.ask()
    assert len(tap.browser.shown) == 1


async def test_requests_that_are_rejected_at_once_refresh_the_token_once() -> None:
    async with signed_in() as tap, anyio.create_task_group() as group:
        await tap.ask()
        tap.site.valid.clear()
        for _ in range(8):
            group.start_soon(tap.ask)
    grants = [given["grant_type"] for given in tap.site.token_requests]
    assert grants == ["authorization_code", "refresh_token"]
    assert len(tap.browser.shown) == 1


async def test_tokens_go_to_the_server_alone() -> None:
    async with signed_in() as tap:
        await tap.ask()
        tap.site.valid.clear()
        await tap.ask()
    signed = {str(r.url) for r in tap.site.asked if "Bearer" in r.headers.get("Authorization", "")}
    assert signed == {SERVER}


async def test_a_failure_is_reported_once_however_often_clients_try() -> None:
    async with signed_in() as tap:
        tap.site.denies = True
        failures = [await tap.failure() for _ in range(3)]
    assert {each.what for each in failures} == {"The sign-in was denied"}
    (line,) = tap.lines
    assert "The sign-in was denied" in line


class _Forgetful(dict[str, str]):
    """Tokens that a server does not keep."""

    def __setitem__(self, key: str, value: str) -> None:
        """Do nothing."""


async def test_a_server_that_rejects_a_new_token_does_not_make_clients_sign_in() -> None:
    site = Site()
    site.valid = _Forgetful()
    async with signed_in(site) as tap:
        failure = await tap.failure()
    assert failure.what == "The server rejects the token of a new sign-in"


class _Slow(Site):
    """An authorization server that refreshes a token when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = anyio.Event()
        self.may_answer = anyio.Event()

    async def handle(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle(request)
        if b"grant_type=refresh_token" in request.content:
            self.is_asked.set()
            await self.may_answer.wait()
        return response


async def test_a_refreshed_token_is_kept_although_the_client_left() -> None:
    site = _Slow()
    async with signed_in(site) as tap:
        await tap.ask()
        site.valid.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(tap.ask)
            await site.is_asked.wait()
            group.cancel_scope.cancel()
            site.may_answer.set()
        assert (await tap.ask()).status_code == 200
    assert len(tap.browser.shown) == 1
    assert len(site.token_requests) == 2


class _Redirecting(Site):
    """An authorization server that sends whoever wants a token elsewhere."""

    def _token(self, _request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(307, headers={"Location": f"{EVIL}/token"})


def _with_redirected_metadata() -> Site:
    site = Site()
    site.replaced[METADATA] = httpx2.Response(302, headers={"Location": f"{EVIL}/metadata"})
    return site


def _with_metadata_of_another_server() -> Site:
    site = Site()
    resource = {"resource": f"{EVIL}/mcp", "authorization_servers": [ISSUER]}
    site.replaced[RESOURCE] = httpx2.Response(200, json=resource)
    return site


def _with_another_issuer() -> Site:
    site = Site()
    site.issuer = EVIL
    resource = {"resource": SERVER, "authorization_servers": [ISSUER]}
    site.replaced[RESOURCE] = httpx2.Response(200, json=resource)
    return site


def _with_a_code_of_another_issuer() -> Site:
    site = Site()
    site.answer_back = {"iss": EVIL}
    return site


@pytest.mark.parametrize(
    "made",
    [
        _with_redirected_metadata,
        _with_metadata_of_another_server,
        _with_another_issuer,
        _with_a_code_of_another_issuer,
        _Redirecting,
    ],
)
async def test_an_authorization_server_that_lies_is_refused(made: Callable[[], Site]) -> None:
    site = made()
    async with signed_in(site) as tap:
        await tap.failure()
    assert {request.url.host for request in site.asked} <= {"mcp.example", "login.example"}
    assert site.valid == {}


class _Down(Site):
    """One of the two hosts cannot be reached."""

    def __init__(self, host: str) -> None:
        super().__init__()
        self._host = host

    async def handle(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host == self._host:
            raise httpx2.ConnectError("refused")
        return await super().handle(request)


async def test_a_server_that_is_down_may_come_later() -> None:
    async with signed_in(_Down("mcp.example")) as tap:
        await tap.sign_in.begin()
        with pytest.raises(httpx2.ConnectError):
            await tap.ask()
    (line,) = tap.lines
    assert "You are asked to sign in when a client connects" in line


async def test_an_authorization_server_that_is_down_is_reported_by_its_host() -> None:
    async with signed_in(_Down("login.example")) as tap:
        failure = await tap.failure()
    assert "the authorization server did not respond" in failure.what
    assert failure.where == ISSUER
    (line,) = tap.lines
    assert line == (
        "Cannot sign in: the authorization server did not respond: The server refused the "
        "connection: nothing is listening there. Check the network. The next request tries again."
    )


class Fixed(httpx2.Auth):
    """Signs each request with the next of some tokens; without any left it fails."""

    def __init__(self, *tokens: str) -> None:
        self._tokens = iter(tokens)

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        token = next(self._tokens, None)
        if token is None:
            raise UserError(ErrorDetails("The sign-in was denied", "login.example"))
        request.headers["Authorization"] = f"Bearer {token}"
        yield request


def fixed(monkeypatch: pytest.MonkeyPatch, *tokens: str) -> SignInOptions:
    """The options of a tap whose sign-in has these tokens; the first is used at the start."""

    async def auth(*_details: Any) -> httpx2.Auth:
        return Fixed(*tokens)

    monkeypatch.setattr("mcp_progress_monitor.tap_http.sign_in.auth_for", auth)
    return SignInOptions(OAuthClient(), lambda sign_in: [sign_in.url])


async def test_a_failing_sign_in_is_a_gateways_error_for_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(response(b"", status="405 Method Not Allowed"))

    options = fixed(monkeypatch, "first")
    async with server(serve) as url, tapped(url, tmp_path, sign_in=options) as tap:
        answer = await ask(tap, CALL)
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert b"The sign-in was denied" in answer
    assert any("The sign-in was denied" in line for line in tap.lines)
    assert tap.event("call_ended")["outcome"] == "failed"


async def test_a_rejected_token_is_a_gateways_error_for_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def serve(peer: Peer) -> None:
        while asked := await peer.message():
            is_start = asked.startswith(b"GET")
            status = "405 Method Not Allowed" if is_start else "401 Unauthorized"
            await peer.write(response(b"no", "WWW-Authenticate: Bearer", status=status))

    options = fixed(monkeypatch, "first", "second")
    async with server(serve) as url, tapped(url, tmp_path, sign_in=options) as tap:
        answer = await ask(tap, CALL)
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert b"WWW-Authenticate" not in answer
    assert "sign_in_required" not in [each["event"] for each in tap.events]


async def test_a_redirect_to_another_origin_is_the_clients_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []

    async def serve(peer: Peer) -> None:
        while request := await peer.message():
            asked.append(request)
            there = f"Location: {EVIL}/mcp"
            await peer.write(response(b"", there, status="307 Temporary Redirect"))

    options = fixed(monkeypatch, "first", "second")
    async with server(serve) as url, tapped(url, tmp_path, sign_in=options) as tap:
        absolute = f"POST {EVIL}/mcp HTTP/1.1"
        answer = await ask(tap, CALL, line=absolute)
    assert f"Location: {EVIL}/mcp".encode() in answer
    assert len(asked) == 2, "neither the start nor the call was followed elsewhere"
    assert asked[1].startswith(b"POST /mcp HTTP/1.1")


async def test_a_request_of_another_page_is_rejected_and_not_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []

    async def serve(peer: Peer) -> None:
        asked.append(await peer.message())
        await peer.write(response(b"", status="405 Method Not Allowed"))

    options = fixed(monkeypatch, "first", "second")
    async with server(serve) as url, tapped(url, tmp_path, sign_in=options) as tap:
        answer = await ask(tap, CALL, f"Origin: {EVIL}")
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert len(asked) == 1


def _written(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_no_token_is_in_the_recording_or_in_what_the_tap_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = [f"planted-{number:02}-s3cr3t" for number in range(41)]

    async def serve(peer: Peer) -> None:
        while asked := await peer.message():
            token = asked.partition(b"Bearer ")[2].partition(b"\r\n")[0].decode()
            echoes = (f"X-Echo: {token}", f"Location: https://a.example/?x={token}")
            is_call = b"tools/call" in asked and b"/other" not in asked
            body = reply(7) if is_call else f"<p>{token}</p>".encode()
            await peer.write(response(body, *echoes))

    options = fixed(monkeypatch, *tokens)
    async with server(serve) as url, tapped(url, tmp_path, sign_in=options) as tap:
        for number in range(20):
            own = f"Authorization: Bearer own-{number:02}-s3cr3t"
            assert tokens[1 + 2 * number].encode() in await ask(tap, CALL, own)
            await ask(tap, b"<no message>", own, line="POST /mcp HTTP/1.1")
    said = "\n".join(tap.lines).encode()
    assert b"s3cr3t" not in _written(tmp_path) + said
    assert tap.event("opened")["auth"] == "oauth"
