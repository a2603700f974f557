"""Which files a server's author edits, as its command line tells, and how many there are."""

import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.engine import source_files
from mcp_progress_monitor.engine.source_files import SOURCES, count_files, sources_of, watching
from mcp_progress_monitor.snapshots.definitions import FileWatch, StdioDefinition


def server(command: str, *args: str, **fields: Any) -> StdioDefinition:
    return StdioDefinition(name="s", command=command, args=args, **fields)


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_it_is_the_folder_of_the_script(tmp_path: Path) -> None:
    put(tmp_path, "src/server.py")
    found = sources_of(server(sys.executable, str(tmp_path / "src/server.py"), "--fast"))
    assert found == FileWatch(is_on=True, paths=(str(tmp_path / "src"),), patterns=SOURCES)


def test_the_folder_of_the_server_holds_that_of_its_script(tmp_path: Path) -> None:
    put(tmp_path, "src/index.ts")
    found = sources_of(server("npx", "tsx", "src/index.ts", cwd=str(tmp_path)))
    assert found.paths == (str(tmp_path),)


@pytest.mark.parametrize("option", ["--directory", "--project", "-C"])
def test_an_option_names_the_folder(tmp_path: Path, option: str) -> None:
    found = sources_of(server("uv", option, str(tmp_path), "run", "server"))
    assert found.paths == (str(tmp_path),)


def test_a_folder_that_is_served_is_not_that_of_the_server(tmp_path: Path) -> None:
    assert sources_of(server("npx", "server-filesystem", str(tmp_path))).paths == ()


def test_a_script_in_the_home_folder_is_watched_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "server.py")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    script = str(tmp_path / "server.py")
    assert sources_of(server("python", script)).paths == (script,)


def test_a_program_that_is_built_here_is_a_file_and_an_installed_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "bin/server")
    built = server("bin/server", cwd=None).model_copy(
        update={"command": str(tmp_path / "bin/server")}
    )
    assert sources_of(built).paths == (str(tmp_path / "bin/server"),)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert sources_of(built).paths == ()


def test_what_the_user_set_is_kept(tmp_path: Path) -> None:
    own = FileWatch(is_on=True, paths=("lib",), patterns=("*.txt",))
    assert sources_of(server("x", cwd=str(tmp_path), watch=own)) is own


def counted(folder: Path, *paths: str, patterns: tuple[str, ...] = SOURCES) -> int:
    files = FileWatch(is_on=True, paths=paths or (str(folder),), patterns=patterns)
    return count_files(watching(server("x"), files))


def test_only_sources_outside_of_generated_folders_count(tmp_path: Path) -> None:
    put(tmp_path, "a.py", "lib/b.ts", "data.json", ".venv/c.py", "node_modules/x/d.js")
    put(tmp_path, "dist/e.js", "build/f.py", "__pycache__/g.py")
    assert counted(tmp_path) == 2


def test_a_generated_folder_counts_if_it_is_the_one_to_watch(tmp_path: Path) -> None:
    put(tmp_path, "dist/e.js", "a.ts")
    assert counted(tmp_path, str(tmp_path / "dist")) == 1
    assert counted(tmp_path, str(tmp_path), str(tmp_path / "dist")) == 2


def test_counting_ends_once_there_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_files, "MOST_FILES", 3)
    put(tmp_path, *(f"{number}.py" for number in range(9)))
    assert counted(tmp_path) == 4
    monkeypatch.setattr(source_files, "_MOST_NAMES", 5)
    assert counted(tmp_path, patterns=("*.none",)) == 4


def test_a_folder_that_is_gone_has_no_files(tmp_path: Path) -> None:
    assert counted(tmp_path, str(tmp_path / "none")) == 0
