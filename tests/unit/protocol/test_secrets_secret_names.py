"""Names that usually hold secrets."""

import pytest

from mcp_progress_monitor.protocol.secrets import (
    is_secret_header,
    is_secret_name,
    is_secret_setting,
    shown_url,
)


@pytest.mark.parametrize(
    "name",
    [
        *("API_KEY", "password", "GITHUB_TOKEN", "Authorization", "client_secret", "x-api-key"),
        *("x-auth-token", "Cookie", "passphrase"),
    ],
)
def test_these_names_are_of_secrets(name: str) -> None:
    assert is_secret_name(name)
    assert is_secret_setting(name)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "LEVEL", "keyboard", "HOME", "monkey", "tokenizer", "progressToken", "Accept"),
        "KEYBOARD",
    ],
)
def test_these_are_not(name: str) -> None:
    assert not is_secret_name(name)
    assert not is_secret_setting(name)


@pytest.mark.parametrize(
    "name",
    [
        *("KEY", "x-key", "SERVICE_KEY", "servicekey", "PAT", "GITHUB_PAT", "BLOB_SAS"),
        *("SENTRY_DSN", "CONNECTION_STRING"),
    ],
)
def test_these_are_of_secrets_only_where_servers_are_set_up(name: str) -> None:
    assert is_secret_setting(name)
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "proxy-authorization", "Cookie", "Set-Cookie", "X-Api-Key", "apikey"),
        *("X-Auth", "Authentication-Info", "X-Token-Value", "X-Hub-Signature-256", "X-Key"),
    ],
)
def test_credentials_among_headers_are_known_by_their_name(name: str) -> None:
    assert is_secret_header(name)


@pytest.mark.parametrize("name", ["Session", "X-Sid", "X-CSRF", "X-Client-Id", "X-Amzn-Oidc-Data"])
def test_headers_that_stand_for_a_sign_in_are_hidden(name: str) -> None:
    assert is_secret_header(name)


@pytest.mark.parametrize("name", ["Accept", "WWW-Authenticate", "Mcp-Session-Id", "Content-Type"])
def test_other_headers_are_shown(name: str) -> None:
    assert not is_secret_header(name)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:pw@host:8/x?y=1", "https://host:8/x?y=1"),
        ("//me:p@w@host/x@y", "//host/x@y"),
        ("/x//a@b", "/x//a@b"),
        ("http://[::bad@host/", "http://host/"),
        ("http://host/?token=abc", "http://host/?token=***"),
        ("http://host/x=1?a=1&api_key=b=c#jwt=d", "http://host/x=1?a=1&api_key=***#jwt=***"),
        (
            "/x?API%5FKEY=b;KEY=c&key=&progressToken=7",
            "/x?API%5FKEY=***;KEY=***&key=&progressToken=7",
        ),
        ("http://host/?code=abc&codec=x", "http://host/?code=***&codec=x"),
        ("/messages?sessionId=5", "/messages?sessionId=***"),
        ("//host?token=${env:A}${keyring:b}&pat=${c}", "//host?token=${env:A}${keyring:b}&pat=***"),
        ("http://host/?token=x${env:A}", "http://host/?token=***"),
        ("http://host/mcp;token=abc?x=1", "http://host/mcp;token=***?x=1"),
        ("http://host/bot123456:AAbbCC11ddEE22ff/mcp", "http://host/***/mcp"),
        ("http://host/schema-20251125/v1.2.3/mcp", "http://host/schema-20251125/v1.2.3/mcp"),
    ],
)
def test_a_url_is_reported_without_who_signs_in_and_with_what(url: str, shown: str) -> None:
    assert shown_url(url) == shown
    assert shown_url(shown) == shown


def test_a_secret_parameter_of_a_path_is_hidden() -> None:
    assert shown_url("http://a/mcp;token=s3cret") == "http://a/mcp;token=***"
