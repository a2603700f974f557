"""The settings of all servers, kept in one private file."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import PathKind, path_kind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcp_progress_monitor.snapshots.settings import ServerSettings

_MOST_KEPT: Final = 1000


class SettingsFile:
    """The settings of all servers. Without a path they last until the program exits."""

    def __init__(self, path: Path | None = None) -> None:
        """Read the file at `path`; if that fails, `error` says why, and the file is kept."""
        self.error: ErrorDetails | None = None
        self._path = path
        self._held: dict[str, ServerSettings] = {} if path is None else self._read(path)

    def of(self, fingerprint: str) -> ServerSettings:
        return self._held.get(_key(fingerprint)) or _unchanged()

    def put(self, fingerprint: str, settings: ServerSettings) -> None:
        """Save the settings of one server.

        Raises:
            UserError: they cannot be written; they apply until the program exits.
        """
        key = _key(fingerprint)
        self._held.pop(key, None)
        if settings != _unchanged():
            self._held[key] = settings
        for oldest in list(self._held)[: -_MOST_KEPT or None]:
            del self._held[oldest]
        if self._path is not None:
            self._write(self._path, self._held)

    def _read(self, path: Path) -> dict[str, ServerSettings]:
        try:
            if path_kind(path) is PathKind.OTHER:  # reading a pipe would block forever
                raise OSError("It is a device or a pipe, not a file")  # noqa: TRY301  # as others
            written = path.read_bytes()
            from mcp_progress_monitor.snapshots.settings import read_settings

            return read_settings(written)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            self.error = ErrorDetails(
                "Cannot read the server settings; they are left unchanged",
                str(path),
                "Fix the file, or move it away to start over.",
                getattr(error, "strerror", None) or str(error),
            )
            self._path = None
            return {}

    @staticmethod
    def _write(path: Path, held: Mapping[str, ServerSettings]) -> None:
        """Replace the whole file, readable only by its owner: answers may be secrets."""
        from mcp_progress_monitor.snapshots.settings import AllSettings

        text = AllSettings(servers=dict(held)).model_dump_json(exclude_defaults=True, indent=1)
        try:
            private_file.put(path, text.encode())
        except OSError as error:
            raise UserError(
                ErrorDetails(
                    "Cannot save the server settings",
                    str(path),
                    "They apply until the program exits.",
                    error.strerror or str(error),
                )
            ) from error


def _unchanged() -> ServerSettings:
    from mcp_progress_monitor.snapshots.settings import UNCHANGED  # imported late, see above

    return UNCHANGED


def _key(fingerprint: str) -> str:
    """The key of a server: a digest, since its command and environment may be secret."""
    return hashlib.sha256(fingerprint.encode()).hexdigest()
