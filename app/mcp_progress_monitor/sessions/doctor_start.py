"""What the disk tells of why a command cannot be run, and what its end tells of why it ended."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.looking import Sight, expanded, is_closed, is_file, is_folder, sight_of
from mcp_progress_monitor.sessions.doctor import Cause
from mcp_progress_monitor.sessions.doctor_output import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.sessions.doctor import DoctorReport

_ELSEWHERE: Final = (
    "~/.local/bin",
    "~/.cargo/bin",
    "~/.volta/bin",
    "~/.bun/bin",
    "~/.deno/bin",
    "~/.asdf/shims",
    "~/.local/share/mise/shims",
    "~/.pyenv/shims",
    "~/.nvm/versions/node/*/bin",
    "~/.local/share/fnm/node-versions/*/installation/bin",
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/snap/bin",
)
"""Where installers put programs that a program started from the desktop does not find."""
_SCRIPT: Final = re.compile(r"^[^-].*\.(py|js|mjs|cjs|ts|rb|sh|jar|exe)$", re.IGNORECASE)
_UNEXPANDED: Final = re.compile(r"^~[/\\]|\$(HOME|USER|PWD)\b|%(APPDATA|USERPROFILE|HOME)%")
_UNSEEN: Final = frozenset({Sight.NOTHING, Sight.HIDDEN})
_INTERPRETER_BYTES: Final = 256
_SIGNALS: Final = {
    "SIGSEGV": ("It crashed", "That is a defect in it or in a native module it uses: update both."),
    "SIGBUS": ("It crashed", "That is a defect in it or in a native module it uses: update both."),
    "SIGABRT": ("It gave up by itself", "Its last lines on standard error may tell why."),
    "SIGILL": (
        "It has instructions that this processor does not know",
        "Install the build for this machine.",
    ),
    "SIGKILL": (
        "It was killed from outside",
        "When memory runs out, the system ends the largest program: see the system's log.",
    ),
    "SIGTERM": ("Another program ended it", "Find out which: a supervisor, a script, a container."),
}


def causes(report: DoctorReport) -> Iterator[Cause]:
    """Causes whose evidence is on the disk."""
    yield from _of_folder(report)
    yield from _of_command(report)
    for word in report.command:
        if _UNEXPANDED.search(word):
            yield Cause(
                f"No shell is involved, so that this is passed on as it stands: {quoted(word)}",
                "Write the whole path.",
            )
            break
    yield from _of_scripts(report)


def _of_folder(report: DoctorReport) -> Iterator[Cause]:
    if report.folder is None:
        return
    seen = sight_of(report.folder)
    what = seen.value if seen is not Sight.FOLDER else "may not be entered"
    if seen is not Sight.FOLDER or is_closed(report.folder):
        yield Cause(
            f"The folder to start it in {what}: {quoted(report.folder)}",
            "Correct the folder in the server's definition.",
        )


def _of_command(report: DoctorReport) -> Iterator[Cause]:
    command = report.command[0] if report.command else ""
    if not command:
        return
    if report.found is not None:
        yield from _of_file(Path(report.found))
    elif " " in command.strip():
        yield Cause(
            f"The command has its arguments in it: {quoted(command)}",
            "Give the program alone as the command, and each argument on its own.",
        )
    elif report.searched:
        yield _not_on_path(command, report)
    elif sight_of(Path(report.folder or ".", command)) is Sight.HIDDEN:
        hint = "Correct the path, or let yourself into the folders that it names."
        what = "The command cannot be looked at: a folder on the way to it may not be entered"
        yield Cause(f"{what}: {quoted(command)}", hint)
    else:
        hint = "Correct the path, or install the program."
        yield Cause(f"There is no file of that name: {quoted(command)}", hint)


def _not_on_path(command: str, report: DoctorReport) -> Cause:
    count = len(report.searched)
    what = f"None of the {count} folders in PATH has {quoted(command)}"
    near = _elsewhere(command)
    if near is not None:
        hint = "A program started from the desktop has a shorter PATH than your terminal. "
        return Cause(f"{what}, but there is {near}", f"{hint}Give that whole path as the command.")
    hint = (
        "Install it. If it works in a terminal, a version manager such as nvm or pyenv puts it "
        "into PATH only there: ask there (which, where) for its whole path, and give that."
    )
    return Cause(what, hint)


def _elsewhere(command: str) -> str | None:
    """Where installers usually put this program, if it is there."""
    for pattern in _ELSEWHERE:
        place = expanded(Path(pattern))
        star = next((at for at, part in enumerate(place.parts) if part == "*"), None)
        root = place if star is None else Path(*place.parts[:star])
        tail = "" if star is None else str(Path(*place.parts[star:]))
        try:
            folders = sorted(root.glob(tail), reverse=True) if tail else [root]
        except OSError:
            continue
        for folder in folders:
            if os.access(folder / command, os.X_OK) and is_file(folder / command):
                return str(folder / command)
    return None


def _of_file(path: Path) -> Iterator[Cause]:
    if is_folder(path):
        yield Cause(f"The command is a folder: {quoted(str(path))}", "Name a program inside it.")
        return
    if not os.access(path, os.X_OK):
        what = f"The file may not be executed: {quoted(str(path))}"
        yield Cause(what, "Make it executable (chmod +x), or start it with its interpreter.")
    interpreter = _interpreter(path)
    if interpreter and interpreter.startswith("/") and sight_of(interpreter) is Sight.NOTHING:
        what = f"The interpreter that its first line names does not exist: {quoted(interpreter)}"
        yield Cause(what, "Install it, or correct the first line of the script.")


def _interpreter(path: Path) -> str:
    try:
        with path.open("rb") as file:
            first = file.readline(_INTERPRETER_BYTES)
    except OSError:
        return ""
    if not first.startswith(b"#!"):
        return ""
    # A carriage return stays: a script with the line ends of Windows names no interpreter.
    words = first[2:].rstrip(b"\n").decode(errors="replace").strip(" \t").split(" ")
    return words[0]


def _of_scripts(report: DoctorReport) -> Iterator[Cause]:
    """A file among the arguments that is not there; packages and modules are none."""
    for word in report.command[1:]:
        if _SCRIPT.match(word) and "://" not in word and not word.startswith("@"):
            path = Path(report.folder or ".", word)
            seen = sight_of(path)
            if seen in _UNSEEN:
                what = f"A file among the arguments {seen.value}: {quoted(str(path))}"
                yield Cause(what, "Correct it: relative paths count from the server's folder.")
            return


def causes_of_end(report: DoctorReport) -> Iterator[Cause]:
    """Causes whose evidence is how the process ended."""
    code = report.exit_code
    if code is None:
        return
    if code < 0:
        yield from _of_signal(-code)
    elif code == 0 and not report.first_bytes:
        yield Cause(
            "It ended at once, without an error and without a message (exit code 0)",
            "It may be a command that does one thing and ends, or need an argument that starts "
            "its MCP server (serve, mcp, stdio).",
        )
    elif code in {126, 127}:
        what = "A shell did not find" if code == 127 else "A shell may not execute"
        yield Cause(
            f"{what} what it was to run (exit code {code})",
            "Check the commands inside the script, and the PATH it has here.",
        )
    elif code > 0 and not report.stderr_tail:
        yield Cause(
            f"It ended with an error and said nothing of it (exit code {code})",
            "Run its command in a terminal: it may tell there what it needs.",
        )


def _of_signal(number: int) -> Iterator[Cause]:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return
    if name in _SIGNALS:
        what, hint = _SIGNALS[name]
        yield Cause(f"{what} ({name})", hint)
