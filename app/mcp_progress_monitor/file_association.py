"""Associates recordings with this program, so that a double-click opens them."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from mcp_progress_monitor import private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.paths import program_command, resource
from mcp_progress_monitor.recording.format import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Sequence


class AssociationResult(NamedTuple):
    """`done` are lines on what was written, removed or run; `to_do` are steps for the user."""

    done: tuple[str, ...] = ()
    to_do: tuple[str, ...] = ()

    def as_text(self) -> str:
        return "\n".join((*self.done, *self.to_do))


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
    """Writes below `data_home`; `command` starts this program."""

    def __init__(self, data_home: Path, command: Sequence[str]) -> None:
        self._data_home = data_home
        self._command = command

    def add(self) -> AssociationResult:
        """Write the four files and update the desktop's indexes; `UserError` on failure."""
        done = [self._write(source, place) for source, place in _FILES.items()]
        return self._result(done)

    def remove(self) -> AssociationResult:
        """Delete the files that exist; `UserError` on failure."""
        done = [self._delete(place) for place in _FILES.values()]
        found = [words for words in done if words]
        return self._result(found) if found else AssociationResult(("No association to remove.",))

    def _write(self, source: str, place: str) -> str:
        target = self._data_home / place
        content = resource(source).read_text(encoding="utf-8")
        content = content.replace(_COMMAND, exec_line([*self._command, "open"]))
        try:
            private_file.make_folder(target.parent)
            target.write_text(content, encoding="utf-8")
        except OSError as error:
            raise _linux_refused(target, error) from error
        return f"Wrote {target}"

    def _delete(self, place: str) -> str:
        target = self._data_home / place
        try:
            target.unlink()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise _linux_refused(target, error) from error
        return f"Removed {target}"

    def _result(self, done: list[str]) -> AssociationResult:
        """Update the desktop's indexes if the programs for that are installed."""
        to_do: list[str] = []
        for tool, (folder, package) in _TOOLS.items():
            found, target = shutil.which(tool), self._data_home / folder
            if found is None:
                to_do.append(_missing(tool, package, target))
            elif (error := _failure([found, str(target)])) is None:
                done.append(f"Ran {tool} {target}")
            else:
                to_do.append(f"{tool} failed ({error}). To try again: {tool} {target}")
        return AssociationResult(tuple(done), tuple(to_do))


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
    """Run a program; None on success, otherwise its error."""
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
        f"{tool} is not installed, so some desktops may not use the association. Install the"
        f" package {package}, then run: {tool} {folder}"
    )


def _linux_refused(target: Path, error: OSError) -> UserError:
    hint = "Change the folder's permissions, or set XDG_DATA_HOME to a writable folder."
    what = "Cannot change the file association: a file cannot be written or removed"
    return UserError(ErrorDetails(what, str(target), hint, error.strerror or str(error)))


class MacosAssociation:
    """Changes nothing; `command` starts this program."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command

    def add(self) -> AssociationResult:
        line = f'exec {shlex.join([*self._command, "open"])} "$1"'
        return AssociationResult(
            to_do=(
                (
                    "macOS opens files only with application bundles, and this program is a"
                    " command. Nothing was changed. To set this up manually:"
                ),
                (
                    "1. In Automator, create an Application with the action Run Shell Script. Set"
                    f' "Pass input" to "as arguments", and enter: {line}'
                ),
                "2. Save it to Applications, for example as MCP Recording.",
                (
                    f"3. In Finder, select a {SUFFIX} file and choose File > Get Info. Under Open"
                    " with, choose that application, then click Change All."
                ),
            )
        )

    def remove(self) -> AssociationResult:
        return AssociationResult(
            to_do=(
                (
                    "Nothing was changed. To remove the association, move the application that you"
                    " created with Automator to the Trash."
                ),
            )
        )


_CLASSES: Final = "Software\\Classes"
_OURS: Final = "McpProgressMonitor.Recording"
_TYPE: Final = f"{_CLASSES}\\{_OURS}"
_ENDING: Final = f"{_CLASSES}\\{SUFFIX}"


class Registry(Protocol):
    """Access to the registry below `HKEY_CURRENT_USER`; raises `OSError`."""

    def value(self, key: str) -> str | None:
        """The default value of a key; None if there is none."""

    def set_value(self, key: str, name: str, value: str) -> None:
        """Create a key and set a value; the empty name sets its default."""

    def delete(self, key: str) -> bool:
        """Delete a key with all its subkeys; False if there was none."""

    def delete_value(self, key: str, name: str) -> bool:
        """Delete one value of a key; False if there was none."""

    def announce(self) -> None:
        """Notify the desktop that associations changed."""


class WindowsAssociation:
    """`command` starts this program without a console."""

    def __init__(self, registry: Registry, command: Sequence[str]) -> None:
        self._registry = registry
        self._command = command

    def add(self) -> AssociationResult:
        """Register our type for the suffix and its command; `UserError` on failure."""
        command = subprocess.list2cmdline([*self._command, "open"]) + ' "%1"'
        icon = str(resource("association/mcp-recording.ico"))
        try:
            self._registry.set_value(_TYPE, "", "MCP recording")
            self._registry.set_value(f"{_TYPE}\\DefaultIcon", "", icon)
            self._registry.set_value(f"{_TYPE}\\shell\\open\\command", "", command)
            self._registry.set_value(f"{_ENDING}\\OpenWithProgids", _OURS, "")
            self._registry.set_value(_ENDING, "", _OURS)
            self._registry.announce()
        except OSError as error:
            raise _windows_refused(error) from error
        return AssociationResult(
            (rf"Updated registry key HKCU\{_TYPE}", rf"Updated registry key HKCU\{_ENDING}"),
            ("If recordings open in another program, change it in Settings > Default apps.",),
        )

    def remove(self) -> AssociationResult:
        """Delete our keys; a suffix that now belongs to another program is kept."""
        try:
            keys = [key for key in (_TYPE, self._ending()) if key and self._registry.delete(key)]
            self._registry.delete_value(f"{_ENDING}\\OpenWithProgids", _OURS)
            self._registry.announce()
        except OSError as error:
            raise _windows_refused(error) from error
        done = tuple(rf"Removed HKEY_CURRENT_USER\{key}" for key in keys)
        return AssociationResult(done or ("No association to remove.",))

    def _ending(self) -> str:
        return _ENDING if self._registry.value(_ENDING) == _OURS else ""


def windowless(command: Sequence[str]) -> list[str]:
    """The same command with pythonw, which opens no console, if installed."""
    python, *arguments = command
    quiet = Path(python).with_name("pythonw.exe")
    return [str(quiet), *arguments] if arguments and quiet.is_file() else list(command)


def _windows_refused(error: OSError) -> UserError:
    what = "Cannot change the file association: the registry denies access"
    hint = "Ask your administrator, or open recordings from within the program."
    return UserError(ErrorDetails(what, f"HKEY_CURRENT_USER\\{_CLASSES}", hint, str(error)))


class Association(Protocol):
    """Adds or removes the file association; `UserError` on failure."""

    def add(self) -> AssociationResult:
        """Associate recordings with this program, replacing an earlier association."""

    def remove(self) -> AssociationResult:
        """Undo `add`; no error if there is nothing to undo."""


def association_here() -> Association:
    command = program_command()
    if sys.platform == "win32":
        from mcp_progress_monitor.windows_registry import WindowsRegistry

        return WindowsAssociation(WindowsRegistry(), windowless(command))
    if sys.platform == "darwin":
        return MacosAssociation(command)
    from mcp_progress_monitor.paths import data_home

    return LinuxAssociation(data_home(), command)
