"""Server definitions: what is accepted, and what makes two of them the same server."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mcp_progress_monitor.snapshots.definitions import StdioDefinition, demo_definition


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"command": ""},
        {"command": "a\0b"},
        {"args": ("a\0b",)},
        {"env": {"": "1"}},
        {"env": {"A=B": "1"}},
        {"env": {"A": "1\0"}},
        {"era": "stone"},
        {"connect_timeout_s": 0},
        {"connect_timeout_s": float("inf")},
        {"idle_timeout_s": -1},
        {"idle_timeout_s": float("nan")},
        {"total_timeout_s": float("inf")},
        {"total_timeout_s": 1e300},
    ],
)
def test_what_no_process_can_be_started_with_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        StdioDefinition(**{"name": "n", "command": "c", **wrong})


def test_a_server_is_the_same_whatever_its_name_and_patience() -> None:
    one = StdioDefinition(name="one", command="c", args=("x",), connect_timeout_s=1)
    assert one.fingerprint == one.model_copy(update={"name": "2"}).fingerprint
    for limit in ("connect_timeout_s", "idle_timeout_s", "total_timeout_s"):
        assert one.fingerprint == one.model_copy(update={limit: 2.0}).fingerprint


@pytest.mark.parametrize(
    "change", [{"args": ("y",)}, {"env": {"A": "1"}}, {"cwd": "/"}, {"era": "handshake"}]
)
def test_a_server_started_otherwise_is_another(change: dict[str, Any]) -> None:
    one = StdioDefinition(name="one", command="c")
    assert one.fingerprint != one.model_copy(update=change).fingerprint


def test_a_definition_cannot_be_changed() -> None:
    definition = StdioDefinition(name="n", command="c")
    with pytest.raises(ValidationError):
        definition.command = "other"


def test_the_demo_server_runs_on_this_python_with_its_arguments() -> None:
    definition = demo_definition("--profile", "silent", era="handshake")
    assert definition.command == sys.executable
    assert definition.args[0] == "-I"
    assert definition.args[2:] == ("--profile", "silent")
    assert definition.env == {}
    assert definition.era == "handshake"


@pytest.mark.parametrize(
    ("fields", "is_another"),
    [
        ({"command": "./run"}, True),
        ({"command": "bin/run"}, True),
        ({"command": "run", "cwd": "x"}, True),
        ({"command": "run"}, False),
        ({"command": "/bin/run"}, False),
        ({"command": "./run", "cwd": os.path.abspath("/srv")}, False),  # noqa: PTH100  # of Windows
    ],
)
def test_a_path_in_another_folder_is_another_program_to_agree_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], is_another: bool
) -> None:
    server = StdioDefinition(name="a", **fields)
    monkeypatch.chdir(tmp_path)
    here = server.approval_key
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert (server.approval_key != here) is is_another
    assert (server.deciding_folder is not None) is is_another
    assert server.fingerprint == StdioDefinition(name="a", **fields).fingerprint


def test_the_demo_server_that_version_0_1_0_saved_is_started_by_its_name_of_today() -> None:
    saved = {
        "name": "demo",
        "command": "/opt/old/bin/python",
        "args": ["-m", "app.demo", "--era", "handshake"],
        "env": {"PYTHONPATH": "/opt/old", "LANG": "C"},
    }
    definition = StdioDefinition.model_validate(saved)
    today = demo_definition("--era", "handshake")
    assert (definition.command, definition.args) == (today.command, today.args)
    assert definition.env == {"LANG": "C"}
    assert (
        definition.model_dump()
        == StdioDefinition.model_validate(definition.model_dump()).model_dump()
    )


def test_args_that_are_no_list_are_refused_as_before() -> None:
    with pytest.raises(ValidationError):
        StdioDefinition.model_validate({"name": "a", "command": "b", "args": 3})
