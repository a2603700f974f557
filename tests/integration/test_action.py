"""The GitHub Action: its steps run here as GitHub runs them, in a fresh folder."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest

from tests.architecture.source import ROOT

_BASH: Final = shutil.which("bash")
pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or _BASH is None, reason="the steps are bash's"
)

_SERVER: Final = """
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("files")


@server.tool()
async def copy(steps: int, ctx: Context) -> str:
    for _ in range(3):
        await ctx.report_progress(1, 3, "::warning::not a command")
    return "done"


server.run()
"""
_EXPRESSION: Final = re.compile(r"\$\{\{ *(.*?) *\}\}")


def _steps() -> Iterator[tuple[str, str, dict[str, str]]]:
    """The name, the script and the variables of each step that is a script."""
    text = (ROOT / "action.yml").read_text("utf-8")
    for step in re.split(r"^ {4}- ", text.partition("steps:")[2], flags=re.MULTILINE)[1:]:
        run = re.search(r"^ {6}run: (?:\|\n((?: {8}.*\n)+)|'?(.*?)'?\n)", step, re.MULTILINE)
        if run is not None:
            script = re.sub("^ {8}", "", run[1] or run[2], flags=re.MULTILINE)
            variables = re.findall(
                r"^ {8}([A-Z_]+): (.*)$", step.partition("env:")[2], re.MULTILINE
            )
            yield step.partition("\n")[0].removeprefix("name: "), script, dict(variables)


def _defaults() -> dict[str, str]:
    text = (ROOT / "action.yml").read_text("utf-8")
    inputs = text.partition("inputs:")[2].partition("outputs:")[0]
    found = re.findall(r"^ {2}([a-z-]+):\n(?: {4}.*\n)*? {4}default: (.*)$", inputs, re.MULTILINE)
    return {name: value.strip('"') for name, value in found}


class Job:
    """A job on a runner: a checkout as the current folder, and files of the runner."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.temp = folder / "temp"
        self.page = folder / "summary.md"
        self._outputs = folder / "outputs"
        for path in (self.workspace, self.temp):
            path.mkdir()
        (self.workspace / ".git").mkdir()
        self.outputs: dict[str, str] = {}
        self.log = ""

    def restore_cache(self) -> None:
        """Make the environment that GitHub has in its cache, with the packages of this one."""
        environment = self.temp / "mcp-progress-monitor"
        venv.create(environment, symlinks=True)
        (packages,) = environment.glob("lib/python*/site-packages")
        (packages / "cached.pth").write_text(f"{sysconfig.get_path('purelib')}\n")

    def run(self, **inputs: str) -> int:
        """Run the steps until one fails; returns its exit code."""
        given = _defaults() | {name.replace("_", "-"): value for name, value in inputs.items()}
        for name, script, variables in _steps():
            values = {key: self._value(text, given) for key, text in variables.items()}
            code = self._run(script, values)
            if code:
                return code if name == "Result" else pytest.fail(f"{name}: {self.log}")
        return 0

    def _value(self, text: str, inputs: dict[str, str]) -> str:
        found = _EXPRESSION.fullmatch(text)
        assert found is not None
        place = found[1]
        if place == "github.action_path":
            return str(ROOT)
        kind, _, name = place.partition(".")
        return inputs[name] if kind == "inputs" else self.outputs[name.rpartition(".")[2]]

    def _run(self, script: str, variables: dict[str, str]) -> int:
        self._outputs.write_text("")
        github = {
            "GITHUB_OUTPUT": str(self._outputs),
            "GITHUB_STEP_SUMMARY": str(self.page),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.temp),
        }
        bin_folder = str(Path(sys.executable).parent)
        path = os.pathsep.join((bin_folder, os.environ["PATH"]))
        ran = subprocess.run(
            [_BASH or "", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],
            cwd=self.workspace,
            env={**os.environ, **github, **variables, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        self.log += ran.stdout
        for line in self._outputs.read_text("utf-8").splitlines():
            name, _, value = line.partition("=")
            self.outputs[name] = value
        return ran.returncode

    @property
    def commands(self) -> list[str]:
        """The lines that GitHub takes as commands: none between the markers."""
        found: list[str] = []
        marker = ""
        for line in map(str.strip, self.log.splitlines()):
            if marker:
                marker = "" if line == f"::{marker}::" else marker
            elif line.startswith("::stop-commands::"):
                marker = line.removeprefix("::stop-commands::")
            elif line.startswith("::") or "##[" in line:
                found.append(line)
        return found


def _check_copy(job: Job) -> None:
    """Check the server, whose tool breaks a rule."""
    (job.workspace / "server.py").write_text(_SERVER)
    code = job.run(command="python server.py", args='{"copy": {"steps": 3}}')
    assert (code, job.outputs["exit-code"]) == (7, "7"), job.log


@pytest.fixture
def job(tmp_path: Path) -> Job:
    job = Job(tmp_path)
    job.restore_cache()
    (job.workspace / "server.py").write_text(_SERVER)
    return job


def test_a_server_is_checked_and_its_findings_are_shown(job: Job) -> None:
    _check_copy(job)
    (error,) = (line for line in job.commands if line.startswith("::error"))
    assert error.startswith("::error file=server.py,line=8,title=PROG-3%3A ")
    page = job.page.read_text("utf-8")
    assert "## MCP check" in page
    assert "| copy | Done |" in page
    folder = Path(job.outputs["folder"])
    names = {each.name for each in folder.iterdir()}
    assert names == {"findings.sarif", "junit.xml", "report.json", "summary.md", "session.mcprec"}
    assert ET.parse(folder / "junit.xml").getroot().tag == "testsuites"  # noqa: S314
    text = (folder / "findings.sarif").read_text("utf-8")
    (result, *_) = json.loads(text)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "server.py"
    assert place["region"] == {"startLine": 8}
    assert str(job.temp) not in text


def test_a_configuration_recordings_and_options_are_taken(job: Job) -> None:
    entry = {"command": sys.executable, "args": ["server.py"]}
    config = job.workspace / ".mcp.json"
    config.write_text(json.dumps({"mcpServers": {"my files": entry}}))
    code = job.run(config=".mcp.json", server="my files", fail_on="never", options="--tool copy")
    assert code == 0, job.log
    recording = Path(job.outputs["folder"]) / "session.mcprec"
    for name in ("a b.mcprec", "--output=hacked.mcprec"):
        shutil.copy(recording, job.workspace / name)
    assert job.run(recordings="*.mcprec\n", source="") == 7
    assert not (job.workspace / "hacked.mcprec").exists()
    shown = [line for line in job.commands if line.startswith("::error ")]
    assert shown[-1].startswith("::error title=PROG-3"), job.log


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"command": "python 'server.py"}, 2),
        ({"command": "no-such-program"}, 3),
        ({"recordings": "*.none"}, 2),
        ({"command": "$(touch hacked); touch hacked"}, 3),
        ({"options": "--no-such-option", "command": "python server.py"}, 2),
        ({}, 2),
    ],
)
def test_inputs_that_lead_nowhere_fail_with_an_error(
    job: Job, inputs: dict[str, str], code: int
) -> None:
    assert job.run(**inputs) == code, job.log
    assert f"::error title=MCP check::The check could not be done (exit code {code})." in job.log
    assert job.outputs["has-reports"] == "false"
    assert not (job.workspace / "hacked").exists()


def test_the_key_of_the_cache_changes_with_the_environment_it_names(job: Job) -> None:
    job.run(recordings="none")
    key = job.outputs["key"]
    assert job.outputs["environment"] == str(job.temp / "mcp-progress-monitor")
    job.temp = job.temp.with_name("other")
    job.temp.mkdir()
    job.restore_cache()
    job.run(recordings="none")
    assert job.outputs["key"] != key


def test_no_step_has_an_expression_in_its_script_and_actions_are_pinned() -> None:
    assert [name for name, script, _ in _steps() if "${{" in script] == []
    workflows = [*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / "docs" / "mcp-check.yml"]
    uses = [
        each
        for path in (ROOT / "action.yml", *workflows)
        for each in re.findall(r"uses: (.*)", path.read_text("utf-8"))
    ]
    pinned = re.compile(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+")
    assert [
        each for each in uses if not each.startswith(("./", "$/")) and not pinned.fullmatch(each)
    ] == []


@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_the_environment_is_installed_without_the_window(tmp_path: Path) -> None:
    job = Job(tmp_path)
    _check_copy(job)
    packages = {each.name for each in job.temp.rglob("site-packages/*")}
    assert not any(name.lower().startswith("pyside") for name in packages)
