import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import screen
from environment import Environment
from system import SetupError

needs_xvfb = pytest.mark.skipif(shutil.which("Xvfb") is None, reason="Xvfb is not installed")


KNOWN = {"libxcb-icccm.so.4": "libxcb-icccm4"}


class Machine:
    """A machine on which Qt says, one after the other, what is in `errors`; None means it works."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *arguments: str | None, lacks: str = ""
    ) -> None:
        self.probed: list[str] = []
        self.installed: list[str] = []
        self._texts = list(arguments)
        self._lacks = dict.fromkeys(lacks.split(), "")
        self._lacks |= {name: KNOWN[name] for name in self._lacks if name in KNOWN}
        monkeypatch.setattr(screen, "trouble", self._trouble)
        monkeypatch.setattr(screen, "missing", lambda *_: self._lacks)
        monkeypatch.setattr(screen, "install", self._install)

    def _trouble(self, _python: Path, platform: str, _environ: object) -> str | None:
        self.probed.append(platform)
        return self._texts.pop(0)

    def _install(self, packages: list[str], why: str) -> None:
        self.installed.append(f"{why}: {' '.join(packages)}")


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An environment that remembers nothing yet."""
    made = Environment(tmp_path)
    made.folder.mkdir()
    return made


@pytest.mark.parametrize("name", ["DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"])
def test_linux_has_a_display_where_a_variable_names_one(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")

    assert screen.has_display({name: ":0"})
    assert not screen.has_display({name: ""})


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_a_desktop_system_always_has_a_display(
    monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)

    assert screen.has_display({})


@pytest.mark.parametrize(
    ("platform", "environ", "expected"),
    [
        ("linux", {"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}, "xcb"),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, "wayland"),
        ("linux", {"DISPLAY": ":0", "QT_QPA_PLATFORM": "wayland;xcb"}, "wayland"),
        ("linux", {"QT_QPA_PLATFORM": "offscreen:size=1x1"}, "offscreen"),
        ("darwin", {}, "cocoa"),
        ("win32", {}, "windows"),
    ],
)
def test_the_native_platform_follows_the_display(
    monkeypatch: pytest.MonkeyPatch, platform: str, environ: dict[str, str], expected: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)

    assert screen.native_platform(environ) == expected


def test_qt_really_starts_off_screen_here() -> None:
    assert screen.trouble(Path(sys.executable), "offscreen", os.environ) is None


def test_a_platform_that_cannot_load_is_reported_in_qts_text() -> None:
    text = screen.trouble(Path(sys.executable), "nonesuch", os.environ)

    assert text is not None
    assert "nonesuch" in text


def test_a_platform_is_probed_once(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch, None)

    screen.ensure_platform(environment, "xcb", {})
    screen.ensure_platform(environment, "xcb", {})

    assert machine.probed == ["xcb"]
    assert machine.installed == []


def test_missing_libraries_are_installed_and_qt_is_tried_again(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch, "could not load", None, lacks="libxcb-icccm.so.4")

    screen.ensure_platform(environment, "xcb", {})

    assert machine.probed == ["xcb", "xcb"]
    assert machine.installed == ["Qt's platform 'xcb' lacks libxcb-icccm.so.4: libxcb-icccm4"]


def test_an_error_that_no_package_fixes_is_reported_without_installing(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch, "out of memory")

    with pytest.raises(SetupError, match="'xcb':\nout of memory"):
        screen.ensure_platform(environment, "xcb", {})

    assert machine.installed == []
    assert not environment.works_on("xcb")


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("DISPLAY", "qt.qpa.xcb: could not connect to display :99\nxcb-cursor0 is needed"),
        ("WAYLAND_DISPLAY", "Failed to create wl_display (No such file or directory)"),
    ],
)
def test_a_display_that_does_not_answer_is_named(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, variable: str, text: str
) -> None:
    Machine(monkeypatch, text)

    with pytest.raises(SetupError) as caught:
        screen.ensure_platform(environment, "xcb", {variable: "screen-99"})

    assert "The display screen-99 does not answer" in str(caught.value)
    assert "cursor" not in str(caught.value)


def test_what_still_lacks_after_installing_is_named(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacks = "libxcb-icccm.so.4 libodd.so.1"
    machine = Machine(monkeypatch, "could not load", "could not load", lacks=lacks)

    with pytest.raises(SetupError, match=r"still missing: libxcb-icccm\.so\.4, libodd\.so\.1"):
        screen.ensure_platform(environment, "xcb", {})

    assert len(machine.installed) == 1


def test_a_library_of_which_no_package_is_known_is_named_and_nothing_is_installed(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch, "could not load", lacks="libodd.so.1")

    with pytest.raises(SetupError, match=r"still missing: libodd\.so\.1"):
        screen.ensure_platform(environment, "xcb", {})

    assert machine.installed == []


def test_what_lacks_is_asked_of_the_program_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    said = subprocess.CompletedProcess([], 0, "libGL.so.1 libgl1\nlibodd.so.1 \n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: said)

    lacking = screen.missing(Environment(), "xcb")

    assert lacking == {"libGL.so.1": "libgl1", "libodd.so.1": ""}
    assert screen.packages_in(lacking) == ["libgl1"]


def test_without_xvfb_qt_draws_off_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(screen, "ensure_xvfb", lambda: None)

    with screen.virtual_screen({"LANG": "C"}) as environ:
        assert environ == {"LANG": "C", "QT_QPA_PLATFORM": "offscreen"}

    assert "apt-get install -y xvfb" in capsys.readouterr().err


def test_xvfb_is_not_installed_by_someone_without_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("screen.shutil.which", lambda _: None)
    monkeypatch.setattr(screen, "is_debian", lambda: True)
    monkeypatch.setattr(screen, "is_root", lambda: False)
    monkeypatch.setattr(screen, "install", lambda *_: pytest.fail("installed without rights"))

    assert screen.ensure_xvfb() is None


def test_a_failed_xvfb_installation_is_reported_and_not_required(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise SetupError("apt-get update failed")

    monkeypatch.setattr("screen.shutil.which", lambda _: None)
    monkeypatch.setattr(screen, "is_debian", lambda: True)
    monkeypatch.setattr(screen, "is_root", lambda: True)
    monkeypatch.setattr(screen, "install", fail)

    assert screen.ensure_xvfb() is None
    assert "apt-get update failed" in capsys.readouterr().err


@needs_xvfb
def test_a_virtual_screen_lives_as_long_as_its_block() -> None:
    with screen.virtual_screen({}) as environ:
        socket = Path("/tmp/.X11-unix/X" + environ["DISPLAY"].removeprefix(":"))  # noqa: S108
        assert environ["QT_QPA_PLATFORM"] == "xcb"
        assert socket.exists()

    assert not socket.exists()


@needs_xvfb
def test_two_virtual_screens_get_two_numbers() -> None:
    with screen.virtual_screen({}) as first, screen.virtual_screen({}) as second:
        assert first["DISPLAY"] != second["DISPLAY"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no Xvfb, and no false either")
def test_a_server_that_does_not_start_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "ensure_xvfb", lambda: shutil.which("false"))

    with pytest.raises(SetupError, match=r"false did not start \(exit code 1\)"):
        screen.virtual_screen({}).__enter__()
