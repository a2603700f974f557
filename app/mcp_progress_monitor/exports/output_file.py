"""An output file, written atomically and readable only by its owner."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, BinaryIO, Self

from mcp_progress_monitor import private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.recording.format import HEADER, SUFFIX

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


class OutputFile:
    """A temporary file that replaces the target at the end.

    A context manager: on an exception, the target is unchanged. To run the steps in threads, call
    `begin`, `write`, and `finish` or `abandon`. Targets that are not regular files, such as
    `/dev/stdout` or a pipe, are written directly. Recordings are never overwritten. Errors are
    `UserError`s.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        self._temporary: Path | None = None

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Replace the target, or delete the temporary file."""
        if kind is None:
            self.finish()
        else:
            self.abandon()

    def begin(self) -> None:
        try:
            if self.path.exists() and not self.path.is_file() and not self.path.is_dir():
                self._file = self.path.open("wb")
            elif _is_recording(self.path):
                what, hint = "Cannot overwrite a recording", "Choose another name."
                raise UserError(ErrorDetails(what, str(self.path), hint))
            else:
                self._begin()
        except OSError as error:
            raise self._refused(error) from error

    def write(self, data: bytes) -> None:
        if self._file is None or not data:
            return
        try:
            self._file.write(data)
        except OSError as error:
            raise self._refused(error) from error

    def finish(self) -> None:
        try:
            self._end()
        except OSError as failure:
            raise self._refused(failure) from failure
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Delete the temporary file; no effect after `finish`."""
        with contextlib.suppress(OSError):
            if self._file is not None:
                self._file.close()
        with contextlib.suppress(OSError):
            if self._temporary is not None:
                self._temporary.unlink()
        self._file = self._temporary = None

    def _begin(self) -> None:
        if self.path.is_dir():
            raise IsADirectoryError(0, "This is a folder")
        self._file, self._temporary = private_file.begin_beside(self.path)

    def _end(self) -> None:
        if self._file is None:
            return
        self._file.flush()
        if self._temporary is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            self._temporary.replace(self.path)
            self._temporary = None

    def _refused(self, error: OSError) -> UserError:
        hint = "Choose another folder, or free disk space."
        reason = error.strerror or str(error)
        return UserError(ErrorDetails("Cannot write the file", str(self.path), hint, reason))


def _is_recording(path: Path) -> bool:
    """Whether the file is a recording, by its suffix or its header."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return path.suffix == SUFFIX or file.read(len(HEADER)) == HEADER
