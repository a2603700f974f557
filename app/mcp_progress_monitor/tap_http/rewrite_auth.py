"""Lets a client sign in through a tap: `tap --to URL --rewrite-auth`.

The client sees the tap as the resource and as its authorization server (RFC 9728, RFC 8414). The
tap passes the sign-in on to the real ones and translates `resource` (RFC 8707). It makes the checks
that a client can no longer make itself: the metadata must be that of this server, and of the
authorization server it names. What is recorded has names, and values that are known to be harmless.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import secrets
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlencode, urlsplit

import httpx2
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    issuers_match,
)
from mcp.shared.auth_utils import check_resource_allowed

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.sessions.transport.http import oauth_callback
from mcp_progress_monitor.sessions.transport.http.client import (
    NO_RESPONSE,
    NoRouteError,
    new_client,
    read_answer,
)
from mcp_progress_monitor.sessions.transport.http.oauth_flow import must_be_safe, must_describe
from mcp_progress_monitor.tap_http.exchange import COMPLETE, NOT_SENT, TappedExchange
from mcp_progress_monitor.tap_http.recorder import RESOURCE_METADATA
from mcp_progress_monitor.tap_http.sign_in import no_response
from mcp_progress_monitor.tap_http.veil import Veil, basic_of, fields_of, json_object

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcp_progress_monitor.tap_http.addresses import TapAddresses
    from mcp_progress_monitor.tap_http.recorder import TapRecorder
    from mcp_progress_monitor.tap_http.veil import Document, Pairs

_RESOURCE: Final = "/.well-known/oauth-protected-resource"
_METADATA: Final = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
_FOLDER: Final = "/.tap/"
_CALLBACK: Final = f"{_FOLDER}callback"
_ENDPOINTS: Final = {
    "authorization_endpoint": f"{_FOLDER}authorize",
    "token_endpoint": f"{_FOLDER}token",
    "registration_endpoint": f"{_FOLDER}register",
    "revocation_endpoint": f"{_FOLDER}revoke",
}
"""The endpoints of an authorization server that pass through the tap; others are left out."""
_PAGES: Final = frozenset({*_ENDPOINTS.values(), _CALLBACK})
_BROWSED: Final = frozenset({_ENDPOINTS["authorization_endpoint"], _CALLBACK})
_NOT_OURS: Final = ("dpop_", "mtls_", "pushed_", "require_pushed_", "signed_", "tls_client_")
"""Prefixes of what is bound to the real server's URL, and cannot pass under another one."""
_UNBOUND: Final = frozenset({"none", "client_secret_basic", "client_secret_post"})
"""Methods of client authentication that name no URL."""
_OURS: Final = "through-tap."
"""Begins the ID of a client that was registered through a tap, with the tap's redirect URI.

The digest of the authorization server's issuer follows.
"""
_DOCUMENTS: Final = "client_id_"  # begins what is said of client ID metadata documents
_STATE: Final = "state"
_REDIRECT: Final = "redirect_uri"
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_MOST_PENDING: Final = 100  # sign-ins in progress
_TIMEOUT: Final = httpx2.Timeout(30.0, connect=15.0)
_PASSED_ON: Final = ("accept", "content-type", "origin", "mcp-protocol-version", "user-agent")
_PASSED_BACK: Final = ("content-type", "retry-after", "www-authenticate")
_CORS: Final = "access-control-"
_JSON: Final = "application/json"
_FORM: Final = "application/x-www-form-urlencoded"
_RECORDED: Final = frozenset(
    {"cache-control", "content-type", "location", "retry-after", "server", "www-authenticate"}
)
_CHECKED: Final = "The client cannot sign in. Contact the server's operator."


class _AuthRequest(NamedTuple):
    """A client's or a browser's request."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    @property
    def origin(self) -> str:
        """The tap's origin as this client knows it."""
        return f"http://{self.headers.get('host', '')}"


class AuthAnswer(NamedTuple):
    """The tap's response."""

    status: int
    headers: Pairs
    body: bytes = b""


class _Pending(NamedTuple):
    """A sign-in in the browser: where the client waits for its answer."""

    redirect: str
    state: str
    origin: str
    issuer: str


class AuthRewriter:
    """The sign-ins of all clients of a tap."""

    def __init__(
        self, addresses: TapAddresses, client: httpx2.AsyncClient, report: Callable[[str], None]
    ) -> None:
        """`report` gets lines for the user."""
        self._addresses = addresses
        self._client = client
        self._report = report
        self._reported = ""
        self._named: str | None = None  # the URL of the metadata, from the last refusal
        self._resource: Document | None = None
        self._metadata: Document | None = None
        self._has_asked = False
        self._agent = ""  # of the client: its browser names another one, and its SDK none
        self._pending: dict[str, _Pending] = {}
        self._veil = Veil()

    @classmethod
    def create(cls, addresses: TapAddresses, report: Callable[[str], None]) -> AuthRewriter:
        return cls(addresses, new_client(_TIMEOUT, addresses.shown), report)

    async def aclose(self) -> None:
        await self._client.aclose()

    @staticmethod
    def handles(target: str) -> bool:
        """Return whether a request belongs to a sign-in."""
        path = target.partition("?")[0]
        return path in _PAGES or path.startswith((_RESOURCE, *_METADATA))

    @staticmethod
    def is_browsed(method: str, target: str) -> bool:
        """Return whether a browser comes here from pages of other sites, to be sent on."""
        return method == "GET" and target.partition("?")[0] in _BROWSED

    def challenge(self, value: str, asked: Mapping[str, str]) -> str:
        """Replace the URL of the metadata in a `WWW-Authenticate` header by the tap's.

        `asked` are the headers of the client's request.
        """
        host, self._agent = asked.get("host", ""), asked.get("user-agent", "")

        def replaced(found: re.Match[str]) -> str:
            self._named = found[1] or found[2]
            name = found[0].partition("=")[0]
            return f'{name}="http://{host}{_RESOURCE}{self._addresses.path}"'

        return RESOURCE_METADATA.sub(replaced, value)

    async def answered(
        self,
        recorder: TapRecorder,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes,
    ) -> AuthAnswer:
        """Answer a request, whose header names are in lower case.

        `UserError`, which is reported to the user as well, if that fails.
        """
        try:
            request = _AuthRequest(method, target, headers, body)
            with _understood(self._addresses.shown):
                return await self._answered(recorder, request)
        except UserError as error:
            text = formatting.one_line(f"{error.details.as_line()}. {error.details.hint}", 500)
            if text != self._reported:  # clients try again and again
                self._reported = text
                self._report(text)
            raise

    async def _answered(self, recorder: TapRecorder, request: _AuthRequest) -> AuthAnswer:
        agent = self._agent or request.headers.get("user-agent", "")
        steps = _Steps(recorder, self._client, self._veil, self._addresses, agent)
        match request.method, request.path:
            case "OPTIONS", path if path not in _PAGES:
                allowed = request.headers.get("access-control-request-headers", "")[:500]
                headers = [("Access-Control-Allow-Headers", allowed)] if allowed else []
                return AuthAnswer(204, [("Access-Control-Allow-Origin", "*"), *headers])
            case "GET", path if path.startswith(_RESOURCE):
                return await self._served_resource(steps, request.origin)
            case "GET", path if path.startswith(_METADATA):
                return await self._served_metadata(steps, request.origin)
            case "GET", path if path == _ENDPOINTS["authorization_endpoint"]:
                return await self._authorized(steps, request)
            case "GET", path if path == _CALLBACK:
                return self._called_back(steps, request)
            case "POST" | "OPTIONS", path if path not in _BROWSED:
                return await self._posted(steps, request)
        return _text(405, "This method is not supported here")

    # The documents

    async def _served_resource(self, steps: _Steps, origin: str) -> AuthAnswer:
        resource = await self._found_resource(steps)
        if resource is None:
            return _text(404, "The server has no metadata of a protected resource")
        served = _unsigned(resource) | {"resource": self._seen(str(resource["resource"]), origin)}
        if _issuers(resource):
            served["authorization_servers"] = [origin]
        return _document(served)

    async def _served_metadata(self, steps: _Steps, origin: str) -> AuthAnswer:
        metadata = await self._found_metadata(steps)
        if metadata is None:
            return _text(404, "The server has no metadata of an authorization server")
        kept = {n: v for n, v in _unsigned(metadata).items() if not n.endswith("_endpoint")}
        kept.pop("protected_resources", None)  # they name the real one
        if "registration_endpoint" in metadata:  # a document of the client's lacks our redirect URI
            kept = {name: value for name, value in kept.items() if not name.startswith(_DOCUMENTS)}
        for name, value in kept.items():
            if name.endswith("_auth_methods_supported") and isinstance(value, list):
                kept[name] = [each for each in value if each in _UNBOUND] or value
        ours = {n: f"{origin}{path}" for n, path in _ENDPOINTS.items() if n in metadata}
        return _document(kept | ours | {"issuer": origin})

    async def _found_resource(self, steps: _Steps) -> Document | None:
        """The server's metadata; None without any. `UserError` if it is that of another one."""
        server = str(self._addresses.upstream)
        found, where = await steps.first_document(
            build_protected_resource_metadata_discovery_urls(self._named, server)
        )
        if found is not None:
            resource = str(found.get("resource", ""))
            must_describe(resource, where, server)
            if not check_resource_allowed(server, resource):
                raise oauth_callback.another_resource(resource, where, oauth_callback.place(server))
        self._resource, self._has_asked, self._metadata = found, True, None
        return found

    async def _found_metadata(self, steps: _Steps) -> Document | None:
        """The metadata of the first authorization server. `UserError` if it is not usable."""
        server = str(self._addresses.upstream)
        resource = self._resource if self._has_asked else await self._found_resource(steps)
        named = next(iter(_issuers(resource)), None)
        found, _ = await steps.first_document(
            build_oauth_authorization_server_metadata_discovery_urls(named, server)
        )
        expected = named or self._addresses.upstream_url("")
        if found is None and named is None:
            return None  # 2025-03-26: the standard paths at the server, which pass as any other
        issuer = "" if found is None else str(found.get("issuer", ""))
        if found is None or not issuers_match(issuer, expected):
            raise oauth_callback.without_metadata(expected, "")
        urls = {name: str(httpx2.URL(str(found[name]))) for name in _ENDPOINTS if name in found}
        for url in urls.values():
            must_be_safe(url, server)
        self._metadata = found | urls
        return self._metadata

    async def _endpoint(self, steps: _Steps, name: str) -> str:
        metadata = self._metadata or await self._found_metadata(steps)
        if metadata is None or name not in metadata:
            what = f"The authorization server has no {name}"
            raise UserError(ErrorDetails(what, self._addresses.shown, _CHECKED))
        return str(metadata[name])

    def _prefix(self, client: str = "") -> str:
        """The beginning of the IDs of clients that are registered with the authorization server.

        `UserError` if `client` is registered with another one. The server named that one before,
        and the client cannot notice the change: its secrets and codes are not for the new one.
        """
        issuer = str((self._metadata or {}).get("issuer", ""))
        digest = hashlib.sha256(issuer.rstrip("/").encode()).hexdigest()
        prefix = f"{_OURS}{digest[:16]}."
        if client.startswith(_OURS) and not client.startswith(prefix):
            raise _registered_elsewhere(issuer)
        return prefix

    def _seen(self, resource: str, origin: str) -> str:
        """A resource of the server, as clients of the tap see it."""
        return origin + self._addresses.rewritten(resource).removeprefix(self._addresses.origin)

    def _real(self, resource: str) -> str:
        """The server's resource for one that a client names; others are unchanged."""
        known = str((self._resource or {}).get("resource", ""))
        real = self._addresses.restored(resource)
        return known if known and real.rstrip("/") == known.rstrip("/") else real

    # The steps of a sign-in

    async def _authorized(self, steps: _Steps, request: _AuthRequest) -> AuthAnswer:
        """Send the browser on to the authorization server, to come back here if that may be."""
        endpoint = await self._endpoint(steps, "authorization_endpoint")
        given = fields_of(request.query)
        client, redirect = _first(given, "client_id"), _first(given, _REDIRECT)
        pairs = self._restored(given, client, self._prefix(client))
        if _returns_here(client, redirect):
            state = secrets.token_urlsafe(24)
            issuer = str((self._metadata or {}).get("issuer", ""))
            self._pending[state] = _Pending(redirect, _first(given, _STATE), request.origin, issuer)
            for oldest in list(self._pending)[:-_MOST_PENDING]:
                del self._pending[oldest]
            pairs = [pair for pair in pairs if pair[0] != _STATE] + [(_STATE, state)]
        return steps.sent_on("GET", endpoint, _with_query(endpoint, pairs))

    def _called_back(self, steps: _Steps, request: _AuthRequest) -> AuthAnswer:
        """Send the browser back to the client, with the answer of the authorization server."""
        pairs = fields_of(request.query)
        pending = self._pending.pop(_first(pairs, _STATE), None)
        if pending is None:
            return _text(400, "This response does not belong to a sign-in in progress")
        back: Pairs = []
        for name, value in pairs:
            if name == _STATE:
                back += [(name, pending.state)] if pending.state else []
            elif name == "iss":
                if not issuers_match(value, pending.issuer):
                    raise _from_elsewhere(value, pending.issuer)
                back.append((name, pending.origin))
            else:
                back.append((name, value))
        own = _with_query(f"{self._addresses.origin}{_CALLBACK}", pairs)
        return steps.sent_on("GET", own, _with_query(pending.redirect, back))

    async def _posted(self, steps: _Steps, request: _AuthRequest) -> AuthAnswer:
        """Pass on a request of the client itself, and the authorization server's response."""
        name = next(name for name, path in _ENDPOINTS.items() if path == request.path)
        endpoint = await self._endpoint(steps, name)
        if request.method == "POST" and name == "registration_endpoint":
            return await self._registered(steps, request, endpoint)
        headers, body = _passed_on(request), request.body
        if request.method == "POST":
            if request.headers.get("content-type", "").partition(";")[0].strip() != _FORM:
                return _text(415, f"Send the fields as {_FORM}")
            pairs = fields_of(body.decode("latin-1"))
            basic = basic_of(request.headers.get("authorization", ""))
            client = basic.partition(":")[0] or _first(pairs, "client_id")
            prefix = self._prefix(client)
            if basic:  # a token in the header is meant for the server, and goes nowhere else
                real = base64.b64encode(basic.removeprefix(prefix).encode("latin-1")).decode()
                headers["Authorization"] = f"Basic {real}"
            body = urlencode(self._restored(pairs, client, prefix)).encode()
        return _passed_back(await steps.sent(request.method, endpoint, headers, body))

    async def _registered(self, steps: _Steps, request: _AuthRequest, endpoint: str) -> AuthAnswer:
        """Register the client, with the tap's redirect URI if the client's is of this machine."""
        wanted, headers = json_object(request.body), _passed_on(request)
        redirects = (wanted or {}).get("redirect_uris")
        callback, prefix = f"{self._addresses.origin}{_CALLBACK}", self._prefix()
        if wanted is not None and isinstance(redirects, list) and any(map(_is_near, redirects)):
            body = json.dumps({**wanted, "redirect_uris": [*redirects, callback]}).encode()
            response = await steps.sent("POST", endpoint, headers, body)
            registered = json_object(response.content)
            if response.is_success and registered is not None:
                # The client would manage its registration elsewhere, under another ID.
                for each in ("registration_client_uri", "registration_access_token"):
                    registered.pop(each, None)
                ours = {"client_id": f"{prefix}{registered.get('client_id', '')}"}
                served = registered | ours | {"redirect_uris": redirects}
                return _passed_back(response, json.dumps(served).encode())
            if (registered or {}).get("error") != "invalid_redirect_uri":
                return _passed_back(response)
        return _passed_back(await steps.sent("POST", endpoint, headers, request.body))

    def _restored(self, pairs: Pairs, client: str, prefix: str) -> Pairs:
        """The fields for the authorization server, of those that `client` sends."""
        restored: Pairs = []
        for name, value in pairs:
            match name:
                case "client_id":
                    restored.append((name, value.removeprefix(prefix)))
                case "resource":
                    restored.append((name, self._real(value)))
                case "redirect_uri" if _returns_here(client, value):
                    restored.append((name, f"{self._addresses.origin}{_CALLBACK}"))
                case _:
                    restored.append((name, value))
        return restored


class _Steps:
    """The requests that one request of a client leads to, each recorded as an exchange."""

    def __init__(
        self,
        recorder: TapRecorder,
        client: httpx2.AsyncClient,
        veil: Veil,
        addresses: TapAddresses,
        agent: str,
    ) -> None:
        self._recorder = recorder
        self._client = client
        self._veil = veil
        self._server = str(addresses.upstream)
        self._headers = [("User-Agent", agent)]

    async def first_document(self, urls: Iterable[str]) -> tuple[Document | None, str]:
        """The first JSON object at one of the URLs, and where; `UserError` for a failing server."""
        for url in urls:
            response = await self.sent("GET", url, {"Accept": _JSON}, is_public=True)
            if response.status_code >= 500 or response.status_code == 429:
                fault = f"{oauth_callback.place(url)} answers {response.status_code}."
                raise oauth_callback.unusable_resource(fault, oauth_callback.place(self._server))
            found = json_object(response.content) if response.status_code == 200 else None
            if found is not None:
                return found, url
        return None, ""

    async def sent(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        is_public: bool = False,
    ) -> httpx2.Response:
        """The response to a request, read. `UserError` if there is none, or it leads elsewhere."""
        must_be_safe(url, self._server)
        self._veil.learn_basic(headers.get("Authorization", ""))
        exchange = self._exchange(method, url, self._shown_body(headers, body))
        reason = NOT_SENT
        try:
            # Made here, not by the client: it would send the cookies of other clients.
            request = httpx2.Request(
                method,
                url,
                headers={**headers, "Accept-Encoding": "identity"},
                content=body,
                extensions={"timeout": _TIMEOUT.as_dict()},
            )
            response = await self._client.send(request, stream=True)
            reason = "broken"
            try:
                await read_answer(response)
            finally:
                await response.aclose()
            reason = COMPLETE
        except (*NO_RESPONSE, NoRouteError) as error:
            failure = no_response(error, url)
            reason = f"{reason}: {failure.details.what}"
            raise failure from error
        finally:
            if reason == COMPLETE:
                shown = self._veil.document if is_public else self._veil.body
                content = shown(response.content)
                self._answered(exchange, response.status_code, response.headers, content)
            exchange.ended(reason, "server")
        if response.is_redirect and not is_public:
            there = oauth_callback.host_of(str(response.headers.get("location", "")))
            what = "The authorization server redirects the client's request, which is not followed"
            raise UserError(ErrorDetails(what, oauth_callback.host_of(url), _CHECKED, there))
        return response

    def sent_on(self, method: str, url: str, location: str) -> AuthAnswer:
        """Send a browser that is at `url` to `location`."""
        location = str(httpx2.URL(location))
        exchange = self._exchange(method, url, "")
        self._answered(exchange, 302, {"location": self._veil.url(location)}, b"")
        exchange.ended(COMPLETE, "tap")
        headers = [("Location", location), ("Referrer-Policy", "no-referrer")]
        return AuthAnswer(302, [*headers, ("Cache-Control", "no-store")])

    def _shown_body(self, headers: Mapping[str, str], body: bytes) -> str:
        if headers.get("content-type", "").startswith(_FORM):
            return self._veil.form(body.decode("latin-1"))
        return self._veil.body(body).decode()

    def _exchange(self, method: str, url: str, body: str) -> TappedExchange:
        shown = self._veil.url(url)
        exchange = TappedExchange(self._recorder, method, "", self._headers, url=shown, body=body)
        exchange.sent_all()
        return exchange

    def _answered(
        self, exchange: TappedExchange, status: int, headers: Mapping[str, str], body: bytes
    ) -> None:
        kept = [
            (name, self._veil.url(value) if name == "location" else self._veil.text(value))
            for name, value in headers.items()
            if name in _RECORDED
        ]
        exchange.answered(status, httpx2.codes.get_reason_phrase(status), "HTTP/1.1", kept)
        if body:
            exchange.received(body)


def _first(pairs: Pairs, name: str) -> str:
    return next((value for each, value in pairs if each == name), "")


def _with_query(url: str, pairs: Pairs) -> str:
    base, mark, fragment = url.partition("#")
    return f"{base}{'&' if '?' in base else '?'}{urlencode(pairs)}{mark}{fragment}"


def _is_near(redirect: object) -> bool:
    """Return whether a redirect URI is that of a program on this machine (RFC 8252, 7.3)."""
    if not isinstance(redirect, str) or "\\" in redirect:  # which a browser reads as "/"
        return False
    try:
        parts = urlsplit(redirect)
    except ValueError:
        return False
    return parts.scheme == "http" and parts.hostname in _LOOPBACK and "@" not in parts.netloc


@contextlib.contextmanager
def _understood(server: str) -> Iterator[None]:
    """Report malformed documents, requests and URLs as a `UserError`."""
    try:
        yield
    except (ValueError, RecursionError, httpx2.InvalidURL) as error:
        what = "A request or a response of the sign-in is malformed"
        raise UserError(ErrorDetails(what, server, _CHECKED)) from error


def _from_elsewhere(issuer: str, expected: str) -> UserError:
    """The answer of another authorization server, which may be an attack (RFC 9207)."""
    what = "The browser returned from another authorization server"
    detail = f"It is {oauth_callback.place(issuer)}, not {oauth_callback.place(expected)}."
    return UserError(ErrorDetails(what, oauth_callback.host_of(expected), _CHECKED, detail))


def _registered_elsewhere(issuer: str) -> UserError:
    what = "The client is registered with another authorization server than the server names now"
    hint = "If that is expected, delete the client's saved registration, and sign in again."
    return UserError(ErrorDetails(what, oauth_callback.host_of(issuer), hint))


def _returns_here(client: str, redirect: str) -> bool:
    """Return whether the browser comes back to the tap, which sends it on to `redirect`.

    Only to this machine: a page elsewhere could make the tap give it the user's code.
    """
    return client.startswith(_OURS) and _is_near(redirect)


def _passed_on(request: _AuthRequest) -> dict[str, str]:
    return {
        name: value
        for name, value in request.headers.items()
        if name in _PASSED_ON or name.startswith(f"{_CORS}request-")
    }


def _passed_back(response: httpx2.Response, body: bytes | None = None) -> AuthAnswer:
    headers = [
        (name, value)
        for name, value in response.headers.items()
        if name in _PASSED_BACK or name.startswith(_CORS)
    ]
    no_store = ("Cache-Control", "no-store")
    content = response.content if body is None else body
    return AuthAnswer(response.status_code, [*headers, no_store], content)


def _document(served: Document) -> AuthAnswer:
    headers = [("Content-Type", _JSON), ("Access-Control-Allow-Origin", "*")]
    return AuthAnswer(200, [*headers, ("Cache-Control", "no-store")], json.dumps(served).encode())


def _text(status: int, text: str) -> AuthAnswer:
    body = f"mcp-progress-monitor tap: {text}\n".encode()
    return AuthAnswer(status, [("Content-Type", "text/plain; charset=utf-8")], body)


def _unsigned(document: Document) -> Document:
    """A document without what holds for the real server's URL only."""
    return {name: value for name, value in document.items() if not name.startswith(_NOT_OURS)}


def _issuers(resource: Document | None) -> list[str]:
    listed = (resource or {}).get("authorization_servers")
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
