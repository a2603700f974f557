"""Signing in: asked once, kept, renewed, widened; and what becomes of it when it fails."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.secrets.token_store import FILE_NAME, TokenStore
from mcp_progress_monitor.sessions.transport.http import oauth_flow
from mcp_progress_monitor.sessions.transport.http.oauth import auth_for, key_of, sign_out
from mcp_progress_monitor.sessions.transport.http.oauth_callback import REGISTERED_PORT
from mcp_progress_monitor.snapshots.definitions import OAuthClient
from tests.unit.sessions.http import authorization
from tests.unit.sessions.http.authorization import SERVER, Site, port_of
from tests.unit.sessions.http.visiting import error_of, visiting

pytestmark = pytest.mark.anyio


async def test_a_server_without_sign_in_gets_no_signature() -> None:
    async with visiting() as visit:
        plain = visit.definition.model_copy(update={"auth": "headers"})
        assert await auth_for(plain, visit.means, "remote") is None


async def test_the_user_signs_in_once_and_the_request_goes_through(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit, visit.client() as client:
        first = await client.post(SERVER, content=b"hello")
        second = await client.post(SERVER, content=b"again")

    assert (first.status_code, first.json()) == (200, {"said": "hello"})
    assert second.json() == {"said": "again"}
    assert len(visit.browser.shown) == 1
    assert visit.browser.changes == [("remote", True), ("remote", False)]
    assert visit.browser.pages == ["You are signed in. You can close this page.\n"]
    assert visit.site.registered[0]["client_name"] == "MCP Progress Monitor"
    assert visit.site.registered[0]["token_endpoint_auth_method"] == "none"


async def test_many_requests_at_once_ask_once() -> None:
    async with visiting() as visit, visit.client() as client, anyio.create_task_group() as group:
        answers: list[int] = []

        async def post(number: int) -> None:
            answer = await client.post(SERVER, content=str(number).encode())
            answers.append(answer.status_code)

        for number in range(8):
            group.start_soon(post, number)

    assert answers == [200] * 8
    assert len(visit.browser.shown) == 1


async def test_a_long_request_keeps_no_other_waiting() -> None:
    async with visiting() as visit, visit.client() as client, anyio.create_task_group() as group:
        await client.post(SERVER)
        group.start_soon(client.post, f"{SERVER}?slow")
        while not any(request.url.query == b"slow" for request in visit.site.asked):
            await anyio.lowlevel.checkpoint()
        assert (await client.post(SERVER, content=b"cancel")).json() == {"said": "cancel"}
        visit.site.slow.set()


async def test_what_the_user_denies_is_reported_with_the_servers_message_and_to_all_who_wait() -> (
    None
):
    async with visiting() as visit, visit.client() as client:
        visit.site.denies = True
        found: list[ErrorDetails] = []

        async def post() -> None:
            found.append(await error_of(client))

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(post)

    assert {each.what for each in found} == {"The sign-in was denied"}
    assert found[0].where == "https://login.example"
    assert found[0].detail == "access_denied: The user said no"
    assert len(visit.browser.shown) == 1
    assert visit.browser.pages == ["The sign-in was refused. You can close this page.\n"]


async def test_an_answer_with_another_state_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with visiting(opens=False) as visit, visit.client() as client:
        async with anyio.create_task_group() as group:
            visit.site.wrong_state = True
            group.start_soon(client.post, SERVER)
            page = await visit.browser.next_page()
            assert "does not belong to a sign-in" in await visit.browser.open(page)
            visit.site.wrong_state = False
            assert "You can close" in await visit.browser.open(page)
        monkeypatch.setattr(oauth_flow, "SIGN_IN_S", 0.3)
        visit.site.valid.clear()
        visit.site.renewals.clear()
        async with anyio.create_task_group() as group:
            visit.site.wrong_state = True

            async def open_page() -> None:
                await visit.browser.open(await visit.browser.next_page())

            group.start_soon(open_page)
            error = await error_of(client)

    assert error.what == "Sign-in was not completed within 0.005 minutes"
    assert "belong to no sign-in in progress: 1" in error.detail


async def test_a_token_that_is_over_is_renewed_without_the_user(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        visit.site.expires_in = -10
        async with visit.client() as client:
            await client.post(SERVER)
            visit.site.expires_in = 3600
            answer = await client.post(SERVER, content=b"later")

    assert answer.json() == {"said": "later"}
    assert [each["grant_type"] for each in visit.site.token_requests] == [
        "authorization_code",
        "refresh_token",
    ]
    assert len(visit.browser.shown) == 1


async def test_a_token_that_is_refused_early_is_renewed_without_the_user() -> None:
    async with visiting() as visit, visit.client() as client:
        await client.post(SERVER)
        visit.site.valid.clear()
        assert (await client.post(SERVER)).status_code == 200
        assert len(visit.browser.shown) == 1


async def test_a_renewal_that_is_refused_asks_the_user_again(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit, visit.client() as client:
        await client.post(SERVER)
        visit.site.valid.clear()
        visit.site.renewals.clear()
        assert (await client.post(SERVER)).status_code == 200
        assert len(visit.browser.shown) == 2


async def test_a_renewal_that_fails_for_now_costs_no_sign_in(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit, visit.client() as client:
        await client.post(SERVER)
        visit.site.valid.clear()
        visit.site.renewal_status = 503
        error = await error_of(client)
        assert error.what.endswith("the authorization server answered 503")
        visit.site.renewal_status = 200
        assert (await client.post(SERVER)).status_code == 200
        assert len(visit.browser.shown) == 1


async def test_the_next_start_of_the_program_needs_no_sign_in(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit, visit.client() as client:
        await client.post(SERVER)
        assert TokenStore(tmp_path, {}).get(key_of(visit.definition)) is not None
    async with visiting(tmp_path, site=visit.site) as later, later.client() as client:
        assert (await client.post(SERVER)).status_code == 200
        visit.site.valid.clear()  # renewed where it was got, which the next start knows as well
        assert (await client.post(SERVER)).status_code == 200

    assert later.browser.shown == []
    assert visit.site.paths().count("mcp.example/token") == 0


async def test_accounts_that_differ_in_a_secret_of_the_url_sign_in_apart(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        for account in ("first", "second"):
            url = f"{SERVER}?token={account}"
            visit.definition = visit.definition.model_copy(update={"url": url})
            async with visit.client() as client:
                assert (await client.post(url)).status_code == 200

    assert len(visit.browser.shown) == 2


async def test_a_secret_of_the_url_is_not_in_what_is_reported_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(authorization, "SERVER", "https://mcp.example/another")
    async with visiting() as visit:
        update = {"url": f"{SERVER}?token=first"}
        visit.definition = visit.definition.model_copy(update=update)
        async with visit.client() as client:
            error = await error_of(client)

    assert error.what == "The server's metadata is for another server"
    assert f"{SERVER}?token=***" in error.detail


class _Forgetful(Site):
    """An authorization server that has lost its clients when a token is refreshed."""

    def _token(self, request: httpx2.Request) -> httpx2.Response:
        if b"grant_type=refresh_token" in request.content:
            return httpx2.Response(401, json={"error": "invalid_client"})
        return super()._token(request)


async def test_a_client_that_was_forgotten_registers_again() -> None:
    async with visiting(site=_Forgetful()) as visit, visit.client() as client:
        await client.post(SERVER)
        visit.site.valid.clear()
        assert (await client.post(SERVER)).status_code == 200
    pages = [parse_qs(urlsplit(page).query)["client_id"] for page in visit.browser.shown]
    assert pages == [[each["client_id"]] for each in visit.site.registered]
    assert len(pages) == 2


async def test_signing_out_forgets_tokens_and_registration(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        async with visit.client() as client:
            await client.post(SERVER)
        assert sign_out(visit.definition, tmp_path)
        assert not sign_out(visit.definition, tmp_path)
        async with visit.client() as client:
            await client.post(SERVER)

    assert len(visit.browser.shown) == 2
    assert len(visit.site.registered) == 2


async def test_without_a_folder_a_sign_in_lasts_as_long_as_the_program() -> None:
    async with visiting() as visit:
        for _ in range(2):
            async with visit.client() as client:
                assert (await client.post(SERVER)).status_code == 200
        assert len(visit.browser.shown) == 1


async def test_two_connections_at_once_share_one_sign_in(tmp_path: Path) -> None:
    async with (
        visiting(tmp_path) as visit,
        visit.client("one") as one,
        visit.client("two") as two,
        anyio.create_task_group() as group,
    ):
        group.start_soon(one.post, SERVER)
        group.start_soon(two.post, SERVER)

    assert len(visit.browser.shown) == 1
    assert len(visit.site.token_requests) == 1


async def test_a_token_that_another_connection_renewed_is_taken_up(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit, visit.client("one") as one, visit.client("two") as two:
        await one.post(SERVER)
        await two.post(SERVER)
        visit.site.valid.clear()
        await one.post(SERVER)
        assert (await two.post(SERVER)).status_code == 200
        assert [each["grant_type"] for each in visit.site.token_requests] == [
            "authorization_code",
            "refresh_token",
        ]


async def test_cancelling_ends_the_sign_in_and_gives_the_port_back() -> None:
    async with visiting(opens=False) as visit, visit.client() as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.post, SERVER)
            page = await visit.browser.next_page()
            assert visit.browser.sign_ins.of("remote") is not None
            group.cancel_scope.cancel()
        assert visit.browser.sign_ins.of("remote") is None
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port_of(page))
        await listener.aclose()

        async with anyio.create_task_group() as group:
            group.start_soon(client.post, SERVER)
            await visit.browser.open(await visit.browser.next_page())
        assert visit.site.valid


async def test_more_rights_are_asked_for_when_they_are_needed() -> None:
    async with visiting() as visit, visit.client() as client:
        await client.post(SERVER)
        visit.site.needed_scope = "write"
        assert (await client.post(SERVER)).status_code == 200

    assert [set(scope.split()) for scope in visit.site.valid.values()] == [
        {"read"},
        {"read", "write"},
    ]


async def test_a_refusal_after_a_sign_in_is_final() -> None:
    async with visiting() as visit, visit.client() as client:
        visit.site.needed_scope = "never"
        visit.site.scope_in_challenge = False
        answer = await client.post(SERVER)

    assert answer.status_code == 403
    assert answer.content == b"refused"
    assert len(visit.browser.shown) == 1


async def test_a_client_registered_by_hand_comes_back_to_the_known_port(tmp_path: Path) -> None:
    given = OAuthClient(client_id="mine", client_secret="s e", scope="read profile")
    async with visiting(tmp_path, oauth=given) as visit, visit.client() as client:
        await client.post(SERVER)

    assert port_of(visit.browser.shown[0]) == REGISTERED_PORT
    assert visit.site.registered == []
    assert visit.site.token_requests[0]["authorization"] == "Basic bWluZTpzJTIwZQ=="
    assert list(visit.site.valid.values()) == ["read profile"]
    assert "s e" not in (tmp_path / FILE_NAME).read_text()


async def test_the_secret_is_sent_in_the_body_where_that_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_SECRET", "hush")
    given = OAuthClient(client_id="mine", client_secret="${env:MY_SECRET}")
    async with visiting(oauth=given) as visit, visit.client() as client:
        visit.site.methods = ["client_secret_post"]
        await client.post(SERVER)

    assert visit.site.token_requests[0]["client_secret"] == "hush"


async def test_a_clients_secret_goes_to_no_other_authorization_server(tmp_path: Path) -> None:
    given = OAuthClient(client_id="mine", client_secret="hush")
    async with visiting(tmp_path, oauth=given) as visit, visit.client() as client:
        await client.post(SERVER)
        visit.site.valid.clear()
        visit.site.renewals.clear()
        visit.site.issuer = f"{visit.site.issuer}/"[:-1].replace("login", "elsewhere")
        error = await error_of(client)

    assert error.what.startswith("The server now names another authorization server")
    bodies = [r.content for r in visit.site.asked if r.url.host == "elsewhere.example"]
    assert not any(b"hush" in body for body in bodies)


async def test_who_registers_nobody_is_reported_with_the_address_to_register() -> None:
    async with visiting() as visit, visit.client() as client:
        visit.site.registers = False
        error = await error_of(client)

    assert error.what == "The authorization server does not support client registration"
    assert f"http://127.0.0.1:{REGISTERED_PORT}/callback" in error.hint
    assert error.detail == "invalid_client_metadata: No."


async def test_a_port_that_another_program_has_is_registered_again(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit, visit.client() as client:
        await client.post(SERVER)
        port = port_of(visit.browser.shown[0])
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
        async with listener:
            visit.site.valid.clear()
            visit.site.renewals.clear()
            assert (await client.post(SERVER)).status_code == 200

    assert len(visit.site.registered) == 2
    assert port_of(visit.browser.shown[1]) != port


async def test_an_unencrypted_authorization_server_is_refused() -> None:
    async with visiting() as visit, visit.client() as client:
        visit.site.issuer = "http://login.example"
        error = await error_of(client)

    assert "not encrypted" in error.what
    assert error.where == "http://login.example"


async def test_requests_of_the_sign_in_have_time_limits_of_their_own() -> None:
    async with visiting() as visit, visit.client() as client:
        await client.post(SERVER)

    limited = [request.extensions["timeout"]["read"] == 30.0 for request in visit.site.asked]
    assert limited == [
        request.url.path != "/mcp" and request.url.path != "/authorize"
        for request in visit.site.asked
    ]


async def test_a_file_that_cannot_be_read_is_reported_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("{ broken")
    async with visiting(tmp_path) as visit, visit.client() as client:
        error = await error_of(client)

    assert error.what == "Cannot read the saved sign-ins; they are left unchanged"
    assert (tmp_path / FILE_NAME).read_text() == "{ broken"


async def test_a_record_of_another_shape_is_left_out(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit, visit.client() as client:
        await client.post(SERVER)
    path = tmp_path / FILE_NAME
    document = json.loads(path.read_text())
    for record in document["signIns"].values():
        record["tokens"] = ["odd"]
    path.write_text(json.dumps(document))
    async with visiting(tmp_path, site=visit.site) as later, later.client() as client:
        assert (await client.post(SERVER)).status_code == 200
        assert len(later.browser.shown) == 1


async def test_an_endless_answer_of_an_authorization_server_ends_the_sign_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 65536

    async with visiting() as visit:
        handle = visit.site.handle

        async def handled(request: httpx2.Request) -> httpx2.Response:
            if request.url.path == "/token":
                return httpx2.Response(200, content=endless())
            return await handle(request)

        monkeypatch.setattr(visit.site, "handle", handled)
        async with visit.client() as client:
            error = await error_of(client)

    assert error.what.startswith("The authorization server's response is larger than")
    assert error.where == "https://login.example"


async def test_an_endless_error_body_does_not_block_the_sign_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 65536

    async with visiting() as visit:
        handle = visit.site.handle

        async def handled(request: httpx2.Request) -> httpx2.Response:
            answer = await handle(request)
            if answer.status_code != 401:
                return answer
            return httpx2.Response(401, headers=answer.headers, content=endless())

        monkeypatch.setattr(visit.site, "handle", handled)
        async with visit.client() as client:
            assert (await client.post(SERVER)).status_code == 200
