"""OAuth tokens and client registrations, in one file that is private to the user."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, Final

from filelock import FileLock, Timeout

from mcp_progress_monitor import private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FILE_NAME: Final = "sign-ins.json"
_VERSION: Final = 1
_BUSY_S: Final = 5.0  # how long another program of ours is waited for
_MOST_KEPT: Final = 500
_LARGEST: Final = 16 * 1024 * 1024


class TokenStore:
    """Records by key, each a JSON object. Without a folder they are kept in `memory` alone.

    Reads the file each time: other programs of ours use it as well. Blocks: call it in a
    thread. Whatever fails raises `UserError`, and a file that cannot be read is not written.
    """

    def __init__(self, folder: Path | None, memory: dict[str, dict[str, Any]]) -> None:
        self._path = None if folder is None else folder / FILE_NAME
        self._memory = memory

    def get(self, key: str) -> dict[str, Any] | None:
        if self._path is None:
            return self._memory.get(key)
        return _read(self._path).get(key)

    def put(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep a record in place of what is there; of very many, the oldest go."""
        with self._changing() as records:
            records.pop(key, None)
            records[key] = dict(record)
            for oldest in list(records)[:-_MOST_KEPT]:
                del records[oldest]

    def forget(self, key: str) -> bool:
        if self.get(key) is None:
            return False
        with self._changing() as records:
            return records.pop(key, None) is not None

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        """All records, to be changed while no other program does."""
        if self._path is None:
            yield self._memory
            return
        with _alone(self._path):
            records = _read(self._path)
            yield records
            _write(self._path, records)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    # No soft lock where the file system has no real ones: it would outlive its holder.
    lock = FileLock(
        path.with_name(f"{path.name}.lock"),
        timeout=_BUSY_S,
        mode=0o600,
        thread_local=False,
        fallback_to_soft=False,
    )
    try:
        private_file.make_folder(path.parent)
        lock.acquire()
    except Timeout as error:
        hint = "Close the other program, or wait until it has finished, and try again."
        what = "Another program is using the saved sign-ins"
        raise UserError(ErrorDetails(what, str(path), hint)) from error
    except (OSError, NotImplementedError) as error:
        raise _unwritable(path, error) from error
    try:
        yield
    finally:
        lock.release()


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
        return _records(raw)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        hint = "Fix the file, or move it away and sign in again."
        what = "Cannot read the saved sign-ins; they are left unchanged"
        raise UserError(ErrorDetails(what, str(path), hint, _reason(error))) from error


def _records(raw: bytes) -> dict[str, Any]:
    """The records in a file's bytes; `ValueError` says why there are none."""
    if len(raw) > _LARGEST:
        raise ValueError("The file is too large")
    document = json.loads(raw)
    if not isinstance(document, dict) or document.get("version") != _VERSION:
        raise ValueError(f"The file is not a sign-in file of version {_VERSION}")
    records = document.get("signIns")
    if not isinstance(records, dict) or not all(isinstance(v, dict) for v in records.values()):
        raise ValueError('"signIns" must map each server to an object')
    return records


def _write(path: Path, records: Mapping[str, Any]) -> None:
    """Replace the file as a whole, readable by its owner alone from the first moment."""
    text = json.dumps({"version": _VERSION, "signIns": records}, indent=1)
    try:
        private_file.put(path, text.encode())
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: Exception) -> UserError:
    hint = (
        "Free some disk space, or make the folder writable; until then you must sign in each time."
    )
    return UserError(ErrorDetails("Cannot save sign-ins", str(path), hint, _reason(error)))


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
