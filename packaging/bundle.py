"""The program as a folder that needs no Python: made with PyInstaller, and tried out.

What differs in a bundle shows only in a bundle: `sys.executable` is the program itself, and the
environment has the bundle's own libraries. So each one that is built is run, too: a call, a server
that looks at its environment, and the window on a screen nobody sees.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import licences
from distributions import NAME, epoch
from environment import Environment
from proofs import Program
from system import SetupError, checked, say

FOLDER, EXTRAS = "build/bundle-environment", "bundle,keyring,oauth,window"
"""The environment of its own that a bundle is made in, and the project's extras in it."""
UNWANTED = ("coverage", "hypothesis", "importlinter", "mypy", "pytest", "pytestqt", "ruff")
"""What developers install; PyInstaller bundles what it finds in its environment."""
_UNUSED_PLUGINS = (
    *("egldeviceintegrations/*", "generic/*", "platformthemes/libqgtk3.so"),
    *(
        f"platforms/libq{name}.so"
        for name in ("eglfs", "linuxfb", "minimalegl", "vkkhrdisplay", "vnc")
    ),
)
_SYSTEM = ("/lib", "/usr/lib")
PATIENCE_S = 120.0
_LOOK = (
    "import json, os, pathlib, sys\n"
    "pathlib.Path(sys.argv[1]).write_text(json.dumps({**os.environ}))"
)
_USERS = {"LD_LIBRARY_PATH": "/users/libraries", "QT_PLUGIN_PATH": "/users/plugins"}


def build_bundle(developers: Environment) -> int:
    """Make dist/mcp-progress-monitor and try it out; 1 when it does not work.

    It is made in an environment of its own, not in the one that `developers` use.
    """
    environment = Environment(developers.root, FOLDER, EXTRAS)
    environment.ensure()
    dist, work = environment.root / "dist", environment.root / "build" / "bundle"
    spec = environment.root / "packaging" / "bundle.spec"
    remove_unused(environment.folder)
    options = ["--noconfirm", "--log-level", "WARN", "--distpath", str(dist), "--workpath"]
    command = [str(environment.python), "-m", "PyInstaller", *options, str(work), str(spec)]
    say("Making the bundle, which takes a minute or two")
    # The same order of all sets, and the same time: the same bundle.
    environ = {**os.environ, "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": epoch(environment.root)}
    done = subprocess.run(
        command, cwd=environment.root, env=environ, stdout=sys.stderr, check=False
    )
    if done.returncode:
        raise SetupError("PyInstaller failed; its own words are above.")
    licences.write(dist / NAME / "licences", environment.python)
    _write_pages(developers, dist / NAME, environment.python)
    write_notices(work / "bundle", dist / NAME / "licences")
    say(f"Built {dist / NAME}")
    return try_out(dist / NAME, environment.python)


def _write_pages(developers: Environment, folder: Path, python: Path) -> None:
    """Write the man page, completions and the bill of materials.

    With the developers' environment, which has the libraries for them.
    """
    developers.ensure()
    for script, *arguments in (
        ("manual.py", folder),
        ("sbom.py", folder / f"{NAME}.cdx.json", python),
    ):
        path = developers.root / "packaging" / str(script)
        command = [str(developers.python), str(path), *map(str, arguments)]
        if subprocess.run(command, stdout=sys.stderr, check=False).returncode:
            raise SetupError(f"{script} failed; the reason is above.")


def remove_unused(folder: Path) -> None:
    """Delete plugins of Qt that need libraries of a desktop or of embedded systems.

    PyInstaller would bundle those of this machine.
    """
    for pattern in _UNUSED_PLUGINS:
        for file in folder.glob(f"**/PySide6/Qt/plugins/{pattern}"):
            file.unlink()


def write_notices(work: Path, folder: Path) -> None:
    """Copy the notices of the system's libraries that PyInstaller has bundled, on Debian.

    Raises:
        SetupError: a library is of no package.
    """
    contents = work / "COLLECT-00.toc"
    if not sys.platform.startswith("linux") or not contents.exists():
        return
    found = ast.literal_eval(contents.read_text(encoding="utf-8"))
    for _, source, kind in found[0]:
        if kind != "BINARY" or not source.startswith(_SYSTEM):
            continue
        # A package may have put it below /lib, which is now a link to /usr/lib.
        name = checked("dpkg-query", "--search", f"*/{Path(source).resolve().name}")
        package = name.partition(":")[0]
        notice = Path("/usr/share/doc", package, "copyright")
        if not notice.exists():
            raise SetupError(f"{package} has no notice for {source}.")
        (folder / "system").mkdir(parents=True, exist_ok=True)
        shutil.copy(notice, folder / "system" / f"{package}.txt")


def try_out(folder: Path, python: Path) -> int:
    """Run a bundle in all the ways that differ from a checkout; 1 when one of them fails.

    `python` has the PyInstaller that made it.
    """
    with tempfile.TemporaryDirectory() as temporary:
        trial = Trial(folder, Path(temporary), python)
        for name, step in {
            "its content": trial.list_content,
            "a call of the demo": trial.call,
            "a server's environment": trial.look,
            "the window with the demo": trial.open_window,
        }.items():
            error = step()
            if error is None and (left := trial.left()):
                error = f"these processes are left: {', '.join(left)}"
            say(f"-- {name}: {error or 'ok'}")
            if error is not None:
                return 1
    return 0


class Trial:
    """A bundle, tried out with data folders of its own; each step says what is wrong, if any."""

    def __init__(self, folder: Path, data: Path, python: Path = Path(sys.executable)) -> None:
        self._folder = folder
        self._program = str(folder / NAME)
        self._data = data
        self._python = python

    def list_content(self) -> str | None:
        """See that nothing is in it that only developers need."""
        viewer = [str(self._python), "-m", "PyInstaller.utils.cliutils.archive_viewer"]
        command = [*viewer, "--list", "--recursive", "--brief", self._program]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"PyInstaller cannot list it: {done.stderr.strip()}"
        modules = {name.partition(".")[0] for name in re.findall(r"[\w.]+", done.stdout)}
        files = {path.name.partition("-")[0] for path in self._folder.glob("_internal/*")}
        found = sorted((modules | files).intersection(UNWANTED))
        return f"it contains {', '.join(found)}" if found else None

    def call(self) -> str | None:
        """Have the demo server do one job."""
        done = self._run("call", "--demo", "burst", "--arg", "count=100")
        return None if done.returncode == 0 else f"exit code {done.returncode}: {done.stderr}"

    def look(self) -> str | None:
        """See that a server has the user's environment, and nothing of the bundle's."""
        file = self._data / "environment.json"
        # The server ends at once, so that it cannot be connected: that is no matter here.
        self._run("tools", "--", sys.executable, "-c", _LOOK, str(file))
        if not file.exists():
            return "the server was not started"
        found: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
        kept = {name: found.get(name) for name in _USERS}
        ours = [name for name, value in found.items() if str(self._folder) in value]
        if kept != _USERS:
            return f"the server has {kept} in place of the user's {_USERS}"
        return f"the server has the bundle's {', '.join(ours)}" if ours else None

    def open_window(self) -> str | None:
        """Open the window with the demo on a virtual screen, wait for jobs to end, quit."""
        data = self._data
        program = Program(lambda words: [self._program, *words], str(data), data, os.environ)
        try:
            program.open_window()
        except SetupError as error:
            return str(error)
        return None

    def left(self) -> list[str]:
        """The bundle's processes that still run a moment later, where Linux tells."""
        deadline = time.monotonic() + 5
        while (found := processes_of(self._folder)) and time.monotonic() < deadline:
            time.sleep(0.1)
        return found

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._program, words[0], "--data-dir", str(self._data / "calls"), *words[1:]],
            env={**os.environ, **_USERS},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )


def processes_of(folder: Path) -> list[str]:
    """Name the processes whose program is in a folder, where Linux tells."""
    found = []
    for link in Path("/proc").glob("[0-9]*/exe"):
        try:
            if link.readlink().is_relative_to(folder):
                found.append(link.parent.name)
        except OSError:  # it ended, or is another user's
            continue
    return found
