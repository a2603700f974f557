"""The authorization server of the demo, step by step."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from tests.unit.servers.http.site import request, running

if TYPE_CHECKING:
    from tests.unit.servers.http.site import Answer, Client

VERIFIER = "v" * 43
BACK = "http://127.0.0.1:7777/callback"


def _challenge() -> str:
    digest = hashlib.sha256(VERIFIER.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _authorized(client: Client, **changed: str) -> dict[str, str]:
    """Return what the browser brings back."""
    query = {
        "response_type": "code",
        "client_id": "demo-client",
        "redirect_uri": BACK,
        "state": "s t",
        "code_challenge": _challenge(),
        "code_challenge_method": "S256",
        **changed,
    }
    answer = client.request("GET", f"/authorize?{urlencode(query)}")
    assert answer.status == 302, answer.body
    return dict(parse_qsl(urlsplit(answer.headers["Location"]).query))


def _form(client: Client, headers: dict[str, str] | None = None, /, **fields: str) -> Answer:
    kind = {"Content_Type": "application/x-www-form-urlencoded", **(headers or {})}
    return client.request("POST", "/token", urlencode(fields).encode(), **kind)


def _exchanged(client: Client, code: str, **changed: str) -> Answer:
    fields = {
        "grant_type": "authorization_code",
        "client_id": "demo-client",
        "code": code,
        "redirect_uri": BACK,
        "code_verifier": VERIFIER,
        **changed,
    }
    return _form(client, **fields)


def _may_pass(client: Client, tokens: dict[str, Any]) -> bool:
    authorization = f"Bearer {tokens['access_token']}"
    return client.post(request("ping"), Authorization=authorization).status != 401


def test_metadata_lead_from_the_resource_to_every_page() -> None:
    with running("--oauth") as client:
        resource = client.request("GET", "/.well-known/oauth-protected-resource/mcp").json
        metadata = client.request("GET", "/.well-known/oauth-authorization-server").json
        base = f"http://127.0.0.1:{client.port}"
    assert resource["resource"] == f"{base}/mcp"
    assert resource["authorization_servers"] == [base] == [metadata["issuer"]]
    assert metadata["code_challenge_methods_supported"] == ["S256"]


def test_a_code_is_exchanged_once_and_its_token_is_good() -> None:
    with running("--oauth") as client:
        back = _authorized(client)
        answer = _exchanged(client, back["code"])
        again = _exchanged(client, back["code"])
        assert _may_pass(client, answer.json)
    assert back["state"] == "s t"
    assert back["iss"] == f"http://127.0.0.1:{client.port}"
    assert answer.headers["Cache-Control"] == "no-store"
    assert (again.status, again.json["error"]) == (400, "invalid_grant")


@pytest.mark.parametrize(
    "changed", [{"code_verifier": "w" * 43}, {"redirect_uri": "http://127.0.0.1:7777/other"}]
)
def test_a_code_is_of_no_use_to_others(changed: dict[str, str]) -> None:
    with running("--oauth") as client:
        answer = _exchanged(client, _authorized(client)["code"], **changed)
    assert (answer.status, answer.json["error"]) == (400, "invalid_grant")


def test_a_token_runs_out_and_another_comes_for_the_refresh_token_once() -> None:
    with running("--oauth", "--token-lifetime", "0") as client:
        tokens = _exchanged(client, _authorized(client)["code"]).json
        assert not _may_pass(client, tokens)
        fields = {"grant_type": "refresh_token", "client_id": "demo-client"}
        second = _form(client, **fields, refresh_token=tokens["refresh_token"])
        third = _form(client, **fields, refresh_token=tokens["refresh_token"])
    assert second.json["access_token"] != tokens["access_token"]
    assert (third.status, third.json["error"]) == (400, "invalid_grant")


def test_everybody_may_be_refused() -> None:
    with running("--oauth", "--oauth-deny") as client:
        assert _authorized(client)["error"] == "access_denied"


def test_a_challenge_is_needed() -> None:
    with running("--oauth") as client:
        assert _authorized(client, code_challenge_method="plain")["error"] == "invalid_request"


def test_nobody_is_sent_to_an_address_that_was_not_registered() -> None:
    query = urlencode({"client_id": "demo-client", "redirect_uri": "https://evil.example/"})
    with running("--oauth") as client:
        assert client.request("GET", f"/authorize?{query}").status == 400


def test_a_client_registers_itself_and_may_come_from_any_port() -> None:
    wanted = {"redirect_uris": ["http://127.0.0.1/callback"], "client_name": "Test"}
    with running("--oauth") as client:
        answer = client.request("POST", "/register", json.dumps(wanted).encode())
        back = _authorized(client, client_id=answer.json["client_id"])
        tokens = _exchanged(client, back["code"], client_id=answer.json["client_id"])
    assert answer.status == 201
    assert answer.json["client_name"] == "Test"
    assert tokens.status == 200


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"redirect_uris":[]}'])
def test_a_registration_without_addresses_is_refused(body: bytes) -> None:
    with running("--oauth") as client:
        assert client.request("POST", "/register", body).status == 400


@pytest.mark.parametrize(("secret", "status"), [("demo-secret", 200), ("wrong", 400)])
@pytest.mark.parametrize("is_basic", [True, False])
def test_a_confidential_client_needs_its_secret(
    secret: str, status: int, *, is_basic: bool
) -> None:
    name = "demo-confidential"
    basic = base64.b64encode(f"{name}:{secret}".encode()).decode()
    with running("--oauth") as client:
        code = _authorized(client, client_id=name)["code"]
        fields = {"grant_type": "authorization_code", "code": code}
        fields |= {"redirect_uri": BACK, "code_verifier": VERIFIER}
        if is_basic:
            answer = _form(client, {"Authorization": f"Basic {basic}"}, **fields)
        else:
            answer = _form(client, **fields, client_id=name, client_secret=secret)
    assert answer.status == status
