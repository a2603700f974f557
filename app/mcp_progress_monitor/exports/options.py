"""Sources and files of exports; loaded without the exporters."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, Protocol, Self, TypeAlias

from mcp_progress_monitor import private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.findings.finding import Finding, joined
from mcp_progress_monitor.recording.format import HEADER, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot
    from mcp_progress_monitor.tracker.tracker import Jobs


class ExportSource(Protocol):
    """The reading side of `Engine` and of `playback.playback.Playback`."""

    @property
    def timeline(self) -> Timeline:
        """All frames by place."""

    @property
    def jobs(self) -> Jobs:
        """All jobs; `is_ended` if they are of a recording that was read to its end."""

    @property
    def servers(self) -> ExportedServers:
        """All servers."""

    def now(self) -> float:
        """Monotonic seconds on the clock of the frames."""


class ExportedServers(Protocol):
    """The servers of an engine or of a recording."""

    def snapshots(self) -> Sequence[ServerSnapshot]:
        """All servers, in order."""


class ReportDepth(NamedTuple):
    """Detail of a job in a report: rows and messages at either end, characters of a value."""

    ticks: int
    between: int
    messages: int
    characters: int

    def thinned(self, count: int) -> list[int]:
        """The indices of the rows to show of `count`: the first, the last, and a sample between."""
        ends, between = self.ticks, self.between
        if count <= 2 * ends + between:
            return list(range(count))
        step = (count - 2 * ends) / (between + 1)
        middle = (ends + int(step * n) for n in range(1, between + 1))
        return [*range(ends), *middle, *range(count - ends, count)]


WHOLE: Final = ReportDepth(ticks=20, between=60, messages=15, characters=20_000)
BRIEF: Final = ReportDepth(ticks=5, between=10, messages=3, characters=4_000)


OnShare: TypeAlias = "Callable[[float], object]"
"""Receives the share of an export that is done, from 0 to 1."""


def no_share(_share: float) -> None:
    """Ignore the progress of an export."""


_KEPT: Final = 20_000
UNKNOWN: Final = "violation; details are no longer in memory"


class FindingTexts:
    """Keeps the findings on the first messages with violations."""

    def __init__(self) -> None:
        self._findings: dict[int, tuple[Finding, ...]] = {}

    def add(self, marked: Mapping[int, tuple[Finding, ...]]) -> None:
        """Keep findings by the numbers of their frames (`ChangeSet.marked`)."""
        if len(self._findings) < _KEPT:
            self._findings.update(marked)

    def of(self, number: int) -> str:
        found = self._findings.get(number)
        return UNKNOWN if found is None else joined(found)


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
    """Return whether the file is a recording, by its suffix or its header."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return path.suffix == SUFFIX or file.read(len(HEADER)) == HEADER
