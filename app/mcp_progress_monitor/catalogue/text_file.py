"""Text files of the user and of other programs: read within bounds, written whole and private."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import private_file, text
from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_BYTES: Final = 16 * 1024 * 1024
"""A file that is larger is no configuration, and is not read."""

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""What a file in another encoding begins with; the longer before the shorter."""


def read_bytes(path: Path) -> bytes:
    """All of a file.

    Raises:
        ProblemError: it cannot be read, is no ordinary file, or is larger than `LARGEST_BYTES`.
        FileNotFoundError: there is none.
    """
    try:
        if path.exists() and not path.is_file():
            # A pipe or a device would be waited for without end.
            raise ProblemError(_unreadable(path, "it is a folder or a device, not a file"))
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ProblemError(_unreadable(path, reason)) from error
    if len(content) > LARGEST_BYTES:
        limit = text.size(LARGEST_BYTES)
        what = f"The file is larger than {limit}, which no configuration is"
        raise ProblemError(Problem(what, str(path), "Check that it is the right file."))
    return content


def read_text(path: Path) -> str:
    """A file's text; `ProblemError` as well when there is none, or when it is no text."""
    try:
        return decoded(read_bytes(path), path)
    except FileNotFoundError as error:
        raise ProblemError(_unreadable(path, error.strerror or str(error))) from error


class UnwritableError(ProblemError):
    """A file cannot be written: the disk, a folder or its rights are why."""


def decoded(content: bytes, path: Path) -> str:
    """UTF-8, or what a byte order mark says; a mark is left out.

    Raises:
        ProblemError: it is another encoding; with line and column of the first byte of that.
    """
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode(encoding, "replace")
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        problem = Problem(
            f"The file is not {encoding.removesuffix('-sig').upper()} text",
            f"{path}, line {line}, column {column}",
            "Save it as UTF-8.",
        )
        raise ProblemError(problem) from error


def write_private(path: Path, content: bytes) -> None:
    """Put a file in its place, whole or not at all, readable by its owner alone.

    A folder that is missing is made, for its owner alone as well; a link stays, and what it points
    to is written.

    Raises:
        ProblemError: it cannot be written; what was there before is there still.
    """
    try:
        place = path.resolve()
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        private_file.put(place, content)
    except OSError as error:
        hint = "Choose another folder, or make room on the disk."
        reason = error.strerror or str(error)
        raise UnwritableError(
            Problem("The file cannot be written", str(path), hint, reason)
        ) from error


def _unreadable(path: Path, reason: str) -> Problem:
    hint = "Check the path and that you may read the file."
    return Problem("The configuration file cannot be read", str(path), hint, reason)
