"""Options that the command line passes to the window; does not import Qt."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.playback.playback import Playback
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition


class WindowOptions(NamedTuple):
    """Options of the window.

    `definitions` are the servers to connect to at once, including the demo server if `is_demo`.
    Those of a configuration file (`config`) are shown first, and run only with the user's approval.
    `saved` names servers of the catalogue to connect to at once, also with approval. `data_dir`
    exists. The session is recorded into `record`, a new file, if given, else into one in
    `data_dir`. With `screenshot`, a picture of the window is saved there (PNG) after `after_s`
    seconds, and the program ends.
    """

    data_dir: Path
    definitions: tuple[ServerDefinition, ...] = ()
    is_demo: bool = False
    log_level: str = "warning"
    screenshot: Path | None = None
    after_s: float = 5.0
    config: Path | None = None
    record: Path | None = None
    saved: tuple[str, ...] = ()
    error: ErrorDetails | None = None  # the error of the data folder, to be shown first
    is_safe: bool = False
    """Safe mode: nothing is connected or watched, and the layout is the default."""
    resets_layout: bool = False
    otel: bool = False
    """Telemetry is sent even if the setting is off."""

    def is_known(self, error: ErrorDetails) -> bool:
        """Return whether `error`, of a file, follows from the error of the data folder."""
        folder = self.error
        return folder is not None and error.where.startswith(f"{folder.where}{os.sep}")


class RecordingOptions(NamedTuple):
    """Options of the window of a recording.

    `speed` is the factor of the replay's speed; None shows everything at once. `filter_text` is the
    initial filter of Traffic. The rest is as in `WindowOptions`.
    """

    playback: Playback
    data_dir: Path
    speed: float | None = None
    filter_text: str = ""
    screenshot: Path | None = None
    after_s: float = 5.0
