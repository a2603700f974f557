"""How credentials are recorded."""

from mcp_progress_monitor.sessions.transport.http.record import Redactor


def test_of_a_credential_scheme_and_length_are_reported() -> None:
    headers = [("Authorization", "Bearer abcdef"), ("X-Mine", "secret"), ("Accept", "*/*")]
    assert Redactor({"X-Mine"}).headers(headers) == [
        ("Authorization", "Bearer (hidden, 6 characters)"),
        ("X-Mine", "(hidden, 6 characters)"),
        ("Accept", "*/*"),
    ]


def test_a_redirection_is_reported_without_who_signs_in() -> None:
    headers = [("Location", "http://me:pw@host/?token=abc&x=1")]
    assert Redactor().headers(headers) == [("Location", "http://host/?token=***&x=1")]


def test_what_a_reference_stands_for_is_reported_nowhere() -> None:
    redactor = Redactor()
    written = {"X-Tenant": "a-${env:ONE}-${keyring:two}.z", "Accept": "${env:SHORT}", "A": "plain"}
    sent = {"X-Tenant": "a-first/value-second value.z", "Accept": "*/*", "A": "plain"}
    redactor.learn(written, sent, "http://host/")
    message = "it was first/value (first%2Fvalue) and second value, */*, plain"
    assert redactor.text(message) == "it was *** (***) and ***, */*, plain"
    assert redactor.body(b"first/value") == b"***"
    assert redactor.headers([("X-Echo", "first/value")]) == [("X-Echo", "***")]
    assert redactor.url("http://host/first%2Fvalue?x=1") == "http://host/***?x=1"


def test_credentials_that_a_server_repeats_are_hidden_as_well() -> None:
    redactor = Redactor()
    url = "http://me:pass%2Fword@host/?api_key=abcdefgh1&page=12345678"
    redactor.learn({}, {"Authorization": "Bearer 0123456789", "Pin": "1234"}, url)
    message = (
        "0123456789 is no token, pass/word and pass%2Fword and abcdefgh1 wrong, 12345678, 1234"
    )
    shown = "*** is no token, *** and *** and *** wrong, 12345678, 1234"
    assert redactor.text(message) == shown
