"""What the user has agreed to: which commands may run and which URLs may be asked."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import stat
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor import text
from mcp_progress_monitor.catalogue.alone import alone
from mcp_progress_monitor.catalogue.consent_parts import (
    Earlier,
    changes_since,
    is_in_some_folder,
    kept_parts,
)
from mcp_progress_monitor.catalogue.text_file import read_bytes, write_private
from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mcp_progress_monitor.sessions.definitions import ServerDefinition

FILE_NAME: Final = "trusted-servers.json"
_LONGEST_NAME: Final = 200


class Trust:
    """Consents on disk, by digests of what they are for; without a path as long as the program.

    A definition that differs in anything but its name and how we treat it needs another consent.
    The file is read whenever it is asked, since other programs of ours write it too. One that
    cannot be read, or that others may write, holds no consent: the user is asked again, and the
    next consent is written in its place.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._held: dict[str, dict[str, Any]] = {}
        self.problem: Problem | None = None
        """Why the file, when it was read last, was taken to hold no consent."""

    def is_trusted(self, definition: ServerDefinition) -> bool:
        """Whether the user has agreed to exactly this."""
        return definition.consent_key in self._read()

    def agree(self, *definitions: ServerDefinition) -> None:
        """Keep the user's consent to each, in one writing.

        Raises:
            ProblemError: it cannot be written; it holds until the program ends all the same.
        """
        when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        agreed = {
            definition.consent_key: {
                "name": text.one_line(definition.name, _LONGEST_NAME),
                "when": when,
                **kept_parts(definition),
            }
            for definition in definitions
        }
        self._held.update(agreed)  # until it is written
        with self._alone():
            self._keep(self._read())

    def earlier(self, definitions: Iterable[ServerDefinition]) -> list[Earlier | None]:
        """For each what was agreed to last under its name, if this is another definition."""
        held = self._read()
        newest: dict[str, dict[str, Any]] = {}
        for entry in held.values():
            name = entry.get("name")
            if isinstance(name, str) and _when(entry) >= _when(newest.get(name, {})):
                newest[name] = entry
        return [
            None if definition.consent_key in held else _earlier(definition, newest)
            for definition in definitions
        ]

    def forget(self, definition: ServerDefinition) -> None:
        """Take a consent back, of a relative command those in all folders; nothing without one.

        `ProblemError` when it cannot be written.
        """
        self._held = _without(self._held, definition)
        with self._alone():
            held = self._read()
            left = _without(held, definition)
            if left != held:
                self._keep(left)

    def _alone(self) -> contextlib.AbstractContextManager[None]:
        """While no other program writes the file: what each of two agrees to is kept."""
        path = self._path
        return contextlib.nullcontext() if path is None else alone(path, "what you agreed to")

    def _keep(self, held: dict[str, dict[str, Any]]) -> None:
        if self._path is None:
            self._held = held
            return
        content = json.dumps({"trusted": held}, indent=2)
        write_private(self._path, f"{content}\n".encode())
        self._held = {}

    def _read(self) -> dict[str, dict[str, Any]]:
        """What the file says, and what could not be written into it."""
        self.problem = None
        held: dict[str, dict[str, Any]] = {}
        if self._path is not None:
            try:
                held = _entries(self._path)
            except FileNotFoundError:
                pass
            except ProblemError as error:
                self.problem = _unusable(self._path, error.problem.detail or error.problem.what)
            except (OSError, ValueError, RecursionError) as error:
                self.problem = _unusable(self._path, str(error))
        return {**held, **self._held}


def _without(
    held: Mapping[str, dict[str, Any]], definition: ServerDefinition
) -> dict[str, dict[str, Any]]:
    return {
        key: entry
        for key, entry in held.items()
        if key != definition.consent_key and not is_in_some_folder(entry, definition)
    }


def _when(entry: Mapping[str, Any]) -> str:
    when = entry.get("when")
    return when if isinstance(when, str) else ""


def _earlier(
    definition: ServerDefinition, newest: Mapping[str, Mapping[str, Any]]
) -> Earlier | None:
    entry = newest.get(text.one_line(definition.name, _LONGEST_NAME))
    return None if entry is None else Earlier(changes_since(entry, definition))


def _entries(path: Path) -> dict[str, dict[str, Any]]:
    _refuse_foreign(path)
    document = json.loads(read_bytes(path))
    found = document.get("trusted") if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise ProblemError(Problem('it has no object "trusted"'))
    return {key: value for key, value in found.items() if isinstance(value, dict)}


def _refuse_foreign(path: Path) -> None:
    """Whoever may write the file could agree in the user's place."""
    found = path.stat()
    if os.name != "posix":
        return  # rights are the folder's there, which is in the user's profile
    if found.st_uid != os.geteuid():
        raise ValueError("it belongs to somebody else")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ValueError("others may write it")


def _unusable(path: Path, reason: str) -> Problem:
    hint = "What you agree to now is written in its place."
    what = "What you agreed to before cannot be used, so you are asked again"
    return Problem(what, str(path), hint, text.one_line(reason, 300))
