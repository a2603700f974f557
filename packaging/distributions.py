"""The two distributions: `mcp-progress-monitor-core`, and `mcp-progress-monitor` with the window.

The first is this tree. The second has no code: it requires the first at its own version, and Qt.
Both declare the command, because pipx and uv install commands only of the distribution that was
named.
"""

from __future__ import annotations

import email
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from system import SetupError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from email.message import Message

NAME: Final = "mcp-progress-monitor"
CORE: Final = f"{NAME}-core"
_PACKAGE: Final = "mcp_progress_monitor"
_EXTRAS: Final = ("agents", "keyring", "oauth")
"""Extras for users; the others are for developers."""
_SAME: Final = ("description", "license", "license-files", "requires-python", "keywords")
_WITHOUT_COMMIT: Final = "1580601600"
"""The time of files that are built from an sdist: hatchling's own, 2020-02-02."""


def epoch(root: Path) -> str:
    """Return the time of the commit in seconds, which the files get that are built from it."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return os.environ["SOURCE_DATE_EPOCH"]
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return _WITHOUT_COMMIT
    command = [git, "-C", str(root), "log", "-1", "--format=%ct"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def build(root: Path, folder: Path, python: Path = Path(sys.executable)) -> list[Path]:
    """Build the sdists and wheels of both into `folder`, with the hatchling of `python`.

    Raises:
        SetupError: it failed, or a wheel has what it must not have.
    """
    core = hatchling(python, root, folder, "sdist", "wheel")
    with tempfile.TemporaryDirectory() as temporary:
        _write_window(root, Path(temporary), metadata(core[-1]))
        environ = {"SOURCE_DATE_EPOCH": epoch(root)}
        window = hatchling(python, Path(temporary), folder, "sdist", "wheel", environ=environ)
    for wheel in (core[-1], window[-1]):
        if faults := wheel_faults(wheel):
            raise SetupError(f"{wheel.name}: {'; '.join(faults)}")
    return [*core, *window]


def hatchling(
    python: Path, root: Path, folder: Path, *targets: str, environ: Mapping[str, str] | None = None
) -> list[Path]:
    """Build the project in `root`; its files, in the order of the targets."""
    folder.mkdir(parents=True, exist_ok=True)
    own = {**os.environ, **(environ or {"SOURCE_DATE_EPOCH": epoch(root)})}
    files = []
    for target in targets:
        with tempfile.TemporaryDirectory() as made:
            command = [str(python), "-m", "hatchling", "build", "-t", target, "-d", made]
            done = subprocess.run(
                command, cwd=root, env=own, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise SetupError(f"hatchling failed:\n{done.stderr}")
            (file,) = Path(made).iterdir()
            files.append(Path(shutil.copy(file, folder)))
    return files


def metadata(wheel: Path) -> Message:
    """Read a wheel's metadata; the payload is the long description."""
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (each for each in opened.namelist() if each.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(opened.read(name))


def wheel_faults(wheel: Path) -> list[str]:
    """List what is wrong with the content of a wheel."""
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    info = "-".join([*wheel.name.split("-")[:2]]) + ".dist-info/"
    strange = [name for name in names if not name.startswith((f"{_PACKAGE}/", info))]
    faults = [f"it has {name}" for name in strange]
    if f"{info}licenses/LICENSE" not in names:
        faults.append("it has no licence")
    if any("](" in line and "](http" not in line for line in _links(metadata(wheel))):
        faults.append("its description has a relative link")
    return faults


def _links(message: Message) -> Iterable[str]:
    return (f"]({part}" for part in str(message.get_payload()).split("](")[1:])


def unpack(sdist: Path, folder: Path) -> Path:
    """Unpack an sdist; the folder that it holds."""
    with tarfile.open(sdist) as opened:
        opened.extractall(folder, filter="data")
    (found,) = folder.iterdir()
    return found


def _write_window(root: Path, folder: Path, core: Message) -> None:
    """Write the project of the distribution with the window, with literal values."""
    with (root / "pyproject.toml").open("rb") as file:
        project: dict[str, Any] = tomllib.load(file)["project"]
    version = core["Version"]
    extras = {name: [f"{CORE}[{name}]=={version}"] for name in _EXTRAS}
    requires = [f"{CORE}=={version}", *project["optional-dependencies"]["window"]]
    values = {name: project[name] for name in (*_SAME, "classifiers")}
    values |= {"name": NAME, "version": version, "readme": "README.md", "dependencies": requires}
    tables = {
        "build-system": {"requires": ["hatchling>=1.27"], "build-backend": "hatchling.build"},
        "project": values,
        "project.optional-dependencies": extras,
        "project.urls": project["urls"],
        "project.scripts": project["scripts"],
        "tool.hatch.build.targets.wheel": {"bypass-selection": True},  # no files of its own
    }
    text = "\n".join(line for name, table in tables.items() for line in _lines(name, table))
    (folder / "pyproject.toml").write_text(text + "\n", encoding="utf-8")
    (folder / "README.md").write_text(str(core.get_payload()), encoding="utf-8")
    shutil.copy(root / "LICENSE", folder)


def _lines(name: str, table: Mapping[str, Any]) -> Iterable[str]:
    """A table in TOML: JSON, but for tables in it."""
    yield f"[{name}]"
    for key, value in table.items():
        yield f"{key} = {json.dumps(value)}"
