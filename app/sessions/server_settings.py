"""What the user has set for each server beside how it is started, kept in one private file.

Kept by what a server is (see `StdioDefinition.fingerprint`), so that a server of the same command
has the same settings in the next run, whatever it is called then.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import pydantic

from app.problem import Problem, ProblemError
from app.sessions.rules import QuestionRules, Root

if TYPE_CHECKING:
    from collections.abc import Mapping

_log = logging.getLogger(__name__)

LogLevel: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]
LOG_LEVELS: Final[tuple[str, ...]] = get_args(LogLevel)
"""Levels of log messages, the chattiest first (RFC 5424)."""

FILE_NAME: Final = "server-settings.json"
_MOST_KEPT: Final = 1000


class ServerSettings(pydantic.BaseModel):
    """How to treat one server: rules for its questions, its roots, and the log level to ask for.

    Without `log_level` the server logs as it likes, or in 2026-07-28 not at all.
    """

    model_config = pydantic.ConfigDict(frozen=True)

    rules: QuestionRules = QuestionRules()
    roots: tuple[Root, ...] = ()
    log_level: LogLevel | None = None


class _File(pydantic.BaseModel):
    version: Literal[1] = 1
    servers: dict[str, ServerSettings] = {}


class SettingsFile:
    """The settings of all servers. Without a path they last as long as the program."""

    def __init__(self, path: Path | None = None) -> None:
        """Read what is at `path`; `problem` tells if that cannot be, and nothing is lost then."""
        self.problem: Problem | None = None
        self._path = path
        self._held: dict[str, ServerSettings] = {} if path is None else self._read(path)

    def of(self, fingerprint: str) -> ServerSettings:
        """The settings of one server; those of a new one if there are none."""
        return self._held.get(_key(fingerprint), ServerSettings())

    def put(self, fingerprint: str, settings: ServerSettings) -> None:
        """Keep the settings of one server.

        Raises:
            ProblemError: they cannot be written; they hold until the program ends all the same.
        """
        key = _key(fingerprint)
        self._held.pop(key, None)
        if settings != ServerSettings():
            self._held[key] = settings
        for oldest in list(self._held)[: -_MOST_KEPT or None]:
            del self._held[oldest]
        if self._path is not None:
            self._write(self._path, self._held)

    def _read(self, path: Path) -> dict[str, ServerSettings]:
        try:
            return dict(_File.model_validate_json(path.read_bytes()).servers)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            self.problem = Problem(
                "The settings of servers cannot be read, and are not changed",
                str(path),
                "Correct the file, or move it away to begin anew.",
                str(error),
            )
            self._path = None
            return {}

    @staticmethod
    def _write(path: Path, held: Mapping[str, ServerSettings]) -> None:
        """Replace the file as a whole, readable by its owner alone: answers may be secrets."""
        text = _File(servers=dict(held)).model_dump_json(exclude_defaults=True, indent=1)
        try:
            descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
                Path(name).replace(path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise ProblemError(
                Problem(
                    "The settings of servers cannot be saved",
                    str(path),
                    "They hold until the program ends.",
                    error.strerror or str(error),
                )
            ) from error


def _key(fingerprint: str) -> str:
    """A short name of a server; what it was started with may be secret, and is not written down."""
    return hashlib.sha256(fingerprint.encode()).hexdigest()
