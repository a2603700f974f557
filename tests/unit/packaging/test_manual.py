"""The man page has every command, and each shell completes by its file."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import manual
from reference import PROGRAM, leaves
from tests.patience import PATIENCE_S


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manual")
    assert manual.main([str(folder)]) == 0
    return folder


def _run(*command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_the_page_has_a_section_for_every_command(written: Path) -> None:
    from mcp_progress_monitor.cli.entry import program

    page = (written / "man" / f"{PROGRAM}.1").read_text("utf-8")
    for _, context in leaves(program, PROGRAM):
        name = context.command_path.removeprefix(f"{PROGRAM} ").replace("-", r"\-")
        assert f"\n.SS {name}\n" in page
    assert "\n.TP\n\\fB70\\fR\nAn internal error" in page


@pytest.mark.skipif(shutil.which("man") is None, reason="no man here")
@pytest.mark.parametrize("width", ["60", "200"])
def test_the_page_is_formatted_without_warnings(written: Path, width: str) -> None:
    page = written / "man" / f"{PROGRAM}.1"
    shown = _run("man", "--warnings", "-l", str(page), MANWIDTH=width, LC_ALL="C.UTF-8")
    if "minimized" in shown.stdout:
        pytest.skip("man shows no pages on this system")
    assert shown.stderr == ""
    assert "mcp-progress-monitor call --demo burst --arg count=1000" in shown.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no bash of this system")
def test_bash_completes_a_command(written: Path) -> None:
    script = f"""
        source {written / "completions" / "bash" / PROGRAM}
        COMP_WORDS=({PROGRAM} servers im); COMP_CWORD=2
        _mcp_progress_monitor_completion {Path(sys.executable).with_name(PROGRAM)}
        echo "${{COMPREPLY[*]}}"
    """
    assert _run("bash", "-c", script).stdout.strip() == "import"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_file(written: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    file = written / "completions" / shell / manual.COMPLETIONS[shell]
    assert _run(shell, "-n", str(file)).stderr == ""
