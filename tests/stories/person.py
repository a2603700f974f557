"""Somebody who uses the window: reads it as a screen reader does, clicks and types with xdotool."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.at_spi import Reader, Seen, desktop, needed
from tests.patience import PATIENCE_S

_LOOK_S = 0.2


def lacking() -> list[str]:
    """What the machine lacks for this."""
    return needed() + [name for name in ("xdotool", "openbox") if shutil.which(name) is None]


class Person:
    """Uses the windows of one program; counts clicks and keys, and typed letters apart."""

    def __init__(self, environ: Mapping[str, str], command: Sequence[str]) -> None:
        self._environ = dict(environ)
        self._command = command
        self._program: subprocess.Popen[bytes] | None = None
        self._reader: Reader | None = None
        self.clicks = 0
        self.keys = 0
        self.typed = 0

    def begins_to_count(self) -> None:
        """Count from here on: what came before only made the situation."""
        self.clicks = self.keys = self.typed = 0

    def start(self) -> None:
        """Start the program, and wait for its window."""
        self._program = subprocess.Popen(
            self._command, env=self._environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._reader = Reader(self._environ)
        self.sees("MCP Progress Monitor", "frame")

    def kill(self) -> None:
        """End the program as a crash does."""
        if self._reader is not None:
            self._reader.close()
        if self._program is not None:
            self._program.kill()
            self._program.wait()

    def seen(self) -> list[Seen]:
        """Everything in the program's windows."""
        assert self._reader is not None
        try:
            return [one for each in self._reader.windows() for one in self._reader.seen(each)]
        except LookupError:  # something went while it was being read
            return []

    def sees(self, text: str, role: str = "", *, within_s: float = PATIENCE_S) -> Seen:
        """Wait for something whose name has these words."""
        return self.waits(lambda one: text in one.name and role in one.role, text, within_s)

    def waits(self, is_it: Callable[[Seen], bool], text: str, within_s: float = PATIENCE_S) -> Seen:
        """Wait for something that `is_it`."""
        until = time.monotonic() + within_s
        seen: list[Seen] = []
        while time.monotonic() < until:
            seen = self.seen()
            found = [one for one in seen if is_it(one)]
            if found:
                return found[-1]
            time.sleep(_LOOK_S)
        names = "\n".join(f"{one.role}: {one.name}" for one in seen if one.name)
        pytest.fail(f"nobody sees {text!r} among\n{names}")

    def clicks_on(self, text: str, role: str = "", *, at: int = 200) -> None:
        """Click on something whose name has these words, at most `at` pixels from its left."""
        one = self.sees(text, role)
        assert self._reader is not None
        left, top, width, height = self._reader.extents(one.reference)
        place = [str(left + min(width // 2, at)), str(top + height // 2)]
        self._xdotool("mousemove", "--sync", *place)
        self._xdotool("click", "1")
        self.clicks += 1
        time.sleep(_LOOK_S)

    def presses(self, *keys: str) -> None:
        """Press keys, as xdotool names them."""
        for key in keys:
            self._xdotool("key", key)
            self.keys += 1
            time.sleep(_LOOK_S)

    def types(self, text: str) -> None:
        """Type a text."""
        self._xdotool("type", "--delay", "8", text)
        self.typed += len(text)
        time.sleep(_LOOK_S)

    def _xdotool(self, *arguments: str) -> None:
        program = shutil.which("xdotool") or "xdotool"
        subprocess.run([program, *arguments], env=self._environ, check=True, capture_output=True)


@contextmanager
def person(environ: Mapping[str, str], data_dir: Path, *options: str) -> Iterator[Person]:
    """Yield somebody in front of a new desktop on which the program has been started."""
    manager = shutil.which("openbox") or "openbox"
    with desktop(environ) as screen:
        windows = subprocess.Popen(
            [manager], env=screen, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        command = [sys.executable, "-m", "mcp_progress_monitor", "--data-dir", str(data_dir)]
        somebody = Person(screen, [*command, *options])
        try:
            somebody.start()
            yield somebody
        finally:
            somebody.kill()
            windows.terminate()
            windows.wait()
