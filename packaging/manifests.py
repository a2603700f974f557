"""What package managers read of a release: a Homebrew formula and winget manifests.

They are templates, filled with the checksums of the files that were built on all systems.
"""

from __future__ import annotations

import datetime
import string
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from environment import ROOT
from release import notes, version_of, write_sums
from system import SetupError, say

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME: Final = "mcp-progress-monitor"
IDENTIFIER: Final = "mcp-progress-monitor.mcp-progress-monitor"
BUNDLES: Final = {
    "linux_x86_64": "linux-x86_64.tar.xz",
    "macos_arm64": "macos-arm64.tar.xz",
    "windows_x86_64": "windows-x86_64.zip",
}
"""The end of the name of each system's bundle, after the program's name and version."""
FILES: Final = {
    "formula.rb": "homebrew/mcp-progress-monitor.rb",
    "winget.yaml": f"winget/{IDENTIFIER}.yaml",
    "winget.installer.yaml": f"winget/{IDENTIFIER}.installer.yaml",
    "winget.locale.en-US.yaml": f"winget/{IDENTIFIER}.locale.en-US.yaml",
}
"""Each template with the file that is written below `manifests`."""
_TEMPLATES: Final = Path(__file__).resolve().parent / "templates"


def write(folder: Path, root: Path = ROOT) -> int:
    """Write SHA256SUMS into the folder with the files of a release, and manifests beside them.

    Raises:
        SetupError: the bundle of a system is not among them.
    """
    version, sums = version_of(root), write_sums(folder)
    values = _values(version, source(root), sums)
    for template, name in FILES.items():
        text = (_TEMPLATES / template).read_text("utf-8")
        file = folder / "manifests" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        filled = string.Template(text).substitute(values)
        file.write_text(filled, encoding="utf-8", newline="\n")
    text = notes(version, root)
    (folder / "manifests" / "notes.md").write_text(text, encoding="utf-8", newline="\n")
    say(f"Wrote the checksums of {len(sums)} files, and {len(FILES)} manifests.")
    return 0


def source(root: Path = ROOT) -> str:
    """Return the address of the repository."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return str(project["urls"]["Source"])


def _values(version: str, address: str, sums: Mapping[str, str]) -> dict[str, str]:
    values = {
        "identifier": IDENTIFIER,
        "version": version,
        "source": address,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
    for system, end in BUNDLES.items():
        name = f"{NAME}-{version}-{end}"
        if name not in sums:
            raise SetupError(f"{name} is missing: build the bundles of all systems first.")
        values[f"{system}_url"] = f"{address}/releases/download/v{version}/{name}"
        values[f"{system}_sha256"] = sums[name]
    return values
