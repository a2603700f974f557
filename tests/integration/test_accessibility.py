"""What a screen reader gets of the window, on a real bus: names, roles and what rows say."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.at_spi import Reader, Seen, desktop, needed
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(bool(needed()), reason=f"needs {', '.join(needed())}")

_CELLS = {"tree item", "cell", "table cell"}
"""May be empty, as what they show."""


def test_everything_that_takes_the_focus_has_a_name_and_rows_say_what_they_show(
    data_dir: Path,
) -> None:
    with desktop(os.environ) as environ:
        command = [sys.executable, "-m", "mcp_progress_monitor", "--demo"]
        window = subprocess.Popen(
            [*command, "--data-dir", str(data_dir)],
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            seen = _once_jobs_run(environ, window)
        finally:
            window.terminate()
            window.communicate(timeout=PATIENCE_S)
    assert [
        one for one in seen if one.is_focusable and not one.name and one.role not in _CELLS
    ] == []
    assert [one for one in seen if one.role == "menu item" and not one.name] == []
    rows = [one.name for one in seen if one.role == "tree item"]
    running = [name for name in rows if ": Running, " in name]
    assert any("download on demo: Running, " in name and " %" in name for name in running)
    assert "Cancel" in rows
    headers = {one.name for one in seen if one.role == "column header"}
    assert {"Job", "Server", "Progress", "Actions"} <= headers
    status = next(one for one in seen if one.description == "Status")
    assert status.name.startswith("1 of 1 connected")


def _once_jobs_run(environ: dict[str, str], window: subprocess.Popen[bytes]) -> list[Seen]:
    """What is seen of the window once it shows running jobs."""
    reader = Reader(environ)
    until = time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < until and window.poll() is None:
            try:
                seen = [one for each in reader.windows() for one in reader.seen(each)]
            except LookupError:  # something went while it was being read
                seen = []
            if any(": Running, " in one.name for one in seen):
                return seen
            time.sleep(0.2)
    finally:
        reader.close()
    pytest.fail(f"no job is seen running; the window's exit code is {window.poll()}")
