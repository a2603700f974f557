"""Variables: kept as references, replaced by what they are, or asked for."""

import os
from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.clients import Syntax
from mcp_progress_monitor.catalogue.variables import (
    Input,
    Resolver,
    Variables,
    kept_answers,
    postponed_answers,
    read_inputs,
    referred_answers,
)
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.secrets.references import NoKeyring

ALL = Syntax.NAMED | Syntax.SHELL | Syntax.DOLLAR
VARIABLES = Variables(environment={"A": "1"}, home=Path("/srv/ada"), workspace=Path("/w/shop"))


class FakeKeyring:
    """A keyring in memory."""

    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        return self.secrets.get(name)

    def put(self, name: str, secret: str) -> None:
        self.secrets[name] = secret

    def forget(self, name: str) -> None:
        del self.secrets[name]


@pytest.mark.parametrize(
    ("syntax", "text", "value"),
    [
        (Syntax.NAMED, "${env:A} ${env:B}", "${env:A} ${env:B}"),
        (Syntax.NAMED, "$A ${A} ${A:-x} $${A}", "$A ${A} ${A:-x} $${A}"),
        (Syntax.NAMED, "${userHome}/x", "/srv/ada/x"),
        (Syntax.NAMED, "${workspaceFolder}${/}${workspaceFolderBasename}", "/w/shop/shop"),
        (Syntax.NAMED, "${pathSeparator}", os.sep),
        (Syntax.SHELL, "Bearer ${A} ${B}", "Bearer ${env:A} ${env:B}"),
        (Syntax.SHELL, "${A:-x} ${B:-y} ${C:-}", "${env:A} y "),
        (Syntax.SHELL, "$A ${env:A} ${workspaceFolder}", "$A ${env:A} ${env:workspaceFolder}"),
        (Syntax.SHELL | Syntax.DOLLAR, "$A/$B", "${env:A}/${env:B}"),
        (Syntax.NONE, "${env:A} $A ${A}", "${env:A} $A ${A}"),
        (ALL, "100$ ${} ${a b} $1", "100$ ${} ${a b} $1"),
        (ALL, "${keyring:x}", "${keyring:x}"),
    ],
)
def test_variables_become_references(syntax: Syntax, text: str, value: str) -> None:
    resolver = Resolver(VARIABLES, syntax)
    assert resolver.value(text) == value
    assert resolver.asks == ()


def test_where_no_reference_can_stand_variables_are_what_they_are_now() -> None:
    resolver = Resolver(VARIABLES, ALL)
    assert resolver.plain("${env:A}/${B:-two}") == "1/two"
    assert len(resolver.notes) == 2
    assert resolver.asks == ()


def test_what_is_missing_there_is_asked_for_once() -> None:
    resolver = Resolver(VARIABLES, ALL)
    assert resolver.plain("${B} $B") == "${B} $B"
    (asked,) = resolver.asks
    assert (asked.id, asked.stands_as_text) == ("env:B", True)
    answered = Resolver(Variables(environment={}, answers={"env:B": "x"}), ALL)
    assert answered.plain("${B}") == "x"


def test_inputs_are_asked_for_with_their_descriptions() -> None:
    described = {"key": Input("key", "The key", is_secret=True)}
    resolver = Resolver(VARIABLES, Syntax.NAMED, described)
    resolver.value("${input:key}")
    resolver.value("${input:other} ${config:x} ${command:y}")
    assert resolver.asks[0] == described["key"]
    assert [asked.id for asked in resolver.asks] == ["key", "other", "config:x", "command:y"]


def test_an_answer_is_not_resolved_again() -> None:
    resolver = Resolver(Variables(environment={}, answers={"a": "${input:a}$x"}), ALL)
    assert resolver.value("${input:a}") == "${input:a}$x"


def test_a_reference_is_no_answer_where_none_can_stand() -> None:
    answers = {"a": "${keyring:k}"}
    resolver = Resolver(Variables(environment={}, answers=answers), ALL)
    assert resolver.value("${input:a}") == "${keyring:k}"
    assert resolver.plain("${input:a}") == "${input:a}"
    assert resolver.asks[0].stands_as_text


def test_without_a_workspace_it_is_asked_for() -> None:
    resolver = Resolver(Variables(environment={}, home=Path("/h")), Syntax.NAMED)
    resolver.plain("${workspaceFolder}/${workspaceFolderBasename}")
    assert [asked.id for asked in resolver.asks] == ["workspaceFolder"]


@pytest.mark.parametrize("found", [None, 3, {}, [3, None, {}, {"id": ""}, {"id": None}]])
def test_inputs_that_are_none_are_passed_over(found: object) -> None:
    assert read_inputs(found) == {}


def test_a_home_that_the_system_does_not_know_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    resolver = Resolver(Variables(environment={}), Syntax.NAMED)
    assert resolver.plain("${userHome}/x") == "${userHome}/x"
    assert [asked.id for asked in resolver.asks] == ["userHome"]
    answered = Resolver(Variables(environment={}, answers={"userHome": "/h"}), Syntax.NAMED)
    assert answered.plain("${userHome}/x") == "/h/x"


def test_secret_answers_go_into_the_keyring() -> None:
    keyring = FakeKeyring()
    asks = [
        Input("key", is_secret=True),
        Input("text"),
        Input("part", is_secret=True, stands_as_text=True),
    ]
    answers = {"key": "s1", "text": "t", "part": "p"}
    kept = kept_answers(asks, answers, keyring, "vs${code}")
    assert kept == {"key": "${keyring:vs__code_/key}", "text": "t", "part": "p"}
    assert keyring.secrets == {"vs__code_/key": "s1"}


def test_without_a_keyring_nothing_is_kept_in_secret() -> None:
    with pytest.raises(UserError):
        kept_answers([Input("key", is_secret=True)], {"key": "s"}, NoKeyring(), "x")


def test_answers_of_two_projects_to_the_same_question_are_two_secrets() -> None:
    keyring, asks = FakeKeyring(), [Input("key", is_secret=True)]
    assert kept_answers(asks, {"key": "one"}, keyring, "c") == {"key": "${keyring:c/key}"}
    assert kept_answers(asks, {"key": "two"}, keyring, "c") == {"key": "${keyring:c/key 2}"}
    assert keyring.secrets == {"c/key": "one", "c/key 2": "two"}


def test_secret_answers_may_be_variables_of_the_environment_instead() -> None:
    asks = [Input("api-key", is_secret=True), Input("text")]
    answers = {"api-key": "s1", "text": "t"}
    assert referred_answers(asks, answers) == {"api-key": "${env:API_KEY}", "text": "t"}


def test_secret_answers_may_be_asked_for_at_each_connection_and_need_none_now() -> None:
    asks = [
        Input("api-key", is_secret=True),
        Input("given", is_secret=True),
        Input("part", is_secret=True, stands_as_text=True),
        Input("text"),
    ]
    answers = {"given": "${env:GIVEN}", "text": "t"}
    expected = {"api-key": "${ask:api-key}", "given": "${env:GIVEN}", "text": "t"}
    assert postponed_answers(asks, answers) == expected
