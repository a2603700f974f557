"""The user's settings for recordings: whether, how long, and how large."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor import private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import PathKind, path_kind

if TYPE_CHECKING:
    from pathlib import Path

FOLDER: Final = "recordings"  # the subfolder of the data folder with recordings and these settings
_FILE: Final = "settings.json"
_LEAST_PART: Final = 1024 * 1024
_PARTS_KEPT: Final = 8
"""At least as many parts fit into the limit: each pruning deletes only a small share."""


@dataclasses.dataclass(frozen=True, slots=True)
class RecordingSettings:
    """Recordings are kept for `keep_days` and pruned, oldest first, to `keep_bytes` in total."""

    is_on: bool = True
    keep_days: int = 30
    keep_bytes: int = 2_000_000_000
    part_bytes: int = 256 * 1024 * 1024  # larger files are continued in another one

    def __post_init__(self) -> None:
        """Refuse impossible values, with a message."""
        for name in ("keep_days", "keep_bytes", "part_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")

    @property
    def part_limit(self) -> int:
        """How large a part may get: small enough to stay within `keep_bytes`."""
        return max(_LEAST_PART, min(self.part_bytes, self.keep_bytes // _PARTS_KEPT))


def load_settings(data_dir: Path) -> tuple[RecordingSettings, ErrorDetails | None]:
    """The settings in a data folder; the defaults, and why, if they cannot be read."""
    path = data_dir / FOLDER / _FILE
    try:
        if path_kind(path) is PathKind.OTHER:  # reading a pipe would block forever
            raise OSError("It is a device or a pipe, not a file")  # noqa: TRY301  # told as others
        return _read(path.read_bytes()), None
    except FileNotFoundError:
        return RecordingSettings(), None
    except (OSError, ValueError, RecursionError) as error:
        return RecordingSettings(), ErrorDetails(
            "Cannot read the recording settings; using the defaults",
            str(path),
            "Fix the file or delete it.",
            str(error),
        )


def _read(content: bytes) -> RecordingSettings:
    """Settings from JSON, using only the standard library, since taps have nothing else.

    Raises:
        ValueError: the content is invalid.
    """
    found = json.loads(content)
    if not isinstance(found, dict):
        raise ValueError("It is not a JSON object")  # noqa: TRY004  # told as other contents
    known: dict[str, Any] = {}
    for field in dataclasses.fields(RecordingSettings):
        value = known[field.name] = found.get(field.name, field.default)
        if type(value) is not type(field.default):
            kind = "true or false" if field.default is True else "an integer"
            raise ValueError(f"{field.name} must be {kind}")
    return RecordingSettings(**known)


def save_settings(data_dir: Path, settings: RecordingSettings) -> None:
    """Write the settings atomically.

    Raises:
        UserError: they cannot be written.
    """
    folder = data_dir / FOLDER
    content = json.dumps(dataclasses.asdict(settings), indent=2).encode() + b"\n"
    try:
        private_file.make_folder(folder)
        private_file.put(folder / _FILE, content)
    except OSError as error:
        raise UserError(
            ErrorDetails(
                "Cannot save the recording settings",
                str(folder / _FILE),
                "Check the folder's permissions and the free disk space.",
                error.strerror or str(error),
            )
        ) from error
