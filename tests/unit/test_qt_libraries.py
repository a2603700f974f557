"""What Qt lacks is named as the system's loader finds it, in a copy of Qt that lacks something."""

import importlib.util
import os
import platform
import shutil
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor import qt_libraries
from mcp_progress_monitor.cli.entry import main

needs_ldd = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("ldd") is None, reason="the system's loader is Linux's"
)


@pytest.fixture(autouse=True)
def _root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)


def test_other_users_install_with_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"ID": "debian"})
    (line,) = qt_libraries.advice(["libssl.so.3"])
    assert line == "On Debian and Ubuntu: sudo apt update && sudo apt install libssl3"


@pytest.fixture
def lacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The off-screen plugin of a copy of Qt: two of its libraries are on no machine."""
    spec = importlib.util.find_spec("PySide6")
    assert spec is not None
    assert spec.submodule_search_locations
    qt = Path(spec.submodule_search_locations[0]) / "Qt"
    plugin = tmp_path / "Qt" / "plugins" / "platforms" / "libqoffscreen.so"
    plugin.parent.mkdir(parents=True)
    (tmp_path / "Qt" / "lib").symlink_to(qt / "lib")
    known, unknown = b"libX11.so.6", b"libxkbcommon.so.0"
    binary = (qt / plugin.relative_to(tmp_path / "Qt")).read_bytes()
    assert known in binary
    assert unknown in binary
    binary = binary.replace(known, b"libX00.so.6").replace(unknown, b"libxkbcommon.so.9")
    plugin.write_bytes(binary)
    monkeypatch.setattr(qt_libraries, "_folders", lambda: iter([tmp_path]))
    packages = qt_libraries.Packages("libx00-6", "libX00", "libx00", "")
    monkeypatch.setitem(qt_libraries.PACKAGES, "libX00.so.6", packages)
    return plugin


@needs_ldd
def test_a_window_that_cannot_open_names_exactly_the_libraries_that_lack(
    lacking: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"ID": "debian"})
    assert main(["--demo"]) == 2
    said = capsys.readouterr().err
    assert "Cannot load Qt, which the window needs (libX00.so.6, libxkbcommon.so.9)" in said
    assert "apt update && apt install libx00-6\n" in said
    assert "Search your distribution's packages for libxkbcommon.so.9." in said
    assert "libegl1" not in said
    assert "`call` and `resume` work without it" in said


@needs_ldd
def test_a_module_that_is_imported_late_is_tried_before_the_window_opens(
    lacking: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(lacking, lacking.parents[3] / "QtNetwork.abi3.so")
    assert main(["--demo"]) == 2
    said = capsys.readouterr().err.splitlines()[0]
    assert "Cannot load Qt, which the window needs (" in said
    assert "libX00.so.6" in said


@needs_ldd
def test_the_libraries_of_a_whole_qt_are_all_there() -> None:
    assert qt_libraries.missing(["offscreen"]) == []


def test_without_ldd_the_loaders_own_message_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    said = "libEGL.so.1: cannot open shared object file: No such file or directory"
    assert qt_libraries.missing(["xcb"], said) == ["libEGL.so.1"]
    said = "Error loading shared library libX11.so.6: No such file (needed by /x/libQt6Gui.so.6)"
    assert qt_libraries.missing(["xcb"], said) == ["libX11.so.6"]
    assert qt_libraries.missing(["xcb"], "/lib/libc.so.6: version `GLIBC_3' not found") == []


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"DISPLAY": ":0"}, ["xcb"]),
        ({}, ["xcb"]),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}, ["wayland", "xcb"]),
        ({"XDG_SESSION_TYPE": "wayland"}, ["wayland", "xcb"]),
        ({"QT_QPA_PLATFORM": "vnc:size=1x1;offscreen", "DISPLAY": ":0"}, ["vnc", "offscreen"]),
    ],
)
def test_qt_tries_the_platforms_in_this_order(environ: dict[str, str], expected: list[str]) -> None:
    assert qt_libraries.platforms(environ) == expected


@pytest.mark.parametrize(
    ("release", "line"),
    [
        ({"ID": "debian"}, "On Debian and Ubuntu: apt update && apt install libegl1 libglib2.0-0"),
        (
            {"ID": "linuxmint", "ID_LIKE": "ubuntu debian"},
            "On Debian and Ubuntu: apt update && apt install libegl1 libglib2.0-0",
        ),
        ({"ID": "fedora"}, "On Fedora and RHEL: dnf install glib2 libglvnd-egl"),
        (
            {"ID": "rocky", "ID_LIKE": "rhel centos fedora"},
            "On Fedora and RHEL: dnf install glib2 libglvnd-egl",
        ),
        ({"ID": "manjaro", "ID_LIKE": "arch"}, "On Arch: pacman -S glib2 libglvnd"),
        ({"ID": "alpine"}, "On Alpine: apk add glib mesa-egl"),
    ],
)
def test_the_packages_of_this_system_are_named_once(
    release: dict[str, str], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: release)
    libraries = ["libglib-2.0.so.0", "libgthread-2.0.so.0", "libEGL.so.1"]
    assert qt_libraries.advice(libraries) == [line]


def test_an_unknown_system_has_the_lines_of_all_and_libraries_without_a_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> dict[str, str]:
        raise FileNotFoundError

    for release in (lambda: {"ID": "nixos"}, fail):
        monkeypatch.setattr(platform, "freedesktop_os_release", release)
        lines = qt_libraries.advice(["libsystemd.so.0", "libodd.so.1"])
        assert lines == [
            "On Debian and Ubuntu: apt update && apt install libsystemd0",
            "On Fedora and RHEL: dnf install systemd-libs",
            "On Arch: pacman -S systemd-libs",
            "Search your distribution's packages for libodd.so.1.",
        ]
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"ID": "alpine"})
    (line,) = qt_libraries.advice(["libsystemd.so.0"])
    assert line == "Search your distribution's packages for libsystemd.so.0."
