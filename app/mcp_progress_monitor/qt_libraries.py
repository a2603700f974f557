"""Names the system's libraries that Qt or Python lacks on this Linux, and the packages to install.

`python -m mcp_progress_monitor.qt_libraries PLATFORM…` prints them with their Debian packages, for
the scripts in `packaging`.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import bundle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Packages(NamedTuple):
    """The package that brings a library, by the family of the system; empty if it has none.

    None where it has the same name as in Fedora.
    """

    debian: str
    fedora: str
    arch: str | None = None
    alpine: str | None = None

    def of(self, family: str) -> str:
        name: str | None = getattr(self, family)
        return self.fedora if name is None else name


PACKAGES: Final = {
    "libEGL.so.1": Packages("libegl1", "libglvnd-egl", "libglvnd", "mesa-egl"),
    "libGL.so.1": Packages("libgl1", "libglvnd-glx", "libglvnd", "mesa-gl"),
    "libGLX.so.0": Packages("libglx0", "libglvnd-glx", "libglvnd", ""),
    "libGLdispatch.so.0": Packages("libglvnd0", "libglvnd", alpine=""),
    "libICE.so.6": Packages("libice6", "libICE", "libice", "libice"),
    "libOpenGL.so.0": Packages("libopengl0", "libglvnd-opengl", "libglvnd", ""),
    "libSM.so.6": Packages("libsm6", "libSM", "libsm", "libsm"),
    "libX11-xcb.so.1": Packages("libx11-xcb1", "libX11-xcb", "libx11", "libx11"),
    "libX11.so.6": Packages("libx11-6", "libX11", "libx11", "libx11"),
    "libXau.so.6": Packages("libxau6", "libXau", "libxau", "libxau"),
    "libXdmcp.so.6": Packages("libxdmcp6", "libXdmcp", "libxdmcp", "libxdmcp"),
    "libXext.so.6": Packages("libxext6", "libXext", "libxext", "libxext"),
    "libbrotlicommon.so.1": Packages("libbrotli1", "libbrotli", "brotli", "brotli-libs"),
    "libbrotlidec.so.1": Packages("libbrotli1", "libbrotli", "brotli", "brotli-libs"),
    "libcrypto.so.3": Packages("libssl3", "openssl-libs", "openssl", "libcrypto3"),
    "libdbus-1.so.3": Packages("libdbus-1-3", "dbus-libs", "dbus"),
    "libdrm.so.2": Packages("libdrm2", "libdrm"),
    "libexpat.so.1": Packages("libexpat1", "expat", alpine="libexpat"),
    "libffi.so.8": Packages("libffi8", "libffi"),
    "libfontconfig.so.1": Packages("libfontconfig1", "fontconfig"),
    "libfreetype.so.6": Packages("libfreetype6", "freetype", "freetype2"),
    "libgbm.so.1": Packages("libgbm1", "mesa-libgbm", "mesa", "mesa-gbm"),
    "libgcc_s.so.1": Packages("libgcc-s1", "libgcc", "gcc-libs"),
    "libglib-2.0.so.0": Packages("libglib2.0-0", "glib2", alpine="glib"),
    "libgssapi_krb5.so.2": Packages("libgssapi-krb5-2", "krb5-libs", "krb5"),
    "libgthread-2.0.so.0": Packages("libglib2.0-0", "glib2", alpine="glib"),
    "liblzma.so.5": Packages("liblzma5", "xz-libs", "xz"),
    "libpcre2-8.so.0": Packages("libpcre2-8-0", "pcre2"),
    "libpng16.so.16": Packages("libpng16-16", "libpng"),
    "libsqlite3.so.0": Packages("libsqlite3-0", "sqlite-libs", "sqlite"),
    "libssl.so.3": Packages("libssl3", "openssl-libs", "openssl", "libssl3"),
    "libstdc++.so.6": Packages("libstdc++6", "libstdc++", "gcc-libs"),
    "libsystemd.so.0": Packages("libsystemd0", "systemd-libs", alpine=""),
    "libwayland-client.so.0": Packages(
        "libwayland-client0", "libwayland-client", "wayland", "wayland-libs-client"
    ),
    "libwayland-cursor.so.0": Packages(
        "libwayland-cursor0", "libwayland-cursor", "wayland", "wayland-libs-cursor"
    ),
    "libwayland-egl.so.1": Packages(
        "libwayland-egl1", "libwayland-egl", "wayland", "wayland-libs-egl"
    ),
    "libxcb-cursor.so.0": Packages("libxcb-cursor0", "xcb-util-cursor"),
    "libxcb-glx.so.0": Packages("libxcb-glx0", "libxcb"),
    "libxcb-icccm.so.4": Packages("libxcb-icccm4", "xcb-util-wm"),
    "libxcb-image.so.0": Packages("libxcb-image0", "xcb-util-image"),
    "libxcb-keysyms.so.1": Packages("libxcb-keysyms1", "xcb-util-keysyms"),
    "libxcb-randr.so.0": Packages("libxcb-randr0", "libxcb"),
    "libxcb-render-util.so.0": Packages("libxcb-render-util0", "xcb-util-renderutil"),
    "libxcb-render.so.0": Packages("libxcb-render0", "libxcb"),
    "libxcb-shape.so.0": Packages("libxcb-shape0", "libxcb"),
    "libxcb-shm.so.0": Packages("libxcb-shm0", "libxcb"),
    "libxcb-sync.so.1": Packages("libxcb-sync1", "libxcb"),
    "libxcb-util.so.1": Packages("libxcb-util1", "xcb-util"),
    "libxcb-xfixes.so.0": Packages("libxcb-xfixes0", "libxcb"),
    "libxcb-xinerama.so.0": Packages("libxcb-xinerama0", "libxcb"),
    "libxcb-xkb.so.1": Packages("libxcb-xkb1", "libxcb"),
    "libxcb.so.1": Packages("libxcb1", "libxcb"),
    "libxkbcommon-x11.so.0": Packages("libxkbcommon-x11-0", "libxkbcommon-x11"),
    "libxkbcommon.so.0": Packages("libxkbcommon0", "libxkbcommon"),
    "libz.so.1": Packages("zlib1g", "zlib"),
    "libzstd.so.1": Packages("libzstd1", "libzstd", "zstd", "zstd-libs"),
}
"""The packages of each library, by the file's name."""

_SYSTEMS: Final = {
    "debian": ("Debian and Ubuntu", ("apt update", "apt install")),
    "fedora": ("Fedora and RHEL", ("dnf install",)),
    "arch": ("Arch", ("pacman -S",)),
    "alpine": ("Alpine", ("apk add",)),
}
"""Name of each family of systems, and its commands to install packages."""
_LIKE: Final = {"ubuntu": "debian", "rhel": "fedora", "centos": "fedora"}
"""Other names in `ID` and `ID_LIKE` of os-release."""

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


def plugin_of(name: str) -> Path | None:
    """The file of Qt's plugin for a platform; None if Qt brings none."""
    plugins = (folder / "Qt" / "plugins" / "platforms" for folder in _folders())
    files = (folder / f"libq{name}.so" for folder in plugins)
    return next((file for file in files if file.exists()), None)


def missing(names: Iterable[str], error: str = "") -> list[str]:
    """The libraries that Qt's modules and its plugins for some platforms lack, sorted.

    `error` is the loader's own message, if any: it names one, also where no `ldd` is.
    """
    files = [file for name in _MODULES for folder in _folders() for file in folder.glob(name)]
    files += [file for name in names if (file := plugin_of(name))]
    return sorted({*_LACKING.findall(_dependencies(files)), *named(error)})


def named(error: str) -> list[str]:
    """The library that the loader's message says is not there; empty for other messages."""
    match = _NAMED.search(error)
    return [match["library"] or match["musl"]] if match else []


def advice(libraries: Iterable[str]) -> list[str]:
    """Lines that say what to install for these libraries on this system, or on all if unknown."""
    wanted = sorted(libraries)
    family = _family()
    sudo = "" if hasattr(os, "geteuid") and os.geteuid() == 0 else "sudo "
    lines = []
    unknown = set(wanted)
    for name in [family] if family else _SYSTEMS:
        found = {each: _package(each, name) for each in wanted}
        unknown &= {each for each, package in found.items() if not package}
        packages = sorted({package for package in found.values() if package})
        if packages:
            system, commands = _SYSTEMS[name]
            command = " && ".join(f"{sudo}{each}" for each in commands)
            lines.append(f"On {system}: {command} {' '.join(packages)}")
    if unknown:
        lines.append(f"Search your distribution's packages for {', '.join(sorted(unknown))}.")
    return lines


def _package(library: str, family: str) -> str:
    known = PACKAGES.get(library)
    return known.of(family) if known else ""


def _family() -> str:
    """The family of this system, empty if it is none of those that are known."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ""
    names = [release.get("ID", ""), *release.get("ID_LIKE", "").split()]
    known = (_LIKE.get(name, name) for name in names)
    return next((name for name in known if name in _SYSTEMS), "")


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
        sys.stdout.write(f"{library} {_package(library, 'debian')}\n")
