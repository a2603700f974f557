"""Secrets among arguments are found by what stands before them, or by the URL that they are in."""

import pytest

from mcp_progress_monitor.protocol.secrets import holds_login, replaced_arguments, shown_arguments


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("--api-key", "s"), ("--api-key", "***")),
        (("--token=s",), ("--token=***",)),
        (("-e", "PASSWORD=s"), ("-e", "PASSWORD=***")),
        (("-e", "LEVEL=info"), ("-e", "LEVEL=info")),
        (("--env=API_KEY=s",), ("--env=API_KEY=***",)),
        (("--header", "Authorization: Bearer s"), ("--header", "Authorization: Bearer ***")),
        (("--header=Authorization: Bearer s",), ("--header=Authorization: Bearer ***",)),
        (("-H", "Accept: a/b"), ("-H", "Accept: a/b")),
        (("postgresql://bob:s@db/x",), ("postgresql://bob:***@db/x",)),
        (("--dsn-file=a", "plain"), ("--dsn-file=a", "plain")),
        (("--db=mysql://bob:s@db",), ("--db=mysql://bob:***@db",)),
        (("-e", "DATABASE_URL=redis://:s@h:1"), ("-e", "DATABASE_URL=redis://:***@h:1")),
        (("https://s@example.com/x.git",), ("https://***@example.com/x.git",)),
        (("ssh://git@example.com/x",), ("ssh://git@example.com/x",)),
        (("https://a/mcp?x=1&api_key=s#f",), ("https://a/mcp?x=1&api_key=***#f",)),
        (("--api-key", "${env:K}"), ("--api-key", "${env:K}")),
        (("--password", "--verbose"), ("--password", "--verbose")),
        (("API_KEY=s", "LEVEL=info", "server"), ("API_KEY=***", "LEVEL=info", "server")),
        (("-i", "KEY=a=b c", "x"), ("-i", "KEY=***", "x")),
        (("-lc", "KEY=a server c"), ("-lc", "KEY=*** server c")),
        (
            ("-c", "cd /x&&KEY='a b' B=1 server;PAT=s y"),
            ("-c", "cd /x&&KEY=*** B=1 server;PAT=*** y"),
        ),
        (("-c", 'KEY=$KEY server "$TOKEN"'), ("-c", 'KEY=$KEY server "$TOKEN"')),
        (
            ("-c", "exec server --api-key=s --pin 1 -v"),
            ("-c", "exec server --api-key=*** --pin *** -v"),
        ),
        (("/c", 'set "KEY=s" && server'), ("/c", 'set "KEY=***" && server')),
        (("-Command", "$env:KEY='s'; server"), ("-Command", "$env:KEY=***; server")),
        (("-c", "server https://u:p@h/?key=s&x=1"), ("-c", "server https://u:***@h/?key=***&x=1")),
        (("monkey=1", "a.key=1", "token = x"), ("monkey=1", "a.key=1", "token = x")),
        (("@scope/server@1.0", "a@b.example"), ("@scope/server@1.0", "a@b.example")),
    ],
)
def test_what_may_be_shown_of_arguments(arguments: tuple[str, ...], shown: tuple[str, ...]) -> None:
    assert shown_arguments(arguments) == shown


def test_each_secret_is_reported_with_its_name() -> None:
    found: list[tuple[str, str]] = []

    def note(name: str, value: str) -> str:
        found.append((name, value))
        return value

    arguments = ("--api-key=k", "mongodb://u:p@h/?authToken=t", "x")
    assert replaced_arguments(arguments, note) == arguments
    assert found == [("api-key", "k"), ("password", "p"), ("authToken", "t")]


@pytest.mark.parametrize(
    ("value", "is_login"),
    [
        ("postgres://u:p@h/db", True),
        ("https://a/?token=x", True),
        ("https://a/b", False),
        ("u:p@h", False),
    ],
)
def test_a_login_in_a_value_is_seen(value: str, is_login: bool) -> None:
    assert holds_login(value) is is_login
