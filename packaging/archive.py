"""A folder as one file to download, the same each time: names in order, one time, no owner."""

from __future__ import annotations

import platform
import sys
import tarfile
import time
import zipfile
from typing import TYPE_CHECKING, Final

from system import checked

if TYPE_CHECKING:
    from pathlib import Path

_SYSTEMS: Final = {"darwin": "macos", "win32": "windows"}
_MACHINES: Final = {"AMD64": "x86_64"}


def archive(folder: Path, version: str, at: int) -> list[Path]:
    """Pack a folder beside itself: .zip on Windows, .tar.xz elsewhere, and .dmg on macOS."""
    system = _SYSTEMS.get(sys.platform, sys.platform)
    machine = _MACHINES.get(platform.machine(), platform.machine())
    name = f"{folder.name}-{version}-{system}-{machine}"
    if system == "windows":
        return [zipped(folder, folder.with_name(f"{name}.zip"), at)]
    files = [tarred(folder, folder.with_name(f"{name}.tar.xz"), at)]
    if system == "macos":
        image = folder.with_name(f"{name}.dmg")
        options = ["-ov", "-format", "UDZO", "-volname", folder.name, "-srcfolder", str(folder)]
        checked("hdiutil", "create", *options, str(image))
        files.append(image)
    return files


def tarred(folder: Path, file: Path, at: int) -> Path:
    """Write a .tar.xz; links stay links, and only who may execute a file is kept."""

    def settled(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = at
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        return member

    with tarfile.open(file, "w:xz", format=tarfile.PAX_FORMAT) as opened:
        opened.add(folder, folder.name, filter=settled)  # in the order of the names
    return file


def zipped(folder: Path, file: Path, at: int) -> Path:
    """Write a .zip."""
    when = time.gmtime(at)[:6]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                member = zipfile.ZipInfo(path.relative_to(folder.parent).as_posix(), when)
                member.compress_type = zipfile.ZIP_DEFLATED
                opened.writestr(member, path.read_bytes())
    return file
