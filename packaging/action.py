"""The steps of the GitHub Action in action.yml: `action.py key | install | check`.

They run with the Python of the job, and with variables of the environment that GitHub and
action.yml set; inputs come in no other way, so that no text of a workflow becomes code.
"""

from __future__ import annotations

import glob
import hashlib
import os
import secrets
import shlex
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
_CONSTRAINTS: Final = ROOT / "packaging" / "constraints.txt"
_REPORTS: Final = {
    "sarif": "findings.sarif",
    "junit": "junit.xml",
    "json": "report.json",
    "markdown": "summary.md",
    "github": "annotations.txt",
}


def main(step: str) -> int:
    return {"key": _key, "install": _install, "check": _check}[step]()


def _environment() -> Path:
    """The virtual environment, outside of the checkout of the job."""
    return Path(os.environ["RUNNER_TEMP"]) / "mcp-progress-monitor"


def _python() -> Path:
    folder = _environment()
    if sys.platform == "win32":
        return folder / "Scripts" / "python.exe"
    return folder / "bin" / "python"


def _key() -> int:
    """Name the interpreter, and the environment with a key that changes with what it holds."""
    content = [sys.version, sys.executable, str(_environment()), *_requirements()]
    content.append(_CONSTRAINTS.read_text(encoding="utf-8"))
    key = hashlib.sha256("\n".join(content).encode()).hexdigest()[:32]
    _output(python=sys.executable, environment=str(_environment()), key=key)
    return 0


def _requirements() -> list[str]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        listed: list[str] = tomllib.load(file)["project"]["dependencies"]
    return listed


def _install() -> int:
    """Fill the environment, unless it came out of the cache, and let it find the program.

    The program itself stays in the checkout of the action: a cached environment has none of it.
    """
    if not _python().exists():
        venv.create(_environment(), with_pip=True)
        pip = [str(_python()), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, "-c", str(_CONSTRAINTS), *_requirements()], check=True)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    asked = [str(_python()), "-I", "-c", ask]
    found = subprocess.run(asked, check=True, capture_output=True, text=True, encoding="utf-8")
    program = Path(found.stdout.strip()) / "mcp_progress_monitor.pth"
    program.write_text(f"{ROOT / 'app'}\n", encoding="utf-8")
    return 0


def _check() -> int:
    """Run `check`, then give GitHub its annotations and its summary.

    Succeeds whatever the check says, so that its reports are uploaded; action.yml exits with its
    code then. Between the two markers GitHub takes no line as a command: a server writes there.
    """
    folder = Path(os.environ["RUNNER_TEMP"]) / f"mcp-check-{secrets.token_hex(4)}"
    folder.mkdir(parents=True)
    marker = secrets.token_hex(16)
    _say(f"::stop-commands::{marker}")
    try:
        code = _run(folder)
    except ValueError as error:
        _say(f"Cannot read the inputs: {error}")
        code = 2
    _say(f"\n::{marker}::")
    annotations, summary = folder / _REPORTS["github"], folder / _REPORTS["markdown"]
    if annotations.exists():
        _say(annotations.read_text(encoding="utf-8"))
        annotations.unlink()
        page = os.environ.get("GITHUB_STEP_SUMMARY", os.devnull)
        with Path(page).open("a", encoding="utf-8") as file:
            file.write(summary.read_text(encoding="utf-8"))
    elif code:
        _say(f"::error title=MCP check::The check could not be done (exit code {code}).")
    has_reports = str(summary.exists()).lower()
    _output(**{"exit-code": str(code), "folder": str(folder), "has-reports": has_reports})
    return 0


def _run(folder: Path) -> int:
    """Run the check; returns its exit code. `ValueError` for inputs that cannot be read.

    Who names a configuration in a workflow approves its server.
    """
    program = [str(_python()), "-I", "-m", "mcp_progress_monitor"]
    data = ["--data-dir", str(folder.with_name(f"{folder.name}-data"))]
    command = [*program, "check", *data, *_options(folder)]
    if config := _input("config"):
        trust = ["servers", "trust", f"--config={config}", "--yes", *data, "--", _input("server")]
        code = subprocess.run([*program, *trust], check=False).returncode
        if code:
            return code
    return subprocess.run(command, check=False).returncode


def _options(folder: Path) -> list[str]:
    """The options of the check, and what is to be checked."""
    command = ["--fail-on", _input("fail-on")]
    for form, name in _REPORTS.items():
        command += ["--report", f"{form}={folder / name}"]
    for name in ("url", "config", "server", "args", "source"):
        if value := _input(name):
            command.append(f"--{name}={value}")
    command += shlex.split(_input("options"))
    if recordings := _input("recordings"):
        patterns = filter(None, map(str.strip, recordings.splitlines()))
        found = (sorted(glob.glob(each, recursive=True)) for each in patterns)  # noqa: PTH207  # also absolute ones
        files = [file for each in found for file in each]
        # A name that begins as an option is none: whoever opens a pull request names files.
        files = [f"./{file}" if file.startswith("-") else file for file in files]
        if not files:
            raise ValueError(f"no file matches {recordings!r}")
        return [*command, *files]
    command += ["--record", str(folder / "session.mcprec")]
    if _input("all-tools") == "true":
        command.append("--all-tools")
    server = shlex.split(_input("command"))
    return [*command, "--", *server] if server else command


def _input(name: str) -> str:
    return os.environ.get(f"MCP_CHECK_{name.upper().replace('-', '_')}", "").strip()


def _output(**values: str) -> None:
    """Set outputs of the step, which are of one line."""
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{name}={value}\n" for name, value in values.items())


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
