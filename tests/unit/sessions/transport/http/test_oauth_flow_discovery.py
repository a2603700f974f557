"""What is published about a sign-in is checked: nobody is asked to sign in where that is unsafe."""

from typing import Any

import httpx2
import pytest

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.sessions.transport.http.oauth import client_metadata
from mcp_progress_monitor.sessions.transport.http.oauth_callback import REGISTERED_PORT
from mcp_progress_monitor.snapshots.definitions import OAuthClient
from tests.unit.sessions.http.authorization import ISSUER, SERVER, Site, port_of
from tests.unit.sessions.http.visiting import error_of, visiting

pytestmark = pytest.mark.anyio

ORIGIN = "https://mcp.example"
RESOURCE = f"{ORIGIN}/.well-known/oauth-protected-resource/mcp"
ROOT_RESOURCE = f"{ORIGIN}/.well-known/oauth-protected-resource"
METADATA = f"{ISSUER}/.well-known/oauth-authorization-server"
OPENID = f"{ISSUER}/.well-known/openid-configuration"
OWN_METADATA = f"{ORIGIN}/.well-known/oauth-authorization-server"
ELSEWHERE = "https://elsewhere.example/metadata"
DOCUMENT = "https://user.example/client.json"


def _json(value: Any, status: int = 200) -> httpx2.Response:
    return httpx2.Response(status, json=value)


async def _refusal(site: Site) -> ErrorDetails:
    """What a sign-in is refused for; nobody was asked, and nothing was registered."""
    async with visiting(site=site) as visit, visit.client() as client:
        error = await error_of(client)
    assert visit.browser.shown == []
    assert [request.url for request in site.asked if request.url.path == "/register"] == []
    return error


async def _signs_in(site: Site, oauth: OAuthClient | None = None) -> str:
    """The page that the user signs in at, successfully."""
    async with visiting(site=site, oauth=oauth) as visit, visit.client() as client:
        assert (await client.post(SERVER)).status_code == 200
    return visit.browser.shown[0]


@pytest.mark.parametrize("methods", [None, [], ["plain"]])
async def test_an_authorization_server_that_does_not_list_s256_is_refused(
    methods: list[str] | None,
) -> None:
    site = Site()
    site.extra_metadata = {"code_challenge_methods_supported": methods}
    error = await _refusal(site)
    assert error.what.startswith("The authorization server does not support PKCE")
    assert error.where == ISSUER
    assert "S256" in error.hint


async def test_pkce_is_checked_for_a_client_that_is_known_already() -> None:
    site = Site()
    site.extra_metadata = {"code_challenge_methods_supported": []}
    async with (
        visiting(site=site, oauth=OAuthClient(client_id="mine")) as visit,
        visit.client() as client,
    ):
        error = await error_of(client)
    assert "PKCE" in error.what
    assert visit.browser.shown == []


async def test_openid_metadata_are_held_to_the_same() -> None:
    site = Site()
    site.replaced[METADATA] = httpx2.Response(404)
    fields = {"issuer": ISSUER, "authorization_endpoint": f"{ISSUER}/authorize"}
    site.replaced[OPENID] = _json({**fields, "token_endpoint": f"{ISSUER}/token"})
    assert "PKCE" in (await _refusal(site)).what


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(404),
        httpx2.Response(503),
        httpx2.Response(302, headers={"Location": f"{ORIGIN}/metadata"}),
        httpx2.Response(200, content=b"<html>"),
        _json({"issuer": ISSUER, "code_challenge_methods_supported": ["S256"]}),
        _json(["S256"]),
    ],
    ids=["missing", "failing", "redirected", "page", "incomplete", "list"],
)
async def test_a_named_authorization_server_without_metadata_is_not_replaced_by_the_server_itself(
    answer: httpx2.Response,
) -> None:
    site = Site()
    site.replaced[METADATA] = answer
    error = await _refusal(site)
    assert error.what == "The authorization server publishes no usable metadata"
    assert error.where.rstrip("/") == ISSUER
    assert [each for each in site.paths() if each.startswith("mcp.example/authorize")] == []


async def test_what_is_wrong_with_metadata_is_reported_without_their_values() -> None:
    site = Site()
    site.replaced[METADATA] = _json({"issuer": ISSUER, "authorization_endpoint": "secret value"})
    site.replaced[OPENID] = httpx2.Response(404)
    detail = (await _refusal(site)).detail
    assert f"{METADATA} is malformed: authorization_endpoint" in detail
    assert "secret value" not in detail


async def test_metadata_of_another_issuer_are_refused() -> None:
    site = Site()
    site.extra_metadata = {"issuer": "https://other.example"}
    assert (
        await _refusal(site)
    ).what == "The authorization server's issuer does not match its metadata"


async def test_metadata_that_were_kept_of_another_issuer_are_not_used() -> None:
    site = Site()
    async with visiting(site=site) as visit, visit.client() as client:
        await client.post(SERVER)
        site.valid.clear()
        site.renewals.clear()
        site.issuer = moved = "https://moved.example"
        for kind in ("oauth-authorization-server", "openid-configuration"):
            site.replaced[f"{moved}/.well-known/{kind}"] = httpx2.Response(404)
        error = await error_of(client)
    assert error.what == "The authorization server publishes no usable metadata"
    assert len(visit.browser.shown) == 1


@pytest.mark.parametrize("endpoint", ["authorization_endpoint", "token_endpoint"])
async def test_endpoints_that_are_not_encrypted_are_refused(endpoint: str) -> None:
    site = Site()
    site.extra_metadata = {endpoint: "http://login.example/x"}
    async with visiting(site=site) as visit, visit.client() as client:
        error = await error_of(client)
    assert "not encrypted" in error.what
    assert site.token_requests == []


async def test_a_remote_server_leads_nobody_to_this_machine() -> None:
    site = Site()
    site.challenge = 'resource_metadata="http://127.0.0.1:9/metadata", '
    assert "not encrypted" in (await _refusal(site)).what


async def test_who_registers_nobody_is_not_replaced_by_the_server_itself() -> None:
    site = Site()
    site.extra_metadata = {"registration_endpoint": None}
    error = await _refusal(site)
    assert error.what == "The authorization server does not support client registration"
    assert str(REGISTERED_PORT) in error.hint


async def test_metadata_at_another_origin_that_describe_this_server_are_used() -> None:
    site = Site()
    site.challenge = f'resource_metadata="{ELSEWHERE}", '
    site.replaced[ELSEWHERE] = _json({"resource": SERVER, "authorization_servers": [ISSUER]})
    assert (await _signs_in(site)).startswith(f"{ISSUER}/authorize?")


@pytest.mark.parametrize("resource", ["https://elsewhere.example/mcp", ORIGIN])
async def test_metadata_at_another_origin_that_describe_another_server_are_refused(
    resource: str,
) -> None:
    site = Site()
    site.challenge = f'resource_metadata="{ELSEWHERE}", '
    site.replaced[ELSEWHERE] = _json({"resource": resource, "authorization_servers": [ISSUER]})
    error = await _refusal(site)
    assert error.what == "The server's sign-in metadata belongs to another server"
    assert SERVER in error.detail


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(404),
        httpx2.Response(200, content=b"<html>"),
        httpx2.Response(302, headers={"Location": "https://elsewhere.example/"}),
        _json({"resource": SERVER}),
    ],
    ids=["missing", "page", "redirected", "incomplete"],
)
async def test_metadata_that_the_server_names_must_be_there_and_be_readable(
    answer: httpx2.Response,
) -> None:
    site = Site()
    named = f"{ORIGIN}/about"
    site.challenge = f'resource_metadata="{named}", '
    site.replaced |= {named: answer, RESOURCE: httpx2.Response(404)}
    site.replaced[ROOT_RESOURCE] = httpx2.Response(404)
    error = await _refusal(site)
    assert error.what == "The server's sign-in metadata is not usable"
    assert named in error.detail


async def test_malformed_metadata_of_the_server_are_refused_unnamed_as_well() -> None:
    site = Site()
    site.replaced[RESOURCE] = _json({"resource": SERVER, "authorization_servers": []})
    site.replaced[ROOT_RESOURCE] = httpx2.Response(404)
    assert "not usable" in (await _refusal(site)).what


async def test_pages_at_guessed_addresses_are_no_metadata_of_a_server_of_2025_03_26() -> None:
    site = Site()
    page = httpx2.Response(200, content=b"<html>Welcome")
    site.replaced |= dict.fromkeys([RESOURCE, ROOT_RESOURCE, OWN_METADATA], page)
    async with visiting(site=site, opens=False) as visit, visit.client() as client:
        error = await error_of(client)
    assert "mcp.example/register" in site.paths()
    assert error.what == "The authorization server does not support client registration"


async def test_a_server_of_2025_03_26_with_malformed_metadata_is_refused() -> None:
    site = Site()
    site.replaced |= dict.fromkeys([RESOURCE, ROOT_RESOURCE], httpx2.Response(404))
    site.replaced[OWN_METADATA] = _json({"issuer": ORIGIN})
    assert (await _refusal(site)).what == "The authorization server publishes no usable metadata"


@pytest.mark.parametrize("issuer", [None, "https://evil.example"])
async def test_the_words_of_another_issuer_are_not_shown(issuer: str | None) -> None:
    site = Site()
    site.denies = True
    site.extra_metadata = {"authorization_response_iss_parameter_supported": True}
    site.answer_back = {} if issuer is None else {"iss": issuer}
    async with visiting(site=site) as visit, visit.client() as client:
        error = await error_of(client)
    assert error.what == "The browser returned from another authorization server"
    assert "The user said no" not in error.as_text()


async def test_a_refusal_by_the_right_issuer_is_reported_in_its_own_text() -> None:
    site = Site()
    site.denies = True
    site.answer_back = {"iss": ISSUER}
    async with visiting(site=site) as visit, visit.client() as client:
        error = await error_of(client)
    assert "The user said no" in error.detail


async def test_a_client_metadata_document_is_the_client_id_where_those_are_taken() -> None:
    site = Site()
    site.extra_metadata = {
        "client_id_metadata_document_supported": True,
        "registration_endpoint": None,
    }
    page = await _signs_in(site, OAuthClient(client_id=DOCUMENT))
    assert httpx2.URL(page).params["client_id"] == DOCUMENT
    assert port_of(page) == REGISTERED_PORT
    assert site.token_requests[0]["client_id"] == DOCUMENT
    assert site.token_requests[0]["authorization"] == ""
    assert site.registered == []
    assert httpx2.URL(page).params["redirect_uri"] in client_metadata(DOCUMENT)["redirect_uris"]


async def test_where_client_metadata_documents_are_not_taken_the_program_registers_itself() -> None:
    site = Site()
    page = await _signs_in(site, OAuthClient(client_id=DOCUMENT))
    assert httpx2.URL(page).params["client_id"] == "client-1"
    assert len(site.registered) == 1


async def test_a_url_with_a_secret_is_a_client_id_like_any_other() -> None:
    site = Site()
    oauth = OAuthClient(client_id=DOCUMENT, client_secret="hush")
    page = await _signs_in(site, oauth)
    assert httpx2.URL(page).params["client_id"] == DOCUMENT
    assert site.registered == []
