"""Names the system's libraries that Qt needs and this Linux lacks, and their Debian packages.

`python -m mcp_progress_monitor.qt_libraries PLATFORM…` prints them, for the scripts in `packaging`.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import bundle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PACKAGES: Final = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libGLX.so.0": "libglx0",
    "libGLdispatch.so.0": "libglvnd0",
    "libICE.so.6": "libice6",
    "libOpenGL.so.0": "libopengl0",
    "libSM.so.6": "libsm6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libX11.so.6": "libx11-6",
    "libXau.so.6": "libxau6",
    "libXdmcp.so.6": "libxdmcp6",
    "libXext.so.6": "libxext6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libdrm.so.2": "libdrm2",
    "libexpat.so.1": "libexpat1",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libgbm.so.1": "libgbm1",
    "libgcc_s.so.1": "libgcc-s1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgssapi_krb5.so.2": "libgssapi-krb5-2",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libpcre2-8.so.0": "libpcre2-8-0",
    "libpng16.so.16": "libpng16-16",
    "libstdc++.so.6": "libstdc++6",
    "libsystemd.so.0": "libsystemd0",
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xinerama.so.0": "libxcb-xinerama0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libz.so.1": "zlib1g",
    "libzstd.so.1": "libzstd1",
}
"""The package that brings each library, by the file's name (Debian and Ubuntu)."""

_LATE: Final = "QtNetwork.*so"
_MODULES: Final = ("QtCore.*so", "QtGui.*so", "QtWidgets.*so", "QtSvg.*so", _LATE)
_LACKING: Final = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)
_NAMED: Final = re.compile(
    r"(?P<library>lib[^\s/:]+\.so[.\d]*): cannot open shared object file"  # glibc
    r"|Error loading shared library (?P<musl>lib[^\s/:]+\.so[.\d]*)"
)


def platforms(environ: Mapping[str, str]) -> list[str]:
    """The platforms that Qt tries on Linux, in its order."""
    named = environ.get("QT_QPA_PLATFORM", "")
    if named:
        return [name.partition(":")[0] for name in named.split(";")]
    wayland = "WAYLAND_DISPLAY" in environ or environ.get("XDG_SESSION_TYPE") == "wayland"
    return ["wayland", "xcb"] if wayland else ["xcb"]


def late_modules() -> list[Path]:
    """The files of Qt's modules that are imported once the window is painted."""
    return [file for folder in _folders() for file in folder.glob(_LATE)]


def plugin_of(platform: str) -> Path | None:
    """The file of Qt's plugin for a platform; None if Qt brings none."""
    plugins = (folder / "Qt" / "plugins" / "platforms" for folder in _folders())
    files = (folder / f"libq{platform}.so" for folder in plugins)
    return next((file for file in files if file.exists()), None)


def missing(names: Iterable[str], error: str = "") -> list[str]:
    """The libraries that Qt's modules and its plugins for some platforms lack, sorted.

    `error` is the loader's own message, if any: it names one, also where no `ldd` is.
    """
    files = [file for name in _MODULES for folder in _folders() for file in folder.glob(name)]
    files += [file for name in names if (file := plugin_of(name))]
    found = set(_LACKING.findall(_dependencies(files)))
    if match := _NAMED.search(error):
        found.add(match["library"] or match["musl"])
    return sorted(found)


def packages_of(libraries: Iterable[str]) -> list[str]:
    """The Debian packages that bring these libraries, as far as they are known."""
    return sorted({PACKAGES[library] for library in libraries if library in PACKAGES})


def _folders() -> Iterator[Path]:
    spec = importlib.util.find_spec("PySide6")
    locations = spec.submodule_search_locations if spec else None
    yield from map(Path, locations or ())


def _dependencies(files: list[Path]) -> str:
    import shutil  # only where something lacks
    import subprocess

    ldd = shutil.which("ldd")
    if ldd is None or not files:
        return ""
    environ = dict(os.environ)
    if bundle.is_bundled():  # its own start sets this, and the program takes it back
        environ["LD_LIBRARY_PATH"] = str(getattr(sys, "_MEIPASS", ""))
    command = [ldd, *map(str, files)]
    done = subprocess.run(command, env=environ, capture_output=True, check=False)
    return done.stdout.decode(errors="replace")


if __name__ == "__main__":
    for library in missing(sys.argv[1:]):
        sys.stdout.write(f"{library} {PACKAGES.get(library, '')}\n")
