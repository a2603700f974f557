"""Requests that are signed with a token, which the SDK's OAuth client gets and renews.

The SDK's own flow holds a lock from a request's first byte to its response: a call that takes an
hour would keep its own cancel waiting. So requests go out on their own here, and the SDK is asked
only for a token that is missing, over, or refused: for one request at a time, on behalf of all.
"""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.utils import (
    is_valid_client_metadata_url,
    validate_authorization_response_iss,
)
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
)
from pydantic import AnyUrl

from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.sessions.connect_limit import SIGN_IN_S
from mcp_progress_monitor.sessions.http import sign_in_words as words
from mcp_progress_monitor.sessions.http.callback import HOST, PATH, Callback, state_in
from mcp_progress_monitor.sessions.http.sign_in_body import read_answer, read_refusal
from mcp_progress_monitor.sessions.http.sign_in_discovery import Discovery
from mcp_progress_monitor.sessions.http.sign_in_storage import Storage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.sessions.http.token_store import TokenStore
    from mcp_progress_monitor.sessions.sign_ins import SignIns

_MOST_TRIES: Final = 4
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_TIMEOUT: Final = {"connect": 15.0, "read": 30.0, "write": 30.0, "pool": 30.0}
_LONG_AGO: Final = 1.0
"""An end that lies in the past; 0 would be none to the SDK."""
_FAILURES: Final = (OAuthFlowError, ValueError, httpx2.InvalidURL)
"""What the SDK raises for what a server says: `ValueError` is pydantic's, and of wrong UTF-8."""

# It logs whole tracebacks of what is told as a problem here.
logging.getLogger("mcp.client.auth.oauth2").setLevel(logging.CRITICAL + 1)


class Client(NamedTuple):
    """Who we are at an authorization server; without `id` we register ourselves.

    An `id` that is an https URL, without a secret, is that of a client id metadata document; where
    an authorization server does not take those, we register ourselves. `port` is where browsers
    come back to, 0 for any.
    """

    id: str | None
    secret: str | None
    scope: str | None
    port: int

    @property
    def document(self) -> str | None:
        """The URL of the client id metadata document; None without."""
        is_document = self.secret is None and is_valid_client_metadata_url(self.id)
        return self.id if is_document else None


class _Attempt:
    """A request on its way: the token it was sent with, and how that was refused."""

    def __init__(self, request: httpx2.Request) -> None:
        self.request = request
        self.sent = ""
        self.refusal: httpx2.Response | None = None
        self.has_asked = False
        """Whether the user was asked to sign in for it."""


class SignInAuth(httpx2.Auth):
    """Signs the requests of one connection.

    Raises `ProblemError` out of a request when a token is needed and cannot be had.
    """

    def __init__(
        self, url: str, client: Client, store: TokenStore, key: str, sign_ins: SignIns, server: str
    ) -> None:
        self._url = url
        self._client = client
        self._server = server
        self._sign_ins = sign_ins
        self._turn = sign_ins.turn(key)
        self._is_loaded = False
        self._failure: Problem | None = None
        self._callback: Callback | None = None
        self._page = ""
        self._discovery: Discovery | None = None
        self._storage = Storage(store, key, words.place(url), _registered(client))
        self._provider = OAuthClientProvider(
            url, _metadata(client), self._storage, self._remember, self._ask, client.document
        )
        self._context = self._storage.context = self._provider.context

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with a token; where it is refused, get another one and send it again."""
        attempt = _Attempt(request)
        for left in reversed(range(_MOST_TRIES)):
            if attempt.refusal is not None or not self._is_ready():
                async with contextlib.aclosing(self._authorized(attempt)) as steps:
                    outgoing = await anext(steps, None)
                    while outgoing is not None:
                        response = yield outgoing
                        outgoing = await _after(steps, response)
            self._sign(attempt)
            response = yield request
            if not _is_refusal(response) or attempt.has_asked or not left:
                return
            await read_refusal(response)
            attempt.refusal = response

    def _is_ready(self) -> bool:
        """Whether requests can go out: with a token, or without as long as none is asked for."""
        context = self._context
        return self._is_loaded and (context.current_tokens is None or context.is_token_valid())

    def _sign(self, attempt: _Attempt) -> None:
        tokens = self._context.current_tokens
        if tokens is not None:
            attempt.request.headers["Authorization"] = f"Bearer {tokens.access_token}"
        elif attempt.sent:
            del attempt.request.headers["Authorization"]
        attempt.sent = "" if tokens is None else tokens.access_token

    async def _authorized(
        self, attempt: _Attempt
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """The requests that lead to a token for `attempt`; none when there is one by now.

        Others wait meanwhile. When it fails it fails for them as well: nobody is asked twice.
        """
        known = self._failure
        async with self._turn:
            if self._failure is not None and self._failure is not known:
                raise ProblemError(self._failure)
            try:
                await self._storage.look()
                self._is_loaded = True
                async with contextlib.aclosing(self._steps(attempt)) as steps:
                    outgoing = await anext(steps, None)
                    while outgoing is not None:
                        response = yield self._prepared(outgoing)
                        outgoing = await _after(steps, await read_answer(response))
            except ProblemError as error:
                self._failure = error.problem
                raise
            except _FAILURES as error:
                failed = await self._failed(error)
                self._failure = failed.problem
                raise failed from error

    async def _steps(self, attempt: _Attempt) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """What the SDK sends to renew a token, and if that is not enough, to get a new one."""
        context, request = self._context, attempt.request
        if self._has_another(attempt):
            return
        before = context.current_tokens
        if attempt.refusal is not None and attempt.refusal.status_code == 401:
            context.token_expiry_time = _LONG_AGO
        async with contextlib.aclosing(self._provider.async_auth_flow(request)) as flow:
            outgoing = await anext(flow)
            while outgoing is not request:
                outgoing = await flow.asend(_renewing((yield outgoing)))
            if before is not None and context.current_tokens is None:
                await self._storage.drop(before)
            if attempt.refusal is None or self._has_another(attempt):
                return
            attempt.has_asked = True
            context.client_info = await self._storage.known_client(context.client_info)
            await self._open_callback()
            self._discovery = discovery = Discovery(self._url, attempt.refusal)
            try:
                outgoing = await flow.asend(self._challenge(attempt.refusal))
                while outgoing is not request:
                    if outgoing.method == "POST":  # registering, or exchanging the code
                        discovery.check(context)
                        discovery.check_registration(context)
                    response = yield outgoing
                    discovery.note(response)
                    outgoing = await flow.asend(response)
            finally:
                await self._close_callback()

    def _has_another(self, attempt: _Attempt) -> bool:
        """Whether there is a token that has not been refused."""
        tokens = self._context.current_tokens
        is_valid = self._context.is_token_valid()
        return tokens is not None and is_valid and tokens.access_token != attempt.sent

    def _challenge(self, refusal: httpx2.Response) -> httpx2.Response:
        """A refusal for the SDK, which asks for the scope in it: the user's own, if there is."""
        wanted = " ".join((self._client.scope or "").replace('"', "").replace("\\", "").split())
        header = refusal.headers.get("WWW-Authenticate", "")
        if wanted and refusal.status_code == 401:
            header = f'Bearer scope="{wanted}", {header}'
        return httpx2.Response(
            refusal.status_code,
            headers={"WWW-Authenticate": header} if header else {},
            request=refusal.request,
        )

    def _prepared(self, request: httpx2.Request) -> httpx2.Request:
        """A request of the SDK's with limits, if it goes where credentials may go."""
        self._must_be_safe(str(request.url))
        request.extensions = {**request.extensions, "timeout": _TIMEOUT}
        request.headers["Accept-Encoding"] = "identity"
        return request

    def _must_be_safe(self, url: str) -> None:
        """Encrypted; or, for a server that is not encrypted itself, on its or on this machine."""
        parts, own = urlsplit(url), urlsplit(self._url)
        is_near = parts.hostname in _LOOPBACK or parts.hostname == own.hostname
        is_near = is_near and (own.scheme == "http" or own.hostname in _LOOPBACK)
        permitted = {"https", "http"} if is_near else {"https"}
        if not parts.hostname or parts.scheme not in permitted:
            raise words.not_permitted(url)

    # The browser

    async def _open_callback(self) -> None:
        """Take a port, and call its address ours; the one that we registered with, if we have."""
        context = self._context
        port = self._client.port or _registered_port(context.client_info)
        try:
            self._callback = await Callback.open(port)
        except ProblemError:
            if self._client.port or not port:
                raise
            context.client_info = None  # another program has the port: register with a new one
            self._callback = await Callback.open()
        context.client_metadata.redirect_uris = [AnyUrl(self._callback.address)]

    async def _close_callback(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            await callback.close()

    async def _remember(self, url: str) -> None:
        """The SDK's page to sign in at."""
        if self._discovery is not None:
            self._discovery.check(self._context)
        self._must_be_safe(url)
        self._page = url
        info, metadata = self._context.client_info, self._context.oauth_metadata
        if self._client.secret and info is not None:
            known = metadata and metadata.token_endpoint_auth_methods_supported
            is_posted = "client_secret_post" in (known or ())
            method = "client_secret_post" if is_posted else "client_secret_basic"
            self._context.client_info = info.model_copy(
                update={"token_endpoint_auth_method": method}
            )

    async def _ask(self) -> AuthorizationCodeResult:
        """Wait until the user has signed in. Ends with the request that needs it."""
        url, callback = self._page, self._callback
        if callback is None:
            raise AssertionError  # it is opened before the SDK is told of a refusal
        answer = None
        self._sign_ins.begin(self._server, url)
        try:
            with anyio.move_on_after(SIGN_IN_S):
                answer = await callback.answer(state_in(url))
        finally:
            self._sign_ins.end(self._server)
        if answer is None:
            raise words.too_late(SIGN_IN_S, callback.strangers, url)
        if answer.error:
            # Not even the words of another authorization server are shown (RFC 9207, 2.4).
            validate_authorization_response_iss(answer.issuer, self._context.oauth_metadata)
            raise words.refused(answer, url)
        return AuthorizationCodeResult(code=answer.code, state=answer.state, iss=answer.issuer)

    async def _failed(self, error: Exception) -> ProblemError:
        if "invalid_client" in str(error):
            await self._storage.forget_client()  # it is registered no more: do that again
        return words.failed(error, words.place(self._url))


async def _after(
    steps: AsyncGenerator[httpx2.Request, httpx2.Response], response: httpx2.Response
) -> httpx2.Request | None:
    """The request that follows a response; None at the end."""
    try:
        return await steps.asend(response)
    except StopAsyncIteration:
        return None


def _is_refusal(response: httpx2.Response) -> bool:
    """Whether a token is missing or refused, or one with more rights is needed (RFC 6750, 3.1)."""
    challenge = response.headers.get("WWW-Authenticate", "")
    is_too_weak = response.status_code == 403 and "insufficient_scope" in challenge
    return response.status_code == 401 or is_too_weak


def _renewing(response: httpx2.Response) -> httpx2.Response:
    """A renewal's answer; one that says nothing about the token must not cost it."""
    if response.status_code >= 500 or response.status_code == 429:
        raise words.not_renewed(response.status_code, str(response.request.url))
    return response


def _registered(client: Client) -> OAuthClientInformationFull | None:
    if client.id is None or client.document is not None:
        return None
    method = "client_secret_basic" if client.secret else "none"
    return OAuthClientInformationFull(
        client_id=client.id, client_secret=client.secret, token_endpoint_auth_method=method
    )


def _registered_port(info: OAuthClientInformationFull | None) -> int:
    """The port of the address that we registered with; 0 without."""
    addresses = (info and info.redirect_uris) or ()
    return next((each.port or 0 for each in addresses if each.host == HOST), 0)


def _metadata(client: Client) -> OAuthClientMetadata:
    """What we register as: a program of the user's, which keeps no secret (RFC 8252, 8.4)."""
    return OAuthClientMetadata(
        client_name="MCP Progress Monitor",
        software_id="mcp-progress-monitor",
        redirect_uris=[AnyUrl(f"http://{HOST}:{client.port}{PATH}")],
        token_endpoint_auth_method="none",  # noqa: S106 - it says that there is none
        scope=client.scope,
    )
