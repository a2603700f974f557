"""The program as one of its forms installed it, used as a user would."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from screen import virtual_screen
from system import SetupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PATIENCE_S: Final = 300.0
_LEAST_JOBS: Final = 3
"""Jobs of the demo that have come to their end when the window is quit."""
_SLOWER: Final = 1.5
_SETTLED_S: Final = 3.0
"""How much longer than the first start the second may take until jobs have ended."""
_PAINTED: Final = Path(__file__).resolve().parent / "painted.py"
_SCREEN: Final = frozenset({"DISPLAY", "QT_QPA_PLATFORM"})
_BARE: Final = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


class Program:
    """A command that starts it, and its data folder: as the program sees it, and as we see it."""

    def __init__(
        self,
        command: Callable[[list[str]], list[str]],
        data: str,
        seen: Path,
        environ: Mapping[str, str],
    ) -> None:
        self._command = command
        self._data = data
        self._seen = seen
        self._environ = {**_BARE, **environ}

    def watch_job(self) -> float:
        """Have the demo server do a job and watch its recording; the seconds that it took."""
        started = time.monotonic()
        self._run("call", "--data-dir", self._data, "--demo", "burst", "--arg", "count=100")
        shown = self._run("watch", self._recording())
        took = time.monotonic() - started
        if "burst" not in shown:
            raise SetupError(f"watch does not show the job: {shown}")
        return took

    def check(self) -> None:
        """Check the recording of the job."""
        self._run("check", self._recording())

    def tap(self) -> None:
        """Pass a message through a tap, and wait for its recording."""
        shown = self._run("tap", "--data-dir", self._data, "--", "echo", '{"a": 1}')
        if shown != '{"a": 1}\n':
            raise SetupError(f"The tap passed on {shown!r}")
        _until(lambda: any(self._seen.rglob("live/*.mcprec")), "the tap recorded nothing")

    def open_window(self, picture: str | None = None, python: Path | None = None) -> None:
        """Open the window on a virtual screen, wait for jobs to end, and quit it.

        Then again for a picture, in the data folder, whose text `python` looks at: letters have
        many shapes, boxes few.
        """
        with virtual_screen(os.environ) as screen:
            shown: dict[str, str] = {
                name: value for name, value in screen.items() if name in _SCREEN
            }
            with self._started(
                "--demo", "--data-dir", f"{self._data}/window", environ=shown
            ) as window:
                started = time.monotonic()
                _until(lambda: self._is_done(window), "no job of the demo came to its end")
                took = time.monotonic() - started
                window.terminate()
                if code := window.wait(PATIENCE_S):
                    raise SetupError(f"the window ended with exit code {code}")
            if picture is None or python is None:
                return
            delay = f"{_SLOWER * took + _SETTLED_S:.0f}"  # jobs have ended by then again
            options = ["--screenshot", f"{self._data}/{picture}", "--screenshot-delay", delay]
            with self._started(
                "--demo", "--data-dir", f"{self._data}/w", *options, environ=shown
            ) as w:
                if code := w.wait(PATIENCE_S):
                    raise SetupError(f"taking the picture ended with exit code {code}")
        if not _ended_jobs(self._seen / "w"):
            raise SetupError("no job of the demo had come to its end in the picture")
        command = [str(python), str(_PAINTED), str(self._seen / picture)]
        if subprocess.run(command, stdout=sys.stderr, check=False).returncode:
            raise SetupError(f"there is no text in {self._seen / picture}")

    def _is_done(self, window: subprocess.Popen[bytes]) -> bool:
        if window.poll() is not None:
            raise SetupError(f"the window ended by itself with exit code {window.returncode}")
        return _ended_jobs(self._seen / "window") >= _LEAST_JOBS

    def _recording(self) -> str:
        (file,) = (self._seen / "recordings").glob("*.mcprec")
        return f"{self._data}/recordings/{file.name}"

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            self._command(list(words)),
            env=self._environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_S,
            check=False,
        )
        if done.returncode:
            raise SetupError(f"{words[0]} ended with exit code {done.returncode}:\n{done.stderr}")
        return done.stdout

    @contextlib.contextmanager
    def _started(
        self, *words: str, environ: Mapping[str, str]
    ) -> Iterator[subprocess.Popen[bytes]]:
        with subprocess.Popen(
            self._command(list(words)), env={**self._environ, **environ}
        ) as process:
            try:
                yield process
            finally:
                process.kill()


def prove(program: Program, *, picture: str | None = None, python: Path | None = None) -> float:
    """Use the program in all these ways; the seconds until a job was watched.

    Raises:
        SetupError: one of them failed.
    """
    took = program.watch_job()
    program.check()
    program.tap()
    if picture:
        program.open_window(picture, python)
    return took


def _ended_jobs(data: Path) -> int:
    """How many results of tools a recording has."""
    files = data.glob("recordings/*.mcprec")
    return sum(file.read_bytes().count(b'"content":[') for file in files)


def _until(happened: Callable[[], bool], failure: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        if time.monotonic() > deadline:
            raise SetupError(failure)
        time.sleep(0.2)
