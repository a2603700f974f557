"""The licences of what a bundle contains, collected from the environment that it is made in.

`write` fills a folder with the notices of every distribution that the program needs there, of
Python, and of Qt with the LGPL's text and the way to its source. It fails when one has no notice.
`contents` lists those distributions, for the bill of materials as well (`sbom.py`).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final, NamedTuple

from environment import ROOT
from system import SetupError

ROOTS: Final = ("mcp-progress-monitor", "mcp-progress-monitor-core")
EXTRAS: Final = ("keyring", "oauth", "window")
"""The project's distributions, as far as they are installed, and the extras in a bundle."""
_STARTER: Final = "pyinstaller"
"""Its start is in a bundle, nothing that it depends on is."""
_WORDED: Final = {_STARTER: "GPL-2.0-or-later WITH Bootloader-exception"}
"""Licences that their metadata name with less than what matters."""
_NOTICES: Final = Path(__file__).resolve().parent / "notices"
_MISSING: Final = {
    "jsonschema-rs": ("jsonschema-rs.txt",),
    "pyside6-essentials": ("LGPL-3.0.txt", "GPL-3.0.txt", "Qt.txt"),
    "shiboken6": ("LGPL-3.0.txt", "GPL-3.0.txt"),
}
"""The texts in `notices` for distributions whose wheels bring none."""
_NOTICE: Final = re.compile(
    r"[^/]+\.dist-info/(licenses/.+|sboms/.+|[^/]*(licen[cs]e|copying|notice|authors)[^/]*)",
    re.IGNORECASE,
)


class Content(NamedTuple):
    """A distribution that is in a bundle; `files` are paths of its notices."""

    name: str
    version: str
    licence: str
    summary: str
    url: str
    files: tuple[str, ...]


def contents(python: Path) -> list[Content]:
    """List what the program needs in the environment of `python`, sorted by name.

    Raises:
        SetupError: it has not the program, or lacks a distribution.
    """
    command = [str(python), str(Path(__file__).resolve())]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise SetupError(f"Cannot list the distributions of {python}: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    return [
        Content(name, version, licence, summary, url, tuple(files))
        for name, version, licence, summary, url, files in found["distributions"]
    ]


def write(folder: Path, python: Path) -> None:
    """Write a folder with all notices, and a list of them, in place of what was there.

    Raises:
        SetupError: a distribution, or Python itself, has no notice.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = ["What this folder's program contains, and under which licences.", ""]
    for content in contents(python):
        own = folder / f"{content.name}-{content.version}"
        own.mkdir()
        notices = [Path(file) for file in content.files]
        notices += [_NOTICES / name for name in _MISSING.get(content.name, ())]
        if not notices:
            raise SetupError(
                f"{content.name} {content.version} has no licence file. Add its text to"
                " packaging/notices and to packaging/licences.py."
            )
        for file in notices:
            target = own / file.as_posix().rpartition(".dist-info/")[2].removeprefix("licenses/")
            if file.parent == _NOTICES:
                target = own / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        lines.append(f"{content.name} {content.version}: {content.licence or 'see its folder'}")
    python_folder = folder / "Python"
    python_folder.mkdir()
    shutil.copyfile(_python_licence(python), python_folder / "LICENSE.txt")
    lines.append("Python: PSF-2.0")
    fonts = folder / "Noto"
    fonts.mkdir()
    for name in ("NOTICE.md", "OFL.txt"):
        shutil.copyfile(ROOT / "resources" / "fonts" / name, fonts / name)
    lines.append("Noto fonts: OFL-1.1")
    (folder / "README.txt").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def _python_licence(python: Path) -> Path:
    script = "import sys, sysconfig as s; print(s.get_path('stdlib'), sys.base_prefix, sep='\\n')"
    printed = subprocess.run(
        [str(python), "-c", script], capture_output=True, text=True, check=True
    )
    standard, prefix = map(Path, printed.stdout.splitlines())
    debian = Path("/usr/share/doc") / standard.name / "copyright"
    for file in (standard / "LICENSE.txt", prefix / "LICENSE.txt", debian):
        if file.is_file():
            return file
    raise SetupError(f"The licence of Python was not found in {standard} or {prefix}.")


def _listed() -> dict[str, Any]:
    """Print-ready lists for `contents`, made in the interpreter that has the distributions."""
    roots = [root for root in ROOTS if _installed(root)]
    if not roots:
        sys.exit(f"none of {', '.join(ROOTS)} is installed")
    found = _closure(roots)
    if (starter := _installed(_STARTER)) is not None:
        found[_STARTER] = starter
    return {"distributions": [_content(name, found[name]) for name in sorted(found)]}


def _closure(roots: list[str]) -> dict[str, Distribution]:
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: dict[str, Distribution] = {}
    waiting = [(root, frozenset(EXTRAS)) for root in roots]
    seen = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        found[name] = distribution(name)
        for text in found[name].requires or ():
            needed = Requirement(text)
            wanted = [{"extra": extra} for extra in ("", *extras)]
            if needed.marker is None or any(map(needed.marker.evaluate, wanted)):
                waiting.append((canonicalize_name(needed.name), frozenset(needed.extras)))
    return found


def _content(name: str, found: Distribution) -> list[Any]:
    files = [file for file in found.files or () if _NOTICE.fullmatch(file.as_posix())]
    licence = _WORDED.get(name) or _field(found, "License-Expression")
    licence = licence or _classified(found.metadata.get_all("Classifier") or [])
    licence = licence or _field(found, "License").partition("\n")[0]
    page = _field(found, "Home-page") or _field(found, "Project-URL").rpartition(",")[2].strip()
    paths = [str(found.locate_file(file)) for file in files]
    return [name, found.version, licence, _field(found, "Summary"), page, paths]


def _field(found: Distribution, name: str) -> str:
    """The first value of a field of the metadata, empty if there is none."""
    return next(iter(found.metadata.get_all(name) or ()), "")


def _classified(classifiers: list[str]) -> str:
    names = [each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License :: ")]
    return ", ".join(name for name in names if name != "OSI Approved")


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    json.dump(_listed(), sys.stdout)
