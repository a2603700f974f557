"""Taps in the configurations of this computer's clients: find, install, remove, list running.

Claude Code rewrites its own file while it runs: then only its own command may change it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import urllib.parse
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import bundle, formatting
from mcp_progress_monitor.catalogue import tap_install
from mcp_progress_monitor.catalogue.client_files import found_files
from mcp_progress_monitor.catalogue.clients import CLAUDE_CODE
from mcp_progress_monitor.catalogue.tap_install import servers_of
from mcp_progress_monitor.catalogue.taps import shown_name
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import home, is_folder
from mcp_progress_monitor.protocol.secrets import is_secret_setting, shown_arguments
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.format import HEADER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcp_progress_monitor.catalogue.tap_install import ClientServer, FileChange

LIVE: Final = ("recordings", "live")  # where in the data folder taps record
_HEADER_BYTES: Final = 64 * 1024
_COMMAND_S: Final = 60.0
_NAMES: Final = frozenset({"claude", "claude.exe"})
_DESKTOP: Final = ("AnthropicClaude", "Claude_", "Claude.app")
"""Parts of the path of Claude Desktop, whose program has the same name on Windows."""
_KEPT: Final = frozenset({"type", "command", "args", "env"})
"""Members of an entry that `claude mcp add-json` keeps; it drops all others."""


class FoundServers(NamedTuple):
    """The servers of all clients on this computer, and errors of files that cannot be read."""

    servers: list[ClientServer]
    errors: list[ErrorDetails]


class LiveTap(NamedTuple):
    """A tap that is recording; `client` is None if no installation started it.

    `starter` is the program that started it. `memory_bytes` is what its server uses if the client
    that started it is gone.
    """

    name: str
    client: str | None
    pid: int
    path: Path
    begun_when: float
    starter: str = ""
    memory_bytes: int | None = None

    @property
    def is_orphan(self) -> bool:
        """True if the client that started it is gone."""
        return self.memory_bytes is not None

    def is_of(self, server: ClientServer) -> bool:
        return self.client == server.client.title and self.name == shown_name(server.name)


class AppliedChange(NamedTuple):
    """A change that was made. `kept` is the copy of the file made before the first tap."""

    kept: Path | None = None
    by_command: bool = False


def find_servers(project: Path | None = None) -> FoundServers:
    """All servers of the known clients on this computer, and in a project's folder."""
    found = FoundServers([], [])
    for file in found_files(home(), os.environ, sys.platform, project):
        try:
            found.servers.extend(servers_of(file))
        except UserError as error:
            found.errors.append(error.details)
        except FileNotFoundError:  # deleted meanwhile
            continue
    return found


def live_taps(data_dirs: Iterable[Path]) -> list[LiveTap]:
    """The taps that are recording into these data folders."""
    return [
        tap
        for folder in dict.fromkeys(data_dirs)
        for entry in RecordingsFolder(folder.joinpath(*LIVE)).entries()
        if entry.is_in_use and (tap := _live_tap(entry.path, entry.begun_when)) is not None
    ]


def _live_tap(path: Path, begun_when: float) -> LiveTap | None:
    """Read a live tap from the first two lines of its recording: header and first event."""
    try:
        with path.open("rb") as file:
            header, first = file.readline(_HEADER_BYTES), file.readline(_HEADER_BYTES)
        tap = json.loads(header.removeprefix(HEADER))["tap"]
        words = first.split(b" ", 4)
        connection = urllib.parse.unquote(words[2].decode())
        name = connection.rpartition("#")[0] or connection
        client = tap.get("client")
        client = client if isinstance(client, str) else None
        found = LiveTap(name, client, int(tap["pid"]), path, begun_when)
        client_pid, now = tap.get("parent"), process_usage(found.pid)
        if now is not None and now.parent == client_pid:
            starter = process_usage(now.parent)
            return found if starter is None else found._replace(starter=starter.name)
        if tap.get("transport") != "stdio" or now is None:
            return found
        server_pid = json.loads(words[4]).get("pid")
        server = process_usage(server_pid) if type(server_pid) is int else None
        if server is None or server.parent != found.pid:
            return found  # these ids are a container's, or its server has just ended
        return found._replace(memory_bytes=server.memory_bytes)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


class ProcessUsage(NamedTuple):
    """The name of a process, its parent, and the memory that it uses."""

    name: str
    parent: int
    memory_bytes: int


def process_usage(pid: int) -> ProcessUsage | None:
    """Look a process up; None if it is gone, or the system does not tell."""
    if sys.platform != "linux":
        import psutil

        try:
            process = psutil.Process(pid)
            return ProcessUsage(process.name(), process.ppid(), process.memory_info().rss)
        except psutil.Error:
            return None
    try:
        # The name, in parentheses, may contain blanks.
        begin, _, rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")
        name, fields = begin.partition("(")[2], rest.split()
        return ProcessUsage(name, int(fields[1]), int(fields[21]) * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, IndexError):
        return None


def apply(change: FileChange) -> AppliedChange:
    """Make a change, through Claude Code's own command while it runs.

    Raises:
        UserError: it cannot be made now; includes what to do.
    """
    if change.client is CLAUDE_CODE and not any(each.is_shared for each in change.servers):
        running = claude_code_processes()
        if running:
            _by_command(change, running)
            return AppliedChange(by_command=True)
    return AppliedChange(tap_install.save(change))


def claude_code_processes() -> list[int]:
    """Process ids of Claude Code; empty where the system does not tell."""
    return sorted(pid for pid, words in command_lines() if _is_claude_code(words))


def _is_claude_code(words: Sequence[str]) -> bool:
    """Return whether a command line is Claude Code's: its program, or Node.js with its script."""
    if any(part in word for part in _DESKTOP for word in words[:1]):
        return False
    names = [PurePath(word.replace("\\", "/")).name for word in words[:2]]
    is_script = any("@anthropic-ai/claude-code" in word.replace("\\", "/") for word in words[1:2])
    return names[:1] in [[name] for name in _NAMES] or is_script or names[1:2] == ["claude"]


def command_lines() -> Iterator[tuple[int, list[str]]]:
    """All processes with their command lines, if the system reveals them."""
    if sys.platform != "linux":
        import psutil

        for process in psutil.process_iter(["cmdline"]):
            yield process.pid, process.info["cmdline"] or []
        return
    with contextlib.suppress(OSError), os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdecimal():
                with contextlib.suppress(OSError):
                    words = Path(entry.path, "cmdline").read_bytes().rstrip(b"\0")
                    yield int(entry.name), words.decode(errors="replace").split("\0")


def _by_command(change: FileChange, running: Sequence[int]) -> None:
    """Let `claude mcp` replace each entry."""
    program = _claude()
    for server, (before, _after) in zip(change.servers, change.entries, strict=True):
        reason = _why_not_by_command(server, before)
        if program is None:
            reason = "its command, claude, was not found"
        if reason:
            count = formatting.count(len(running), "process", "processes")
            what = f"Claude Code is running ({count}) and may overwrite this change"
            hint = "Close Claude Code and try again."
            detail = f"{formatting.one_line(server.name, 60)}: {reason}"
            raise UserError(ErrorDetails(what, str(change.path), hint, detail))
    for server, (before, after) in zip(change.servers, change.entries, strict=True):
        _exchange(str(program), server, before, after)


def _claude() -> str | None:
    """Claude Code's command, found even if a window lacks the PATH of the user's shell."""
    own = home()
    folders = [Path("/opt/homebrew/bin"), Path("/usr/local/bin")]
    folders += [] if own is None else [own / ".local" / "bin", own / ".claude" / "local"]
    return shutil.which("claude") or shutil.which("claude", path=os.pathsep.join(map(str, folders)))


def _why_not_by_command(server: ClientServer, entry: Mapping[str, Any]) -> str:
    """Say why Claude Code's own command cannot write an entry; "" if it can."""
    lost = sorted(entry.keys() - _KEPT)
    if lost:
        return f"claude mcp add-json would drop {', '.join(lost)}"
    env, args = entry.get("env") or {}, entry.get("args") or []
    if any(map(is_secret_setting, env)) or list(shown_arguments(args)) != list(args):
        return "it has secrets, which other users could see on a command line"
    if server.project is not None and not is_folder(server.project):
        return f"its project's folder is gone: {server.project}"
    return ""


def _exchange(
    program: str, server: ClientServer, before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    scope = "user" if server.project is None else "local"

    def add(entry: Mapping[str, Any]) -> str:
        text = json.dumps({"type": "stdio", **entry})
        return _run(program, server, "add-json", "--scope", scope, "--", server.name, text)

    failed = _run(program, server, "remove", "--scope", scope, "--", server.name)
    if not failed:
        failed = add(after)
        if failed:
            add(before)
    if failed:
        what = f"claude mcp could not change {formatting.one_line(server.name, 60)!r}"
        hint = "Close Claude Code and try again."
        raise UserError(ErrorDetails(what, str(server.path), hint, formatting.visible(failed)))


def _run(program: str, server: ClientServer, *words: str) -> str:
    """Run `claude mcp`; "" on success, else its output."""
    env = bundle.user_environment()
    own = home()
    if own is not None and server.path.parent != own:
        env["CLAUDE_CONFIG_DIR"] = str(server.path.parent)
    else:
        env.pop("CLAUDE_CONFIG_DIR", None)
    try:
        done = subprocess.run(
            [program, "mcp", *words],
            cwd=server.project,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_COMMAND_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    said = (done.stderr or done.stdout).strip()
    return "" if done.returncode == 0 else said or f"exit code {done.returncode}"
