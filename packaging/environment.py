"""The project's virtual environment: made once, filled from the constraints, renewed on change."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from system import SetupError, install, is_debian, say

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
DEVELOPERS = "dev,window"
"""The extras of the project that a checkout needs."""
_BACKEND = ("hatchling", "hatch-fancy-pypi-readme")
_CAN_FILL = "import sys, pip; sys.exit([*map(int, pip.__version__.split('.')[:2])] < [22, 3])"
"""Fails where this interpreter has no pip that can fill another's environment."""
_RARELY_USED = r"site-packages.(mypyc?|pip|pkg_resources|pygments.lexers|setuptools)\b"
"""A third of all that is installed. What of it is used is compiled then; mypy is compiled to C."""


class Environment:
    """A virtual environment in the checkout at `root`, holding the project itself, editable.

    A stamp file inside it remembers what was installed and which Qt platforms were seen working;
    both are forgotten together when the dependencies change. With `extras`, what is installed with
    the project is not what developers need but those of its optional dependencies.
    """

    def __init__(self, root: Path = ROOT, folder: str = ".venv", extras: str = DEVELOPERS) -> None:
        self.root = root
        self.folder = root / folder
        self._extras = extras
        self.constraints = root / "packaging" / "constraints.txt"
        self._stamp = self.folder / "dev-stamp.json"

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        if sys.platform == "win32":
            return self.folder / "Scripts" / "python.exe"
        return self.folder / "bin" / "python"

    @property
    def is_current(self) -> bool:
        """Tell whether this interpreter is the environment's."""
        return Path(sys.prefix).resolve() == self.folder.resolve()

    def ensure(self) -> None:
        """Make the environment, or renew it, unless it already holds what the project asks for.

        Raises:
            SetupError: it cannot be made here; the message says what to do.
        """
        wanted = self.fingerprint()
        if self._remembered().get("installed") == wanted and self.python.exists():
            return
        self._fill(self._own_pip if self._has_pip() else self._create())
        self._remember({"installed": wanted})

    def fingerprint(self) -> str:
        """Return a digest of all that decides what is installed: not of the linters' settings."""
        project = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))
        parts = [project.get("build-system"), project.get("project")]
        parts.append(project.get("tool", {}).get("hatch"))
        text = json.dumps(parts, sort_keys=True) + self.constraints.read_text(encoding="utf-8")
        return hashlib.sha256(text.encode()).hexdigest()

    def works_on(self, platform: str) -> bool:
        """Tell whether this Qt platform was seen working with what is installed now."""
        return platform in self._remembered().get("platforms", [])

    def remember_platform(self, platform: str) -> None:
        """Keep in the stamp that this Qt platform works."""
        stamp = self._remembered()
        stamp["platforms"] = sorted({*stamp.get("platforms", []), platform})
        self._remember(stamp)

    def _remembered(self) -> dict[str, Any]:
        try:
            stamp = json.loads(self._stamp.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return stamp if isinstance(stamp, dict) else {}

    def _remember(self, stamp: dict[str, Any]) -> None:
        self._stamp.write_text(json.dumps(stamp), encoding="utf-8")

    def _has_pip(self) -> bool:
        """Tell whether the environment's interpreter starts, is new enough and has pip."""
        probe = f"import sys, pip; sys.exit(sys.version_info[:2] < {OLDEST})"
        return self.python.exists() and _succeeds([str(self.python), "-c", probe])

    @property
    def _own_pip(self) -> list[str]:
        return [str(self.python), "-m", "pip"]

    def _create(self) -> list[str]:
        """Make it, with a pip only where there is none that can fill it; return that pip."""
        has_pip = _succeeds([sys.executable, "-c", _CAN_FILL])
        if not has_pip and not _succeeds([sys.executable, "-c", "import ensurepip, venv"]):
            _install_venv()
        say(f"Making the virtual environment {self.folder} (Python {sys.version.split()[0]})")
        options = ["--clear", *(["--without-pip"] if has_pip else [])]
        command = [sys.executable, "-m", "venv", *options, str(self.folder)]
        if subprocess.run(command, stdout=sys.stderr, check=False).returncode:
            raise SetupError(
                f"{sys.executable} could not make a virtual environment in {self.folder}; its own "
                "words are above. Is the disk full, or the folder not yours?"
            )
        if has_pip:
            return [sys.executable, "-m", "pip", "--python", str(self.python)]
        return self._own_pip

    def _fill(self, pip: Sequence[str]) -> None:
        say("Installing the dependencies (packaging/constraints.txt); the first time takes a while")
        options = ["--no-compile", "-c", str(self.constraints)]
        # The build backend first, from the same constraints: then nothing is fetched unpinned.
        # With it a pip of this year: those of older Pythons take three times as long for the rest.
        self._run(pip, "install", *options, "pip", *_BACKEND)
        self.pip("install", *options, "--no-build-isolation", "-e", f"{self.root}[{self._extras}]")
        # As pip does, but with all processors. What cannot be compiled tells that when it is used.
        compiled = ["-x", _RARELY_USED, str(self.folder), str(self.root / "app")]
        command = [str(self.python), "-m", "compileall", "-qq", "-j", "0", *compiled]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def pip(self, *arguments: str) -> None:
        """Run the environment's pip quietly.

        Raises:
            SetupError: pip failed; its own words stand above the message.
        """
        self._run(self._own_pip, *arguments)

    def _run(self, pip: Sequence[str], *arguments: str) -> None:
        command = [*pip, "--disable-pip-version-check", "-q", *arguments]
        if subprocess.run(command, cwd=self.root, stdout=sys.stderr, check=False).returncode:
            raise SetupError(
                f"pip {' '.join(arguments)} failed; its own words are above. Can this machine "
                "reach its package index (see: pip config list)? Then run this again."
            )


def _succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def is_system_python() -> bool:
    """Tell whether this interpreter is one that the system's packages brought."""
    return Path(sys.executable).resolve().is_relative_to("/usr/bin")


def _install_venv() -> None:
    """Install what Debian takes out of Python: venv's way to get pip."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if is_debian() and is_system_python():
        install([f"python{version}-venv"], "This Python cannot make virtual environments yet")
        return
    raise SetupError(
        f"{sys.executable} lacks the modules venv and ensurepip, so it cannot make a virtual "
        f"environment. Install a whole Python {version} and run this again with it."
    )
