"""Paths of a report are relative to the repository, and never absolute."""

from pathlib import Path

import pytest

from mcp_progress_monitor.cli.common import CommonOptions
from mcp_progress_monitor.cli.repository import Repository


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a server in a folder, which is the current one."""
    root = tmp_path / "repository"
    for name in (".git/HEAD", "package.json", "servers/a b/server.py", "servers/mcp.json"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "elsewhere.py").touch()
    monkeypatch.chdir(root / "servers")
    return root


@pytest.mark.parametrize(
    ("options", "script"),
    [
        (CommonOptions(command=("python", "a b/server.py")), "servers/a b/server.py"),
        (CommonOptions(command=("./a b/server.py", "x")), "servers/a b/server.py"),
        (CommonOptions(command=("python", "server.py"), cwd=Path("a b")), "servers/a b/server.py"),
        (CommonOptions(config=Path("mcp.json"), server="x"), "servers/mcp.json"),
        (CommonOptions(command=("python", "../../elsewhere.py")), "package.json"),
        (CommonOptions(command=("npx", ".", "x" * 5000, "\0")), "package.json"),
        (CommonOptions(url="https://localhost/"), "package.json"),
    ],
)
def test_the_script_is_a_file_of_the_repository(
    root: Path, options: CommonOptions, script: str
) -> None:
    assert Repository().script_of(options) == script
    (root / "package.json").unlink()
    expected = "" if script == "package.json" else script
    assert Repository().script_of(options) == expected


def test_recordings_stand_for_themselves_unless_the_code_is_known(root: Path) -> None:
    assert (root / "package.json").exists()
    assert Repository().script_of(CommonOptions()) == ""
    assert Repository(Path("a b")).script_of(CommonOptions()) == "package.json"


def test_files_elsewhere_have_no_path(root: Path, tmp_path: Path) -> None:
    repository = Repository(Path("a b"))
    assert repository.artifact(root / "servers" / "x.mcprec") == "servers/x.mcprec"
    assert repository.path_of(tmp_path / "elsewhere.py") == ""
    assert repository.artifact(tmp_path / "elsewhere.py") == "elsewhere.py"


def test_without_git_paths_are_relative_to_the_current_folder(root: Path, tmp_path: Path) -> None:
    (root / ".git/HEAD").unlink()
    (root / ".git").rmdir()
    assert Repository(Path("a b")).path_of(Path("a b/server.py")) == "a b/server.py"
    assert Repository(tmp_path).path_of(tmp_path / "elsewhere.py") == "elsewhere.py"
