"""A file for its owner alone that is there whole, or not at all."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, BinaryIO, Self

from mcp_progress_monitor import private_file
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.recording.format import HEADER, SUFFIX

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


class PrivateFile:
    """Written beside its place and put there at the end.

    A context manager: leaving it by an exception leaves what was there before. Those who do each
    step in a thread call `begin`, `write`, then `finish` or `abandon`. What is no ordinary file,
    such as `/dev/stdout` or a pipe, is written as it comes. A recording is never written over.
    What fails raises `ProblemError`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        self._made: Path | None = None

    def __enter__(self) -> Self:
        """Begin the file."""
        self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Put the file in its place, or take it away."""
        if kind is None:
            self.finish()
        else:
            self.abandon()

    def begin(self) -> None:
        """Make the file, empty, beside its place."""
        try:
            if self.path.exists() and not self.path.is_file() and not self.path.is_dir():
                self._file = self.path.open("wb")
            elif _is_recording(self.path):
                what, hint = "A recording is never written over", "Choose another name."
                raise ProblemError(Problem(what, str(self.path), hint))
            else:
                self._begin()
        except OSError as error:
            raise self._refused(error) from error

    def write(self, data: bytes) -> None:
        """Write some more."""
        if self._file is None or not data:
            return
        try:
            self._file.write(data)
        except OSError as error:
            raise self._refused(error) from error

    def finish(self) -> None:
        """Put the file in its place."""
        try:
            self._end()
        except OSError as failure:
            raise self._refused(failure) from failure
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Take away what was written and is not in its place; nothing after `finish`."""
        with contextlib.suppress(OSError):
            if self._file is not None:
                self._file.close()
        with contextlib.suppress(OSError):
            if self._made is not None:
                self._made.unlink()
        self._file = self._made = None

    def _begin(self) -> None:
        if self.path.is_dir():
            raise IsADirectoryError(0, "It is a folder")
        self._file, self._made = private_file.begin_beside(self.path)

    def _end(self) -> None:
        if self._file is None:
            return
        self._file.flush()
        if self._made is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            self._made.replace(self.path)
            self._made = None

    def _refused(self, error: OSError) -> ProblemError:
        hint = "Choose another folder, or make room on the disk."
        reason = error.strerror or str(error)
        return ProblemError(Problem("The file cannot be written", str(self.path), hint, reason))


def _is_recording(path: Path) -> bool:
    """Whether a recording is there, also one under another name or without its header."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return path.suffix == SUFFIX or file.read(len(HEADER)) == HEADER
