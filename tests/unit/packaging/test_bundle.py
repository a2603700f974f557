"""A bundle that is built is tried out, and what is wrong with it is said."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import bundle
import licences
from distributions import NAME
from environment import Environment
from tests.unit.packaging.recorder import Recorder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="stand-ins are shell scripts")


def _program(folder: Path, script: str) -> bundle.Trial:
    """A stand-in for a bundle's program, tried out."""
    program = folder / "bundle" / NAME
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return bundle.Trial(program.parent, folder)


def test_a_call_that_fails_is_reported_with_its_text(tmp_path: Path) -> None:
    error = _program(tmp_path, "echo No such option -m >&2; exit 2").call()
    assert error is not None
    assert "No such option -m" in error


def test_a_server_that_is_given_the_users_environment_is_fine(tmp_path: Path) -> None:
    assert _program(tmp_path, 'shift 4; exec "$@"').look() is None


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ('shift 4; LD_LIBRARY_PATH="${0%/*}" exec "$@"', "in place of the user's"),
        ('shift 4; LIBS="${0%/*}" exec "$@"', "the bundle's LIBS"),
        ("exit 1", "was not started"),
    ],
)
def test_a_server_that_is_given_the_bundles_environment_is_found(
    tmp_path: Path, script: str, text: str
) -> None:
    error = _program(tmp_path, script).look()
    assert error is not None
    assert text in error


def test_what_only_developers_need_is_found_in_a_bundle(tmp_path: Path) -> None:
    trial = _program(tmp_path, "exit 0")
    listing = "['base_library.zip', 'pytest', 'mypy.main', 'anyio.pytest_plugin', 'click']"
    viewer = tmp_path / "python"
    viewer.write_text(f'#!/bin/sh\necho "{listing}"\n')
    viewer.chmod(0o755)
    tried = bundle.Trial(tmp_path / "bundle", tmp_path, viewer)
    (tmp_path / "bundle" / "_internal" / "hypothesis-6.1.dist-info").mkdir(parents=True)
    assert tried.list_content() == "it contains hypothesis, mypy, pytest"
    assert "cannot list it" in (trial.list_content() or "")


def test_a_bundle_is_made_in_an_environment_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    monkeypatch.setattr(subprocess, "run", recorder)
    ensured: list[Environment] = []
    used: list[Path] = []

    def ensure(environment: Environment) -> None:
        ensured.append(environment)

    def try_out(_folder: Path, python: Path) -> int:
        used.append(python)
        return 0

    monkeypatch.setattr(Environment, "ensure", ensure)
    monkeypatch.setattr(bundle, "try_out", try_out)
    monkeypatch.setattr(licences, "write", lambda _, python: used.append(python))
    developers = Environment(tmp_path)
    assert bundle.build_bundle(developers) == 0
    own = ensured[0]
    assert own.folder == tmp_path / "build" / "bundle-environment"
    assert used == [own.python, own.python]
    made, *described = recorder.commands
    assert "PyInstaller" in made
    assert str(developers.folder) not in made
    assert all(each.startswith(str(developers.python)) for each in described)
    assert "manual.py" in described[0]
    assert described[1].endswith(str(own.python))


def test_processes_of_the_bundle_are_found_by_their_program() -> None:
    folder = Path(sys.executable).resolve().parent
    assert str(os.getpid()) in bundle.processes_of(folder)


def test_plugins_that_would_bring_a_desktop_are_left_out(tmp_path: Path) -> None:
    plugins = tmp_path / "lib" / "PySide6" / "Qt" / "plugins"
    kept, left = plugins / "platforms" / "libqxcb.so", plugins / "platformthemes" / "libqgtk3.so"
    for file in (kept, left):
        file.parent.mkdir(parents=True)
        file.touch()

    bundle.remove_unused(tmp_path)

    assert kept.exists()
    assert not left.exists()


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="dpkg is Debian's")
def test_the_notices_of_bundled_libraries_of_the_system_are_collected(tmp_path: Path) -> None:
    (libc,) = {str(path) for path in Path("/usr/lib").glob("*-linux-gnu/libc.so.6")}
    entries = [("libc.so.6", libc, "BINARY"), ("a.so", str(tmp_path / "a.so"), "BINARY")]
    (tmp_path / "COLLECT-00.toc").write_text(repr((entries,)))

    bundle.write_notices(tmp_path, tmp_path / "licences")

    assert [file.name for file in (tmp_path / "licences" / "system").iterdir()] == ["libc6.txt"]
