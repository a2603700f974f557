"""Starts and ends sessions: on request, to reconnect, and when a server's files change."""

from __future__ import annotations

import concurrent.futures
import contextlib
import fnmatch
import logging
import os
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import anyio
import anyio.to_thread

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import is_closed, is_file, is_folder, is_there
from mcp_progress_monitor.snapshots.servers import not_connected

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.connection.asking import SecretsAtConnect
    from mcp_progress_monitor.sessions.connection.manager import SessionManager
    from mcp_progress_monitor.sessions.connection.session import ReconnectPolicy, Session
    from mcp_progress_monitor.snapshots.definitions import FileWatch, ServerDefinition

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
"""Folders with generated files, which are not watched."""
_QUIET_MS: Final = 200  # a change is reported once nothing else has changed for this long …
_LONGEST_MS: Final = 2000
"""… or this long after the first one: saving all files counts as one change."""
_CHECK_S: Final = 1.0
"""How often the watched paths are checked.

Folders are deleted and created again, links change, and network folders report nothing.
"""
_GONE: Final = 2
"""After so many checks a deleted folder is reported: most are created again at once."""
DELETED: Final = 3  # the names of `watchfiles.Change`
_NAMED: Final = 10


class Watched(NamedTuple):
    """The watched paths of a server: folders with their contents, files, and missing paths."""

    folders: tuple[str, ...]
    files: tuple[str, ...]
    missing: tuple[str, ...] = ()

    def counts(self, path: str) -> bool:
        return path in self.files or path in {_without_links(file) for file in self.files}

    def error(self, server: str) -> ErrorDetails | None:
        if self.missing:
            what = (
                "A watched path does not exist or cannot be accessed: changes to it are not noticed"
            )
            return ErrorDetails(what, ", ".join(self.missing), "Check the watched paths.")
        if not (self.folders or self.files):
            what = "No files to watch: the server is not restarted automatically"
            hint = "Set the files or folders to watch, or the server's working folder."
            return ErrorDetails(what, server, hint)
        return None


def watched(definition: ServerDefinition) -> Watched:
    """The paths that a definition watches; relative ones start at the server's folder.

    Without paths, these are that folder, if one is set (else it would be ours, which may be
    anything), and the files among command and arguments.
    """
    base = os.path.abspath(getattr(definition, "cwd", None) or ".")  # noqa: PTH100  # links stay
    if definition.watch.paths:
        found = [_within(base, path) for path in definition.watch.paths]
        missing = tuple(path for path in found if not _can_be_watched(path))
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


def _without_links(path: str) -> str:
    """A path with its folder's links resolved."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)  # noqa: PTH118  # links of its own stay


class InFolders:
    """Decides which changed paths in watched folders count."""

    def __init__(
        self, folders: Iterable[str], patterns: tuple[str, ...], ignored: frozenset[str] = IGNORED
    ) -> None:
        """Names must match one of `patterns`, outside of `ignored` folders."""
        both = {each for folder in folders for each in (folder, os.path.realpath(folder))}
        # The longest first: a folder that is watched itself counts, whatever folder it is in.
        self._begins = tuple(each.rstrip(os.sep) + os.sep for each in sorted(both, key=len)[::-1])
        self._ignored = ignored
        self._is_named = re.compile("|".join(map(fnmatch.translate, patterns)) or "(?!)").match

    def counts(self, path: str) -> bool:
        """Return whether a change of `path` counts; called for each change of a flood."""
        begin = next((each for each in self._begins if path.startswith(each)), None)
        if begin is None:
            return False
        *inner, name = path[len(begin) :].split(os.sep)  # noqa: PTH206  # a Path takes ten times as long
        is_named = self._is_named(os.path.normcase(name)) is not None
        return is_named and self._ignored.isdisjoint(inner)


OnChange: TypeAlias = "Callable[[tuple[str, ...]], Awaitable[None]]"


class FileWatcher:
    """Watches the paths of one definition, from `run` until that is cancelled."""

    def __init__(self, definition: ServerDefinition, ignored: frozenset[str] = IGNORED) -> None:
        self.definition = definition
        self._ignored = ignored
        self.watched = watched(definition)
        self.scope = anyio.CancelScope()

    @property
    def error(self) -> ErrorDetails | None:
        return self.watched.error(self.definition.name)

    async def run(
        self, on_change: OnChange, on_error: Callable[[ErrorDetails | None], None]
    ) -> None:
        """Pass the paths of each change to `on_change`, one call at a time; none is lost.

        System errors go to `on_error`; None once they are over. `scope` ends it.
        """
        turn = anyio.Lock()

        async def publish(paths: tuple[str, ...]) -> None:
            async with turn:
                await on_change(paths)

        with self.scope:
            while True:
                await self._until_more(publish, on_error)
                came, self.watched = self.watched.missing, watched(self.definition)
                on_error(self.error)
                there = tuple(path for path in came if path not in self.watched.missing)
                if there:
                    await publish(there)

    async def _until_more(
        self, publish: OnChange, on_error: Callable[[ErrorDetails | None], None]
    ) -> None:
        """Watch the existing paths, until a missing one appears or a folder is gone."""
        folders = InFolders(self.watched.folders, self.definition.watch.patterns, self._ignored)
        # Not the files themselves: editors replace a file by a new one.
        alone = [file for file in self.watched.files if not _is_seen_in(folders, file)]
        beside = tuple(dict.fromkeys(str(Path(file).parent) for file in alone))
        async with anyio.create_task_group() as tasks:
            if self.watched.folders:
                thread = _WatchThread(self.watched.folders, (), folders.counts, is_deep=True)
                tasks.start_soon(_watch, thread, publish, on_error)
            if beside:
                thread = _WatchThread(beside, tuple(alone), self.watched.counts, is_deep=False)
                tasks.start_soon(_watch, thread, publish, on_error)
            chosen = self.watched.folders if self.definition.watch.paths else ()
            await _until_other(self.watched.missing, chosen)
            tasks.cancel_scope.cancel()


def _is_seen_in(folders: InFolders, file: str) -> bool:
    """True if watching the folders reports changes of this file; a link's are not reported."""
    return folders.counts(file) and folders.counts(os.path.realpath(file))


async def _until_other(missing: tuple[str, ...], folders: tuple[str, ...]) -> None:
    """Wait until a missing path exists, or a folder is not replaced soon; forever without any."""
    if not (missing or folders):
        await anyio.Event().wait()
    gone = 0
    while not any(map(_can_be_watched, missing)) and gone < _GONE:
        await anyio.sleep(_CHECK_S)
        gone = 0 if all(map(is_folder, folders)) else gone + 1


def _can_be_watched(path: str) -> bool:
    return is_there(path) and not is_closed(path)


class _WatchThread:
    """Watches for changes in a thread, until `stop` is set."""

    def __init__(
        self,
        folders: tuple[str, ...],
        files: tuple[str, ...],
        counts: Callable[[str], bool],
        *,
        is_deep: bool,
    ) -> None:
        self.folders = folders
        self.stop = threading.Event()
        self._files = files
        self._counts = counts
        self._is_deep = is_deep
        self._signs = self._signs_now()
        self._lost: set[str] = set()  # deleted folders: their identifiers may be reused

    def run(self, publish: Callable[[tuple[str, ...]], None]) -> None:
        """Pass each change to `publish`; `OSError` or `RuntimeError` if nothing can be watched."""
        found: set[str] = set()
        since = 0.0
        while not self.stop.is_set():
            for new in self._found():
                now = time.monotonic()
                since = since if found else now
                found |= new
                if found and (not new or (now - since) * 1000 >= _LONGEST_MS):
                    publish(tuple(sorted(found)))
                    found = set()

    def _found(self) -> Iterator[set[str]]:
        """Yield changes, possibly empty, until a folder was replaced."""
        looked_at, there = 0.0, [each for each in self.folders if self._signs[each] is not None]
        for paths in self._changes(there):
            now = time.monotonic()
            if not (paths or self._lost) and now - looked_at < _CHECK_S:
                yield paths
                continue
            looked_at, before, self._signs = now, self._signs, self._signs_now()
            before |= dict.fromkeys(self._lost)
            self._lost.clear()
            others = {each for each, sign in self._signs.items() if sign != before[each]}
            changed = others if self._is_deep else others.intersection(self._files)
            yield paths | {each for each in changed if self._signs[each] is not None}
            if not set(self.folders).isdisjoint(others):
                return

    def _changes(self, there: Sequence[str]) -> Iterator[set[str]]:
        """Yield what the system reports for these folders."""
        # Loaded only to watch files: the library has a thread and a compiled part.
        import watchfiles

        if not there:
            while not self.stop.wait(_CHECK_S):
                yield set()
            return
        found = watchfiles.watch(
            *there,
            watch_filter=self._filter,
            debounce=_LONGEST_MS,
            step=_QUIET_MS,
            stop_event=self.stop,
            rust_timeout=_QUIET_MS + 1,
            yield_on_timeout=True,
            raise_interrupt=False,
            recursive=self._is_deep,
        )
        is_up = False
        try:
            for batch in found:
                is_up = True
                yield {path for _, path in batch}
        except RuntimeError:
            # It fails on names that are not text; persistent errors are raised again.
            if not is_up:
                raise
            self.stop.wait(_CHECK_S)

    def _filter(self, change: int, path: str) -> bool:
        if change == DELETED and path in self.folders:
            self._lost.add(path)
        return self._counts(path)

    def _signs_now(self) -> dict[str, object]:
        """The identity of each folder and the contents of each file; None if it is gone."""
        folders = {folder: _sign(folder, is_folder=True) for folder in self.folders}
        return {**folders, **{file: _sign(file, is_folder=False) for file in self._files}}


def _sign(path: str, *, is_folder: bool) -> object:
    try:
        found = os.stat(path)  # noqa: PTH116  # once a second for each: no Path is made for it
    except OSError:
        return None
    same = found.st_dev, found.st_ino
    return same if is_folder else (*same, found.st_mtime_ns, found.st_size)


async def _watch(
    thread: _WatchThread, publish: OnChange, on_error: Callable[[ErrorDetails | None], None]
) -> None:
    import anyio.from_thread  # late: few servers' files are watched

    async def changed(paths: tuple[str, ...]) -> None:
        await publish(paths)

    def hand_over(paths: tuple[str, ...]) -> None:
        with contextlib.suppress(concurrent.futures.CancelledError):  # the watch has ended
            anyio.from_thread.run(changed, paths)

    limiter = anyio.to_thread.current_default_thread_limiter()
    limiter.total_tokens += 1  # it occupies a thread permanently
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_set_when_cancelled, thread.stop)
            try:
                await anyio.to_thread.run_sync(thread.run, hand_over)
            except (OSError, RuntimeError) as error:
                on_error(_cannot_watch(thread.folders, error))
            tasks.cancel_scope.cancel()
    finally:
        limiter.total_tokens -= 1


async def _set_when_cancelled(stop: threading.Event) -> None:
    """Stop waiting for the thread immediately: it cannot be cancelled."""
    try:
        # Not sleep_forever: Qt's loop has no timer for an infinite time.
        await anyio.Event().wait()
    finally:
        stop.set()


def _cannot_watch(paths: tuple[str, ...], error: Exception) -> ErrorDetails:
    what = (
        "The system does not allow these files to be watched: the server is not "
        "restarted automatically"
    )
    hint = "Watch fewer folders. Linux limits the number of files a user can watch."
    return ErrorDetails(what, ", ".join(paths), hint, str(error))


def named(paths: Iterable[str]) -> list[str]:
    return [Path(path).name for path in paths][:_NAMED]


def words_of(paths: tuple[str, ...]) -> str:
    """The changed files in a few words."""
    names = named(paths)[:3]
    more = len(paths) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


class SaveWatch(NamedTuple):
    """Reports saved files of a server to `saved`, instead of restarting it at once.

    `scope` is cancelled when the server is removed.
    """

    files: FileWatch
    ignored: frozenset[str]
    saved: Callable[[tuple[str, ...]], None]
    scope: anyio.CancelScope


_log = logging.getLogger(__name__)

_RESTARTED: Final = "You restarted the server"


class Connector:
    """Runs the sessions of a manager in one task group.

    With `reconnects`, it also reconnects servers that ended unexpectedly, and restarts servers
    whose files have changed.
    """

    def __init__(
        self,
        manager: SessionManager,
        clock: Clock,
        on_change: Callable[[str], None],
        on_connected: Callable[[str], None],
        gate: Callable[[ServerDefinition], None],
        secrets: SecretsAtConnect,
        *,
        reconnects: bool,
    ) -> None:
        """`on_change` receives changed servers, `on_connected` those ready for calls.

        `gate` is called with each definition to connect, and raises `UserError` to refuse it.
        `secrets` asks for what a connection needs and nobody saved.
        """
        self._on_connected = on_connected
        self._gate = gate
        self._secrets = secrets
        self._manager = manager
        self._clock = clock
        self._on_change = on_change
        self._reconnects = reconnects
        self._tasks: TaskGroup | None = None
        self._waits: dict[ReconnectPolicy, anyio.CancelScope] = {}
        self._watches: dict[ReconnectPolicy, FileWatcher] = {}
        self._saves: dict[ReconnectPolicy, SaveWatch] = {}
        self._is_closing = False

    def open(self, tasks: TaskGroup | None) -> None:
        """Start all tasks in `tasks` from now on; with None, start no more."""
        self._tasks = tasks

    # Requests

    async def connect(self, name: str) -> None:
        """Connect a server immediately, and wait until it is ready for calls.

        A connected server stays connected. `UserError` if connecting fails; then, as when the user
        disconnects it, secrets are forgotten that were entered for it. Cancelling disconnects.
        """
        if await self._current_session(name) is None:
            self._gate(self._manager.newest(name))
            await self._ask(name)
        try:
            await self._connect(name)
        except UserError:
            self._manager.asked(name).clear()
            raise

    async def _connect(self, name: str) -> None:
        session = await self._current_session(name)
        if session is None:
            session = self._begin(name)
        try:
            await session.ready()
        except anyio.get_cancelled_exc_class():
            session.close()
            raise
        await session.listed()
        self._on_connected(name)

    async def disconnect(self, name: str) -> None:
        """Disconnect a server, if it is connected, and wait until its process is gone."""
        session = self._manager.session(name)
        self._manager.asked(name).clear()
        self._stop_automatic(self._manager.reconnecting(name))
        if session is not None:
            session.close()
            await session.over()

    async def restart(
        self, name: str, reason: str = _RESTARTED, cause: JsonObject | None = None
    ) -> None:
        """End a connected server gracefully, and connect it again; `cause` is recorded.

        `UserError` when it cannot be connected, or was disconnected meanwhile.
        """
        reconnecting, session = self._manager.reconnecting(name), self._manager.session(name)
        self._stop_wait(reconnecting)
        if session is None:
            await self.connect(name)
            return
        await self._ask(name)
        reconnecting.restarting()
        try:
            if not session.is_over:
                if session.current is not None:
                    fields, cause = cause or {"reason": reason}, None
                    await session.current.record_event("restarting", **fields)
                session.close(reason)
                await session.over()
            if not reconnecting.is_restarting or self._is_closing:
                raise UserError(not_connected(name))
            if await self._current_session(name) is None:
                self._begin(name, cause)
            await self.connect(name)
        finally:
            if reconnecting.is_restarting:
                reconnecting.not_restarted()

    async def restart_for(self, paths: tuple[str, ...], name: str) -> None:
        """Restart a server because files changed; errors as for `restart`."""
        reason = f"The server was restarted because files changed: {words_of(paths)}"
        cause = {"reason": reason, "files": named(paths), "count": len(paths)}
        await self.restart(name, reason, cause)

    def stop_reconnecting(self, name: str) -> None:
        """Do not reconnect a server that waits to be reconnected."""
        reconnecting = self._manager.reconnecting(name)
        self._stop_wait(reconnecting)
        if not reconnecting.is_restarting:
            reconnecting.stop()
            self._on_change(name)

    def removed(self, reconnecting: ReconnectPolicy) -> None:
        """Forget a server that was removed."""
        self._stop_automatic(reconnecting)
        saves = self._saves.pop(reconnecting, None)
        if saves is not None:
            saves.scope.cancel()

    def watch_saves(self, reconnecting: ReconnectPolicy, watch: SaveWatch | None) -> None:
        """Report saved files of a server until it is removed; None restarts it for them again."""
        if watch is None:
            if self._saves.pop(reconnecting, None) is None:
                return  # it was removed
        else:
            self._saves[reconnecting] = watch
        if reconnecting in self._watches or self._manager.snapshot(reconnecting.name).state.is_up:
            self._watch(reconnecting.name, reconnecting)

    async def reconnected(self, name: str) -> None:
        reconnecting = self._manager.reconnecting(name)
        while reconnecting.is_reconnecting:
            await reconnecting.changed()

    async def aclose(self) -> None:
        """Disconnect all servers in parallel, and wait until their processes are gone.

        No more servers are connected.
        """
        self._is_closing = True
        for reconnecting in [self._manager.reconnecting(name) for name in self._manager.names()]:
            self._stop_automatic(reconnecting)
        sessions = self._manager.sessions()
        for session in sessions:
            session.close()
        for session in sessions:
            await session.over()

    # Sessions

    async def _ask(self, name: str) -> None:
        """Ask for the secrets of the next connection; `UserError` if they are not entered."""
        definition, held = self._manager.newest(name), self._manager.asked(name)
        await self._secrets.ask(definition, held)
        if self._manager.newest(name).approval_key != definition.approval_key:
            held.clear()  # it was edited meanwhile

    def _begin(self, name: str, cause: JsonObject | None = None) -> Session:
        """Start a new session; it need not be awaited."""
        tasks, reconnecting = self._group(), self._manager.reconnecting(name)
        self._gate(self._manager.newest(name))
        self._stop_wait(reconnecting)
        session = self._manager.begin(name)
        session.cause = cause
        tasks.start_soon(self._live, session, reconnecting, name=f"session {name}")
        self._on_change(name)
        self._watch(name, reconnecting)
        return session

    async def _live(self, session: Session, reconnecting: ReconnectPolicy) -> None:
        await session.run()
        if reconnecting.is_waiting and not self._is_closing:
            self._group().start_soon(self._wait, reconnecting, name=f"mending {reconnecting.name}")

    async def _current_session(self, name: str) -> Session | None:
        self._manager.snapshot(name)
        while (session := self._manager.session(name)) is not None:
            if session.is_usable:
                return session
            if session.is_over:
                return None
            await session.over()
        return None

    def _group(self) -> TaskGroup:
        if self._tasks is None or self._is_closing:
            raise UserError(ErrorDetails("The program is closing"))
        return self._tasks

    # Automatic reconnects

    def _stop_automatic(self, reconnecting: ReconnectPolicy) -> None:
        self._stop_wait(reconnecting)
        watcher = self._watches.pop(reconnecting, None)
        if watcher is not None:
            watcher.scope.cancel()
        reconnecting.stop()

    def _stop_wait(self, reconnecting: ReconnectPolicy) -> None:
        scope = self._waits.pop(reconnecting, None)
        if scope is not None:
            scope.cancel()

    async def _wait(self, reconnecting: ReconnectPolicy) -> None:
        """Reconnect a server when it is due, unless something else happens first."""
        with anyio.CancelScope() as scope:
            self._waits[reconnecting] = scope
            await anyio.sleep(self._left_s(reconnecting))
        if scope.cancel_called or not reconnecting.is_waiting:
            return
        del self._waits[reconnecting]
        if self._is_refused(reconnecting):
            return
        # The server's state shows the outcome; the policy decides how to continue.
        with contextlib.suppress(UserError):
            await self._connect(reconnecting.name)

    def _is_refused(self, reconnecting: ReconnectPolicy) -> bool:
        """Return whether a server must not be reconnected; the policy is given the reason."""
        definition = self._manager.newest(reconnecting.name)
        try:
            self._gate(definition)
            self._secrets.require(definition, self._manager.asked(reconnecting.name))
        except UserError as error:
            reconnecting.refused(error.details)
            self._on_change(reconnecting.name)
            return True
        return False

    def _left_s(self, reconnecting: ReconnectPolicy) -> float:
        due_at = None if reconnecting.retry is None else reconnecting.retry.due_at
        return 0.0 if due_at is None else max(due_at - self._clock.monotonic(), 0.0)

    def _watch(self, name: str, reconnecting: ReconnectPolicy) -> None:
        """Watch the files of a server that is being connected, by its current definition."""
        definition, saves = self._manager.newest(name), self._saves.get(reconnecting)
        ignored = IGNORED
        if saves is not None:
            definition = definition.model_copy(update={"watch": saves.files})
            ignored = saves.ignored
        watcher = self._watches.get(reconnecting)
        if not self._reconnects or (watcher is not None and watcher.definition == definition):
            return
        if watcher is not None:
            del self._watches[reconnecting]
            watcher.scope.cancel()
        self._manager.note_watch(name, None)
        if definition.watch.is_on:
            watcher = self._watches[reconnecting] = FileWatcher(definition, ignored)
            self._manager.note_watch(name, watcher.error)
            tasks = self._group()
            tasks.start_soon(self._attend, watcher, reconnecting, name=f"files of {name}")

    async def _attend(self, watcher: FileWatcher, reconnecting: ReconnectPolicy) -> None:
        async def restart(paths: tuple[str, ...]) -> None:
            await self._on_files(paths, reconnecting)

        def report(error: ErrorDetails | None) -> None:
            if self._watches.get(reconnecting) is watcher:
                self._manager.note_watch(reconnecting.name, error)

        try:
            await watcher.run(restart, report)
        except Exception:  # noqa: BLE001
            # An internal error in watching: changes go unnoticed, everything else continues.
            _log.exception("the watch of %s's files met a defect", reconnecting.name)

    async def _on_files(self, paths: tuple[str, ...], reconnecting: ReconnectPolicy) -> None:
        """Restart a server, whatever its state: a changed file may be the fix."""
        saves = self._saves.get(reconnecting)
        if saves is not None:
            saves.saved(paths)
            return
        # A restart may replace this watch, which must first complete.
        with anyio.CancelScope(shield=True):
            try:
                await self.restart_for(paths, reconnecting.name)
            except UserError as error:
                _log.info("%s is not up after its files changed: %s", reconnecting.name, error)
