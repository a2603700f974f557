"""Recognises other programs' files by their content and converts them to recordings."""

from __future__ import annotations

import contextlib
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.imports.logs import (
    is_claude_log,
    is_mcp_rec,
    is_mcpsnoop,
    read_claude_log,
    read_mcp_rec,
    read_mcpsnoop,
)
from mcp_progress_monitor.imports.otlp import is_otlp, read_otlp
from mcp_progress_monitor.imports.recording import ImportedRecording
from mcp_progress_monitor.recording.format import HEADER, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import FileIO

_HEAD: Final = 64 * 1024
_LARGE: Final = 16 * 1024 * 1024
_FIRST_LINE: Final = 4 * 1024 * 1024
_HAR: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"log"\s*:')
_BY_MCPSNOOP: Final = re.compile(rb'"creator"\s*:\s*\{\s*"name"\s*:\s*"mcpsnoop"')
_BOM: Final = b"\xef\xbb\xbf"
SUFFIXES: Final = (".har", ".json", ".jsonl", ".log")
"""The usual suffixes of files that can be imported."""


class ImportForm(NamedTuple):
    """A format of another program: its name for the user, and its reader."""

    name: str
    read: Callable[[FileIO, ImportedRecording], Iterator[None]]


def _read_har(file: FileIO, recording: ImportedRecording) -> Iterator[None]:
    from mcp_progress_monitor.imports.har import read_har  # late: imports the HTTP client

    yield from read_har(file, recording)


HAR: Final = ImportForm("HAR", _read_har)
MCPSNOOP: Final = ImportForm("mcpsnoop", read_mcpsnoop)
MCP_REC: Final = ImportForm("mcp-rec", read_mcp_rec)
CLAUDE_DESKTOP: Final = ImportForm("Claude Desktop", read_claude_log)
OPENTELEMETRY: Final = ImportForm("OpenTelemetry", read_otlp)


def form_of(path: Path) -> ImportForm | None:
    """The format of a file by its content; None for a recording, and for anything unknown."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(_HEAD)
            line = _first_line(head) or _first_line(head + file.read(_FIRST_LINE))
    except OSError:
        return None  # opening it as a recording reports the reason
    if head.startswith(HEADER):
        return None
    if _HAR.match(head):
        return HAR
    if is_otlp(head):
        return OPENTELEMETRY
    if is_mcpsnoop(line):
        return MCPSNOOP
    if is_mcp_rec(line):
        return MCP_REC
    return CLAUDE_DESKTOP if is_claude_log(head) else None


def _first_line(head: bytes) -> bytes:
    """The first line that is not empty; empty if its end is not in `head`."""
    line, feed, _ = head.removeprefix(_BOM).lstrip().partition(b"\n")
    return line.strip() if feed or len(head) < _HEAD else b""


def convert(
    path: Path, form: ImportForm, target: Path, on_share: Callable[[float], object] | None = None
) -> None:
    """Convert a file to the new recording `target`.

    `on_share` is called with the share of the file that has been read, from 0 to 1, some hundred
    times for a large file. An exception that it raises ends the import and leaves no file behind.

    Raises:
        UserError: the file cannot be read, or has no MCP messages.
    """
    try:
        with ImportedRecording(form.name) as recording:
            with path.open("rb", buffering=0) as file:
                size = max(path.stat().st_size, 1)
                for _ in form.read(file, recording):
                    if on_share is not None:
                        on_share(min(file.tell() / size, 1.0))
            if recording.is_empty:
                what = f"The {form.name} file has no MCP messages"
                missing = "\n".join(recording.missing)
                hint = "Check that it was recorded while the client used the server."
                if form is HAR and _is_by_mcpsnoop(path):
                    hint = "mcpsnoop leaves messages out of HAR: open its session log (.jsonl)."
                raise UserError(ErrorDetails(what, str(path), hint, missing))
            recording.save(target, path)
    except OSError as error:
        what = f"The {form.name} file cannot be imported"
        hint = "Check the file's permissions and the free disk space."
        raise UserError(
            ErrorDetails(what, str(path), hint, error.strerror or str(error))
        ) from error


def _is_by_mcpsnoop(path: Path) -> bool:
    """Return whether mcpsnoop wrote a HAR file; it leaves out all messages."""
    with path.open("rb") as file:
        return _BY_MCPSNOOP.search(file.read(_HEAD)) is not None


@contextlib.contextmanager
def as_recording(path: Path, on_large: Callable[[str], None] | None = None) -> Iterator[Path]:
    """The file itself unless it can be imported, else a temporary recording made of it.

    `on_large` is called with a line for the user before a long import. Raises what `convert` does.
    """
    form = form_of(path)
    if form is None:
        yield path
        return
    if on_large is not None and (size := path.stat().st_size) > _LARGE:
        name = formatting.one_line(path.name)
        on_large(f"Importing {name} ({formatting.size(size)})\N{HORIZONTAL ELLIPSIS}")
    with temporary_recording(path) as target:
        convert(path, form, target)
        yield target


@contextlib.contextmanager
def temporary_recording(path: Path) -> Iterator[Path]:
    """A path for a temporary recording made of a file."""
    with tempfile.TemporaryDirectory(
        prefix="mcp-progress-monitor-", ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder) / f"{path.name}{SUFFIX}"
