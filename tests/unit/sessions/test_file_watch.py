"""Which files are watched, and which changes of them count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import pytest

from app.sessions.definitions import FileWatch, HttpDefinition, StdioDefinition
from app.sessions.file_watch import FileWatcher, InFolders, named, watched, words_of

if TYPE_CHECKING:
    from pathlib import Path

    from app.problem import Problem


def server(folder: Path, *paths: str, **fields: Any) -> StdioDefinition:
    watch = FileWatch(is_on=True, paths=paths)
    given = {"name": "s", "command": "run", "cwd": str(folder), "watch": watch, **fields}
    return StdioDefinition(**given)


def test_without_paths_it_is_the_folder_and_the_files_among_the_arguments(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "a.py"
    inside.mkdir()
    outside.touch()
    found = watched(server(inside, args=("--fast", "../a.py", "none.py")))
    assert found == ((str(inside),), (str(outside),), ())


def test_without_a_folder_only_files_among_the_arguments_are_watched(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    script.touch()
    found = watched(server(tmp_path, cwd=None, args=(str(script),)))
    assert found == ((), (str(script),), ())


def test_paths_count_from_the_servers_folder(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "a.py").touch()
    found = watched(server(tmp_path, "lib", "a.py", "lib"))
    assert found == ((str(tmp_path / "lib"),), (str(tmp_path / "a.py"),), ())


def test_what_does_not_exist_is_told(tmp_path: Path) -> None:
    found = watched(server(tmp_path, "none"))
    assert found.missing == (str(tmp_path / "none"),)
    problem = found.problem("s")
    assert problem is not None
    assert problem.where == str(tmp_path / "none")


def test_what_is_closed_to_us_is_told(closed_dir: Path) -> None:
    found = watched(server(closed_dir.parent, "closed", "closed/within"))
    assert found.missing == (str(closed_dir), str(closed_dir / "within"))
    problem = found.problem("s")
    assert problem is not None
    assert "closed to us" in problem.what
    watched(server(closed_dir / "within", args=(str(closed_dir / "within"),)))


def test_nothing_to_watch_is_told() -> None:
    definition = HttpDefinition(name="h", url="http://a/mcp", watch=FileWatch(is_on=True))
    problem = watched(definition).problem("h")
    assert problem is not None
    assert "no file to watch" in problem.what


def test_all_that_is_there_has_no_problem(tmp_path: Path) -> None:
    assert watched(server(tmp_path)).problem("s") is None


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("/.venv/p/a.py", True),
        ("/.venv/p/sub/a.py", True),
        ("/.venv/p/a.txt", False),
        ("/.venv/p/__pycache__/a.py", False),
        ("/.venv/p/node_modules/x/a.js", False),
        ("/.venv/p/.git/a.py", False),
        ("/.venv/q/a.py", False),
        ("/.venv/p", False),
    ],
)
def test_names_count_by_pattern_outside_of_folders_that_nobody_edits(
    path: str, counts: bool
) -> None:
    assert InFolders(["/.venv/p"], ("*.py", "*.js")).counts(path) is counts


def test_a_single_file_counts_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    found = watched(server(tmp_path, "run"))
    assert found.counts(str(tmp_path / "run"))
    assert not found.counts(str(tmp_path / "other"))


def test_changes_are_told_by_name_the_first_of_them() -> None:
    paths = tuple(f"/p/{number}.py" for number in range(12))
    assert words_of(paths) == "0.py, 1.py, 2.py and 9 more"
    assert words_of(paths[:1]) == "0.py"
    assert len(named(paths)) == 10


async def test_a_change_is_handed_over_and_the_end_lets_go_of_the_thread(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    script.touch()
    heard: list[tuple[str, ...]] = []
    news = anyio.Event()
    limiter = anyio.to_thread.current_default_thread_limiter()
    before = limiter.total_tokens

    async def note(paths: tuple[str, ...]) -> None:
        heard.append(paths)
        news.set()

    def fail(problem: Problem) -> None:
        raise AssertionError(problem)

    watcher = FileWatcher(server(tmp_path))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run, note, fail)
        with anyio.fail_after(20):
            while not news.is_set():  # the watch takes a moment to begin
                script.write_text("x")
                with anyio.move_on_after(0.5):
                    await news.wait()
        watcher.scope.cancel()
    assert heard[0] == (str(script),)
    assert limiter.total_tokens == before


async def test_what_the_system_refuses_is_told(tmp_path: Path) -> None:
    watcher = FileWatcher(server(tmp_path, "gone"))
    watcher.watched = watcher.watched._replace(folders=(str(tmp_path / "gone"),))
    problems: list[Problem] = []

    async def note(paths: tuple[str, ...]) -> None:
        raise AssertionError(paths)

    with anyio.fail_after(10):
        await watcher.run(note, problems.append)
    assert [problem.where for problem in problems] == [str(tmp_path / "gone")]
