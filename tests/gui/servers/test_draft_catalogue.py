"""A draft becomes a definition, or says field by field what is wrong with it."""

import dataclasses

import pytest

from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.gui.servers.draft import (
    Draft,
    EnteredValue,
    ServerKind,
    ValueKind,
    draft_of,
    kind_of,
    read_draft,
)
from mcp_progress_monitor.snapshots.definitions import (
    HttpDefinition,
    RestartPolicy,
    StdioDefinition,
)

COMMAND = Draft(command="python -m server")
URL = Draft(kind=ServerKind.URL, url="https://example.com/mcp")


def test_what_the_editor_does_not_mention_stays_as_it_was() -> None:
    base = StdioDefinition(name="a", command="x", restart=RestartPolicy(calm_s=7))
    draft = dataclasses.replace(draft_of(CatalogueEntry(base)), restart_limit=3)
    made = read_draft(draft, base).definition
    assert made is not None
    assert made.restart == RestartPolicy(calm_s=7, limit=3)


def test_words_that_no_command_line_can_hold_stay_when_the_line_is_left_alone() -> None:
    base = StdioDefinition(name="a", command="x", args=('"', "\n", "", "a b"))
    draft = draft_of(CatalogueEntry(base))
    assert read_draft(draft, base).definition == base


@pytest.mark.parametrize(("entered", "limit"), [("", None), ("90", 90.0), ("0", 0.0), ("off", 0.0)])
def test_limits_are_read(entered: str, limit: float | None) -> None:
    made = read_draft(dataclasses.replace(COMMAND, idle=entered)).definition
    assert made is not None
    assert made.idle_timeout_s == limit


def test_a_draft_of_a_url() -> None:
    draft = dataclasses.replace(URL, is_legacy_sse=True, signs_in=True, client_id=" me ", scope="")
    made = read_draft(draft).definition
    assert isinstance(made, HttpDefinition)
    assert (made.name, made.transport, made.auth) == ("example.com", "sse", "oauth")
    assert (made.oauth.client_id, made.oauth.scope) == ("me", None)
    assert kind_of(made) is ServerKind.URL


def test_a_secret_of_oauth_goes_to_the_keyring() -> None:
    secret = EnteredValue("OAuth client secret", ValueKind.KEYRING, secret="hush")
    draft = dataclasses.replace(URL, signs_in=True, client_secret=secret)
    reading = read_draft(draft)
    name = "example.com/OAuth client secret"
    assert reading.secrets == {name: "hush"}
    assert isinstance(reading.definition, HttpDefinition)
    assert reading.definition.oauth.client_secret == f"${{keyring:{name}}}"
    assert "client_secret" in read_draft(draft, has_keyring=False).errors


@pytest.mark.parametrize("draft", [Draft(), Draft(kind=ServerKind.URL, url="htp:/foo")])
def test_without_a_command_or_url_only_that_is_reported_missing(draft: Draft) -> None:
    errors = read_draft(draft).errors
    assert list(errors) == [draft.kind.value]
    assert all(text[0].isupper() for text in errors.values())


def test_a_name_is_asked_for_where_none_can_be_made() -> None:
    assert read_draft(Draft(command="/")).errors == {"name": "Enter a name."}


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        (Draft(), "command"),
        (dataclasses.replace(COMMAND, folder="/no/such/folder"), "folder"),
        (dataclasses.replace(COMMAND, name="taken"), "name"),
        (dataclasses.replace(COMMAND, idle="soon"), "idle"),
        (dataclasses.replace(COMMAND, total="-1"), "total"),
        (dataclasses.replace(COMMAND, first_delay_s=61.0), "longest_delay"),
        (dataclasses.replace(COMMAND, restart_limit=0), "restart_limit"),
        (dataclasses.replace(COMMAND, ping_s=1e9), "ping"),
        (dataclasses.replace(COMMAND, connect_timeout_s=0), "connect_timeout"),
        (dataclasses.replace(COMMAND, command="a '\0'"), "command"),
        (dataclasses.replace(COMMAND, watch_paths=("\0",)), "paths"),
        (dataclasses.replace(COMMAND, variables=(EnteredValue("A=B"),)), "variables.0"),
        (dataclasses.replace(COMMAND, variables=(EnteredValue("A", value="\0"),)), "variables.0"),
        (dataclasses.replace(URL, headers=(EnteredValue("a b"),)), "headers.0"),
        (dataclasses.replace(URL, headers=(EnteredValue("A"), EnteredValue("a"))), "headers.1"),
        (dataclasses.replace(URL, url=""), "url"),
        (dataclasses.replace(URL, url="ftp://x"), "url"),
        (dataclasses.replace(URL, url="http://[::1"), "url"),
    ],
)
def test_what_is_wrong_is_reported_at_its_field(draft: Draft, field: str) -> None:
    reading = read_draft(draft, names={"taken"})
    assert reading.definition is None
    assert set(reading.errors) - {"name"} == {field} - {"name"}
    assert reading.errors.get(field)
