"""The saved commands of other machines."""

from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.machines import (
    FILE_NAME,
    SavedMachine,
    are_any,
    forget_machine,
    read_machines,
    save_machine,
    unused_name,
    usual_machine_name,
)
from mcp_progress_monitor.errors import UserError


def test_machines_are_saved_and_read_again(tmp_path: Path) -> None:
    assert not are_any(tmp_path)
    machine = SavedMachine(name="box", command=("ssh", "box", "x y"))
    save_machine(tmp_path / FILE_NAME, machine)
    assert are_any(tmp_path)
    assert read_machines(tmp_path / FILE_NAME) == (machine,)


def test_two_windows_keep_each_other_s_machines(tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    ours, theirs = (SavedMachine(name="box", command=("ssh", user)) for user in ("a", "b"))
    save_machine(file, ours)
    save_machine(file, theirs)
    assert [machine.name for machine in read_machines(file)] == ["box", "box (2)"]
    forget_machine(file, theirs)  # under the name that it has in its window
    assert read_machines(file) == (ours,)


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
