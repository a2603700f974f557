"""Access control: a fixed bearer token, and an authorization server that issues tokens."""

import base64
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from tests.servers.http.handler import (
    Handler,
    base_of,
    form_of,
    object_of,
    query_of,
    refuse,
    reply_uncached,
    send_to,
)
from tests.servers.options import Options

_CODE_S: Final = 60.0
_MOST_KEPT: Final = 10_000
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_METHODS: Final = ("none", "client_secret_post", "client_secret_basic")


@dataclass(frozen=True, slots=True)
class _Client:
    id: str
    redirects: tuple[str, ...] = ()
    """The redirect URIs; empty for any URI of this machine."""
    secret: str | None = None

    def may_go_to(self, address: str) -> bool:
        if not self.redirects:
            return urlsplit(address).hostname in _LOOPBACK
        return any(_matches_redirect(known, address) for known in self.redirects)


@dataclass(frozen=True, slots=True)
class _Code:
    client: str
    redirect: str
    challenge: str
    until: float


_RESOURCE: Final = "/.well-known/oauth-protected-resource"
_ENDPOINTS: Final = ("/mcp", "/sse")
_BUILT_IN: Final = (_Client("demo-client"), _Client("demo-confidential", (), "demo-secret"))


class AuthorizationServer:
    """Registers clients, issues codes and tokens, and validates tokens."""

    def __init__(self, options: Options) -> None:
        """Issue tokens with the lifetime in the options."""
        self._lifetime_s = options.token_lifetime_s
        self._denies = options.oauth_denies
        self._clients = {client.id: client for client in _BUILT_IN}
        self._codes: dict[str, _Code] = {}
        self._tokens: dict[str, float] = {}
        self._refresh_tokens: dict[str, str] = {}
        self._lock = threading.RLock()
        self._pages: dict[tuple[str, str], Callable[[Handler], None]] = {
            **{("GET", f"{_RESOURCE}{path}"): _resource for path in ("", *_ENDPOINTS)},
            ("GET", "/.well-known/oauth-authorization-server"): _metadata,
            ("POST", "/register"): self._register,
            ("GET", "/authorize"): self._authorize,
            ("POST", "/token"): self._token,
        }

    def knows(self, token: str) -> bool:
        """Return whether a token was issued here and has not expired."""
        with self._lock:
            return self._tokens.get(token, 0) > time.monotonic()

    def answer(self, handler: Handler) -> bool:
        """Serve a request for one of our pages; return whether it was one."""
        page = self._pages.get((handler.command, handler.route))
        if page is not None:
            page(handler)
        return page is not None

    def _register(self, handler: Handler) -> None:
        wanted = object_of(handler)
        redirects = _texts((wanted or {}).get("redirect_uris"))
        if wanted is None or not redirects:
            return refuse(handler, "invalid_redirect_uri", "redirect_uris: a list of addresses")
        method = wanted.get("token_endpoint_auth_method") or "none"
        if method not in _METHODS:
            return refuse(handler, "invalid_client_metadata", f"Not supported: {method}")
        secret = None if method == "none" else secrets.token_urlsafe(16)
        client = _Client(f"client-{secrets.token_hex(6)}", redirects, secret)
        with self._lock:
            _keep(self._clients, client.id, client)
        registered = {**wanted, "client_id": client.id, "token_endpoint_auth_method": method}
        if secret is not None:
            registered.update(client_secret=secret, client_secret_expires_at=0)
        return reply_uncached(handler, registered, HTTPStatus.CREATED)

    def _authorize(self, handler: Handler) -> None:
        """Redirect the browser back immediately, with a code or an error."""
        query = query_of(handler)
        client = self._clients.get(query.get("client_id", ""))
        redirect = query.get("redirect_uri", "")
        if client is None or not client.may_go_to(redirect):
            return refuse(handler, "invalid_request", "Unknown client_id, or redirect_uri of it")
        state, issuer = query.get("state"), base_of(handler)
        error = self._error_of(query, handler)
        if error is not None:
            return send_to(handler, redirect, error=error, state=state, iss=issuer)
        code = secrets.token_urlsafe(16)
        known = _Code(client.id, redirect, query["code_challenge"], time.monotonic() + _CODE_S)
        with self._lock:
            _keep(self._codes, code, known)
        return send_to(handler, redirect, code=code, state=state, iss=issuer)

    def _error_of(self, query: dict[str, str], handler: Handler) -> str | None:
        if self._denies:
            return "access_denied"
        if query.get("response_type") != "code":
            return "unsupported_response_type"
        if query.get("code_challenge_method") != "S256" or not query.get("code_challenge"):
            return "invalid_request"
        return None if _is_for_us(query, handler) else "invalid_target"

    def _token(self, handler: Handler) -> None:
        form = form_of(handler)
        if not _is_for_us(form, handler):
            return refuse(handler, "invalid_target", f"Not ours: {form.get('resource')}")
        client = self._clients.get(_credentials(handler, form)[0])
        if client is None or not _is_authenticated(client, _credentials(handler, form)[1]):
            return refuse(handler, "invalid_client", "Unknown client, or a wrong secret")
        kind = form.get("grant_type")
        if kind == "authorization_code":
            is_good = self._use_code(client, form)
        elif kind == "refresh_token":
            is_good = self._use_refresh_token(client, form)
        else:
            return refuse(handler, "unsupported_grant_type", f"Not supported: {kind}")
        if not is_good:
            return refuse(handler, "invalid_grant", f"This {kind} is unknown, used, or too old")
        return reply_uncached(handler, self._issued(client))

    def _use_code(self, client: _Client, form: dict[str, str]) -> bool:
        with self._lock:
            known = self._codes.pop(form.get("code", ""), None)
        if known is None or known.client != client.id or known.until < time.monotonic():
            return False
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        is_proven = hmac.compare_digest(challenge.encode(), known.challenge.encode())
        return is_proven and form.get("redirect_uri") == known.redirect

    def _use_refresh_token(self, client: _Client, form: dict[str, str]) -> bool:
        """Use up a refresh token."""
        given = form.get("refresh_token", "")
        with self._lock:
            if self._refresh_tokens.get(given) != client.id:
                return False
            del self._refresh_tokens[given]
        return True

    def _issued(self, client: _Client) -> dict[str, Any]:
        access, refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        with self._lock:
            _keep(self._tokens, access, time.monotonic() + self._lifetime_s)
            _keep(self._refresh_tokens, refresh, client.id)
        return {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": int(self._lifetime_s),
            "refresh_token": refresh,
            "scope": "demo",
        }


def _is_for_us(fields: dict[str, str], handler: Handler) -> bool:
    """Return whether a token is wanted for this server, or for none in particular (RFC 8707)."""
    wanted = fields.get("resource")
    return wanted is None or wanted in {f"{base_of(handler)}{path}" for path in _ENDPOINTS}


def _resource(handler: Handler) -> None:
    base = base_of(handler)
    metadata = {
        "resource": f"{base}{handler.route.removeprefix(_RESOURCE) or '/mcp'}",
        "resource_name": "MCP Progress Monitor demo server",
        "authorization_servers": [base],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["demo"],
    }
    reply_uncached(handler, metadata)


def _metadata(handler: Handler) -> None:
    base = base_of(handler)
    metadata = {
        "issuer": base,
        "authorization_endpoint": f"{base}/authorize",
        "token_endpoint": f"{base}/token",
        "registration_endpoint": f"{base}/register",
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": list(_METHODS),
        "scopes_supported": ["demo"],
        "authorization_response_iss_parameter_supported": True,
    }
    reply_uncached(handler, metadata)


def _credentials(handler: Handler, form: dict[str, str]) -> tuple[str, str | None]:
    """Return the client's ID and, if given, its secret."""
    given = handler.headers.get("Authorization", "")
    if given.lower().startswith("basic "):
        try:
            name, _, secret = base64.b64decode(given[6:]).decode().partition(":")
        except ValueError:
            return "", None
        return unquote(name), unquote(secret)
    return form.get("client_id", ""), form.get("client_secret")


def _is_authenticated(client: _Client, secret: str | None) -> bool:
    if client.secret is None:
        return True
    return secret is not None and hmac.compare_digest(secret.encode(), client.secret.encode())


def _texts(value: object) -> tuple[str, ...]:
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def _matches_redirect(known: str, address: str) -> bool:
    if known == address:
        return True
    ours, theirs = urlsplit(known), urlsplit(address)
    if ours.hostname not in _LOOPBACK:
        return False
    return (ours.scheme, ours.hostname, ours.path) == (theirs.scheme, theirs.hostname, theirs.path)


def _keep(table: dict[str, Any], key: str, value: object) -> None:
    """Add an entry, and drop the oldest one if there are too many."""
    table[key] = value
    if len(table) > _MOST_KEPT:
        del table[next(iter(table))]


_SCHEME: Final = "bearer "


class Gate:
    """Checks the header Authorization of each request."""

    def __init__(self, options: Options, issuer: AuthorizationServer | None) -> None:
        """Require the token in the options, or one issued by `issuer`."""
        self._bearer = options.bearer
        self._issuer = issuer
        self._is_open = options.bearer is None and issuer is None

    def admits(self, handler: Handler) -> bool:
        """Return whether the request may pass; if not, reply with 401."""
        given = handler.headers.get("Authorization", "")
        token = given[len(_SCHEME) :].strip() if given.lower().startswith(_SCHEME) else None
        if self._is_open or (token is not None and self._is_good(token)):
            return True
        self._refuse(handler, is_wrong=token is not None)
        return False

    def _is_good(self, token: str) -> bool:
        if self._bearer is not None and hmac.compare_digest(token.encode(), self._bearer.encode()):
            return True
        return self._issuer is not None and self._issuer.knows(token)

    def _refuse(self, handler: Handler, *, is_wrong: bool) -> None:
        challenge = ['realm="demo"']
        if is_wrong:
            challenge += ['error="invalid_token"', 'error_description="Unknown or expired token"']
        if self._issuer is not None:
            path = "/mcp" if handler.route.startswith("/mcp") else "/sse"
            address = f"{base_of(handler)}{_RESOURCE}{path}"
            challenge += [f'resource_metadata="{address}"', 'scope="demo"']
        if handler.headers.get("Content-Length"):
            handler.body()
        body = b'{"error":"invalid_token"}' if is_wrong else b'{"error":"unauthorized"}'
        headers = {"WWW-Authenticate": f"Bearer {', '.join(challenge)}"}
        handler.reply(HTTPStatus.UNAUTHORIZED, body, headers=headers)
