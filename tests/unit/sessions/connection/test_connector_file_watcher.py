"""Which files are watched, and which changes of them count."""

import contextlib
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
import watchfiles

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.sessions.connection import connector
from mcp_progress_monitor.sessions.connection.connector import (
    FileWatcher,
    InFolders,
    Watched,
    named,
    watched,
    words_of,
)
from mcp_progress_monitor.snapshots.definitions import FileWatch, HttpDefinition, StdioDefinition


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


def test_what_does_not_exist_is_reported(tmp_path: Path) -> None:
    found = watched(server(tmp_path, "none"))
    assert found.missing == (str(tmp_path / "none"),)
    error = found.error("s")
    assert error is not None
    assert error.where == str(tmp_path / "none")


def test_what_is_closed_to_us_is_reported(closed_dir: Path) -> None:
    found = watched(server(closed_dir.parent, "closed", "closed/within"))
    assert found.missing == (str(closed_dir), str(closed_dir / "within"))
    error = found.error("s")
    assert error is not None
    assert "cannot be accessed" in error.what
    watched(server(closed_dir / "within", args=(str(closed_dir / "within"),)))


def test_nothing_to_watch_is_reported() -> None:
    definition = HttpDefinition(name="h", url="http://a/mcp", watch=FileWatch(is_on=True))
    error = watched(definition).error("h")
    assert error is not None
    assert "No files to watch" in error.what


def test_all_that_is_there_has_no_error(tmp_path: Path) -> None:
    assert watched(server(tmp_path)).error("s") is None


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


def test_changes_are_reported_by_name_the_first_of_them() -> None:
    paths = tuple(f"/p/{number}.py" for number in range(12))
    assert words_of(paths) == "0.py, 1.py, 2.py and 9 more"
    assert words_of(paths[:1]) == "0.py"
    assert len(named(paths)) == 10


async def test_a_change_is_handed_over_and_the_end_lets_go_of_the_thread(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    script.touch()
    heard: list[tuple[str, ...]] = []
    notifications = anyio.Event()
    limiter = anyio.to_thread.current_default_thread_limiter()
    before = limiter.total_tokens

    async def note(paths: tuple[str, ...]) -> None:
        heard.append(paths)
        notifications.set()

    def fail(error: ErrorDetails | None) -> None:
        raise AssertionError(error)

    watcher = FileWatcher(server(tmp_path))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run, note, fail)
        with anyio.fail_after(20):
            while not notifications.is_set():  # the watch takes a moment to begin
                script.write_text("x")
                with anyio.move_on_after(0.5):
                    await notifications.wait()
        watcher.scope.cancel()
    assert heard[0] == (str(script),)
    assert limiter.total_tokens == before


class Heard:
    """What a watch tells of."""

    def __init__(self, watcher: FileWatcher) -> None:
        self.watcher = watcher
        self.paths: list[tuple[str, ...]] = []
        self.errors: list[ErrorDetails | None] = []
        self._news = anyio.Event()

    async def _note(self, paths: tuple[str, ...]) -> None:
        self.paths.append(paths)
        self._news.set()

    def _note_error(self, error: ErrorDetails | None) -> None:
        self.errors.append(error)
        self._news.set()

    async def run(self) -> None:
        await self.watcher.run(self._note, self._note_error)

    async def until(self, condition: Callable[[], object], act: Callable[[], object]) -> None:
        """Do something again and again, for the watch takes a moment to begin."""
        with anyio.fail_after(60):
            while not condition():
                act()
                self._news = anyio.Event()
                with anyio.move_on_after(1):
                    await self._news.wait()


@contextlib.asynccontextmanager
async def heard_from(definition: StdioDefinition) -> AsyncIterator[Heard]:
    heard = Heard(FileWatcher(definition))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(heard.run)
        yield heard
        tasks.cancel_scope.cancel()


def nothing() -> None:
    """Only wait."""


async def test_what_the_system_refuses_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_paths: object, **_options: object) -> Iterator[object]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("watchfiles.watch", refuse)
    async with heard_from(server(tmp_path)) as heard:
        await heard.until(lambda: heard.errors, nothing)
    (error,) = heard.errors
    assert error is not None
    assert error.where == str(tmp_path)
    assert "No space left" in error.detail


async def test_a_folder_that_is_made_again_is_watched_again(tmp_path: Path) -> None:
    built = tmp_path / "dist"
    built.mkdir()
    script = built / "a.js"
    async with heard_from(server(tmp_path, "dist")) as heard:
        await heard.until(lambda: heard.paths, lambda: script.write_text("1"))
        shutil.rmtree(built)
        await anyio.sleep(2)
        built.mkdir()
        await heard.until(lambda: (str(built),) in heard.paths, nothing)
        count = len(heard.paths)
        await heard.until(
            lambda: (str(script),) in heard.paths[count:], lambda: script.write_text("2")
        )


async def test_what_was_missing_is_watched_once_it_is_there(tmp_path: Path) -> None:
    made = tmp_path / "src"
    async with heard_from(server(tmp_path, "src")) as heard:
        assert heard.watcher.error is not None
        made.mkdir()
        await heard.until(lambda: heard.paths, nothing)
        assert heard.paths == [(str(made),)]
        assert heard.errors == [None]
        script = made / "a.py"
        await heard.until(lambda: heard.paths[1:], lambda: script.write_text("1"))
        assert heard.paths[1] == (str(script),)


async def test_what_a_link_leads_to_is_watched(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "real.py"
    target.parent.mkdir()
    target.touch()
    (tmp_path / "here").mkdir()
    link = tmp_path / "here" / "server.py"
    link.symlink_to(target)
    definition = server(tmp_path, cwd=None, args=(str(link),))
    async with heard_from(definition) as heard:
        await heard.until(lambda: heard.paths, lambda: target.write_text("x"))
    assert heard.paths[0] == (str(link),)


async def test_a_file_in_a_watched_folder_is_reported_once(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    script.touch()
    definition = server(tmp_path, args=(str(script),))
    async with heard_from(definition) as heard:
        other = tmp_path / "b.py"
        await heard.until(lambda: heard.paths, lambda: other.write_text("1"))
        await anyio.sleep(1.5)
        count = len(heard.paths)
        script.write_text("1")
        await heard.until(lambda: heard.paths[count:], nothing)
        await anyio.sleep(1.5)
        assert heard.paths[count:] == [(str(script),)]


async def test_a_folder_that_is_made_again_at_once_is_watched_again(tmp_path: Path) -> None:
    built = tmp_path / "dist"
    built.mkdir()
    script = built / "a.js"
    async with heard_from(server(tmp_path, "dist")) as heard:
        await heard.until(lambda: heard.paths, lambda: script.write_text("1"))
        shutil.rmtree(built)
        built.mkdir()
        await heard.until(lambda: any(str(built) in paths for paths in heard.paths), nothing)
        count = len(heard.paths)
        await heard.until(lambda: heard.paths[count:], lambda: script.write_text("2"))


def test_what_is_deleted_is_called_so_by_the_library() -> None:
    assert watchfiles.Change(connector.DELETED) is watchfiles.Change.deleted


@pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")
async def test_a_name_that_is_no_text_ends_no_watch(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    async with heard_from(server(tmp_path)) as heard:
        await heard.until(lambda: heard.paths, lambda: script.write_text("1"))
        os.close(os.open(os.fsencode(tmp_path) + b"/\xff.py", os.O_CREAT))
        await anyio.sleep(1)
        count = len(heard.paths)
        await heard.until(lambda: heard.paths[count:], lambda: script.write_text("2"))
        assert heard.errors == []


def test_paths_are_known_with_and_without_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "a.py").touch()
    by_link, by_name = str(tmp_path / "link" / "a.py"), str(tmp_path / "real" / "a.py")
    folders = InFolders([str(tmp_path / "link")], ("*.py",))
    assert folders.counts(by_link)
    assert folders.counts(by_name)
    assert Watched((), (by_link,)).counts(by_name)


def test_a_flood_of_changes_is_looked_through_without_a_path_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = InFolders([str(tmp_path)], ("*.py",))
    monkeypatch.setattr("mcp_progress_monitor.sessions.connection.connector.Path", None)
    assert folders.counts(str(tmp_path / "deep" / "a.py"))


async def test_a_chosen_folder_that_is_gone_is_reported_until_it_is_back(tmp_path: Path) -> None:
    folder, away = tmp_path / "src", tmp_path / "away"
    folder.mkdir()
    async with heard_from(server(tmp_path, "src")) as heard:
        await anyio.sleep(0.1)
        folder.rename(away)
        await heard.until(lambda: heard.errors, nothing)
        assert heard.errors[0] is not None
        assert heard.errors[0].where == str(folder)
        assert not heard.paths
        away.rename(folder)
        await heard.until(lambda: heard.errors[-1] is None, nothing)
        await heard.until(lambda: (str(folder),) in heard.paths, nothing)
