"""Noticing that a server's files have changed, so that it can be started anew with them."""

from __future__ import annotations

import contextlib
import fnmatch
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
import anyio.to_thread

from app.looking import is_closed, is_file, is_folder, is_there
from app.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from app.sessions.definitions import ServerDefinition

IGNORED: Final = frozenset(
    (
        "__pycache__",
        "node_modules",
        "site-packages",
        "venv",
        ".git",
        ".hg",
        ".svn",
        ".venv",
        ".tox",
        ".nox",
        ".idea",
        ".vscode",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".hypothesis",
    )
)
"""Folders whose contents no one edits: what is in them never counts."""
_QUIET_MS: Final = 200
"""A change is told once nothing more has changed for so long …"""
_LONGEST_MS: Final = 2000
"""… or since the first one: who saves all files at once means one change."""
_NAMED: Final = 10


class Watched(NamedTuple):
    """What is watched for a server: folders with all in them, single files, and what is missing."""

    folders: tuple[str, ...]
    files: tuple[str, ...]
    missing: tuple[str, ...] = ()

    def counts(self, path: str) -> bool:
        """Whether this is one of the files."""
        return path in self.files

    def problem(self, server: str) -> Problem | None:
        """What cannot be watched; None when all can be."""
        if self.missing:
            what = "A watched path does not exist or is closed to us: no change in it is noticed"
            return Problem(what, ", ".join(self.missing), "Check the paths to be watched.")
        if not (self.folders or self.files):
            what = "There is no file to watch: nothing starts the server anew"
            hint = "Name files or folders to be watched, or the folder to start the server in."
            return Problem(what, server, hint)
        return None


def watched(definition: ServerDefinition) -> Watched:
    """What a definition wants watched; relative paths count from the folder it starts in.

    Without paths that folder is watched, if one is chosen (else it would be ours, which may be
    anything), and the files among command and arguments.
    """
    base = os.path.abspath(getattr(definition, "cwd", None) or ".")  # noqa: PTH100  # links stay
    if definition.watch.paths:
        found = [_within(base, path) for path in definition.watch.paths]
        missing = tuple(path for path in found if not is_there(path) or is_closed(path))
    else:
        words = (getattr(definition, "command", ""), *getattr(definition, "args", ()))
        found = [path for path in (_within(base, word) for word in words) if is_file(path)]
        if getattr(definition, "cwd", None) is not None and is_folder(base):
            found.append(base)
        missing = ()
    folders = tuple(dict.fromkeys(filter(is_folder, found)))
    files = tuple(dict.fromkeys(filter(is_file, found)))
    return Watched(folders, files, missing)


def _within(base: str, path: str) -> str:
    return os.path.normpath(os.path.join(base, os.path.expanduser(path)))  # noqa: PTH111, PTH118


class InFolders:
    """Which changed paths count of those in watched folders."""

    def __init__(self, folders: Iterable[str], patterns: tuple[str, ...]) -> None:
        """Names that match one of `patterns`, outside of folders that nobody edits."""
        self._folders = tuple(folders)
        self._patterns = patterns

    def counts(self, path: str) -> bool:
        """Whether a change of `path` is one."""
        root = next((f for f in self._folders if Path(path).is_relative_to(f)), None)
        if root is None:
            return False
        *inner, name = Path(path).relative_to(root).parts or ("",)
        return not IGNORED.intersection(inner) and any(
            fnmatch.fnmatch(name, pattern) for pattern in self._patterns
        )


class FileWatcher:
    """Watches what one definition wants watched, from `run` until that is cancelled."""

    def __init__(self, definition: ServerDefinition) -> None:
        """Look up what there is to watch."""
        self.definition = definition
        self.watched = watched(definition)
        self.scope = anyio.CancelScope()

    @property
    def problem(self) -> Problem | None:
        """What cannot be watched."""
        return self.watched.problem(self.definition.name)

    async def run(
        self,
        on_change: Callable[[tuple[str, ...]], Awaitable[None]],
        on_problem: Callable[[Problem], None],
    ) -> None:
        """Hand the paths of each change to `on_change`; no other meanwhile, none is lost.

        When the system does not let us watch, why goes to `on_problem`. `scope` ends it.
        """
        turn = anyio.Lock()

        async def tell(paths: tuple[str, ...]) -> None:
            async with turn:
                await on_change(paths)

        folders = InFolders(self.watched.folders, self.definition.watch.patterns)
        beside = tuple(dict.fromkeys(str(Path(file).parent) for file in self.watched.files))
        with self.scope:
            async with anyio.create_task_group() as tasks:
                if self.watched.folders:
                    paths = self.watched.folders
                    tasks.start_soon(_watch, paths, folders.counts, tell, on_problem, True)
                if beside:
                    # Not the files themselves: editors put a new file in the place of the old.
                    counts = self.watched.counts
                    tasks.start_soon(_watch, beside, counts, tell, on_problem, False)


async def _watch(
    paths: tuple[str, ...],
    counts: Callable[[str], bool],
    tell: Callable[[tuple[str, ...]], Awaitable[None]],
    on_problem: Callable[[Problem], None],
    is_deep: bool,
) -> None:
    # A library of its own thread and a compiled part: only for who watches files.
    import watchfiles

    stop = anyio.Event()
    limiter = anyio.to_thread.current_default_thread_limiter()
    limiter.total_tokens += 1  # it holds a thread for as long as it lasts; the others keep theirs
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_set_when_cancelled, stop)
            found = watchfiles.awatch(
                *paths,
                watch_filter=lambda _change, path: counts(path),
                debounce=_LONGEST_MS,
                step=_QUIET_MS,
                stop_event=stop,
                recursive=is_deep,
            )
            try:
                async with contextlib.aclosing(found) as batches:
                    async for batch in batches:
                        await tell(tuple(sorted({path for _, path in batch})))
            except* (OSError, RuntimeError) as errors:
                on_problem(_cannot_watch(paths, errors))
            tasks.cancel_scope.cancel()
    finally:
        limiter.total_tokens -= 1


async def _set_when_cancelled(stop: anyio.Event) -> None:
    """Let go of the thread at once: it knows nothing of cancelling."""
    try:
        # Not sleep_forever: Qt's loop has no timer for an infinite time.
        await anyio.Event().wait()
    finally:
        stop.set()


def _cannot_watch(paths: tuple[str, ...], errors: BaseException) -> Problem:
    what = "The system does not let us watch these files: nothing starts the server anew"
    hint = "Name fewer folders to be watched. Linux bounds how many a user may watch at once."
    return Problem(what, ", ".join(paths), hint, str(errors))


def named(paths: Iterable[str]) -> list[str]:
    """The names of changed files for people, the first ten of them."""
    return [Path(path).name for path in paths][:_NAMED]


def words_of(paths: tuple[str, ...]) -> str:
    """Which files have changed, in a few words."""
    names = named(paths)[:3]
    more = len(paths) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")
