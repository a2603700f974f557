"""Where Qt draws: does its platform plugin really load, is there a display, else a virtual one.

Importing PySide6 proves little: the import works where the window cannot open, because the plugin
loads its libraries only when an application is built. So an application is built, in a process of
its own that may die.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from system import SetupError, install, is_debian, is_root, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from environment import Environment

_NO_ANSWER = ("could not connect to display", "Failed to create wl_display")
_LIBRARIES = "mcp_progress_monitor.qt_libraries"
_PROBE = """
import sys
from PySide6.QtWidgets import QApplication
application = QApplication([])
print(application.platformName())
"""


def has_display(environ: Mapping[str, str]) -> bool:
    """Tell whether a window can appear: macOS and Windows always have a screen to draw on.

    Someone who names a platform in QT_QPA_PLATFORM has decided, and is not second-guessed.
    """
    if sys.platform in ("darwin", "win32"):
        return True
    return any(environ.get(n) for n in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))


def native_platform(environ: Mapping[str, str]) -> str:
    """Return the name of Qt's platform for the display there is."""
    named = environ.get("QT_QPA_PLATFORM", "").split(";")[0].split(":")[0]
    if named:
        return named
    if sys.platform in ("darwin", "win32"):
        return "cocoa" if sys.platform == "darwin" else "windows"
    return "xcb" if environ.get("DISPLAY") else "wayland"


def trouble(python: Path, platform: str, environ: Mapping[str, str]) -> str | None:
    """Build an application on this platform in a process of its own; return what went wrong."""
    try:
        done = subprocess.run(
            [str(python), "-c", _PROBE],
            env={**environ, "QT_QPA_PLATFORM": platform},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "it did not start within two minutes"
    if done.returncode == 0:
        return None
    return done.stderr.strip() or f"it ended with exit code {done.returncode}"


def ensure_platform(environment: Environment, platform: str, environ: Mapping[str, str]) -> None:
    """Make sure that Qt starts on this platform, installing libraries where that is allowed.

    Raises:
        SetupError: it does not start; the message names the missing libraries and what to type.
    """
    if environment.works_on(platform):
        return
    installed: set[str] = set()
    while (words := trouble(environment.python, platform, environ)) is not None:
        lacking = missing(environment, platform)
        packages = sorted({*packages_in(lacking)} - installed)
        if not packages:
            raise SetupError(_why(words, platform, list(lacking), environ))
        install(packages, f"Qt's platform '{platform}' lacks {', '.join(lacking)}")
        installed.update(packages)
    environment.remember_platform(platform)


def _why(words: str, platform: str, lacking: list[str], environ: Mapping[str, str]) -> str:
    """Say why Qt does not start; of a dead display Qt itself says that a library is missing."""
    if any(sign in words for sign in _NO_ANSWER):
        display = environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
        return (
            f"The display {display} does not answer. Correct DISPLAY (or WAYLAND_DISPLAY), or "
            "unset both: then the window is photographed on a virtual screen."
        )
    named = f" (still missing: {', '.join(lacking)})" if lacking else ""
    return f"Qt does not start on the platform '{platform}'{named}:\n{words}"


def ensure_xvfb() -> str | None:
    """Return the virtual X server's program, installed where that is allowed and possible."""
    if shutil.which("Xvfb") is None and is_debian() and is_root():
        try:
            install(["xvfb"], "A virtual screen needs Xvfb")
        except SetupError as error:
            say(str(error))
    return shutil.which("Xvfb")


@contextlib.contextmanager
def virtual_screen(environ: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the variables under which a window opens on a screen nobody sees.

    Xvfb where there is one; else Qt's own offscreen platform, which draws the same widgets but no
    window frames and needs no X server.
    """
    program = ensure_xvfb()
    if program is None:
        say("Xvfb is not installed (sudo apt-get install -y xvfb); Qt draws off screen instead.")
        yield {**environ, "QT_QPA_PLATFORM": "offscreen"}
        return
    reader, writer = os.pipe()
    # The server chooses a free number and tells it through the pipe: no race, no guessing.
    command = [program, "-displayfd", str(writer), "-screen", "0", "1600x1000x24"]
    server = subprocess.Popen(
        [*command, "-nolisten", "tcp", "-noreset"],
        pass_fds=[writer],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Ctrl+C is for the program on the screen; the screen ends after it.
        start_new_session=True,
    )
    os.close(writer)
    try:
        with os.fdopen(reader) as numbers:
            number = numbers.readline().strip()
        if not number:
            raise SetupError(f"{program} did not start (exit code {server.wait()}).")
        yield {**environ, "DISPLAY": f":{number}", "QT_QPA_PLATFORM": "xcb"}
    finally:
        server.terminate()
        server.wait()


def missing(environment: Environment, platform: str) -> dict[str, str]:
    """The libraries that Qt lacks for the platform; of each the Debian package, if it is known."""
    command = [str(environment.python), "-I", "-m", _LIBRARIES, platform]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return {line.split(" ")[0]: line.split(" ")[1] for line in done.stdout.splitlines()}


def packages_in(lacking: Mapping[str, str]) -> list[str]:
    """The packages to install for what `missing` found, as far as they are known."""
    return sorted({package for package in lacking.values() if package})
