"""A server in words before consent: nothing that would be handed on is left unsaid."""

from __future__ import annotations

from mcp_progress_monitor.models.definition_words import words_of
from mcp_progress_monitor.sessions.definitions import HttpDefinition, OAuthClient, StdioDefinition


def test_variables_are_told_with_what_they_take_in_and_what_they_steer() -> None:
    env = {"T": "x${env:AWS_KEY}", "S": "s3cret", "LD_PRELOAD": "/srv/evil so"}
    words = words_of(StdioDefinition(name="s", command="c", args=("${env:A}",), env=env))
    assert words["Command"] == "c '${env:A}'"
    assert words["Arguments take in"] == "A of the environment, as it is at each start"
    assert words["Sets variables"] == (
        "LD_PRELOAD='/srv/evil so', S, T (from AWS_KEY of the environment)"
    )


def test_a_url_is_told_with_whose_secrets_go_there() -> None:
    web = HttpDefinition(
        name="w",
        url="https://user:pass@a.example/mcp",
        headers={"Authorization": "Bearer ${keyring:github/TOKEN}", "X": "s3cret"},
        auth="oauth",
        oauth=OAuthClient(client_id="me", client_secret="${env:SECRET}", scope="all"),
    )
    words = words_of(web)
    assert words["URL"] == "https://a.example/mcp (with a user's name and password)"
    assert words["Sends headers"] == "Authorization (from github/TOKEN of the keyring), X"
    assert words["Signs in"] == (
        "with OAuth, in the browser, as me, with SECRET of the environment, for all"
    )
    assert "s3cret" not in str(words)


def test_a_client_secret_that_stands_itself_is_not_shown() -> None:
    web = HttpDefinition(
        name="w", url="https://a/b", auth="oauth", oauth=OAuthClient(client_secret="s3cret")
    )
    assert words_of(web)["Signs in"] == "with OAuth, in the browser, with a secret of its own"
    assert words_of(web.model_copy(update={"auth": "headers"}))["Signs in"] == "no"
