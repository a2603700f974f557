"""The files of one run on disk: made, written, let go of. All of this happens in a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.recording.folder import part_path
from mcp_progress_monitor.recording.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcp_progress_monitor.recording.folder import RecordingsFolder
    from mcp_progress_monitor.recording.settings import RecordingSettings


class RunFiles:
    """Writes the parts of a run, one after the other, and prunes what it is told to.

    Only its attributes and `written` may be read from elsewhere meanwhile.
    """

    def __init__(
        self, path: Path, folder: RecordingsFolder | None, settings: RecordingSettings
    ) -> None:
        """`path` is to be the first part's; with `folder` it is in there, and one of many."""
        self.path = path
        """The first part's file: another one than asked for if that was taken meanwhile."""
        self.current = path
        """The file that is being written, or was last."""
        self._is_made = False
        self._folder = folder
        self._settings = settings
        self._writer = Writer()

    @property
    def written(self) -> int:
        """Bytes that the newest `write` has got into a file so far, though it may have failed."""
        return self._writer.written

    def write(self, number: int, blobs: Sequence[bytes], when: float) -> None:
        """Append to a part, which is made if need be, at `when` (wall time).

        Raises:
            OSError: not all could be written.
        """
        self._writer.written = 0
        if not self._is_made:
            self._make(when)
            self._is_made = True
        self.current = part_path(self.path, number)
        self._writer.write(self.current, blobs)

    def prune(self, when: float) -> list[Path]:
        """Delete recordings that are old or too much by now; returns what was deleted."""
        if self._folder is None:
            return []
        return self._folder.prune(self._settings, when, self.current)

    def end(self, discards: bool) -> None:
        """Close what is open, and delete it if it has nothing in it that anyone wants."""
        if discards:
            self._writer.discard()
        self._writer.close()
        if self._folder is not None:
            self._folder.end()

    def _make(self, when: float) -> None:
        """Claim the name; programs in two containers may have the same number."""
        if self._folder is None:
            return
        from filelock import Timeout  # late: no start waits for it

        try:
            self._folder.begin(self.path)
            if not self.path.exists():
                return
        except Timeout:
            pass
        self._folder.end()
        self.path = self._folder.new_path(when)
        self._folder.begin(self.path)
