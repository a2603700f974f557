"""An agent that nobody here wrote runs a long job; the tap that was installed for it records it.

The agent is Claude Code, with its own configuration file; behind it is a stand-in for the model
(`programs/model_api.py`) in a network of its own, which has nothing but localhost.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.commands import PROGRAM, linux_only
from tests.patience import PATIENCE_S
from tests.strangers.clients import Client
from tests.strangers.servers import PROGRAMS, STRANGERS
from tests.strangers.test_matrix import _installed

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [linux_only, pytest.mark.campaign, pytest.mark.timeout(900)]

# npm alone would choose an older one that suits its own Node.js; the program brings what it needs.
_AGENT = Client("agent", ("@anthropic-ai/claude-code@>=2.1.330",), ("claude",), registry="npm")
_SERVER = next(stranger for stranger in STRANGERS if stranger.name == "everything")
_TOOL = "trigger-long-running-operation"
_PORT = "18099"
_ALONE = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")


class Agent:
    """The agent with a home folder of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("XDG_")},
            "HOME": str(home),
            "PATH": f"{_AGENT.folder / 'node_modules' / '.bin'}:{os.environ['PATH']}",
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{_PORT}",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            # By default the model hears of MCP tools only after it searched for them.
            "ENABLE_TOOL_SEARCH": "false",
        }

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a command in the agent's home, with no network but localhost."""
        return subprocess.Popen(
            [*_ALONE, *command],
            cwd=self.home,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *command: str) -> str:
        """What a command prints; it must succeed."""
        process = self.start(*command)
        out, _ = process.communicate(timeout=2 * PATIENCE_S)
        assert process.returncode == 0, out
        return out

    def start_job(self, arguments: dict[str, object]) -> subprocess.Popen[str]:
        """Have the model ask for one call of the tool, and the agent make it."""
        api = f'{sys.executable} {PROGRAMS / "model_api.py"} {_PORT} "$0" "$1" &'
        ask = 'api=$!; sleep 1; claude -p go --allowedTools "$0"; code=$?; kill $api; exit $code'
        tool = f"mcp__everything__{_TOOL}"
        return self.start("sh", "-c", f"{api} {ask}", tool, json.dumps(arguments))

    def configuration(self) -> object:
        """The servers in the agent's own file."""
        return json.loads((self.home / ".claude.json").read_text(encoding="utf-8"))["mcpServers"]

    def recordings(self) -> list[Path]:
        """What taps have recorded, oldest first."""
        return sorted(self.home.rglob("recordings/live/*.mcprec"))


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    alone = [*_ALONE, "true"]
    if shutil.which(alone[0]) is None or subprocess.run(alone, check=False).returncode:
        pytest.skip("a network of its own needs root")
    _installed(_AGENT)
    _installed(_SERVER)
    made = Agent(tmp_path / "home")
    made.home.mkdir()
    server = [word.format(folder=_SERVER.folder) for word in _SERVER.command]
    made.run("claude", "mcp", "add", "--scope", "user", "everything", "--", *server)
    return made


def test_a_job_of_an_agent_is_recorded_with_its_progress(agent: Agent) -> None:
    before = agent.configuration()
    agent.run(*PROGRAM, "tap", "install", "claude-code", "everything")
    assert agent.configuration() != before
    out, _ = agent.start_job({"duration": 2, "steps": 4}).communicate(timeout=2 * PATIENCE_S)
    assert out.strip().endswith("Done.")
    playback = Playback(agent.recordings()[-1])
    while playback.advance(1.0):
        pass
    (job,) = (playback.jobs.snapshot(job) for job in playback.jobs.ids())
    assert job is not None
    assert (job.name, job.state, job.progress) == (_TOOL, JobState.DONE, 4)
    agent.run(*PROGRAM, "tap", "remove", "claude-code", "everything")
    assert agent.configuration() == before


def test_a_server_ends_with_its_agent_however_that_ended(agent: Agent) -> None:
    agent.run(*PROGRAM, "tap", "install", "claude-code", "everything")
    job = agent.start_job({"duration": 120, "steps": 240})
    _until(lambda: b"notifications/progress" in _newest(agent))
    for process in _processes("claude\0-p\0go"):
        os.kill(process, signal.SIGKILL)
    job.communicate(timeout=PATIENCE_S)
    _until(lambda: b'{"event":"closed"' in _newest(agent))
    assert b'"ended_by":"client"' in _newest(agent)
    _until(lambda: not _processes(str(_SERVER.folder)))


def _newest(agent: Agent) -> bytes:
    return b"".join(path.read_bytes() for path in agent.recordings()[-1:])


def _processes(text: str) -> list[int]:
    """The processes whose command contains some text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if text.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def _until(is_so: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < ends_at
        time.sleep(0.1)
