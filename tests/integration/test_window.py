"""The whole program with its window, as a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from PySide6.QtGui import QImage

from tests.integration.processes import is_alive, servers_of
from tests.patience import PATIENCE_S, allowed
from tests.servers.definition import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Start = Callable[..., subprocess.Popen[str]]

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="sends signals and reads /proc"
)


@pytest.fixture
def start(data_dir: Path, started: list[subprocess.Popen[str]]) -> Start:
    """Start the program with these arguments; it does not outlive the test."""

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [
            sys.executable,
            "-m",
            "mcp_progress_monitor",
            "--data-dir",
            str(data_dir),
            *arguments,
        ]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True))
        return started[-1]

    return start


def _end(window: subprocess.Popen[str], within_s: float) -> tuple[int, str]:
    started = time.monotonic()
    _, errors = window.communicate(timeout=PATIENCE_S)
    assert time.monotonic() - started < allowed(within_s)
    # The offscreen platform itself says this about size hints, whatever the program.
    said = [line for line in errors.splitlines() if "This plugin does not support" not in line]
    return window.returncode, "\n".join(said)


def _server_arguments(*options: str) -> tuple[str, ...]:
    return ("--", *COMMAND, *options)


def _wait_for_child(window: subprocess.Popen[str]) -> int:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        children = servers_of(window.pid)
        if children:
            return children[0]
        time.sleep(0.05)
    raise AssertionError("the window started no server")


def _wait_for_record(window: subprocess.Popen[str], data_dir: Path, text: str) -> None:
    """Wait until the recording has some words, as long as the window is there."""
    deadline = time.monotonic() + PATIENCE_S
    while window.poll() is None and time.monotonic() < deadline:
        if any(text in file.read_text() for file in data_dir.glob("recordings/*.mcprec")):
            return
        time.sleep(0.05)
    raise AssertionError(f"the window has not recorded {text}")


@pytest.fixture
def screenshot(tmp_path: Path) -> Path:
    return tmp_path / "window.png"


def test_the_demo_saves_a_screenshot_and_ends_cleanly(start: Start, screenshot: Path) -> None:
    window = start("--demo", "--screenshot", str(screenshot), "--after", "2")
    assert _end(window, within_s=25) == (0, "")
    image = QImage(str(screenshot))
    assert (image.width(), image.height()) >= (900, 600)
    colours = {image.pixel(x, y) for x in range(0, 900, 7) for y in range(0, 600, 7)}
    assert len(colours) > 20  # an empty or black window has one or two


def test_a_screenshot_that_cannot_be_saved_is_an_error_with_a_message(
    start: Start, data_dir: Path
) -> None:
    missing = data_dir / "missing" / "window.png"
    window = start("--screenshot", str(missing), "--after", "0.2")
    code, errors = _end(window, within_s=20)
    assert code == 8
    assert "Cannot save the screenshot" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_window_and_its_polite_server_within_two_seconds(
    start: Start, data_dir: Path, number: signal.Signals
) -> None:
    window = start(*_server_arguments())
    server = _wait_for_child(window)
    _wait_for_record(window, data_dir, 'serverInfo"')
    window.send_signal(number)
    assert _end(window, within_s=2) == (0, "")
    assert not is_alive(server)


def test_a_server_that_ignores_everything_is_gone_within_five_seconds(
    start: Start, data_dir: Path
) -> None:
    window = start(*_server_arguments("--profile", "stubborn"))
    server = _wait_for_child(window)
    _wait_for_record(window, data_dir, 'serverInfo"')
    window.terminate()
    assert _end(window, within_s=5) == (0, "")
    assert not is_alive(server)


def test_a_command_that_does_not_exist_leaves_the_window_open(start: Start, data_dir: Path) -> None:
    window = start("--", "there-is-no-such-command")
    _wait_for_record(window, data_dir, '"event":"failed"')
    assert window.poll() is None
    window.terminate()
    assert _end(window, within_s=5) == (0, "")
