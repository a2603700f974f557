"""What is shown of variables and headers before consent: what they take in, and what they steer."""

import pytest

from mcp_progress_monitor.catalogue.trust import has_user, passed_values, steers, with_visible_gaps
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition


def test_references_are_reported_and_values_are_not() -> None:
    web = HttpDefinition(
        name="w", url="https://a/b", headers={"B": "literal", "A": "Bearer ${env:X}${keyring:y}"}
    )
    shown = passed_values(web)
    assert [(each.name, each.value) for each in shown] == [("A", None), ("B", None)]
    assert shown[0].references == (("env", "X"), ("keyring", "y"))
    assert shown[1].references == ()


@pytest.mark.parametrize(
    "name",
    ["PATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "PYTHONPATH", "NODE_OPTIONS", "Path",
     "npm_config_registry", "BASH_ENV", "JAVA_TOOL_OPTIONS", "https_proxy", "GIT_SSH_COMMAND",
     "SHELLOPTS", "PS4", "AWS_CONFIG_FILE", "SSLKEYLOGFILE", "PYENV_ROOT", "MAKEFLAGS"],
)  # fmt: skip
def test_what_steers_a_program_is_reported_with_its_value(name: str) -> None:
    server = StdioDefinition(name="s", command="c", env={name: "/srv/evil", "TOKEN": "s3cret"})
    values = {each.name: each.value for each in passed_values(server)}
    assert values == {name: "/srv/evil", "TOKEN": None}


def test_headers_steer_nothing() -> None:
    assert (
        passed_values(HttpDefinition(name="w", url="https://a/b", headers={"PATH": "x"}))[0].value
        is None
    )
    assert not steers("API_KEY")


@pytest.mark.parametrize(
    ("url", "is_there"),
    [
        ("https://u:p@a/b", True),
        ("https://u@a", True),
        ("https://a/b@c", False),
        ("https://a?b=c@d", False),
        ("https://a#@", False),
    ],
)
def test_a_user_in_a_url_is_seen(url: str, is_there: bool) -> None:
    assert has_user(url) is is_there


def test_blanks_take_no_room_to_hide_something_in() -> None:
    assert with_visible_gaps("a" + " " * 1200 + "b") == "a[1,200 spaces]b"
    assert with_visible_gaps("a   b") == "a   b"
    assert with_visible_gaps("a\xa0\u2800\u3164b") == r"a\u00a0\u2800\u3164b"
