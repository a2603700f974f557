"""Addresses of servers: the host as it stands there, what is odd, what is never opened."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.wording.questions import url_parts


def test_the_host_is_set_apart_with_its_port_and_capitals() -> None:
    parts = url_parts("https://Login.Example.com:8443/oauth?host=good.example.com")
    assert parts.host == "Login.Example.com:8443"
    assert (parts.warnings, parts.refusal) == ((), "")


@pytest.mark.parametrize(
    ("url", "host", "warning"),
    [
        ("https://xn--80ak6aa92e.com/", "xn--80ak6aa92e.com", "Punycode"),
        ("https://\u0430pple.com/", "\u0430pple.com", "letters"),
        ("https://bank.example@evil.example/", "evil.example", "before the @"),
        ("https://192.168.1.1/", "192.168.1.1", "IP address"),
        ("https://[::1]/", "::1", "IP address"),
        ("http://example.com/", "example.com", "not encrypted"),
    ],
)
def test_odd_hosts_are_shown_as_they_are_and_named(url: str, host: str, warning: str) -> None:
    parts = url_parts(url)
    assert parts.host == host
    assert any(warning in text for text in parts.warnings)
    assert parts.refusal == ""


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("javascript:alert(1)", "javascript:"),
        ("file:///etc/passwd", "file:"),
        ("//example.com/", "without one"),
        ("https:///nowhere", "no host"),
        ("https://[oops/", "cannot be parsed"),
        ("https://example.com:port/", "cannot be parsed"),
        ("https://exam\u202eple.com/", "invisible"),
        ("https://good.example\\@evil.example/", "invalid"),
        ("https://example.com/a b", "invalid"),
        ("https://example.com/" + "a" * 9_000, "too long"),
    ],
)
def test_what_cannot_be_trusted_to_be_a_page_is_not_opened(url: str, why: str) -> None:
    assert why in url_parts(url).refusal


def test_what_cannot_be_seen_is_made_visible() -> None:
    assert url_parts("https://a.example/\u202egnp").shown == "https://a.example/\\u202egnp"


@given(st.text(max_size=60))
def test_no_address_raises(url: str) -> None:
    for each in (url, f"https://{url}"):
        parts = url_parts(each)
        assert parts.refusal or parts.host
