"""Remembers which era each server speaks, so that later runs need not probe it."""

from __future__ import annotations

import hashlib
import json
import logging
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import private_file
from mcp_progress_monitor.path_checks import PathKind, path_kind
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.protocol.jsonrpc import canonical

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.eras import Agreement
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_log = logging.getLogger(__name__)

FILE_NAME: Final = "server-eras.json"
KEPT_S: Final = 7 * 86_400.0
"""How long a server is not probed: newer revisions should be noticed eventually."""
_MOST_KEPT: Final = 500
_MOST_BYTES: Final = 1_000_000


class ProvenEra(NamedTuple):
    """What an opening proved: the era, and a digest of the server's description of itself.

    `was_asked` is whether the server had the choice; otherwise nothing new was learnt.
    """

    era: Era
    said: str
    was_asked: bool


class _Kept(NamedTuple):
    era: Era
    said: str
    when: float


def digest_of(agreement: Agreement) -> str:
    """A digest of the server's description of itself."""
    said = (agreement.revision, agreement.server_info, agreement.capabilities)
    return hashlib.sha256(canonical([*said, agreement.instructions])).hexdigest()[:32]


class EraMemory:
    """Eras on disk; without a path they last until the program exits.

    The file is read for each query, since other instances write it too. If it cannot be read or
    written, the only cost is a probe.
    """

    def __init__(self, path: Path | None, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._held: dict[str, _Kept] = {}

    def of(self, definition: ServerDefinition) -> Era | None:
        """The era that a server spoke when last probed; None to probe it."""
        kept = self._read().get(_key(definition))
        return None if kept is None else kept.era

    def learn(self, definition: ServerDefinition, proven: ProvenEra) -> None:
        key = _key(definition)
        held = self._read()
        kept = held.get(key)
        if not proven.was_asked and kept is not None and kept.said == proven.said:
            return
        if proven.was_asked:
            held.pop(key, None)
            held[key] = _Kept(proven.era, proven.said, self._clock.wall())
        elif held.pop(key, None) is None:
            return
        self._write(held)

    def forget(self, definition: ServerDefinition) -> None:
        """Probe a server the next time: it could not be opened as remembered."""
        held = self._read()
        if held.pop(_key(definition), None) is not None:
            self._write(held)

    def _read(self) -> dict[str, _Kept]:
        if self._path is not None:
            self._held = _entries(self._path)
        now = self._clock.wall()
        return {key: kept for key, kept in self._held.items() if 0 <= now - kept.when <= KEPT_S}

    def _write(self, held: dict[str, _Kept]) -> None:
        self._held = dict(list(held.items())[-_MOST_KEPT:])
        if self._path is None:
            return
        # Rounded down: a time in the future would not count.
        entries = {
            key: {"era": kept.era.value, "said": kept.said, "when": kept.when}
            for key, kept in self._held.items()
        }
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            content = json.dumps({"eras": entries}, indent=1).encode()
            private_file.put(self._path, content, waits_for_disk=False)
        except OSError as error:
            _log.info("which era servers speak cannot be kept: %s", error)


def _key(definition: ServerDefinition) -> str:
    return definition.approval_key


def _entries(path: Path) -> dict[str, _Kept]:
    """The content of the file; empty if it cannot be read."""
    try:
        if path_kind(path) is not PathKind.FILE or path.stat().st_size > _MOST_BYTES:
            return {}
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        _log.info("which era servers speak cannot be read: %s", error)
        return {}
    found = document.get("eras") if isinstance(document, dict) else None
    if not isinstance(found, dict):
        return {}
    entries = {key: _entry(value) for key, value in found.items()}
    return {key: kept for key, kept in entries.items() if kept is not None}


def _entry(value: Any) -> _Kept | None:
    try:
        return _Kept(Era(value["era"]), str(value["said"]), float(value["when"]))
    except (KeyError, TypeError, ValueError):
        return None
