"""The official MCP conformance suite: installed with its Node.js into a cache folder, and run.

The suite needs Node.js 22, which most systems lack: the npm package `node` brings it. Nothing is
installed when the cache folder has it already; `MCP_CONFORMANCE_CACHE` names another folder.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

VERSION: Final = "0.2.0-alpha.12"
REVISIONS: Final = ("2025-11-25", "2026-07-28")
_PACKAGES: Final = (f"@modelcontextprotocol/conformance@{VERSION}", "node@22")
_CLIENT: Final = (sys.executable, "-m", "tests.integration.conformance_client")
_INSTALL_S: Final = 300
_SCENARIO_S: Final = 60
_VERDICT: Final = re.compile(r"Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings")
_SERVER_RUN: Final = re.compile(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$")
"""What the suite adds to a scenario's name for the folder of its results."""
_ROOT: Final = Path(__file__).parents[2]


class UnavailableError(Exception):
    """The suite cannot be run here; the message says why."""


class Verdict(NamedTuple):
    """What the suite says of one scenario. `output` is all that it and our client printed."""

    passed: int
    checks: int
    warnings: int
    output: str

    @property
    def is_good(self) -> bool:
        """Whether something was checked, and all of it passed without a warning."""
        return 0 < self.checks == self.passed and not self.warnings


class Suite:
    """An installed suite."""

    def __init__(self, folder: Path) -> None:
        """Use what is installed in `folder`."""
        self._modules = folder / "node_modules"

    @property
    def is_there(self) -> bool:
        """Whether Node.js and the suite of this version are installed."""
        package = self._modules / "@modelcontextprotocol" / "conformance" / "package.json"
        has_suite = package.is_file() and f'"version": "{VERSION}"' in package.read_text()
        return has_suite and (self._modules / ".bin" / "node").exists()

    def scenarios(self, revision: str) -> list[str]:
        """The scenarios that a revision requires of clients."""
        text = self._run(["list", "--client", "--requirements", revision], Path.cwd()).stdout
        required = text.partition("Client scenarios")[2].partition("Run and reported")[0]
        return re.findall(r"^ +- (\S+)", required, re.MULTILINE)

    def verdict(
        self, scenario: str, revision: str, folder: Path, client: Sequence[str] = _CLIENT
    ) -> Verdict:
        """Have our client, or another, play a scenario; the suite's results are in `folder`."""
        options = ["--scenario", scenario, "--spec-version", revision, "-o", str(folder)]
        limit = ["--timeout", str(_SCENARIO_S * 1000)]
        done = self._run(["client", "--command", " ".join(client), *options, *limit], _ROOT)
        output = done.stdout + done.stderr + _said_by_client(folder)
        found = _VERDICT.search(done.stdout + done.stderr)
        if found is None:
            return Verdict(0, 0, 0, output)
        passed, checks, _, warnings = map(int, found.groups())
        return Verdict(passed, checks, warnings, output)

    def checks_of_server(self, url: str, revision: str, folder: Path) -> dict[str, list[str]]:
        """What each scenario that a revision requires says of a server, check by check."""
        self._run(["server", "--url", url, "--requirements", revision, "-o", str(folder)], _ROOT)
        return {
            _SERVER_RUN.sub("", path.parent.name): [
                f"{check['id']}: {check['status']}" for check in json.loads(path.read_bytes())
            ]
            for path in sorted(folder.glob("*/checks.json"))
        }

    def _run(self, arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        commands = self._modules / ".bin"
        path = os.pathsep.join([str(commands), os.environ.get("PATH", "")])
        environment = {**os.environ, "PATH": path, "NO_COLOR": "1"}
        command = [str(commands / "node"), str((commands / "conformance").resolve()), *arguments]
        limit_s = 2 * _SCENARIO_S
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )


def installed() -> Suite:
    """The suite, installed through npm where it is not yet; `UnavailableError` if it cannot be."""
    given = os.environ.get("MCP_CONFORMANCE_CACHE")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(given) if given else Path(cache, "mcp-progress-monitor", f"conformance-{VERSION}")
    suite = Suite(folder)
    if not suite.is_there:
        _install(folder)
    if not suite.is_there:
        raise UnavailableError(f"npm installed the conformance suite incompletely in {folder}")
    return suite


def _install(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise UnavailableError("the conformance suite needs Node.js 22 and npm: npm was not found")
    folder.mkdir(parents=True, exist_ok=True)
    # Without a package.json of its own, npm installs into a folder above that has one. The script
    # of the package `node` fetches the Node.js of this machine's kind.
    (folder / "package.json").write_text('{"private": true, "allowScripts": {"node": true}}\n')
    command = [npm, "install", "--no-audit", "--no-fund", *_PACKAGES]
    try:
        subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_INSTALL_S, check=True
        )
    except subprocess.CalledProcessError as error:
        raise UnavailableError(f"npm cannot install the suite: {error.stderr[-500:]}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"npm cannot install the conformance suite: {error}") from error


def _said_by_client(folder: Path) -> str:
    names = ("stdout.txt", "stderr.txt", "checks.json")
    found = [path for name in names for path in sorted(folder.rglob(name))]
    return "".join(f"\n--- {path.name}\n{path.read_text()}" for path in found)
