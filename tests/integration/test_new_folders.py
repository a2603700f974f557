"""Folders that commands create in a new home are their owner's alone, whatever the umask."""

import os
import stat
from pathlib import Path

import pytest

from tests.integration.commands import linux_only, run

_COMMANDS = (
    ("tools", "--demo"),
    ("call", "--demo", "burst"),
    ("servers", "add", "demo", "--", "true"),
    ("check", "--demo"),
)


def _drop_umask() -> None:
    os.umask(0)


@linux_only
@pytest.mark.parametrize("arguments", _COMMANDS, ids=" ".join)
def test_all_that_a_command_creates_is_its_owners_alone(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    data = tmp_path / ".local" / "share"
    ran = run(*arguments, before=_drop_umask, HOME=str(tmp_path), XDG_DATA_HOME=str(data))
    assert "Traceback" not in ran.err
    made = list(tmp_path.rglob("*"))
    assert data in made, ran.err
    assert not [path for path in made if stat.S_IMODE(path.lstat().st_mode) & 0o077]
