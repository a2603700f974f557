"""A server as text before consent: nothing that would be handed on is left unsaid."""

from mcp_progress_monitor.snapshots.definitions import HttpDefinition, OAuthClient, StdioDefinition
from mcp_progress_monitor.wording.approval import rows


def test_variables_are_reported_with_what_they_take_in_and_what_they_steer() -> None:
    env = {"T": "x${env:AWS_KEY}", "S": "s3cret", "LD_PRELOAD": "/srv/evil so"}
    text = rows(StdioDefinition(name="s", command="c", args=("${env:A}",), env=env))
    assert text["Command"] == "c '${env:A}'"
    assert text["Values read by arguments"] == "A of the environment, read at each start"
    assert text["Variables"] == (
        "LD_PRELOAD='/srv/evil so', S, T (from AWS_KEY of the environment)"
    )


def test_a_url_is_reported_with_whose_secrets_go_there() -> None:
    web = HttpDefinition(
        name="w",
        url="https://user:pass@a.example/mcp",
        headers={
            "Authorization": "Bearer ${keyring:github/TOKEN}",
            "X": "s3cret",
            "Y": "${ask:PIN}",
        },
        auth="oauth",
        oauth=OAuthClient(client_id="me", client_secret="${env:SECRET}", scope="all"),
    )
    text = rows(web)
    assert text["URL"] == "https://a.example/mcp (with a user name and password)"
    assert text["Headers"] == (
        "Authorization (from github/TOKEN of the keyring), X,"
        " Y (from PIN, asked for at each connection)"
    )
    assert text["Sign-in"] == (
        "OAuth, in the browser, as me, with SECRET of the environment, for all"
    )
    assert "s3cret" not in str(text)


def test_a_client_secret_that_stands_itself_is_not_shown() -> None:
    web = HttpDefinition(
        name="w", url="https://a/b", auth="oauth", oauth=OAuthClient(client_secret="s3cret")
    )
    assert rows(web)["Sign-in"] == "OAuth, in the browser, with a secret that is not shown"
    assert rows(web.model_copy(update={"auth": "headers"}))["Sign-in"] == "none"
