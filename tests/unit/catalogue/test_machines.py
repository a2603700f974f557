"""The saved commands of other machines."""

from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.machines import (
    FILE_NAME,
    SavedMachine,
    are_any,
    read_machines,
    unused_name,
    usual_machine_name,
    write_machines,
)
from mcp_progress_monitor.errors import UserError


def test_machines_are_saved_and_read_again(tmp_path: Path) -> None:
    assert not are_any(tmp_path)
    machines = (SavedMachine(name="box", command=("ssh", "box", "x y")),)
    write_machines(tmp_path / FILE_NAME, machines)
    assert are_any(tmp_path)
    assert read_machines(tmp_path / FILE_NAME) == machines


@pytest.mark.parametrize("text", ["", "[]", '{"machines":[{"name":"","command":["x"]}]}', "\x00"])
def test_a_damaged_file_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(UserError, match="saved machines"):
        read_machines(tmp_path / FILE_NAME)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("ssh box prog tap stream", "box"),
        ("ssh -p 22 -o BatchMode=yes ada@box.example prog", "box.example"),
        ("docker exec -i -u ada agent prog", "agent"),
        ("kubectl -n x exec -i -c main pod/agent -- prog", "agent"),
        ("wsl -d Debian -e prog", "Debian"),
        ("wsl -e prog", "WSL"),
        ("/opt/bin/other x", "other"),
        ("ssh -p", "ssh"),
        ("", ""),
    ],
)
def test_the_name_is_that_of_the_place(command: str, name: str) -> None:
    assert usual_machine_name(command.split()) == name


def test_two_machines_with_one_name_are_distinct() -> None:
    assert unused_name("box", ["box", "box (2)"]) == "box (3)"
