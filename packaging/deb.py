"""The bundle as a package for Debian and Ubuntu: the program in /opt, its command, desktop files.

dpkg-deb makes it of a folder, with fixed times and owners: the same bundle gives the same package.
There are no scripts of a maintainer: triggers of Debian update the desktop's indexes.
"""

from __future__ import annotations

import datetime
import gzip
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from distributions import NAME, epoch
from manifests import source
from release import version_of
from system import checked, ensure_tools, say

_HERE: Final = Path(__file__).resolve().parent / "debian"
_TOOLS: Final = {"dpkg-deb": "dpkg", "dpkg-shlibdeps": "dpkg-dev"}
_CHECKERS: Final = {
    "appstreamcli": "appstream",
    "desktop-file-validate": "desktop-file-utils",
    "lintian": "lintian",
}
"""Programs, and the Debian packages that have them."""
_ASSOCIATION: Final = {
    "association/mcp-recording.xml": f"mime/packages/{NAME}.xml",
    "association/mcp-recording.svg": (
        "icons/hicolor/scalable/mimetypes/application-x-mcp-recording.svg"
    ),
    "icons/app.svg": f"icons/hicolor/scalable/apps/{NAME}.svg",
}
"""Files of `resources`, and where they go below /usr/share."""
_COMPLETIONS: Final = {
    "bash": "bash-completion/completions",
    "zsh": "zsh/vendor-completions",
    "fish": "fish/vendor_completions.d",
}
_ALWAYS: Final = ("fontconfig-config", "fonts-dejavu-core | fonts-freefont-ttf | fonts-noto-core")
"""What no library asks for: without a font, every letter is a box."""


def build_deb(root: Path, bundle: Path, folder: Path, python: Path = Path(sys.executable)) -> Path:
    """Make the package of a bundle in `folder`; `python` is the project's own, for the man page.

    Raises:
        SetupError: a tool lacks or failed.
    """
    ensure_tools(_TOOLS)
    version = version_of(root)
    with tempfile.TemporaryDirectory() as temporary:
        tree = Path(temporary) / "tree"
        _fill(root, bundle, tree, version)
        _add_manual(root, tree / "usr" / "share", python)
        _write(tree / "DEBIAN" / "control", control(version, depends(bundle), _size_kib(tree)))
        settle(tree, int(epoch(root)))
        architecture = checked("dpkg", "--print-architecture").strip()
        file = folder / f"{NAME}_{version}_{architecture}.deb"
        folder.mkdir(parents=True, exist_ok=True)
        environ = {**os.environ, "SOURCE_DATE_EPOCH": epoch(root)}
        options = ["--root-owner-group", "-Zxz", "--build"]
        checked("dpkg-deb", *options, str(tree), str(file), environ=environ)
    return file


def check_deb(file: Path) -> None:
    """Check the package and its desktop files as Debian does.

    Raises:
        SetupError: one of the checks found something; its own words are in the message.
    """
    ensure_tools(_CHECKERS)
    with tempfile.TemporaryDirectory() as temporary:
        checked("dpkg-deb", "--extract", str(file), temporary)
        share = Path(temporary) / "usr" / "share"
        desktops = sorted(map(str, share.glob("applications/*.desktop")))
        checked("desktop-file-validate", *desktops)
        (metainfo,) = share.glob("metainfo/*.xml")
        checked("appstreamcli", "validate", "--no-net", str(metainfo))
    checked("lintian", "--allow-root", "--fail-on", "error,warning", str(file))
    say(f"-- lintian, desktop-file-validate, appstreamcli: ok ({file.name})")


def control(version: str, required: list[str], size_kib: int, architecture: str = "amd64") -> str:
    """Write the package's control file."""
    return "\n".join(
        [
            f"Package: {NAME}",
            f"Version: {version}",
            f"Architecture: {architecture}",
            "Maintainer: MCP Progress Monitor <mcp-progress-monitor@users.noreply.github.com>",
            f"Installed-Size: {size_kib}",
            f"Depends: {', '.join(required)}",
            "Section: devel",
            "Priority: optional",
            "Description: watch the progress of long-running MCP calls",
            " A window and a command line that connect to servers of the Model Context",
            " Protocol, call their tools, and show each request with a progress token as a",
            " live row. Every message is kept byte for byte, and can be searched, checked by",
            " the rules of the protocol, and replayed.",
            "",
        ]
    )


def depends(bundle: Path) -> list[str]:
    """Name the packages with the system's libraries that files of the bundle load."""
    with tempfile.TemporaryDirectory() as temporary:
        _write(
            Path(temporary) / "debian" / "control",
            f"Source: {NAME}\n\nPackage: {NAME}\nArchitecture: any\n",
        )
        binaries = [str(file) for file in sorted(bundle.rglob("*")) if _is_binary(file)]
        folders = sorted({f"-l{Path(file).parent}" for file in binaries})
        # Of these packages the bundle has the libraries itself, with their notices.
        own = [f"-x{notice.stem}" for notice in bundle.glob("licences/system/*.txt")]
        options = ["-O", "--ignore-missing-info", "--warnings=0", *folders, *own]
        found = checked(
            "dpkg-shlibdeps", *options, *(f"-e{file}" for file in binaries), cwd=Path(temporary)
        ).removeprefix("shlibs:Depends=")
    return sorted({*found.strip().split(", "), *_ALWAYS})


def _is_binary(file: Path) -> bool:
    if file.is_symlink() or not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(4) == b"\x7fELF"


def _fill(root: Path, bundle: Path, tree: Path, version: str) -> None:
    """Put the files where Debian has them."""
    share, doc = tree / "usr" / "share", tree / "usr" / "share" / "doc" / NAME
    shutil.copytree(bundle, tree / "opt" / NAME, symlinks=True)
    (tree / "usr" / "bin").mkdir(parents=True)
    (tree / "usr" / "bin" / NAME).symlink_to(f"/opt/{NAME}/{NAME}")  # as Debian wants it
    date = datetime.datetime.fromtimestamp(int(epoch(root)), datetime.UTC)
    values = {"VERSION": version, "SOURCE": source(root), "DATE": f"{date:%Y-%m-%d}"}
    for name, place in {
        f"{NAME}.desktop": share / "applications" / f"{NAME}.desktop",
        f"{NAME}.metainfo.xml": share / "metainfo" / f"{NAME}.metainfo.xml",
        "copyright": doc / "copyright",
        "lintian-overrides": share / "lintian" / "overrides" / NAME,
    }.items():
        _write(place, _with_values((_HERE / name).read_text(encoding="utf-8"), values))
    resources = root / "resources"
    opening = (resources / "association" / f"{NAME}-open.desktop").read_text(encoding="utf-8")
    opening = _with_values(opening, {"COMMAND": f"{NAME} open"})
    _write(share / "applications" / f"{NAME}-open.desktop", opening)
    for name, where in _ASSOCIATION.items():
        _write(share / where, (resources / name).read_text(encoding="utf-8"))
    _compress(doc / "changelog.gz", changelog(version, date))


def _add_manual(root: Path, share: Path, python: Path) -> None:
    """Add the man page, and completions where each shell looks for them."""
    with tempfile.TemporaryDirectory() as temporary:
        checked(str(python), str(root / "packaging" / "manual.py"), temporary)
        for file in Path(temporary, "man").iterdir():
            _compress(share / "man" / "man1" / f"{file.name}.gz", file.read_text(encoding="utf-8"))
        for file in Path(temporary, "completions").glob("*/*"):
            _write(share / _COMPLETIONS[file.parent.name] / file.name, file.read_text("utf-8"))


def changelog(version: str, date: datetime.datetime) -> str:
    """Write Debian's changelog, which refers to the program's own."""
    return (
        f"{NAME} ({version}) stable; urgency=medium\n\n"
        f"  * Version {version}; see CHANGELOG.md of the program.\n\n"
        " -- MCP Progress Monitor <mcp-progress-monitor@users.noreply.github.com>  "
        f"{date:%a, %d %b %Y %H:%M:%S} +0000\n"
    )


def settle(tree: Path, at: int) -> None:
    """Give all files one time, and the modes that Debian wants, whatever the umask was."""
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            is_open = path.is_dir() or (os.access(path, os.X_OK) and path.stat().st_mode & 0o100)
            path.chmod(0o755 if is_open else 0o644)
        os.utime(path, (at, at), follow_symlinks=False)


def _with_values(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _compress(file: Path, text: str) -> None:
    """Compress as Debian wants it: at the best level, without a time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _size_kib(tree: Path) -> int:
    files = (file for file in tree.rglob("*") if file.is_file() and not file.is_symlink())
    return sum(-(-file.stat().st_size // 1024) for file in files)
