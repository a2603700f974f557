"""Variables and headers are entered as text or as references, and written as they were."""

import pytest

from mcp_progress_monitor.gui.servers.draft import (
    EnteredValue,
    ValueKind,
    doubled,
    entered,
    error_of,
    for_keyring,
    readable_secrets,
    secrets_of,
)


@pytest.mark.parametrize(
    ("written", "kind", "value", "scheme"),
    [
        ("plain", ValueKind.TEXT, "plain", ""),
        ("${env:HOME}", ValueKind.ENVIRONMENT, "HOME", ""),
        ("Bearer ${keyring:a/b}", ValueKind.KEYRING, "a/b", "Bearer "),
        ("Bearer ${ask:token}", ValueKind.ASK, "token", "Bearer "),
        ("x ${env:HOME}", ValueKind.TEXT, "x ${env:HOME}", ""),
        ("${input:x}", ValueKind.TEXT, "${input:x}", ""),
        ("", ValueKind.TEXT, "", ""),
    ],
)
def test_what_is_written_is_read_and_written_again(
    written: str, kind: ValueKind, value: str, scheme: str
) -> None:
    found = entered("NAME", written)
    assert found == EnteredValue("NAME", kind, value, scheme)
    assert found.written == written


def test_a_bearer_token_of_a_header_stands_apart_from_its_scheme() -> None:
    found = entered("Authorization", "Bearer abc")
    assert (found.value, found.written) == ("abc", "Bearer abc")


def test_a_new_secret_goes_under_the_name_of_its_server_and_not_over_that_of_another() -> None:
    kept = EnteredValue("KEY", ValueKind.KEYRING, "original/KEY")
    assert for_keyring("copy", kept) == kept
    changed = for_keyring("${x}", kept._replace(secret="hush"))
    assert changed.value == "__x_/KEY"
    assert secrets_of([kept, changed]) == {"__x_/KEY": "hush"}
    assert changed.written == "${keyring:__x_/KEY}"


def test_texts_that_look_like_secrets_are_named() -> None:
    values = [
        EnteredValue("API_KEY", value="x"),
        EnteredValue("PASSWORD"),
        EnteredValue("REGION", value="eu"),
        EnteredValue("TOKEN", ValueKind.ENVIRONMENT, "X"),
    ]
    assert readable_secrets(values) == ["API_KEY"]


@pytest.mark.parametrize(
    ("value", "has_keyring", "is_wrong"),
    [
        (EnteredValue("", value="x"), True, True),
        (EnteredValue("A"), True, False),
        (EnteredValue("A", ValueKind.ENVIRONMENT), True, True),
        (EnteredValue("A", ValueKind.KEYRING), True, True),
        (EnteredValue("A", ValueKind.KEYRING, "x/A"), False, False),
        (EnteredValue("A", ValueKind.KEYRING, secret="s"), False, True),
        (EnteredValue("A", ValueKind.KEYRING, secret="s"), True, False),
    ],
)
def test_what_is_wrong_with_a_row(value: EnteredValue, has_keyring: bool, is_wrong: bool) -> None:
    assert bool(error_of(value, has_keyring=has_keyring)) is is_wrong


def test_names_that_stand_twice_are_found() -> None:
    rows = [
        EnteredValue("A"),
        EnteredValue("a"),
        EnteredValue("A"),
        EnteredValue(""),
        EnteredValue(""),
    ]
    assert doubled(rows, ignores_case=False) == {2}
    assert doubled(rows, ignores_case=True) == {1, 2}
