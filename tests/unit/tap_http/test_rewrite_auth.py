"""A tap that passes a client's sign-in on: translated, checked, and recorded without secrets."""

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.frames import Frame
from mcp_progress_monitor.tap_http.addresses import ListenAddress, TapAddresses
from mcp_progress_monitor.tap_http.recorder import TapRecorder
from mcp_progress_monitor.tap_http.rewrite_auth import AuthAnswer, AuthRewriter
from tests.unit.sessions.http.authorization import ISSUER, SERVER, Site
from tests.unit.tap_http.tapped import ask, tapped

PORT = 20_123
TAP = f"http://127.0.0.1:{PORT}"
CALLBACK = f"{TAP}/.tap/callback"
BACK = "http://localhost:4000/back?from=browser"
EVIL = "https://evil.example"
RESOURCE = "https://mcp.example/.well-known/oauth-protected-resource/mcp"
METADATA = f"{ISSUER}/.well-known/oauth-authorization-server"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
"""The example of RFC 7636."""


class Journal:
    """Frames that would be written."""

    waiting_bytes = 0
    is_gathering = False

    def __init__(self) -> None:
        self.written = b""

    def take(self, frames: Sequence[Frame]) -> None:
        self.written += b"\n".join(frame.raw for frame in frames) + b"\n"

    def hand_over(self) -> None:
        """Do nothing."""


class SigningClient:
    """A client that signs in through a tap, one request at a time."""

    def __init__(self, site: Site, http: httpx2.AsyncClient) -> None:
        self.site = site
        self.lines: list[str] = []
        self.journal = Journal()
        addresses = TapAddresses(SERVER)
        addresses.listening = ListenAddress("127.0.0.1", PORT)
        self.rewriter = AuthRewriter(addresses, http, self.lines.append)
        self._recorder = TapRecorder("demo", addresses, self.journal, self.lines.append)
        self.id = ""

    async def ask(self, method: str, target: str, body: bytes = b"", **headers: str) -> AuthAnswer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named = {"host": f"127.0.0.1:{PORT}", "user-agent": "client", **named}
        try:
            return await self.rewriter.answered(self._recorder, method, target, named, body)
        finally:
            self._recorder.work()

    async def document(self, path: str) -> dict[str, Any]:
        answer = await self.ask("GET", path)
        assert answer.status == 200
        found: dict[str, Any] = json.loads(answer.body)
        return found

    async def failure(self, method: str, target: str, body: bytes = b"") -> ErrorDetails:
        with pytest.raises(UserError) as caught:
            await self.ask(method, target, body, content_type=FORM)
        return caught.value.details

    async def register(self, *redirects: str, **fields: Any) -> dict[str, Any]:
        wanted = {"redirect_uris": redirects or (BACK,), **fields}
        answer = await self.ask(
            "POST", "/.tap/register", json.dumps(wanted).encode(), content_type="application/json"
        )
        registered: dict[str, Any] = json.loads(answer.body)
        self.id = registered.get("client_id", "")
        return registered

    async def page(self, **fields: str) -> str:
        """The page of the authorization server that the browser is sent on to."""
        asked = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": BACK,
            "state": "state-of-the-client",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "resource": f"{TAP}/mcp",
            "scope": "read",
        }
        answer = await self.ask("GET", f"/.tap/authorize?{urlencode(asked | fields)}")
        assert answer.status == 302
        return dict(answer.headers)["Location"]

    async def back(self, page: str) -> str:
        """The page of the client that the browser ends at."""
        there = await self.site.handle(httpx2.Request("GET", page))
        answer = await self.ask("GET", there.headers["Location"].removeprefix(TAP))
        return dict(answer.headers)["Location"]

    async def token(self, **fields: str) -> AuthAnswer:
        form = {"client_id": self.id, "resource": f"{TAP}/mcp", **fields}
        return await self.ask("POST", "/.tap/token", urlencode(form).encode(), content_type=FORM)

    async def signed_in(self) -> dict[str, Any]:
        """The tokens after a whole sign-in."""
        await self.register()
        code = fields_of(await self.back(await self.page()))["code"]
        answer = await self.token(
            grant_type="authorization_code", code=code, code_verifier=VERIFIER, redirect_uri=BACK
        )
        assert answer.status == 200
        tokens: dict[str, Any] = json.loads(answer.body)
        return tokens


FORM = "application/x-www-form-urlencoded"


def fields_of(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


@contextlib.asynccontextmanager
async def signing(site: Site | None = None) -> AsyncIterator[SigningClient]:
    site = site or Site()
    transport = httpx2.MockTransport(site.handle)
    async with httpx2.AsyncClient(transport=transport) as http:
        yield SigningClient(site, http)


async def test_the_documents_name_the_tap_and_what_can_pass_through_it() -> None:
    site = Site()
    site.methods = ["private_key_jwt", "client_secret_basic", "none"]
    site.extra_metadata = {
        "client_id_metadata_document_supported": True,
        "pushed_authorization_request_endpoint": f"{ISSUER}/par",
        "dpop_signing_alg_values_supported": ["ES256"],
        "protected_resources": [SERVER],
        "scopes_supported": ["read"],
    }
    async with signing(site) as client:
        resource = await client.document("/.well-known/oauth-protected-resource/mcp")
        metadata = await client.document("/.well-known/oauth-authorization-server")
        assert metadata == await client.document("/.well-known/openid-configuration")
    assert resource == {"resource": f"{TAP}/mcp", "authorization_servers": [TAP]}
    assert metadata == {
        "issuer": TAP,
        "authorization_endpoint": f"{TAP}/.tap/authorize",
        "token_endpoint": f"{TAP}/.tap/token",
        "registration_endpoint": f"{TAP}/.tap/register",
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "none"],
        "code_challenge_methods_supported": ["S256"],
        "scopes_supported": ["read"],
    }


async def test_clients_that_use_another_name_of_this_machine_find_it_in_the_documents() -> None:
    async with signing() as client:
        answer = await client.ask(
            "GET", "/.well-known/oauth-protected-resource", host=f"localhost:{PORT}"
        )
    assert json.loads(answer.body)["resource"] == f"http://localhost:{PORT}/mcp"


async def test_a_sign_in_is_for_the_real_resource_and_ends_at_the_client() -> None:
    site = Site()
    site.answer_back = {"iss": ISSUER}
    async with signing(site) as client:
        registered = await client.register()
        assert registered["redirect_uris"] == [BACK]
        page = await client.page()
        asked = fields_of(page)
        assert page.startswith(f"{ISSUER}/authorize?")
        assert asked["client_id"] == site.registered[0]["client_id"]
        assert (asked["resource"], asked["redirect_uri"]) == (SERVER, CALLBACK)
        assert asked["state"] != "state-of-the-client"
        end = await client.back(page)
        assert end.startswith(f"{BACK}&")
        found = fields_of(end)
        assert (found["state"], found["iss"]) == ("state-of-the-client", TAP)
        answer = await client.token(
            grant_type="authorization_code",
            code=found["code"],
            code_verifier=VERIFIER,
            redirect_uri=BACK,
        )
        tokens = json.loads(answer.body)
        again = await client.token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"]
        )
    assert again.status == 200
    assert [each["resource"] for each in site.token_requests] == [SERVER, SERVER]
    assert site.token_requests[0]["redirect_uri"] == CALLBACK
    assert json.loads(again.body)["access_token"] in site.valid


async def test_a_tap_that_was_restarted_refreshes_a_token() -> None:
    async with signing() as client:
        tokens = await client.signed_in()
        async with signing(client.site) as again:
            again.id = client.id
            answer = await again.token(
                grant_type="refresh_token", refresh_token=tokens["refresh_token"]
            )
    assert answer.status == 200


async def test_a_client_with_a_secret_authenticates_itself_there() -> None:
    async with signing() as client:
        await client.register(token_endpoint_auth_method="client_secret_basic")
        basic = base64.b64encode(f"{client.id}:s%2Fecret".encode()).decode()
        form = {"grant_type": "refresh_token", "refresh_token": "x"}
        body = urlencode(form).encode()
        await client.ask(
            "POST", "/.tap/token", body, content_type=FORM, authorization=f"Basic {basic}"
        )
        await client.ask(
            "POST", "/.tap/token", body, content_type=FORM, authorization="Bearer for-the-server"
        )
    real = base64.b64encode(f"{client.site.registered[0]['client_id']}:s%2Fecret".encode())
    sent = [each["authorization"] for each in client.site.token_requests]
    assert sent == [f"Basic {real.decode()}", ""]


async def test_a_server_that_names_another_authorization_server_does_not_get_secrets() -> None:
    async with signing() as client:
        tokens = await client.signed_in()
        site, code = client.site, fields_of(await client.back(await client.page()))["code"]
        resource = {"resource": SERVER, "authorization_servers": [EVIL]}
        site.replaced[RESOURCE] = httpx2.Response(200, json=resource)
        endpoints = {f"{name}_endpoint": f"{EVIL}/{name}" for name in ("authorization", "token")}
        metadata = {"issuer": EVIL, **endpoints}
        site.replaced[f"{EVIL}/.well-known/oauth-authorization-server"] = httpx2.Response(
            200, json=metadata
        )
        await client.document("/.well-known/oauth-protected-resource/mcp")
        basic = base64.b64encode(f"{client.id}:s%2Fecret".encode()).decode()
        form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
        refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        failures = [
            await client.failure("GET", f"/.tap/authorize?{urlencode({'client_id': client.id})}")
        ]
        for body in (form | {"client_id": client.id}, refresh | {"client_id": client.id}, refresh):
            with pytest.raises(UserError) as caught:
                await client.ask(
                    "POST",
                    "/.tap/token",
                    urlencode(body).encode(),
                    content_type=FORM,
                    **({} if "client_id" in body else {"authorization": f"Basic {basic}"}),
                )
            failures.append(caught.value.details)
    assert {"registered with another" in failure.what for failure in failures} == {True}
    assert {request.method for request in site.asked if request.url.host == "evil.example"} == {
        "GET"
    }


async def test_a_client_with_an_id_of_its_own_gets_the_answer_directly() -> None:
    async with signing() as client:
        client.id = "registered-by-hand"
        asked = fields_of(await client.page())
    assert (asked["redirect_uri"], asked["resource"]) == (BACK, SERVER)
    assert asked["state"] == "state-of-the-client"


@pytest.mark.parametrize(
    "redirect",
    [
        f"{EVIL}/back",
        "http://evil.example:80/",
        "http://127.0.0.1:80@evil.example/",
        "http://evil.example\\@127.0.0.1/",
        "http://127.0.0.1.evil.example/",
        "cursor://back",
    ],
)
async def test_the_browser_is_sent_back_to_this_machine_alone(redirect: str) -> None:
    async with signing() as client:
        await client.register()
        asked = fields_of(await client.page(redirect_uri=redirect))
    assert asked["redirect_uri"] == redirect


class _Strict(Site):
    """An authorization server that knows only the redirect URIs of its choice."""

    def _register(self, request: httpx2.Request) -> httpx2.Response:
        if CALLBACK in json.loads(request.content)["redirect_uris"]:
            return httpx2.Response(400, json={"error": "invalid_redirect_uri"})
        return super()._register(request)


async def test_a_registration_without_the_tap_is_tried_if_its_page_is_refused() -> None:
    async with signing(_Strict()) as client:
        await client.register()
        asked = fields_of(await client.page())
    assert client.id == client.site.registered[0]["client_id"]
    assert asked["redirect_uri"] == BACK


async def test_an_answer_that_belongs_to_no_sign_in_is_refused() -> None:
    async with signing() as client:
        await client.register()
        page = await client.page()
        there = await client.site.handle(httpx2.Request("GET", page))
        target = there.headers["Location"].removeprefix(TAP)
        first, again = await client.ask("GET", target), await client.ask("GET", target)
    assert (first.status, again.status) == (302, 400)


async def test_an_answer_of_another_authorization_server_is_not_passed_on() -> None:
    site = Site()
    site.answer_back = {"iss": TAP}
    async with signing(site) as client:
        await client.register()
        page = await client.page()
        with pytest.raises(UserError) as caught:
            await client.back(page)
    assert caught.value.details.what == "The browser returned from another authorization server"


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


def _with_endpoint(url: str) -> Site:
    site = Site()
    site.extra_metadata = {"token_endpoint": url}
    return site


def _with_server(url: object) -> Site:
    site = Site()
    resource = {"resource": SERVER, "authorization_servers": [url]}
    site.replaced[RESOURCE] = httpx2.Response(200, json=resource)
    return site


@pytest.mark.parametrize(
    ("site", "what"),
    [
        (_with_metadata_of_another_server(), "belongs to another server"),
        (_with_another_issuer(), "no usable metadata"),
        (_with_endpoint("http://login.example/token"), "not encrypted"),
        (_with_endpoint("http://169.254.169.254/token"), "not encrypted"),
        (_with_endpoint("file:///etc/passwd"), "not encrypted"),
        (_with_endpoint("https://login.example:x/token"), "malformed"),
        (_with_server("http://10.0.0.1"), "not encrypted"),
        (_with_server("https://[bad"), "malformed"),
    ],
)
async def test_lying_metadata_leads_nowhere(site: Site, what: str) -> None:
    async with signing(site) as client:
        failure = await client.failure("POST", "/.tap/token", b"grant_type=x&code=a-secret-code")
        again = await client.failure("POST", "/.tap/token", b"grant_type=x&code=a-secret-code")
    assert what in failure.what
    assert failure == again
    assert len(client.lines) == 1
    assert {request.method for request in site.asked} <= {"GET"}


class _Redirecting(Site):
    """An authorization server that sends whoever wants a token elsewhere."""

    def _token(self, _request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(307, headers={"Location": f"{EVIL}/token"})


async def test_a_redirected_request_for_a_token_goes_nowhere() -> None:
    async with signing(_Redirecting()) as client:
        failure = await client.failure("POST", "/.tap/token", b"grant_type=x&code=a-secret-code")
    assert "redirects" in failure.what
    assert {request.url.host for request in client.site.asked} == {"mcp.example", "login.example"}


class _Telling(Site):
    """An authorization server that repeats secrets wherever it can."""

    def __init__(self) -> None:
        super().__init__()
        self.planted = [f"planted-secret-{number}-" for number in range(40)]

    def _register(self, request: httpx2.Request) -> httpx2.Response:
        fields = json.loads(super()._register(request).content)
        fields |= {
            "client_secret": self.planted[0],
            "registration_access_token": self.planted[1],
            "registration_client_uri": f"{ISSUER}/register/{self.planted[2]}",
            "software_statement": self.planted[3],
            "client_name": f"Named {self.planted[0]}",
            "scope": {"deep": [self.planted[4]]},
            self.planted[0]: 1,
        }
        return httpx2.Response(201, json=fields)

    def _token(self, request: httpx2.Request) -> httpx2.Response:
        given = parse_qs(request.content.decode())
        said = " ".join(value for values in given.values() for value in values)
        if "grant_type" not in given:
            return httpx2.Response(500, text=f"<html>{said} {self.planted[5]}")
        fields = {
            "access_token": self.planted[6],
            "refresh_token": self.planted[7],
            "id_token": self.planted[8],
            "extra": {"list": [self.planted[9], {"token": self.planted[10]}]},
            "scope": f"read {self.planted[6]}",
            "error": "invalid_grant",
            "error_description": f"{said} {self.planted[7]}",
            "error_uri": f"https://login.example/?token={self.planted[8]}",
        }
        headers = {"WWW-Authenticate": f'Basic realm="{said}"', "Server": self.planted[6]}
        return httpx2.Response(400, json=fields, headers=headers)


async def test_no_secret_of_a_sign_in_is_recorded_or_reported() -> None:
    site = _Telling()
    planted = site.planted
    async with signing(site) as client:
        registered = await client.register(software_statement=planted[11])
        assert registered["client_secret"] == planted[0]
        assert "registration_access_token" not in registered
        page = await client.page(state=planted[12], login_hint=planted[13])
        await client.back(f"{page}&id_token_hint={planted[14]}")
        for number in range(15, 36, 4):
            basic = base64.b64encode(f"{client.id}:{planted[number]}".encode()).decode()
            form = {
                "grant_type": "authorization_code",
                "code": planted[number + 1],
                "code_verifier": planted[number + 2],
                "client_assertion": planted[number + 3],
                "error_description": planted[number + 1],
            }
            await client.ask(
                "POST",
                "/.tap/token",
                urlencode(form).encode(),
                content_type=FORM,
                authorization=f"Basic {basic}",
            )
        await client.token(token=planted[39])
    said = client.journal.written.decode() + "".join(client.lines)
    assert "authorization_code" in said
    assert not [secret for secret in planted if secret in said]


async def test_a_server_without_metadata_is_left_as_it_is() -> None:
    site = Site()
    for path in ("/mcp", ""):
        url = f"https://mcp.example/.well-known/oauth-protected-resource{path}"
        site.replaced[url] = httpx2.Response(404)
    async with signing(site) as client:
        resource = await client.ask("GET", "/.well-known/oauth-protected-resource/mcp")
        metadata = await client.ask("GET", "/.well-known/oauth-authorization-server")
    assert (resource.status, metadata.status) == (404, 404)


async def test_a_refusal_names_the_tap() -> None:
    asked = {"host": f"localhost:{PORT}"}
    real = f'Bearer error="insufficient_scope", scope="write", resource_metadata="{RESOURCE}"'
    own = f"http://localhost:{PORT}/.well-known/oauth-protected-resource/mcp"
    async with signing() as client:
        assert client.rewriter.challenge(real, asked) == real.replace(RESOURCE, own)
        assert client.rewriter.challenge("Basic realm=x", asked) == "Basic realm=x"


async def test_pages_of_other_sites_may_only_lead_through_a_sign_in(tmp_path: Path) -> None:
    cross = "Sec-Fetch-Site: cross-site"
    async with tapped("http://127.0.0.1:9/mcp", tmp_path, rewrites_auth=True) as tap:
        answers = [
            await ask(tap, b"", cross, line="GET /.tap/callback?state=x HTTP/1.1"),
            await ask(tap, b"token=x", cross, line="POST /.tap/token HTTP/1.1"),
            await ask(tap, b"", f"Origin: {EVIL}", line="GET /.tap/callback HTTP/1.1"),
            await ask(tap, b"x" * 65_537, line="POST /.tap/token HTTP/1.1"),
            await ask(tap, b"", line="GET /.tap/token HTTP/1.1"),
            await ask(tap, b"token=x", line="POST /.tap/token HTTP/1.1"),
        ]
    assert [int(answer.split()[1]) for answer in answers] == [400, 403, 403, 413, 405, 502]
    assert b"the authorization server did not respond" in answers[-1]
