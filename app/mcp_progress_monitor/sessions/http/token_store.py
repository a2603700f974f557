"""Tokens of sign-ins and registrations of this program, in one file that is private to the user.

A file and not the system's keyring: a record is larger than some keyrings take, it changes with
each renewal, and programs without a desktop need it as well. It is readable by its owner alone, as
other programs of its kind keep theirs.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, Final

from filelock import FileLock, Timeout

from mcp_progress_monitor import private_file
from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FILE_NAME: Final = "sign-ins.json"
_VERSION: Final = 1
_BUSY_S: Final = 5.0
"""How long another program of ours is waited for."""
_MOST_KEPT: Final = 500
_LARGEST: Final = 16 * 1024 * 1024


class TokenStore:
    """Records by key, each a JSON object. Without a folder they are kept in `memory` alone.

    Reads the file anew each time: other programs of ours use it as well. Blocks: call it in a
    thread. Whatever fails raises `ProblemError`, and a file that cannot be read is not written.
    """

    def __init__(self, folder: Path | None, memory: dict[str, dict[str, Any]]) -> None:
        self._path = None if folder is None else folder / FILE_NAME
        self._memory = memory

    def get(self, key: str) -> dict[str, Any] | None:
        """One record; None if there is none."""
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
        """Drop a record; whether there was one."""
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
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        hint = "Close the other program, or wait until it is done, and try again."
        what = "Another program holds the sign-ins"
        raise ProblemError(Problem(what, str(path), hint)) from error
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
        hint = "Correct the file, or move it away: then you sign in anew."
        what = "The sign-ins that are kept cannot be read, and are not changed"
        raise ProblemError(Problem(what, str(path), hint, _reason(error))) from error


def _records(raw: bytes) -> dict[str, Any]:
    """The records in a file's bytes; `ValueError` says why there are none."""
    if len(raw) > _LARGEST:
        raise ValueError("It is far too large")
    document = json.loads(raw)
    if not isinstance(document, dict) or document.get("version") != _VERSION:
        raise ValueError(f"It is no file of sign-ins of version {_VERSION}")
    records = document.get("signIns")
    if not isinstance(records, dict) or not all(isinstance(v, dict) for v in records.values()):
        raise ValueError('"signIns" is no object of objects')
    return records


def _write(path: Path, records: Mapping[str, Any]) -> None:
    """Replace the file as a whole, readable by its owner alone from the first moment."""
    text = json.dumps({"version": _VERSION, "signIns": records}, indent=1)
    try:
        private_file.put(path, text.encode())
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: Exception) -> ProblemError:
    hint = "Make room on the disk, or make the folder writable; until then you sign in each time."
    return ProblemError(Problem("Sign-ins cannot be kept", str(path), hint, _reason(error)))


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
