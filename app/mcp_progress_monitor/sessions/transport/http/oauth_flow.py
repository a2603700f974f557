"""The OAuth flow, implemented by the official SDK: discovery, registration, tokens, refresh."""

from __future__ import annotations

import contextlib
import json
import logging
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urljoin, urlsplit

import anyio
import anyio.to_thread
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.utils import (
    extract_resource_metadata_from_www_auth,
    is_valid_client_metadata_url,
    issuers_match,
    should_use_client_metadata_url,
    validate_authorization_response_iss,
)
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.sessions.connection.clocks import SIGN_IN_S
from mcp_progress_monitor.sessions.transport.http import oauth_callback
from mcp_progress_monitor.sessions.transport.http.client import (
    is_token_refused,
    read_answer,
    read_refusal,
)
from mcp_progress_monitor.sessions.transport.http.oauth_callback import (
    HOST,
    PATH,
    OAuthCallback,
    state_in,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from mcp.client.auth.oauth2 import OAuthContext

    from mcp_progress_monitor.secrets.token_store import TokenStore
    from mcp_progress_monitor.sessions.transport.base import SignIns

_log = logging.getLogger(__name__)


class StoredSignIn(BaseModel):
    """One sign-in.

    The SDK alone would save tokens and client. After a restart it would know neither when a token
    expires nor where it is refreshed, and would send the refresh token to the wrong place. `server`
    is for people who read the file.
    """

    server: str
    tokens: OAuthToken | None = None
    expires_at: float | None = None
    client: OAuthClientInformationFull | None = None
    issuer: str | None = None
    metadata: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None


class SignInStorage:
    """The SDK's `TokenStorage` over our store, for one server.

    `registered` is a client that was registered manually: it is never replaced by a dynamically
    registered one.
    """

    def __init__(
        self,
        store: TokenStore,
        key: str,
        server: str,
        registered: OAuthClientInformationFull | None,
    ) -> None:
        self.context: OAuthContext  # the SDK's state, set before anything else is called
        self._store = store
        self._key = key
        self._server = server
        self._registered = registered
        self._record = StoredSignIn(server=server)

    async def poll(self) -> None:
        """Load the saved sign-in, if its token differs from ours.

        Other connections and programs refresh it as well, which may invalidate ours.
        """
        record = await self._read()
        context = self.context
        if record.tokens is None or record.tokens == context.current_tokens:
            return
        self._record = record
        context.current_tokens = record.tokens
        context.token_expiry_time = record.expires_at
        context.client_info = await self.get_client_info()
        context.auth_server_url = record.issuer
        context.oauth_metadata = record.metadata
        context.protected_resource_metadata = record.resource

    async def drop(self, tokens: OAuthToken) -> None:
        """Delete tokens that are no longer useful, unless others have newer ones."""
        record = await self._read()
        if record.tokens == tokens:
            self._record = record.model_copy(update={"tokens": None, "expires_at": None})
            await self._write()

    async def forget_client(self) -> None:
        """Delete a registration that the authorization server no longer knows."""
        self.context.client_info = None
        self._record = self._record.model_copy(update={"client": None})
        await self._write()

    async def get_tokens(self) -> OAuthToken | None:
        return self._record.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        await self._keep(tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self._registered is None:
            return self._record.client
        # Bound to the first server that used it: a server cannot redirect the secret later.
        return self._registered.model_copy(update={"issuer": self._bound_to()})

    async def known_client(
        self, now: OAuthClientInformationFull | None
    ) -> OAuthClientInformationFull | None:
        """Our registration at the next sign-in; `now` is the one that the SDK holds."""
        return now if self._registered is None else await self.get_client_info()

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        if self._registered is not None:
            what = (
                "The server now names another authorization server than the one its client "
                "ID was registered with"
            )
            hint = "If this is expected, sign out (servers sign-out), then sign in again."
            raise UserError(
                ErrorDetails(what, self._server, hint, str(self.context.auth_server_url))
            )
        self._record = self._record.model_copy(update={"client": client_info})
        await self._keep(self.context.current_tokens)

    def _bound_to(self) -> str | None:
        metadata = self._record.metadata
        return None if metadata is None else str(metadata.issuer)

    async def _keep(self, tokens: OAuthToken | None) -> None:
        context = self.context
        self._record = StoredSignIn(
            server=self._server,
            tokens=tokens,
            expires_at=context.token_expiry_time if tokens else None,
            client=None if self._registered is not None else context.client_info,
            issuer=context.auth_server_url,
            metadata=context.oauth_metadata,
            resource=context.protected_resource_metadata,
        )
        await self._write()

    async def _read(self) -> StoredSignIn:
        found: dict[str, Any] | None = await anyio.to_thread.run_sync(self._store.get, self._key)
        if found is None:
            return StoredSignIn(server=self._server)
        try:
            return StoredSignIn.model_validate(found)
        except ValidationError:
            # Reported without its content, which is secret.
            _log.info("What is kept of the sign-in at %s is not understood: left out", self._server)
            return StoredSignIn(server=self._server)

    async def _write(self) -> None:
        """Save the record; if that fails, it is valid while the connection lasts."""
        fields = self._record.model_dump(mode="json", exclude_none=True)
        try:
            await anyio.to_thread.run_sync(self._store.put, self._key, fields)
        except UserError as error:
            _log.warning("%s", error.details.as_text())


_RESOURCE_PATH: Final = "/.well-known/oauth-protected-resource"
_WELL_KNOWN: Final = "/.well-known/"
_CHALLENGE_METHOD: Final = "S256"
_PORTS: Final = {"https": 443, "http": 80}


class Discovery:
    """One run of the SDK's discovery for the server at `url`, checked response by response."""

    def __init__(self, url: str, refusal: httpx2.Response) -> None:
        self._url = url
        self._named = extract_resource_metadata_from_www_auth(refusal)
        """The URL that the server gives for its metadata, if any."""
        self._resource_fault = ""
        self._server_fault = ""

    def note(self, response: httpx2.Response) -> None:
        """Check a response before the SDK reads it.

        Raises:
            UserError: metadata of another origin describes another server than ours.
        """
        request = response.request
        if request.method != "GET":
            return
        url, path = str(request.url), request.url.path
        is_named = self._named is not None and request.url == httpx2.URL(self._named)
        if is_named or path.startswith(_RESOURCE_PATH):
            found = self._read(response, ProtectedResourceMetadata, must_be=is_named)
            if isinstance(found, ProtectedResourceMetadata):
                must_describe(str(found.resource), url, self._url)
            elif isinstance(found, str) and found:
                self._resource_fault = found
        elif _WELL_KNOWN in path:
            server = self._read(response, OAuthMetadata, must_be=False)
            # A second URL without metadata does not excuse an error at the first.
            fault = server if isinstance(server, str) else None
            self._server_fault = "" if fault is None else self._server_fault or fault

    def check(self, context: OAuthContext) -> None:
        """Check the findings before the client is registered or the user is asked.

        Raises:
            UserError: the metadata is malformed, or missing where a server was named, or the
                authorization server does not support PKCE.
        """
        if context.protected_resource_metadata is None and self._resource_fault:
            raise oauth_callback.unusable_resource(
                self._resource_fault, oauth_callback.place(self._url)
            )
        named, metadata = context.auth_server_url, context.oauth_metadata
        if named is not None and (
            metadata is None or not issuers_match(str(metadata.issuer), named)
        ):
            raise oauth_callback.without_metadata(named, self._server_fault)
        if metadata is None:
            if self._server_fault:
                raise oauth_callback.without_metadata(self._url, self._server_fault)
            return  # 2025-03-26: without metadata, the standard paths apply
        methods = metadata.code_challenge_methods_supported or []
        if _CHALLENGE_METHOD not in methods:
            raise oauth_callback.without_pkce(str(metadata.issuer), methods)

    def check_registration(self, context: OAuthContext) -> None:
        """Check that the authorization server supports client registration.

        Raises:
            UserError: it does not; the SDK would try that at the server's own origin.
        """
        metadata = context.oauth_metadata
        if context.client_info is not None or metadata is None or metadata.registration_endpoint:
            return
        if not should_use_client_metadata_url(metadata, context.client_metadata_url):
            raise oauth_callback.without_registration(str(metadata.issuer))

    def _read(
        self, response: httpx2.Response, model: type[BaseModel], *, must_be: bool
    ) -> BaseModel | str:
        """The metadata, or an error: empty if it is optional.

        Many sites answer any path with a page: only a JSON object counts as metadata, unless the
        server itself named the URL (`must_be`).
        """
        where = oauth_callback.place(str(response.request.url))
        if response.status_code >= 500:
            return f"{where} answers {response.status_code}."
        if response.status_code != 200:
            return f"{where} answers {_status(response)}." if must_be else ""
        try:
            return model.model_validate_json(response.content)
        except ValidationError as error:
            is_meant = must_be or _is_object(response.content)
            return f"{where} is malformed: {_first(error)}." if is_meant else ""


def must_describe(resource: str, url: str, server: str) -> None:
    """Refuse metadata at `url`, of another origin, unless its `resource` is the exact server."""
    if _origin(url) != _origin(server) and _identity(resource) != _identity(server):
        raise oauth_callback.another_resource(resource, url, oauth_callback.place(server))


def _status(response: httpx2.Response) -> str:
    """The status, with its target: redirects of metadata are not followed."""
    there = response.headers.get("Location")
    if there is None:
        return str(response.status_code)
    leads_to = oauth_callback.place(urljoin(str(response.request.url), there))
    return f"{response.status_code} and redirects to {leads_to}"


def _first(error: ValidationError) -> str:
    """The first error, without the values, which may be anything."""
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(map(str, fault["loc"]))
    return f"{field}: {fault['msg']}" if field else fault["msg"]


def _is_object(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def _identity(url: str) -> tuple[object, ...]:
    """The identity of a resource: without its query, which may be an account's secret."""
    return *_origin(url), urlsplit(url).path.rstrip("/")


_MOST_TRIES: Final = 4
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_TIMEOUT: Final = {"connect": 15.0, "read": 30.0, "write": 30.0, "pool": 30.0}
_LONG_AGO: Final = 1.0  # an expiry in the past; the SDK ignores 0
_FAILURES: Final = (OAuthFlowError, ValueError, httpx2.InvalidURL)
"""What the SDK raises for a server's mistakes: `ValueError` is pydantic's, and of invalid UTF-8."""

# It logs whole tracebacks of errors that are reported here.
logging.getLogger("mcp.client.auth.oauth2").setLevel(logging.CRITICAL + 1)


class OAuthClientIdentity(NamedTuple):
    """Our identity at an authorization server; without `id` we register dynamically.

    An `id` that is an https URL, without a secret, is that of a client ID metadata document; where
    an authorization server does not support those, we register dynamically. `port` is the redirect
    port, 0 for any.
    """

    id: str | None
    secret: str | None
    scope: str | None
    port: int

    @property
    def document(self) -> str | None:
        """The URL of the client ID metadata document; None without."""
        is_document = self.secret is None and is_valid_client_metadata_url(self.id)
        return self.id if is_document else None


class _Attempt:
    """A request in progress: the token it was sent with, and how that was refused."""

    def __init__(self, request: httpx2.Request) -> None:
        self.request = request
        self.sent = ""
        self.refusal: httpx2.Response | None = None
        self.has_asked = False  # whether the user was asked to sign in for it


class SignInAuth(httpx2.Auth):
    """Authenticates the requests of one connection.

    Raises `UserError` from a request if a token is needed and cannot be obtained.
    """

    def __init__(
        self,
        url: str,
        client: OAuthClientIdentity,
        store: TokenStore,
        key: str,
        sign_ins: SignIns,
        server: str,
    ) -> None:
        self._url = url
        self._client = client
        self._server = server
        self._sign_ins = sign_ins
        self._turn = sign_ins.turn(key)
        self._is_loaded = False
        self._failure: ErrorDetails | None = None
        self._callback: OAuthCallback | None = None
        self._page = ""
        self._discovery: Discovery | None = None
        self._storage = SignInStorage(store, key, oauth_callback.place(url), _registered(client))
        self._provider = OAuthClientProvider(
            url, _metadata(client), self._storage, self._remember, self._ask, client.document
        )
        self._context = self._storage.context = self._provider.context

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with a token; if it is refused, get another one and send it again."""
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
            if not is_token_refused(response) or attempt.has_asked or not left:
                return
            await read_refusal(response)
            attempt.refusal = response

    def _is_ready(self) -> bool:
        """Return whether requests can be sent: with a token, or without if none is required."""
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
        """The requests that lead to a token for `attempt`; none if there is one already.

        Others wait meanwhile. A failure counts for them as well: nobody is asked twice.
        """
        known = self._failure
        async with self._turn:
            if self._failure is not None and self._failure is not known:
                raise UserError(self._failure)
            try:
                await self._storage.poll()
                self._is_loaded = True
                async with contextlib.aclosing(self._steps(attempt)) as steps:
                    outgoing = await anext(steps, None)
                    while outgoing is not None:
                        response = yield self._prepared(outgoing)
                        outgoing = await _after(steps, await read_answer(response))
            except UserError as error:
                self._failure = error.details
                raise
            except _FAILURES as error:
                failed = await self._failed(error)
                self._failure = failed.details
                raise failed from error

    async def _steps(self, attempt: _Attempt) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """The SDK's requests to refresh a token or, if that is not enough, to get a new one."""
        context, request = self._context, attempt.request
        if self._has_another(attempt):
            return
        before = context.current_tokens
        if attempt.refusal is not None and attempt.refusal.status_code == 401:
            context.token_expiry_time = _LONG_AGO
        async with contextlib.aclosing(self._provider.async_auth_flow(request)) as flow:
            outgoing = await anext(flow)
            is_forgotten = False
            while outgoing is not request:
                response = _renewing((yield outgoing))
                is_forgotten = is_forgotten or b'"invalid_client"' in response.content
                outgoing = await flow.asend(response)
            if before is not None and context.current_tokens is None:
                await self._storage.drop(before)
            if is_forgotten:  # else the browser would show an error, and never come back
                await self._storage.forget_client()
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
        """Return whether there is a token that was not refused."""
        tokens = self._context.current_tokens
        is_valid = self._context.is_token_valid()
        return tokens is not None and is_valid and tokens.access_token != attempt.sent

    def _challenge(self, refusal: httpx2.Response) -> httpx2.Response:
        """A refusal for the SDK, which requests the scope in it: the user's own, if set."""
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
        """A request of the SDK with limits, if credentials may be sent there."""
        must_be_safe(str(request.url), self._url)
        request.extensions = {**request.extensions, "timeout": _TIMEOUT}
        request.headers["Accept-Encoding"] = "identity"
        return request

    # The browser

    async def _open_callback(self) -> None:
        """Listen on a port as our redirect address; the registered one, if there is one."""
        context = self._context
        port = self._client.port or _registered_port(context.client_info)
        try:
            self._callback = await OAuthCallback.open(port)
        except UserError:
            if self._client.port or not port:
                raise
            context.client_info = None  # another program has the port: register with a new one
            self._callback = await OAuthCallback.open()
        context.client_metadata.redirect_uris = [AnyUrl(self._callback.address)]

    async def _close_callback(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            await callback.close()

    async def _remember(self, url: str) -> None:
        if self._discovery is not None:
            self._discovery.check(self._context)
        must_be_safe(url, self._url)
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
        """Wait until the user has signed in; cancelled with the request that needs it."""
        url, callback = self._page, self._callback
        if callback is None:
            raise AssertionError  # it is opened before the SDK receives a refusal
        answer = None
        self._sign_ins.begin(self._server, url)
        try:
            with anyio.move_on_after(SIGN_IN_S):
                answer = await callback.answer(state_in(url))
        finally:
            self._sign_ins.end(self._server)
        if answer is None:
            raise oauth_callback.too_late(SIGN_IN_S, callback.strangers, url)
        if answer.error:
            # Not even the text of another authorization server is shown (RFC 9207, 2.4).
            validate_authorization_response_iss(answer.issuer, self._context.oauth_metadata)
            raise oauth_callback.refused(answer, url)
        return AuthorizationCodeResult(code=answer.code, state=answer.state, iss=answer.issuer)

    async def _failed(self, error: Exception) -> UserError:
        if "invalid_client" in str(error):
            await self._storage.forget_client()  # no longer registered: register again
        return oauth_callback.failed(error, oauth_callback.place(self._url))


def must_be_safe(url: str, server: str) -> None:
    """Require encryption, unless the server itself is not encrypted, or is on this machine."""
    parts, own = urlsplit(url), urlsplit(server)
    is_near = parts.hostname in _LOOPBACK or parts.hostname == own.hostname
    is_near = is_near and (own.scheme == "http" or own.hostname in _LOOPBACK)
    permitted = {"https", "http"} if is_near else {"https"}
    if not parts.hostname or parts.scheme not in permitted:
        raise oauth_callback.not_permitted(url)


async def _after(
    steps: AsyncGenerator[httpx2.Request, httpx2.Response], response: httpx2.Response
) -> httpx2.Request | None:
    try:
        return await steps.asend(response)
    except StopAsyncIteration:
        return None


def _renewing(response: httpx2.Response) -> httpx2.Response:
    """The response to a refresh; unless it is about the token, it must not discard it."""
    if response.status_code >= 500 or response.status_code == 429:
        raise oauth_callback.not_renewed(response.status_code, str(response.request.url))
    return response


def _registered(client: OAuthClientIdentity) -> OAuthClientInformationFull | None:
    if client.id is None or client.document is not None:
        return None
    method = "client_secret_basic" if client.secret else "none"
    return OAuthClientInformationFull(
        client_id=client.id, client_secret=client.secret, token_endpoint_auth_method=method
    )


def _registered_port(info: OAuthClientInformationFull | None) -> int:
    """The port of the registered address; 0 without."""
    addresses = (info and info.redirect_uris) or ()
    return next((each.port or 0 for each in addresses if each.host == HOST), 0)


def _metadata(client: OAuthClientIdentity) -> OAuthClientMetadata:
    """Our registration: a native application, which keeps no secret (RFC 8252, 8.4)."""
    return OAuthClientMetadata(
        client_name="MCP Progress Monitor",
        software_id="mcp-progress-monitor",
        redirect_uris=[AnyUrl(f"http://{HOST}:{client.port}{PATH}")],
        token_endpoint_auth_method="none",  # noqa: S106 - it says that there is none
        scope=client.scope,
    )
