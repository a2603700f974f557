"""Both distributions hold what they declare, nothing of the checkout, the same at each build."""

import configparser
import subprocess
import sys
import time
import zipfile
from email.message import Message
from pathlib import Path

import pytest

import distributions
from distributions import CORE, NAME
from environment import ROOT
from tests.patience import PATIENCE_S

PACKAGE = "mcp_progress_monitor"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build all once; the files by their names."""
    files = distributions.build(ROOT, tmp_path_factory.mktemp("dist"))
    return {file.name: file for file in files}


def _wheel(built: dict[str, Path], name: str) -> Path:
    (found,) = (f for f in built.values() if f.name.startswith(f"{_snake(name)}-") and _is(f))
    return found


def _is(file: Path) -> bool:
    return file.suffix == ".whl"


def _snake(name: str) -> str:
    return name.replace("-", "_")


def _sdist(built: dict[str, Path]) -> Path:
    (found,) = (f for f in built.values() if f.name.startswith(_snake(CORE)) and not _is(f))
    return found


def _metadata(built: dict[str, Path], name: str) -> Message:
    return distributions.metadata(_wheel(built, name))


def _points(wheel: Path) -> configparser.ConfigParser:
    points = configparser.ConfigParser()
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (n for n in opened.namelist() if n.endswith("entry_points.txt"))
        points.read_string(opened.read(name).decode())
    return points


def test_every_module_and_every_resource_is_in_the_core(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(_wheel(built, CORE)) as opened:
        names = set(opened.namelist())
    app = ROOT / "app"
    modules = {p.relative_to(app).as_posix() for p in (app / PACKAGE).rglob("*.py")}
    shipped = [p.relative_to(ROOT) for p in (ROOT / "resources").rglob("*") if p.is_file()]

    assert modules <= names
    assert shipped
    assert {f"{PACKAGE}/{p.as_posix()}" for p in shipped} <= names
    assert {f"{PACKAGE}/resources/manual/index.md", f"{PACKAGE}/py.typed"} <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {PACKAGE, _snake(CORE)}


def test_the_distribution_with_the_window_has_no_files_of_its_own(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(_wheel(built, NAME)) as opened:
        assert all(".dist-info/" in name for name in opened.namelist())


def test_both_have_the_command_that_imports_nothing_early(built: dict[str, Path]) -> None:
    for name in (NAME, CORE):
        scripts = _points(_wheel(built, name))["console_scripts"]
        assert dict(scripts) == {NAME: f"{PACKAGE}.__main__:main"}


def test_only_the_window_requires_qt_and_it_requires_the_core_of_its_version(
    built: dict[str, Path],
) -> None:
    window, core = _metadata(built, NAME), _metadata(built, CORE)
    required = window.get_all("Requires-Dist", [])
    plain = [each for each in core.get_all("Requires-Dist", []) if "extra ==" not in each]

    assert f"{CORE}=={core['Version']}" in required
    assert {"pyside6", "qasync"} <= {each.split("-")[0].split("<")[0] for each in required}
    assert not any(each.lower().startswith(("pyside6", "qasync")) for each in plain)
    assert set(window.get_all("Provides-Extra", [])) == {"agents", "keyring", "oauth"}


def test_a_wheel_with_a_foreign_file_or_a_relative_link_is_refused(
    built: dict[str, Path], tmp_path: Path
) -> None:
    wheel = _wheel(built, NAME)
    changed = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as opened, zipfile.ZipFile(changed, "w") as written:
        for name in opened.namelist():
            added = b"[a](docs/a.md)" if name.endswith("/METADATA") else b""
            if not name.endswith("/LICENSE"):
                written.writestr(name, opened.read(name) + added)
        written.writestr("tests/test_a.py", "")

    assert distributions.wheel_faults(wheel) == []
    assert distributions.wheel_faults(changed) == [
        "it has tests/test_a.py",
        "it has no licence",
        "its description has a relative link",
    ]


@pytest.mark.campaign
def test_an_sdist_is_the_same_each_time_and_makes_the_same_wheel(
    built: dict[str, Path], tmp_path: Path
) -> None:
    sdist, python = _sdist(built), Path(sys.executable)
    folder = distributions.unpack(sdist, tmp_path / "unpacked")
    environ = {"SOURCE_DATE_EPOCH": distributions.epoch(ROOT)}
    again, wheel = distributions.hatchling(
        python, folder, tmp_path, "sdist", "wheel", environ=environ
    )

    assert again.read_bytes() == sdist.read_bytes()
    assert wheel.read_bytes() == _wheel(built, CORE).read_bytes()


def test_the_bare_core_taps_with_nothing_else_installed(
    built: dict[str, Path], tmp_path: Path
) -> None:
    with zipfile.ZipFile(_wheel(built, CORE)) as opened:
        opened.extractall(tmp_path / "bare")
    start = f"import sys; sys.path.insert(0, {str(tmp_path / 'bare')!r})"
    code = f"{start}; from {PACKAGE}.__main__ import main; sys.exit(main())"
    data = tmp_path / "data"
    command = [sys.executable, "-I", "-S", "-c", code, "tap", "--data-dir", str(data), "--"]
    echo = [sys.executable, "-I", "-S", "-c", "print(input())"]

    done = subprocess.run([*command, *echo], input=b'{"a": 1}\n', capture_output=True, check=False)

    assert (done.returncode, done.stdout) == (0, b'{"a": 1}\n'), done.stderr
    deadline = time.monotonic() + PATIENCE_S
    while not list(data.rglob("*.mcprec")):  # a process of its own writes it
        assert time.monotonic() < deadline
        time.sleep(0.05)
