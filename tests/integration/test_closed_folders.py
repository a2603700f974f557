"""Commands whose data folder may not be entered: reported as text, wherever it lies."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.integration import commands
from tests.integration.commands import Run, linux_only
from tests.integration.forked import be_bound_by_rights

pytestmark = linux_only


@pytest.fixture
def closed() -> Iterator[Path]:
    """A folder that nobody may enter."""
    with tempfile.TemporaryDirectory(prefix="monitor-rights-") as folder:
        path = Path(folder, "closed")
        path.mkdir(mode=0)
        yield path
        path.chmod(0o700)


def run(*arguments: str, **environment: Any) -> Run:
    """Run a command as one whom the rights of files bind."""
    return commands.run(*arguments, before=be_bound_by_rights, **environment)


REFUSED: Final = {
    "window": ("--screenshot", "none.png"),
    "servers list": ("servers", "list"),
    "servers remove": ("servers", "remove", "x"),
    "servers trust": ("servers", "trust", "x"),
    "servers export": ("servers", "export"),
    "servers sign-out": ("servers", "sign-out", "x"),
    "resume --list": ("resume", "--list"),
    "resume": ("resume", "3"),
    "tools --server": ("tools", "--server", "x"),
}


@pytest.mark.parametrize("arguments", REFUSED.values(), ids=REFUSED)
def test_what_needs_the_data_folder_says_that_it_is_closed(
    closed: Path, arguments: tuple[str, ...]
) -> None:
    ran = run("--data-dir", str(closed), *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"No permission to access the data folder ({closed})\n"
        "Check its permissions, or choose another folder with --data-dir.\n"
    )


def test_a_folder_below_it_cannot_be_made(closed: Path) -> None:
    ran = run("servers", "list", "--data-dir", str(closed / "data"))
    assert ran.code == 2
    assert f"Cannot create the data folder ({closed}/data)\nPermission denied\n" in ran.err


def test_a_call_goes_on_without_the_folder_that_is_the_platforms_own(closed: Path) -> None:
    (closed.parent / "mcp-progress-monitor").symlink_to(closed)
    arguments = ("call", "--demo", "known_total", "--arg", "steps=1")
    ran = run(*arguments, XDG_DATA_HOME=str(closed.parent))
    assert ran.code == 0
    assert "No permission to access the data folder" in ran.err
    assert "Finished all 1 steps." in ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        (("tools", "--config", "{closed}/f"), 2, "Cannot read the configuration file"),
        (("tools", "--demo", "--record", "{closed}/a/f"), 2, "cannot be accessed"),
        (("tools", "--", "{closed}/f"), 3, "cannot be accessed"),
        (("tools", "--cwd", "{closed}", "--", "true"), 3, "No permission to access"),
        (("open", "{closed}/f"), 8, "The recording cannot be read"),
        (("servers", "import", "{closed}/f"), 2, "Cannot read the configuration file"),
        (("servers", "export", "-o", "{closed}/f"), 8, "Cannot read"),
    ],
)
def test_other_files_in_a_closed_folder_are_reported(
    closed: Path, arguments: tuple[str, ...], code: int, what: str, data_dir: Path
) -> None:
    ran = run("--data-dir", str(data_dir), *(word.format(closed=closed) for word in arguments))
    assert ran.code == code
    assert what in ran.err
    assert str(closed) in ran.err
