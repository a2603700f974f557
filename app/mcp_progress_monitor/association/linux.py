"""Linux and its like: files below the user's data folder, as freedesktop.org has it.

A MIME type (shared-mime-info specification 0.21), a program that opens it (Desktop Entry
specification 1.5), an icon for its files (Icon Theme specification 0.13).
"""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.association.outcome import Outcome
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_DESKTOP: Final = "mcp-progress-monitor-open.desktop"
_FILES: Final = {
    # shipped file: where it goes, below the data folder
    f"association/{_DESKTOP}": f"applications/{_DESKTOP}",
    "association/mcp-recording.xml": "mime/packages/mcp-progress-monitor.xml",
    "association/mcp-recording.svg": (
        "icons/hicolor/scalable/mimetypes/application-x-mcp-recording.svg"
    ),
    "icons/app.svg": "icons/hicolor/scalable/apps/mcp-progress-monitor.svg",
}
_COMMAND: Final = "@COMMAND@"
_TOOLS: Final = {
    # program: its folder below the data folder, the package that has it
    "update-mime-database": ("mime", "shared-mime-info"),
    "update-desktop-database": ("applications", "desktop-file-utils"),
}
_TOOL_S: Final = 60.0
_RESERVED: Final = set(" \t\n\"'\\><~|&;$*?#()`=")


class LinuxAssociation:
    """Writes below `data_home`; `command` are the words that start this program."""

    def __init__(self, data_home: Path, command: Sequence[str]) -> None:
        self._data_home = data_home
        self._command = command

    def add(self) -> Outcome:
        """Write the four files and have the desktop read them; `ProblemError` when that fails."""
        done = [self._write(source, place) for source, place in _FILES.items()]
        return self._told(done)

    def remove(self) -> Outcome:
        """Delete those of the files that are there; `ProblemError` when that fails."""
        done = [self._delete(place) for place in _FILES.values()]
        found = [words for words in done if words]
        return self._told(found) if found else Outcome(("There was no association to remove.",))

    def _write(self, source: str, place: str) -> str:
        target = self._data_home / place
        content = resource(source).read_text(encoding="utf-8")
        content = content.replace(_COMMAND, exec_line([*self._command, "open"]))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, encoding="utf-8")
        except OSError as error:
            raise _refused(target, error) from error
        return f"Written: {target}"

    def _delete(self, place: str) -> str:
        target = self._data_home / place
        try:
            target.unlink()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise _refused(target, error) from error
        return f"Removed: {target}"

    def _told(self, done: list[str]) -> Outcome:
        """Have the desktop's indexes made anew where there are programs for that."""
        to_do: list[str] = []
        for tool, (folder, package) in _TOOLS.items():
            found, target = shutil.which(tool), self._data_home / folder
            if found is None:
                to_do.append(_missing(tool, package, target))
            elif (error := _failure([found, str(target)])) is None:
                done.append(f"Run: {tool} {target}")
            else:
                to_do.append(f"{tool} failed ({error}). Run it yourself: {tool} {target}")
        return Outcome(tuple(done), tuple(to_do))


def exec_line(words: Sequence[str]) -> str:
    r"""Quote a command for `Exec`: in double quotes, then as a value, which doubles backslashes.

    A percent sign would begin a field code, so it is doubled as well.
    """
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    word = word.replace("%", "%%")
    if word and not _RESERVED & set(word):
        return word
    for character in '\\"`$':
        word = word.replace(character, "\\" + character)
    return '"' + word.replace("\\", "\\\\").replace("\n", "\\n") + '"'


def _failure(command: Sequence[str]) -> str | None:
    """Run a program; None when it did well, else what it said."""
    try:
        ran = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
            errors="replace",
            timeout=_TOOL_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if ran.returncode == 0:
        return None
    return ran.stderr.strip()[-500:] or f"exit code {ran.returncode}"


def _missing(tool: str, package: str, folder: Path) -> str:
    return (
        f"{tool} is not installed, so some desktops will not notice. Install the package"
        f" {package}, then run: {tool} {folder}"
    )


def _refused(target: Path, error: OSError) -> ProblemError:
    hint = "Set XDG_DATA_HOME to a folder that you can write to, or give yourself the right to."
    what = "Recordings cannot be associated: a file cannot be written or removed"
    return ProblemError(Problem(what, str(target), hint, error.strerror or str(error)))
