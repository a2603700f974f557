"""A command that runs beside others; what they print is not mixed."""

from __future__ import annotations

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


class Beside:
    """A process that was started when this was made.

    What it prints is shown in one piece when it has ended, or at once, as one of them may.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: Path,
        environ: Mapping[str, str],
        *,
        is_shown_at_once: bool = False,
    ) -> None:
        self.name = name
        # Closed when it is shown.
        self._printed = None if is_shown_at_once else tempfile.TemporaryFile()  # noqa: SIM115
        self._started = time.monotonic()
        self._process = subprocess.Popen(
            command, cwd=folder, env=environ, stdout=self._printed, stderr=subprocess.STDOUT
        )

    def succeeds(self) -> bool:
        """Wait for its end, show what it printed, and tell whether all was well."""
        code = self._process.wait()
        verdict = "ok" if code == 0 else f"FAILED (exit code {code})"
        self._show()
        # Its end may have been long ago, while others were waited for.
        say(f"-- {self.name}: {verdict}, at most {time.monotonic() - self._started:.1f} s")
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
        if self._printed is None or self._printed.closed:  # shown already
            return
        say(f"-- {self.name}")
        with self._printed:
            self._printed.seek(0)
            sys.stdout.write(self._printed.read().decode(errors="replace"))
        sys.stdout.flush()
