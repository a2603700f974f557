"""Who is let in."""

from __future__ import annotations

import pytest

from tests.unit.servers.http.site import request, running


@pytest.mark.parametrize("given", [None, "Bearer wrong", "Basic c2VjcmV0", "secret", "Bearer ü"])
def test_without_the_token_nobody_comes_in(given: str | None) -> None:
    with running("--bearer", "secret") as client:
        answer = client.post(request("ping"), Authorization=given)
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="demo"')
    is_wrong = given is not None and given.startswith("Bearer")
    assert ('error="invalid_token"' in answer.headers["WWW-Authenticate"]) is is_wrong


def test_with_the_token_everything_is_as_usual() -> None:
    with running("--bearer", "secret") as client:
        client.session = {"Authorization": "bearer secret"}
        answer = client.call_alone("known_total", steps=2, interval_s=0)
    assert answer.ticks == [1, 2]


def test_a_refusal_tells_where_tokens_come_from() -> None:
    with running("--oauth") as client:
        answer = client.post(request("ping"))
        address = f"http://127.0.0.1:{client.port}/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{address}"' in answer.headers["WWW-Authenticate"]
