"""What the user has settled about recordings: whether, how long, and how much of the disk."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import private_file
from mcp_progress_monitor.looking import Sight, sight_of
from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from pathlib import Path

FOLDER: Final = "recordings"
"""Of the data folder: where recordings and these settings are."""
_FILE: Final = "settings.json"
_LEAST_PART: Final = 1024 * 1024
_PARTS_KEPT: Final = 8
"""At least as many parts fit into the limit: what is pruned is a small piece of what is kept."""


@dataclasses.dataclass(frozen=True, slots=True)
class RecordingSettings:
    """Recordings are kept for `keep_days` and pruned, oldest first, to `keep_bytes` in all."""

    is_on: bool = True
    keep_days: int = 30
    keep_bytes: int = 2_000_000_000
    part_bytes: int = 256 * 1024 * 1024
    """A file that has grown to so many bytes is followed by another one."""

    @property
    def part_limit(self) -> int:
        """How large a part may get: small enough for `keep_bytes` to be kept to."""
        return max(_LEAST_PART, min(self.part_bytes, self.keep_bytes // _PARTS_KEPT))


def load_settings(data_dir: Path) -> tuple[RecordingSettings, Problem | None]:
    """The settings in a data folder; the usual ones, and why, where they cannot be read."""
    path = data_dir / FOLDER / _FILE
    try:
        if sight_of(path) is Sight.OTHER:  # a pipe would be waited for without end
            raise OSError("It is a device or a pipe, not a file")  # noqa: TRY301  # told as others
        content = path.read_bytes()
        from mcp_progress_monitor.recording.stored_settings import (
            members_of,  # with a parser that a start waits for
        )

        return RecordingSettings(**members_of(content)), None
    except FileNotFoundError:
        return RecordingSettings(), None
    except (OSError, ValueError) as error:
        return RecordingSettings(), Problem(
            "The settings of recordings cannot be read; the usual ones hold",
            str(path),
            "Correct the file or delete it.",
            str(error),
        )


def save_settings(data_dir: Path, settings: RecordingSettings) -> None:
    """Write the settings; they are there whole or as they were before.

    Raises:
        ProblemError: they cannot be written.
    """
    from mcp_progress_monitor.recording.stored_settings import content_of

    folder = data_dir / FOLDER
    content = content_of(dataclasses.asdict(settings))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        private_file.put(folder / _FILE, content)
    except OSError as error:
        raise ProblemError(
            Problem(
                "The settings of recordings cannot be saved",
                str(folder / _FILE),
                "Check the rights of the folder and the free space on its disk.",
                error.strerror or str(error),
            )
        ) from error
