import sys
from pathlib import Path

import pytest

from environment import Environment
from system import SetupError
from tests.unit.packaging.recorder import Recorder

PROJECT = """
[project]
dependencies = ["click>=8"]
[tool.ruff]
line-length = 100
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the two files that decide what is installed."""
    (tmp_path / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging" / "constraints.txt").write_text("click==8.5.1\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def made(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """An environment that exists and is up to date."""
    environment = Environment(checkout)
    environment.python.parent.mkdir(parents=True)
    environment.python.touch()
    monkeypatch.setattr("environment.subprocess.run", Recorder())
    environment.ensure()
    return environment


def _replace(file: Path, old: str, new: str) -> None:
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_a_new_checkout_gets_an_environment_filled_from_the_constraints(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    monkeypatch.setattr("environment.subprocess.run", recorder)
    environment = Environment(checkout)
    environment.folder.mkdir()

    environment.ensure()

    probe, create, backend, project, compiling = recorder.commands
    assert "import sys, pip" in probe
    assert f"-m venv --clear --without-pip {environment.folder}" in create
    assert f"-m pip --python {environment.python} " in backend
    assert backend.endswith(f"-c {environment.constraints} pip hatchling hatch-fancy-pypi-readme")
    assert project.startswith(f"{environment.python} -m pip ")
    assert f"-c {environment.constraints}" in project
    assert project.endswith(f"-e {checkout}[dev,window]")
    assert all("--no-compile" in line for line in (backend, project))
    assert compiling.endswith(f" {environment.folder} {checkout / 'app'}")


def test_an_environment_of_another_kind_has_its_own_folder_and_extras(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    monkeypatch.setattr("environment.subprocess.run", recorder)
    environment = Environment(checkout, "build/bundle", "bundle,oauth")
    environment.folder.mkdir(parents=True)

    environment.ensure()

    assert recorder.commands[-2].endswith(f"-e {checkout}[bundle,oauth]")
    assert environment.folder == checkout / "build" / "bundle"


def test_where_no_pip_can_fill_it_the_environment_brings_its_own(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(lambda line: 1 if "import sys, pip" in line else 0)
    monkeypatch.setattr("environment.subprocess.run", recorder)
    environment = Environment(checkout)
    environment.folder.mkdir()

    environment.ensure()

    create, backend, _, _ = recorder.commands[-4:]
    assert create.endswith(f"-m venv --clear {environment.folder}")
    assert backend.startswith(f"{environment.python} -m pip ")


def test_nothing_runs_while_nothing_changed(
    made: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    monkeypatch.setattr("environment.subprocess.run", recorder)

    made.ensure()

    assert recorder.commands == []


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [("pyproject.toml", "click>=8", "click>=9"), ("packaging/constraints.txt", "8.5.1", "8.5.2")],
)
def test_changed_dependencies_are_installed_into_the_same_environment(
    made: Environment, monkeypatch: pytest.MonkeyPatch, file: str, old: str, new: str
) -> None:
    recorder = Recorder()
    monkeypatch.setattr("environment.subprocess.run", recorder)
    _replace(made.root / file, old, new)

    made.ensure()

    assert not any("venv" in line.split() for line in recorder.commands)
    assert recorder.commands[-2].endswith(f"-e {made.root}[dev,window]")


def test_a_linter_setting_changes_nothing_that_is_installed(made: Environment) -> None:
    before = made.fingerprint()
    _replace(made.root / "pyproject.toml", "line-length = 100", "line-length = 90")

    assert made.fingerprint() == before


def test_a_platform_seen_working_is_forgotten_when_dependencies_change(made: Environment) -> None:
    made.remember_platform("xcb")
    assert made.works_on("xcb")
    assert not made.works_on("wayland")

    _replace(made.constraints, "8.5.1", "8.5.2")
    made.ensure()

    assert not made.works_on("xcb")


@pytest.mark.parametrize("damage", ["", "{", "[]"])
def test_a_damaged_stamp_means_installing_again(
    made: Environment, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    recorder = Recorder()
    monkeypatch.setattr("environment.subprocess.run", recorder)
    (made.folder / "dev-stamp.json").write_text(damage, encoding="utf-8")

    made.ensure()

    assert any(line.endswith("hatch-fancy-pypi-readme") for line in recorder.commands)


def test_an_environment_whose_python_is_broken_is_made_again(
    made: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(lambda line: 1 if "import sys, pip" in line else 0)
    monkeypatch.setattr("environment.subprocess.run", recorder)
    _replace(made.constraints, "8.5.1", "8.5.2")

    made.ensure()

    assert any("-m venv --clear" in line for line in recorder.commands)


def test_a_failed_installation_is_reported_and_not_remembered(
    made: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    _replace(made.constraints, "8.5.1", "8.5.2")
    broken = Recorder(lambda line: 1 if "hatchling" in line else 0)
    monkeypatch.setattr("environment.subprocess.run", broken)

    with pytest.raises(SetupError, match=r"pip install .* failed.*index"):
        made.ensure()

    again = Recorder()
    monkeypatch.setattr("environment.subprocess.run", again)
    made.ensure()
    assert again.commands


def test_a_debian_python_without_ensurepip_gets_its_venv_package(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[str] = []
    monkeypatch.setattr(
        "environment.subprocess.run", Recorder(lambda line: 1 if "import" in line else 0)
    )
    monkeypatch.setattr("environment.is_debian", lambda: True)
    monkeypatch.setattr("environment.is_system_python", lambda: True)
    monkeypatch.setattr("environment.install", lambda packages, _: installed.extend(packages))
    environment = Environment(checkout)
    environment.folder.mkdir()

    environment.ensure()

    assert installed == [f"python3.{sys.version_info.minor}-venv"]


def test_another_python_without_ensurepip_is_named(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "environment.subprocess.run", Recorder(lambda line: 1 if "import" in line else 0)
    )
    monkeypatch.setattr("environment.is_system_python", lambda: False)

    with pytest.raises(SetupError) as caught:
        Environment(checkout).ensure()

    assert sys.executable in str(caught.value)
    assert "ensurepip" in str(caught.value)
