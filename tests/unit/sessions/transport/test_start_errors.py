"""Why a command could not be started, as the disk shows it."""

import errno
from pathlib import Path

from mcp_progress_monitor.sessions.transport.start_errors import folder_error, start_error
from mcp_progress_monitor.snapshots.definitions import StdioDefinition


def server(command: str, cwd: Path | None = None) -> StdioDefinition:
    return StdioDefinition(name="s", command=command, cwd=None if cwd is None else str(cwd))


def folder_arguments(folder: Path) -> str:
    error = folder_error(server("run", folder))
    return "" if error is None else error.what


def test_a_folder_to_start_in_that_cannot_be_used_is_reported(closed_dir: Path) -> None:
    parent = closed_dir.parent
    (parent / "file").touch()
    assert not folder_arguments(parent)
    assert folder_arguments(parent / "none").endswith("does not exist")
    assert folder_arguments(parent / "file").endswith("is a file")
    assert folder_arguments(closed_dir).startswith("No permission to access")
    assert "cannot be accessed" in folder_arguments(closed_dir / "within")


def test_a_command_in_a_closed_folder_is_not_said_to_lack_a_right(closed_dir: Path) -> None:
    path = closed_dir / "within"
    refused = PermissionError(errno.EACCES, "Permission denied")
    error = start_error(server(str(path)), {}, refused)
    assert "permission denied for a folder on its path" in error.what
    assert error.where == str(path)
    missing = FileNotFoundError(errno.ENOENT, "No such file")
    error = start_error(server(str(path)), {}, missing)
    assert error.what == "Cannot start the server: file not found"
