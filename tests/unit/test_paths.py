"""Where the program's files live."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor import __version__, paths
from mcp_progress_monitor.errors import UserError

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the custom of Linux desktops")


@linux_only
def test_the_data_folder_follows_the_desktop_custom(isolated_home: Path) -> None:
    assert paths.default_data_dir() == isolated_home / ".local/share/mcp-progress-monitor"


@linux_only
@pytest.mark.parametrize("value", ["", "relative/folder"])
def test_a_data_home_that_is_no_absolute_path_counts_as_unset(
    value: str, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", value)
    assert paths.default_data_dir() == isolated_home / ".local/share/mcp-progress-monitor"


def test_asking_where_it_is_makes_no_folder() -> None:
    assert not paths.default_data_dir().exists()


def test_a_new_data_folder_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    folder = paths.data_dir(tmp_path / "new" / "data")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_an_existing_data_folder_keeps_its_rights(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert paths.data_dir(tmp_path) == tmp_path
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_data_folder_that_cannot_be_made_is_an_error_with_its_path(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(UserError) as caught:
        paths.data_dir(file / "data")
    assert caught.value.details.where == str(file / "data")
    assert "--data-dir" in caught.value.details.hint


def test_a_data_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="is a file"):
        paths.data_dir(tmp_path / "file")


@pytest.mark.parametrize(
    ("below", "what"), [("", "No permission to access"), ("x", "Cannot create")]
)
def test_a_data_folder_that_is_closed_to_us_is_an_error(
    closed_dir: Path, below: str, what: str
) -> None:
    with pytest.raises(UserError) as caught:
        paths.data_dir(closed_dir / below)
    assert what in caught.value.details.what
    assert caught.value.details.where == str(closed_dir / below)
    assert "--data-dir" in caught.value.details.hint


@linux_only
def test_who_has_no_home_is_asked_for_a_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setattr("mcp_progress_monitor.paths.home", nothing)
    with pytest.raises(UserError, match="home folder"):
        paths.data_dir()


def nothing() -> None:
    return None


def test_resources_are_found_beside_the_package_of_a_checkout() -> None:
    assert paths.resource("icons").is_dir()


def test_resources_inside_the_package_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("app/resources", "resources"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "style.qss").write_text(folder)
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path / "app")
    assert paths.resource("style.qss").read_text() == "app/resources"


def test_a_missing_resource_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"no-such\.svg"):
        paths.resource("no-such.svg")


def test_the_package_can_be_imported_from_the_import_root() -> None:
    assert (paths.import_root() / "mcp_progress_monitor" / "paths.py").is_file()


def test_the_program_is_started_again_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app.py").write_text("raise SystemExit('not this one')")
    monkeypatch.setattr(sys, "executable", _python_without_our_command(tmp_path))
    done = subprocess.run(
        [*paths.program_command(), "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert __version__ in done.stdout


def _python_without_our_command(folder: Path) -> str:
    """This very Python, beside which nothing was installed."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    script.chmod(0o700)
    return str(script)


def test_the_installed_command_starts_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "mcp-progress-monitor"
    installed.touch()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert paths.program_command() == [str(installed)]
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert paths.program_command() == [str(tmp_path / "python")]
