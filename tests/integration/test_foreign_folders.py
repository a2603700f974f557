"""Started in a folder of somebody else's, with modules named as ours and Python's are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor import paths
from tests.integration.commands import ROOT
from tests.patience import PATIENCE_S

_START = (
    f"import sys; sys.path.insert(0, {str(ROOT / 'app')!r}); "
    "from mcp_progress_monitor.cli.entry import main; sys.exit(main())"
)
_NAMES = ("app", "tests", "resources", "packaging", "mcp_progress_monitor")
_MODULES = ("json", "typing", "signal", "os", "app")


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A project whose modules must not be imported."""
    folder = tmp_path / "project"
    for name in _NAMES:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise SystemExit('not this package')\n")
    for name in _MODULES:
        (folder / f"{name}.py").write_text("raise SystemExit('not this module')\n")
    return folder


@pytest.mark.parametrize(
    ("arguments", "search_path"), [(("tools", "--demo"), ""), (("call", "--demo", "burst"), ".")]
)
def test_the_demo_runs_in_a_folder_with_an_app_package(
    foreign: Path, arguments: tuple[str, ...], search_path: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-I", "-c", _START, *arguments],
        capture_output=True,
        check=False,
        cwd=foreign,
        env={**os.environ, "PYTHONPATH": search_path},
        text=True,
        timeout=PATIENCE_S,
    )
    assert ran.returncode == 0, ran.stderr
    assert "not this" not in ran.stdout + ran.stderr


@pytest.mark.parametrize("part", ["serve-demo", "watch-servers"])
def test_parts_of_the_program_start_in_a_folder_with_modules_of_pythons(
    foreign: Path, part: str
) -> None:
    ran = subprocess.run(
        [*paths.internal_command(part), *(["run"] if part == paths.WATCHDOG else [])],
        capture_output=True,
        check=False,
        cwd=foreign,
        env={**os.environ, "PYTHONPATH": "."},
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_the_program_starts_again_in_a_folder_with_modules_of_pythons(
    foreign: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "python"  # beside which nothing was installed
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))
    ran = subprocess.run(
        [*paths.program_command(), "--version"],
        capture_output=True,
        check=False,
        cwd=foreign,
        env={**os.environ, "PYTHONPATH": "."},
        text=True,
        timeout=PATIENCE_S,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
