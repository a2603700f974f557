"""Standard output as a blocking stream of exact bytes that tolerates a closed reader.

Also formats tables, JSON, and this program's commands for hints.
"""

from __future__ import annotations

import io
import json
import math
import os
import select
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import one_line, visible
from mcp_progress_monitor.path_checks import absolute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_NEVER_BLOCKS = 512
"""Bytes that a writable pipe accepts without blocking (the minimum of PIPE_BUF in POSIX)."""
_HURRIED_S = 0.2


class StandardOutput:
    """Writes bytes immediately and completely; blocks on a slow reader, which slows the server.

    When the reader is gone (`| head`) or the disk is full, `failure` holds the error unless it is
    a broken pipe, and later output is discarded. Never raises.
    """

    def __init__(self, stream: TextIO | None) -> None:
        """Write to `stream`, bypassing its buffer; with None, discard all output."""
        self._stream = stream
        self._descriptor = _descriptor(stream)
        self._gone_listeners: list[Callable[[], object]] = []
        self.is_gone = False
        self._is_writing = False
        self._is_hurried = False
        self.failure: OSError | None = None

    @property
    def is_terminal(self) -> bool:
        return self._stream is not None and not self._stream.closed and self._stream.isatty()

    @property
    def is_stuck(self) -> bool:
        """True if a write is blocked by the reader; may be called from a signal handler.

        False for a write in progress that the reader can accept.
        """
        return self._is_writing and not self._takes_more(0.0)

    def hurry(self) -> None:
        """Stop waiting for the reader: from now on, discard output that it does not accept soon.

        May be called from a signal handler.
        """
        self._is_hurried = True

    def when_gone(self, listener: Callable[[], object]) -> None:
        """Call `listener` when the reader is gone; immediately if it already is."""
        if self.is_gone:
            listener()
        self._gone_listeners.append(listener)

    def write(self, data: bytes) -> None:
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
        """Write `text` in the stream's encoding; other characters are escaped."""
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        self.write(text.encode(encoding, "backslashreplace"))

    def check(self) -> None:
        """Raise `CommandFailed` if output was lost, other than by a closed pipe."""
        if self.failure is not None:
            reason = self.failure.strerror or str(self.failure)
            error = ErrorDetails("Cannot write to standard output", detail=reason)
            raise CommandFailed(ExitCode.UNWRITABLE, error) from self.failure

    def _write(self, data: bytes) -> None:
        if self._descriptor is None:
            assert self._stream is not None  # noqa: S101 - checked by write()
            self._stream.buffer.write(data)
            self._stream.flush()
            return
        rest = memoryview(data)
        while rest and self._may_write():
            piece = rest[:_NEVER_BLOCKS] if self._is_hurried else rest
            try:
                rest = rest[os.write(self._descriptor, piece) :]
            except BlockingIOError:
                # Another process made the shared pipe or terminal non-blocking.
                select.select([], [self._descriptor], [])

    def _may_write(self) -> bool:
        """Return whether to continue; after `hurry` only if the reader accepts more soon."""
        is_patient = not self._is_hurried or sys.platform == "win32"
        if not is_patient and self._descriptor is not None and not self._takes_more(_HURRIED_S):
            self._end(BrokenPipeError())
        return not self.is_gone

    def _takes_more(self, within_s: float) -> bool:
        """True if the stream accepts a piece without blocking; False on Windows, where unknown."""
        if self._descriptor is None or sys.platform == "win32":
            return False
        return bool(select.select([], [self._descriptor], [], within_s)[1])

    def _end(self, error: OSError) -> None:
        self.is_gone = True
        if not isinstance(error, BrokenPipeError):
            self.failure = error
        for listener in self._gone_listeners:
            listener()


def write_out(pieces: Iterable[bytes], path: Path | None) -> None:
    """Write to a file, atomically, or to standard output, piece by piece.

    `CommandFailed` if it cannot be written.
    """
    from mcp_progress_monitor.exports.options import OutputFile  # few commands have output

    if path is not None:
        with failing(ExitCode.UNWRITABLE), OutputFile(path) as file:
            for piece in pieces:
                file.write(piece)
        return
    output = StandardOutput(sys.stdout)
    for piece in pieces:
        if piece:
            output.write(piece)
        if output.is_gone:
            break
    output.check()


def print_out(text: str) -> None:
    """Write `text` to standard output; `CommandFailed` when that cannot be written."""
    output = StandardOutput(sys.stdout)
    output.text(text)
    output.check()


def show_warnings(*errors: ErrorDetails | None) -> None:
    """Write errors that do not stop the command to standard error."""
    stderr = StandardOutput(sys.stderr)
    for error in filter(None, errors):
        stderr.text(f"{visible(error.as_text(), keep_line_ends=True)}\n")


def _descriptor(stream: TextIO | None) -> int | None:
    if stream is None:
        return None
    try:
        stream.flush()
        return stream.fileno()
    except (io.UnsupportedOperation, OSError, ValueError):
        return None


def aligned(titles: Sequence[str], rows: Sequence[Sequence[str]], widest: int = 60) -> str:
    """A table, safe to print. Only the last column may be wider than `widest`."""
    from rich.cells import cell_len, set_cell_size  # not needed by most commands

    last = len(titles) - 1
    shown = [
        [one_line(cell, widest if place < last else 400) for place, cell in enumerate(row)]
        for row in (titles, *rows)
    ]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    lines = (
        "  ".join(set_cell_size(cell, width) for cell, width in zip(row, widths, strict=True))
        for row in shown
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def as_json(value: object, *, indent: int | None = None) -> str:
    """Valid JSON in ASCII, on one line without `indent`; other values become strings."""
    separators = (",", ":") if indent is None else None
    try:
        return json.dumps(value, separators=separators, indent=indent, allow_nan=False)
    except (TypeError, ValueError):
        value = _expressible(value)
        return json.dumps(value, separators=separators, indent=indent, allow_nan=False)


def _expressible(value: object) -> object:
    match value:
        case dict():
            return {str(key): _expressible(item) for key, item in value.items()}
        case list():
            return [_expressible(item) for item in value]
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def own_command(*arguments: str) -> str:
    """This program's command line, quoted for the user's shell and safe to print."""
    line = [*_program(), *arguments]
    return visible(subprocess.list2cmdline(line) if sys.platform == "win32" else shlex.join(line))


def _program() -> list[str]:
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return [sys.executable, "-m", "mcp_progress_monitor"]
    import shutil  # seldom needed

    found = shutil.which(started.name)
    is_on_path = found is not None and Path(found).resolve() == started.resolve()
    return [started.name if is_on_path else str(absolute(started))]
