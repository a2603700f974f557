"""Secrets of definitions: known by the names they go under, and put elsewhere."""

import pytest

from mcp_progress_monitor.catalogue.secrets import (
    asked_for,
    bare_url,
    in_environment,
    in_keyring,
    keyring_names,
    secret_members,
    secrets_of,
    without_secret_members,
    without_values,
)
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, OAuthClient, StdioDefinition

PROCESS = StdioDefinition(
    name="my db",
    command="c",
    args=("--api-key", "k1", "--token=t1", "-e", "PASSWORD=p1", "--header", "X-Key: h1", "plain"),
    env={"API_KEY": "e1", "LEVEL": "info", "OTHER_TOKEN": "${env:T}", "EMPTY_SECRET": ""},
)
WEB = HttpDefinition(
    name="web",
    url="https://u:p@example.com/mcp?api_key=q1&page=2",
    headers={"Authorization": "Bearer b1", "Accept-Language": "en", "X-Token": "${env:X}"},
    oauth=OAuthClient(client_id="id", client_secret="o1"),
)


class FakeKeyring:
    """A keyring in memory."""

    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        return self.secrets.get(name)

    def put(self, name: str, secret: str) -> None:
        self.secrets[name] = secret

    def forget(self, name: str) -> None:
        self.secrets.pop(name, None)


def test_secrets_are_found_wherever_they_stand() -> None:
    assert secrets_of(PROCESS) == {
        "API_KEY": "e1",
        "api-key": "k1",
        "token": "t1",
        "PASSWORD": "p1",
        "X-Key": "h1",
    }
    assert secrets_of(WEB) == {"Authorization": "b1", "client_secret": "o1"}


def test_they_are_put_into_the_keyring() -> None:
    keyring = FakeKeyring()
    kept = in_keyring(PROCESS, keyring)
    assert isinstance(kept, StdioDefinition)
    assert keyring.secrets["my db/API_KEY"] == "e1"
    assert kept.env["API_KEY"] == "${keyring:my db/API_KEY}"
    assert kept.env["LEVEL"] == "info"
    assert kept.args[1] == "${keyring:my db/api-key}"
    assert kept.args[2] == "--token=${keyring:my db/token}"
    assert kept.args[6:] == ("X-Key: ${keyring:my db/X-Key}", "plain")
    assert secrets_of(kept) == {}


def test_a_header_keeps_its_scheme() -> None:
    kept = in_keyring(WEB, FakeKeyring())
    assert isinstance(kept, HttpDefinition)
    assert kept.headers["Authorization"] == "Bearer ${keyring:web/Authorization}"
    assert kept.headers["Accept-Language"] == "en"
    assert kept.oauth.client_secret == "${keyring:web/client_secret}"


def test_an_export_can_replace_secrets_by_environment_variables() -> None:
    kept, variables = in_environment(PROCESS)
    assert isinstance(kept, StdioDefinition)
    assert kept.env["API_KEY"] == "${env:API_KEY}"
    assert kept.args[1] == "${env:MY_DB_API_KEY}"
    assert variables["MY_DB_API_KEY"] == "api-key"
    assert "LEVEL" not in variables


def test_an_import_can_leave_secrets_to_be_asked_for() -> None:
    kept = asked_for(PROCESS)
    assert isinstance(kept, StdioDefinition)
    assert kept.env["API_KEY"] == "${ask:API_KEY}"
    assert kept.args[1] == "${ask:api-key}"
    assert secrets_of(kept) == {}
    web = asked_for(WEB)
    assert isinstance(web, HttpDefinition)
    assert web.headers["Authorization"] == "Bearer ${ask:Authorization}"
    two = StdioDefinition(name="a", command="c", args=("--pin", "1", "--pin", "2", "--pin", "1"))
    pins = ("--pin", "${ask:pin}", "--pin", "${ask:pin_2}", "--pin", "${ask:pin}")
    assert asked_for(two) == two.model_copy(update={"args": pins})


def test_for_others_every_value_goes() -> None:
    kept, variables = without_values(PROCESS)
    assert isinstance(kept, StdioDefinition)
    assert kept.env["LEVEL"] == "${env:LEVEL}"
    assert kept.env["OTHER_TOKEN"] == "${env:T}"
    assert kept.env["EMPTY_SECRET"] == ""
    assert set(variables) >= {"LEVEL", "API_KEY"}


def test_urls_lose_users_and_secrets() -> None:
    url, gone = bare_url(WEB.url)
    assert url == "https://example.com/mcp?api_key=&page=2"
    assert gone == ("api_key", "user")
    assert bare_url("https://a/b?x=1#y") == ("https://a/b?x=1#y", ())
    assert bare_url("https://me:s@a/b?user=7") == ("https://a/b?user=7", ("user",))
    assert bare_url("https://a/b?code=k&x=1") == ("https://a/b?code=&x=1", ("code",))


def test_members_that_mean_nothing_to_us_lose_secrets_too() -> None:
    members = {"a": 1, "apiKey": "x", "b": {"token": "y", "c": 2}}
    assert without_secret_members(members) == {"a": 1, "b": {"c": 2}}
    listed = {"accounts": [{"name": "n", "password": "x"}, [{"token": "y"}], "z"]}
    assert without_secret_members(listed) == {"accounts": [{"name": "n"}, [{}], "z"]}
    inside = {"list": [{"token": "x", "d": 3}, "e"], "password": {"token": "x"}}
    assert without_secret_members(inside) == {"list": [{"d": 3}, "e"]}
    assert secret_members(inside) == ("password", "token")


def test_passwords_in_urls_are_secrets_of_a_process() -> None:
    args = ("postgres://u:p1@a/x", "postgres://u:p2@b/x", "https://c/?api_key=k")
    server = StdioDefinition(name="pg", command="c", args=args, env={"DATABASE_URL": "r://:p3@d"})
    assert secrets_of(server)["DATABASE_URL"] == "r://:p3@d"
    kept, variables = in_environment(server)
    assert isinstance(kept, StdioDefinition)
    assert kept.env == {"DATABASE_URL": "${env:DATABASE_URL}"}
    assert kept.args == (
        "postgres://u:${env:PG_PASSWORD}@a/x",
        "postgres://u:${env:PG_PASSWORD_2}@b/x",
        "https://c/?api_key=${env:PG_API_KEY}",
    )
    assert set(variables) == {"DATABASE_URL", "PG_PASSWORD", "PG_PASSWORD_2", "PG_API_KEY"}
    assert secrets_of(kept) == {}


def test_no_secret_of_another_server_is_written_over_in_the_keyring() -> None:
    keyring = FakeKeyring()
    keyring.put("web/Authorization", "of another one, which is called otherwise now")
    kept = in_keyring(WEB, keyring)
    assert isinstance(kept, HttpDefinition)
    assert kept.headers["Authorization"] == "Bearer ${keyring:web/Authorization 2}"
    assert keyring.secrets["web/Authorization"].startswith("of another")
    assert in_keyring(WEB, keyring) == kept  # the same secret needs no third place


def test_references_to_the_keyring_are_found_wherever_they_stand_in_a_document() -> None:
    document = {
        "a": ["Bearer ${keyring:one}", {"${keyring:two}": 1}],
        "b": "${keyring:three}${keyring:one} ${env:four} ${keyring:}",
        "c": [None, True, 3.5, {}, []],
    }
    assert keyring_names(document) == {"one", "two", "three"}


def test_a_keyring_that_has_something_under_every_name_is_given_up_on() -> None:
    class Full(FakeKeyring):
        def get(self, name: str) -> str | None:
            return f"something else under {name}"

    with pytest.raises(UserError) as caught:
        in_keyring(WEB, Full())
    assert caught.value.details.where == "web/Authorization"
