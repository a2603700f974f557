"""A process that stays when the one that started it is killed with all that belongs to it."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_progress_monitor import paths
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX")

_STARTS = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from mcp_progress_monitor.tap.detached import run_detached
held, other = (os.open(os.devnull, os.O_RDONLY) for _ in range(2))
reader, writer = os.pipe()
path = sys.argv[2]
def run(first, second):
    os.read(first, 1)
    number = os.open(path + ".new", os.O_WRONLY | os.O_CREAT)
    found = [n for n in range(100) if n not in (number, first, second) and is_open(n)]
    os.write(number, b"%d %a" % (os.getppid() == starter, found))
    os.rename(path + ".new", path)
def is_open(number):
    try:
        return bool(os.fstat(number))
    except OSError:
        return False
starter = os.getpid()
assert run_detached(run, reader, held)
os.killpg(0, signal.SIGKILL)
"""


def test_it_outlives_its_starters_group_and_keeps_no_file_open(tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    arguments = (sys.executable, "-I", "-S", "-c", _STARTS, str(paths.import_root()), str(noted))
    ran = subprocess.run(arguments, capture_output=True, check=False, start_new_session=True)
    assert (ran.returncode, ran.stderr) == (-9, b"")
    deadline = time.monotonic() + PATIENCE_S
    while not noted.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert noted.read_text() == "0 [0, 1, 2]"
