"""An authorization server, the server it protects, and a browser, without a network."""

import base64
import hashlib
import itertools
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio
import httpx2

from mcp_progress_monitor.sessions.transport.base import SignIns

SERVER = "https://mcp.example/mcp"
ISSUER = "https://login.example"


class Site:
    """Answers for both hosts; the attributes say how well."""

    def __init__(self) -> None:
        self.issuer = ISSUER
        self.expires_in: int | None = 3600
        self.denies = False
        self.registers = True
        self.renewal_status = 200
        self.wrong_state = False
        self.needed_scope = "read"
        self.methods = ["none", "client_secret_basic"]
        self.scope_in_challenge = True
        self.valid: dict[str, str] = {}
        self.renewals: set[str] = set()
        self.codes: dict[str, dict[str, str]] = {}
        self.asked: list[httpx2.Request] = []
        self.registered: list[dict[str, Any]] = []
        self.token_requests: list[dict[str, str]] = []
        self.challenge = ""
        """What stands behind "Bearer" in a refusal, before the rest."""
        self.extra_metadata: dict[str, Any] = {}
        self.replaced: dict[str, httpx2.Response] = {}
        """Answers to GET by URL, in place of what would be answered."""
        self.answer_back: dict[str, str] = {}
        """What the browser is sent back with besides."""
        self.slow = anyio.Event()
        self._numbers = itertools.count(1)

    def paths(self) -> list[str]:
        return [f"{request.url.host}{request.url.path}" for request in self.asked]

    async def handle(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        self.asked.append(request)
        if request.method == "GET" and str(request.url) in self.replaced:
            return self.replaced[str(request.url)]
        if request.url.host == "mcp.example":
            return await self._server(request)
        handlers: dict[str, Callable[[httpx2.Request], httpx2.Response]] = {
            "/.well-known/oauth-authorization-server": self._metadata,
            "/register": self._register,
            "/authorize": self._authorize,
            "/token": self._token,
        }
        handler = handlers.get(request.url.path)
        return httpx2.Response(404) if handler is None else handler(request)

    async def _server(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/.well-known/oauth-protected-resource/mcp":
            return _json({"resource": SERVER, "authorization_servers": [self.issuer]})
        if request.url.path != "/mcp":
            return httpx2.Response(404)
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        scope = self.valid.get(token)
        if scope is None:
            named = f', scope="{self.needed_scope}"' if self.scope_in_challenge else ""
            return _refused(401, f'Bearer {self.challenge}error="invalid_token"{named}')
        if self.needed_scope not in scope.split():
            text = f'Bearer error="insufficient_scope", scope="{self.needed_scope}"'
            return _refused(403, text)
        if request.url.query == b"slow":
            await self.slow.wait()
        return _json({"said": request.content.decode()})

    def _metadata(self, _request: httpx2.Request) -> httpx2.Response:
        return _json(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{ISSUER}/authorize",
                "token_endpoint": f"{ISSUER}/token",
                "registration_endpoint": f"{ISSUER}/register",
                "token_endpoint_auth_methods_supported": self.methods,
                "code_challenge_methods_supported": ["S256"],
                **self.extra_metadata,
            }
        )

    def _register(self, request: httpx2.Request) -> httpx2.Response:
        if not self.registers:
            return _json({"error": "invalid_client_metadata", "error_description": "No."}, 400)
        fields = json.loads(request.content)
        fields["client_id"] = f"client-{next(self._numbers)}"
        self.registered.append(fields)
        return _json(fields, 201)

    def _authorize(self, request: httpx2.Request) -> httpx2.Response:
        asked = {name: values[0] for name, values in parse_qs(request.url.query.decode()).items()}
        answer = {"state": "another" if self.wrong_state else asked["state"], **self.answer_back}
        if self.denies:
            answer |= {"error": "access_denied", "error_description": "The user said no"}
        else:
            answer["code"] = f"code-{next(self._numbers)}"
            self.codes[answer["code"]] = asked
        where = f"{asked['redirect_uri']}?{urlencode(answer)}"
        return httpx2.Response(302, headers={"Location": where})

    def _token(self, request: httpx2.Request) -> httpx2.Response:
        given = {name: values[0] for name, values in parse_qs(request.content.decode()).items()}
        given["authorization"] = request.headers.get("Authorization", "")
        self.token_requests.append(given)
        if given["grant_type"] == "refresh_token":
            if self.renewal_status != 200:
                return _json({"error": "invalid_grant"}, self.renewal_status)
            if given["refresh_token"] not in self.renewals:
                return _json({"error": "invalid_grant"}, 400)
            self.renewals.remove(given["refresh_token"])
            return self._granted(self.needed_scope)
        asked = self.codes.pop(given["code"])
        digest = hashlib.sha256(given["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != asked["code_challenge"]:
            return _json({"error": "invalid_grant"}, 400)
        return self._granted(asked.get("scope", ""))

    def _granted(self, scope: str) -> httpx2.Response:
        number = next(self._numbers)
        token, renewal = f"token-{number}", f"renewal-{number}"
        self.valid[token] = scope
        self.renewals.add(renewal)
        fields: dict[str, Any] = {"access_token": token, "token_type": "Bearer", "scope": scope}
        if self.expires_in is not None:
            fields["expires_in"] = self.expires_in
        return _json({**fields, "refresh_token": renewal})


class Browser:
    """A user who opens each page at once, or when instructed; follows where it leads."""

    def __init__(self, site: Site, *, opens: bool = True) -> None:
        self.sign_ins = SignIns(self._changed)
        self.shown: list[str] = []
        self.changes: list[tuple[str, bool]] = []
        self.pages: list[str] = []
        self._site = site
        self._opens = opens
        self._news, self._waiting = anyio.create_memory_object_stream[str](100)

    def _changed(self, server: str) -> None:
        found = self.sign_ins.of(server)
        self.changes.append((server, found is not None))
        if found is not None:
            self.shown.append(found.url)
            self._news.send_nowait(found.url)

    async def run(self) -> None:
        """Open whatever page is asked for."""
        async for url in self._waiting:
            if self._opens:
                await self.open(url)

    async def next_page(self) -> str:
        return await self._waiting.receive()

    async def open(self, url: str) -> str:
        """Open a page; the words that the browser shows at the end."""
        transport = httpx2.MockTransport(self._site.handle)
        async with httpx2.AsyncClient(transport=transport) as client:
            there = await client.get(url)
        async with httpx2.AsyncClient(trust_env=False) as client:
            back = await client.get(there.headers["Location"])
        self.pages.append(back.text)
        return back.text

    def close(self) -> None:
        self._news.close()
        self._waiting.close()


def port_of(url: str) -> int:
    """Where the browser is sent back to after a page."""
    back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
    return urlsplit(back).port or 0


def _json(value: Any, status: int = 200) -> httpx2.Response:
    return httpx2.Response(status, json=value)


def _refused(status: int, text: str) -> httpx2.Response:
    return httpx2.Response(status, headers={"WWW-Authenticate": text}, content=b"refused")
