"""Commands that run side by side, a few at a time; what they print is not mixed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from system import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_PATIENCE_S = 7.0
_LOW = 5
"""A third of a processor beside one that goes first, and all of one that is idle."""


class Beside:
    """A process that was started when this was made; what it prints is shown when it has ended."""

    def __init__(
        self, name: str, command: Sequence[str], folder: Path, environ: Mapping[str, str]
    ) -> None:
        self.name = name
        self.command = command
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # closed when it is shown
        self.took_s = 0.0
        """Seconds from its start to its end, once it has ended."""
        self._started = time.monotonic()
        self._process = self._begin(folder, environ)

    def _begin(self, folder: Path, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command, cwd=folder, env=environ, stdout=self._printed, stderr=subprocess.STDOUT
        )

    def give_way(self) -> None:
        """Work only while the others wait, as far as the system can be told so."""
        if sys.platform != "win32":
            os.setpriority(os.PRIO_PROCESS, self._process.pid, os.nice(0) + _LOW)

    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self._process.poll() is not None

    def succeeds(self) -> bool:
        """Wait for its end, show what it printed, and tell whether all was well."""
        code = self._process.wait()
        self.took_s = time.monotonic() - self._started
        self._show()
        verdict = "ok" if code == 0 else f"FAILED (exit code {code})"
        say(f"-- {self.name}: {verdict}, {self.took_s:.1f} s")
        return code == 0

    def stop(self) -> None:
        """After an interrupt, which it got too: let it say what it was at, then end it."""
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._show()

    def _show(self) -> None:
        if self._printed.closed:  # shown already
            return
        say(f"-- {self.name}")
        with self._printed:
            self._printed.seek(0)
            sys.stdout.write(self._printed.read().decode(errors="replace"))
        sys.stdout.flush()
