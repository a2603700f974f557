"""What a consent was for, and what has changed since: reported as text, without what is hidden."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.catalogue.trust import EarlierApproval, Trust, changes_since, kept_parts
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, OAuthClient, StdioDefinition

RUN = StdioDefinition(name="a", command="c", args=("x",), env={"TOKEN": "s3cret", "PATH": "/b"})
WEB = HttpDefinition(
    name="w",
    url="https://me:pw@h/x",
    headers={"Authorization": "Bearer abc"},
    auth="oauth",
    oauth=OAuthClient(client_id="id", client_secret="hush"),
)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"command": "d"}, ["command"]),
        ({"args": ("y",)}, ["arguments"]),
        ({"args": ("x", "y"), "cwd": "/x"}, ["arguments", "folder"]),
        ({"env": {"TOKEN": "other", "PATH": "/b"}}, ["hidden value of TOKEN changed"]),
        ({"env": {"TOKEN": "s3cret", "PATH": "/c"}}, ["variable PATH"]),
        ({"env": {"PATH": "/b", "NEW": "1"}}, ["variable NEW added", "variable TOKEN removed"]),
        ({"era": "per-request"}, ["protocol"]),
        ({"name": "b", "ping_interval_s": 1.0}, []),
    ],
)
def test_the_parts_of_a_command_that_changed_are_reported(
    changes: dict[str, Any], said: list[str]
) -> None:
    assert list(changes_since(kept_parts(RUN), RUN.model_copy(update=changes))) == said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"url": "https://me:pw@h/y"}, ["URL"]),
        ({"url": "https://me:other@h/x"}, ["hidden part of the URL changed"]),
        ({"headers": {"Authorization": "Bearer abd"}}, ["hidden value of Authorization changed"]),
        ({"headers": {}}, ["header Authorization removed"]),
        ({"transport": "sse"}, ["transport"]),
        ({"auth": "headers"}, ["sign-in"]),
        (
            {"oauth": OAuthClient(client_id="id", client_secret="no")},
            ["hidden sign-in secret changed"],
        ),
    ],
)
def test_the_parts_of_a_url_that_changed_are_reported(
    changes: dict[str, Any], said: list[str]
) -> None:
    assert list(changes_since(kept_parts(WEB), WEB.model_copy(update=changes))) == said


def test_a_command_in_the_place_of_a_url_is_another_way() -> None:
    assert changes_since(kept_parts(WEB), RUN) == ("transport",)


def test_digests_are_salted_and_reveal_nothing() -> None:
    short = RUN.model_copy(update={"env": {"A": "1", "B": "1"}})
    one, other = kept_parts(short), kept_parts(short)
    assert one["parts"]["variable A"] != one["parts"]["variable B"]
    assert not set(one["parts"].values()) & set(other["parts"].values())
    assert "s3cret" not in json.dumps(kept_parts(RUN))


@pytest.mark.parametrize(
    "kept", [{}, {"key": 1, "parts": {}}, {"key": "a", "parts": []}, {"key": "\ud800"}]
)
def test_what_was_kept_otherwise_tells_of_no_part(kept: dict[str, Any]) -> None:
    assert changes_since(kept, RUN) == ()


def test_a_key_that_is_no_text_makes_all_parts_others() -> None:
    kept = {**kept_parts(RUN), "key": "\ud800"}
    assert "command" in changes_since(kept, RUN)


def test_a_changed_server_is_compared_with_its_last_approval(tmp_path: Path) -> None:
    trust = Trust(tmp_path / "trusted-servers.json")
    assert trust.earlier([RUN]) == [None]
    trust.approve(RUN.model_copy(update={"command": "first"}))
    trust.approve(RUN)
    changed = RUN.model_copy(update={"args": ("y",)})
    other = RUN.model_copy(update={"name": "other", "args": ("z",)})
    assert trust.earlier([RUN, changed, other]) == [None, EarlierApproval(("arguments",)), None]


def test_of_an_older_file_it_is_known_that_something_changed(tmp_path: Path) -> None:
    path = tmp_path / "trusted-servers.json"
    kept = {RUN.approval_key: {"name": "a", "when": "2026-01-01T00:00:00+00:00"}, "b": {}}
    path.write_text(json.dumps({"trusted": kept}))
    path.chmod(0o600)
    trust = Trust(path)
    assert trust.is_trusted(RUN)
    assert trust.earlier([RUN.model_copy(update={"command": "d"})]) == [EarlierApproval(())]
