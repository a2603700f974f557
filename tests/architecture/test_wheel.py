"""The wheel holds the program, the files it ships and its command, and nothing of the checkout."""

import configparser
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import APP, PACKAGE, ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """Build the wheel as any installer would."""
    folder: Path = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (file,) = folder.glob("*.whl")
    with zipfile.ZipFile(file) as opened:
        yield opened


def test_every_module_and_every_resource_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    modules = {p.relative_to(APP.parent).as_posix() for p in APP.rglob("*.py")}
    shipped = [p.relative_to(ROOT) for p in (ROOT / "resources").rglob("*") if p.is_file()]

    assert modules <= names
    assert shipped
    assert {f"{PACKAGE}/{p.as_posix()}" for p in shipped} <= names
    assert f"{PACKAGE}/resources/manual/index.md" in names


def test_nothing_else_is_installed_beside_the_program(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}

    assert {top.split("-")[0] for top in tops} == {PACKAGE}


def test_the_command_is_the_main_that_imports_nothing_early(wheel: zipfile.ZipFile) -> None:
    (name,) = (n for n in wheel.namelist() if n.endswith("entry_points.txt"))
    points = configparser.ConfigParser()
    points.read_string(wheel.read(name).decode())

    assert points["console_scripts"]["mcp-progress-monitor"] == "mcp_progress_monitor.__main__:main"


def test_the_types_are_announced(wheel: zipfile.ZipFile) -> None:
    assert "mcp_progress_monitor/py.typed" in wheel.namelist()
