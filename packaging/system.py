"""The machine below the virtual environment: what may be installed, and words when it may not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SHOWN = 6000


class SetupError(Exception):
    """Something the person at the keyboard has to do; the message says what, and how."""


def say(text: str) -> None:
    """Tell the person what happens, on standard error: standard output belongs to the program."""
    print(text, file=sys.stderr, flush=True)


def is_debian(etc: Path = Path("/etc")) -> bool:
    """Tell whether apt-get is how this machine installs things."""
    return (etc / "debian_version").exists() and shutil.which("apt-get") is not None


def is_root() -> bool:
    """Tell whether system packages may be installed without asking for a password."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def install_command(packages: Sequence[str]) -> str:
    """Return the command a person types on Debian to install these packages."""
    return f"sudo apt-get update && sudo apt-get install -y {' '.join(packages)}"


def install(packages: Sequence[str], why: str) -> None:
    """Install Debian packages, or say exactly what to type.

    Raises:
        SetupError: this is not Debian, this is not root, or apt-get failed.
    """
    if not is_debian():
        raise SetupError(
            f"{why}. This machine has no apt-get; install what these Debian packages hold with "
            f"its own package manager, then run this again:\n    {' '.join(packages)}"
        )
    if not is_root():
        raise SetupError(
            f"{why}. Install what is missing, then run this again:\n    {install_command(packages)}"
        )
    say(f"{why}. Installing with apt-get: {' '.join(packages)}")
    _apt("update", "-q")
    _apt("install", "-y", "-q", "--no-install-recommends", *packages)


def ensure_tools(packages: Mapping[str, str]) -> None:
    """Have these programs, each with the Debian package that has it.

    Raises:
        SetupError: one is missing, and cannot be installed here.
    """
    lacking = [program for program in packages if shutil.which(program) is None]
    if lacking:
        install(sorted({packages[each] for each in lacking}), f"This needs {', '.join(lacking)}")


def checked(
    program: str, *words: str, environ: Mapping[str, str] | None = None, cwd: Path | None = None
) -> str:
    """Run a program of this machine; its output.

    Raises:
        SetupError: it is missing or failed; the message has the end of what it wrote.
    """
    found = shutil.which(program)
    if found is None:
        raise SetupError(f"{program} is not installed.")
    done = subprocess.run(
        [found, *words],
        env=None if environ is None else dict(environ),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        end = f"{done.stdout}{done.stderr}"[-_SHOWN:]
        raise SetupError(f"{program} failed (exit code {done.returncode}):\n{end}")
    return done.stdout


def _apt(*arguments: str) -> None:
    """Run apt-get without questions; its own words are shown only where it fails."""
    program = shutil.which("apt-get") or "apt-get"
    done = subprocess.run(
        [program, *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise SetupError(
            f"apt-get {' '.join(arguments)} failed (exit code {done.returncode}):\n{done.stdout}"
        )
