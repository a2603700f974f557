"""Standard output as a stream of exact bytes that waits for its reader and survives its end."""

from __future__ import annotations

import io
import os
import select
import sys
from typing import TYPE_CHECKING, TextIO

from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

_NEVER_BLOCKS = 512
"""Bytes that a pipe takes at once if it takes any (the least PIPE_BUF that POSIX allows)."""
_HURRIED_S = 0.2


def _ignore() -> None:
    """What happens by default when the reader goes: nothing."""


class Output:
    """Writes bytes at once and whole; blocks while the reader is slow, which slows the server.

    When the reader is gone (`| head`) or the disk is full, `on_gone` is called once, `failure`
    holds what was not a mere goodbye, and what is written later goes nowhere. Never raises.
    """

    def __init__(self, stream: TextIO | None) -> None:
        """Write to `stream`, past its own buffer; None, a closed standard output, is nowhere."""
        self._stream = stream
        self._descriptor = _descriptor(stream)
        self.on_gone: Callable[[], None] = _ignore
        self.is_gone = False
        self._is_writing = False
        self._is_hurried = False
        self.failure: OSError | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether a person, and a terminal that obeys escape sequences, reads along."""
        return self._stream is not None and not self._stream.closed and self._stream.isatty()

    @property
    def is_stuck(self) -> bool:
        """Whether a write waits for the reader; may be asked from a signal handler.

        False while one is merely under way: a reader that acts on what it has just read is faster
        than our return from writing it.
        """
        return self._is_writing and not self._takes_more(0.0)

    def hurry(self) -> None:
        """Wait for the reader no more: from now on, what it does not take soon goes nowhere.

        May be called from a signal handler.
        """
        self._is_hurried = True

    def write(self, data: bytes) -> None:
        """Write all of `data` before returning."""
        if self.is_gone or self._stream is None:
            return
        self._is_writing = True
        try:
            self._write(data)
        except OSError as error:
            self._end(error)
        finally:
            self._is_writing = False

    def text(self, text: str) -> None:
        """Write `text` in the stream's encoding; what that cannot express is escaped."""
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        self.write(text.encode(encoding, "backslashreplace"))

    def check(self) -> None:
        """Raise `CommandFailed` if something was lost; a reader's goodbye is no loss."""
        if self.failure is not None:
            reason = self.failure.strerror or str(self.failure)
            problem = Problem("Standard output cannot be written", detail=reason)
            raise CommandFailed(ExitCode.UNWRITABLE, problem) from self.failure

    def _write(self, data: bytes) -> None:
        if self._descriptor is None:
            assert self._stream is not None  # noqa: S101 - write() has seen to it
            self._stream.buffer.write(data)
            self._stream.flush()
            return
        rest = memoryview(data)
        while rest and self._may_write():
            piece = rest[:_NEVER_BLOCKS] if self._is_hurried else rest
            try:
                rest = rest[os.write(self._descriptor, piece) :]
            except BlockingIOError:
                # Whoever shares the pipe or terminal made it non-blocking: wait, do not lose.
                select.select([], [self._descriptor], [])

    def _may_write(self) -> bool:
        """Whether to go on: in a hurry only if the reader takes something within a moment."""
        is_patient = not self._is_hurried or sys.platform == "win32"
        if not is_patient and self._descriptor is not None and not self._takes_more(_HURRIED_S):
            self._end(BrokenPipeError())
        return not self.is_gone

    def _takes_more(self, within_s: float) -> bool:
        """Whether the reader leaves room for a piece; unknown, and so False, on Windows."""
        if self._descriptor is None or sys.platform == "win32":
            return False
        return bool(select.select([], [self._descriptor], [], within_s)[1])

    def _end(self, error: OSError) -> None:
        self.is_gone = True
        if not isinstance(error, BrokenPipeError):
            self.failure = error
        self.on_gone()


def _descriptor(stream: TextIO | None) -> int | None:
    if stream is None:
        return None
    try:
        stream.flush()
        return stream.fileno()
    except (io.UnsupportedOperation, OSError, ValueError):
        return None
