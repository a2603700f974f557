"""Changing a file of ours while no other program of ours does: nobody's change is lost."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PATIENCE_S: Final = 5.0


@contextlib.contextmanager
def alone(path: Path, what: str) -> Iterator[None]:
    """While no other program of ours changes the file. Where locks cannot be, without one.

    Raises:
        ProblemError: another one takes too long; `what` is what it changes then, in words.
    """
    from filelock import FileLock, Timeout  # only for who changes something

    lock = FileLock(path.with_name(f".{path.name}.lock"), mode=0o600, timeout=_PATIENCE_S)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        said, hint = f"Another program is changing {what}", "Try again in a moment."
        raise ProblemError(Problem(said, str(path), hint)) from error
    except (OSError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        lock.release()
