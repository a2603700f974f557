"""The source of a followed recording: a growing file, or standard input."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.format import HEADER
from mcp_progress_monitor.recording.growing import has_header
from mcp_progress_monitor.recording.mirror import LONGEST_BANNER, MOST_BYTES
from mcp_progress_monitor.recording.spool import SPOOL_NAME, SpoolFolder, spool_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import BinaryIO

_READ_BYTES: Final = 64 * 1024
_POLL_S: Final = 0.02
_STDIN: Final = "standard input"
_HEADER: Final = re.compile(rb"^" + re.escape(HEADER), re.MULTILINE)
_BEGINS: Final = re.compile(rb"#|\d{4}-\d\d-\d\dT\d\d:|\d{9,11}\.\d{6} ")
"""The beginning of a recording or an excerpt of one, which has no header."""


class FollowedRecording(NamedTuple):
    """A growing recording: its path, whether it has ended, and the errors so far."""

    path: Path
    is_over: Callable[[], bool]
    errors: Callable[[], list[ErrorDetails]] = list


def followed_file(path: Path) -> FollowedRecording:
    """Follow the recording at `path` until the program that writes it releases its lock.

    A file without a lock, such as a copy that another program appends to, never ends.
    """
    folder = RecordingsFolder(path.parent)
    was_written = False

    def is_over() -> bool:
        nonlocal was_written
        is_written = folder.is_written(path)
        was_written |= is_written
        return was_written and not is_written

    is_over()
    return FollowedRecording(path, is_over)


class Spool:
    """Copies a stream into a temporary file, which can be read repeatedly, until `close`.

    Files left by programs that were killed are deleted when the next spool is made.
    """

    def __init__(self, stream: BinaryIO, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        """Make the file in a private folder within `folder`, and start to read `stream`.

        Reading ends with an error after `most_bytes`. `UserError` if the file cannot be made.
        """
        self._most_bytes = most_bytes
        self._folder = SpoolFolder(folder, _STDIN)
        self.path: Final = self._folder.path / SPOOL_NAME
        try:
            self.path.touch(mode=0o600)
            self._file = self.path.open("wb", buffering=0)
        except OSError as error:
            raise UserError(spool_error(error, folder, _STDIN)) from error
        self._stream = stream
        self._is_over = False
        self._error: ErrorDetails | None = None
        # A daemon thread: waiting for the stream cannot be interrupted.
        self._thread = threading.Thread(target=self._copy, name="spool", daemon=True)
        self._thread.start()

    def followed(self) -> FollowedRecording:
        return FollowedRecording(self.path, lambda: self._is_over, self._errors)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        self._folder.close()

    def _errors(self) -> list[ErrorDetails]:
        return [] if self._error is None else [self._error]

    def _copy(self) -> None:
        try:
            head = self._past_banner()
            # `stream.read` would wait for that many bytes.
            while data := head or os.read(self._stream.fileno(), _READ_BYTES):
                self._most_bytes -= self._file.write(data)
                head = b""
                if self._most_bytes <= 0:
                    what = f"The recording on {_STDIN} is too large; the rest is not read"
                    hint = "Start the command again to follow what is recorded from now on."
                    self._error = ErrorDetails(what, hint=hint)
                    break
        except (OSError, ValueError) as error:
            self._error = spool_error(error, self._folder.path, _STDIN)
        self._is_over = True

    def _past_banner(self) -> bytes:
        """The first bytes, without what a shell on another machine printed before a header."""
        head = b""
        while len(head) < LONGEST_BANNER and not _BEGINS.match(head):
            data = os.read(self._stream.fileno(), _READ_BYTES)
            if not data:
                break
            head += data
            found = _HEADER.search(head)
            if found is not None:
                return head[found.start() :]
        return head


def wait_for_header(followed: FollowedRecording) -> None:
    """Wait for the first line, or for the end; `UserError` if nothing came before that."""
    while not (has_header(followed.path) or followed.is_over()):
        time.sleep(_POLL_S)
    if not followed.path.stat().st_size:
        hint = "Run the command before the pipe alone, to read what it reports."
        raise UserError(ErrorDetails("Standard input ended without a recording", hint=hint))
