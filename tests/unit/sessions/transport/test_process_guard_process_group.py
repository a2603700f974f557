"""A process is ended with its descendants where no group holds them together."""

import subprocess
import sys

import psutil

from mcp_progress_monitor.sessions.transport import process_guard
from tests.patience import PATIENCE_S

_SLEEP = "import time; time.sleep(600)"
_PARENT = (
    "import subprocess, sys\n"
    f"child = subprocess.Popen([sys.executable, '-c', {_SLEEP!r}])\n"
    "print(child.pid, flush=True)\n"
    "child.wait()\n"
)


def test_a_tree_is_ended_and_one_that_is_gone_is_no_error() -> None:
    command = [sys.executable, "-c", _PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        process_guard.kill_tree(parent.pid)
        assert parent.wait(PATIENCE_S) != 0
    _, alive = psutil.wait_procs([child], PATIENCE_S)
    assert not alive
    process_guard.kill_tree(parent.pid)
