"""A session is recorded by one process and looked at by another, as users do it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from tests.integration.commands import PROGRAM, ROOT, linux_only, run, start
from tests.patience import PATIENCE_S, allowed

_WITHOUT_QT = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"PySide6", "shiboken6", "qasync"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
from mcp_progress_monitor.cli.entry import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `call` recorded of ten thousand ticks."""
    folder: Path = tmp_path_factory.mktemp("recorded")
    file = folder / "burst.mcprec"
    arguments = ("--demo", "burst", "--arg", "count=10000", "--data-dir", str(folder))
    done = run("call", *arguments, "--record", str(file))
    assert done.code == 0
    return file


def said(errors: str) -> list[str]:
    """What the program said; the offscreen platform itself says something about size hints."""
    return [line for line in errors.splitlines() if "This plugin does not support" not in line]


def test_what_a_call_recorded_is_shown_and_a_screenshot_saved(
    recording: Path, data_dir: Path
) -> None:
    before = recording.read_bytes()
    screenshot = data_dir / "window.png"
    arguments = ("--screenshot", str(screenshot), "--after", "2", "--data-dir", str(data_dir))
    done = run("open", str(recording), "--filter", "progress > 9990", *arguments)
    assert (done.code, said(done.err)) == (0, [])
    image = QImage(str(screenshot))
    assert (image.width(), image.height()) >= (900, 600)
    colours = {image.pixel(x, y) for x in range(0, 900, 7) for y in range(0, 600, 7)}
    assert len(colours) > 20  # an empty or black window has one or two
    assert recording.read_bytes() == before


def test_looking_at_a_recording_records_nothing(recording: Path, data_dir: Path) -> None:
    screenshot = data_dir / "window.png"
    arguments = ("--screenshot", str(screenshot), "--after", "0.2", "--data-dir", str(data_dir))
    assert run("open", str(recording), *arguments).code == 0
    assert not (data_dir / "recordings").exists()


def test_a_foreign_file_ends_with_code_8_and_a_message(tmp_path: Path) -> None:
    foreign = tmp_path / "image.mcprec"
    foreign.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(10_000))
    done = run("open", str(foreign))
    assert (done.code, done.out) == (8, "")
    assert str(foreign) in done.err


def test_without_the_toolkit_the_command_says_so(recording: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_QT, "open", str(recording)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 2
    assert "pip install mcp-progress-monitor" in done.stderr
    assert "Traceback" not in done.stderr


def _until_it_hears(window: subprocess.Popen[str], number: signal.Signals) -> None:
    """Wait until the program has taken a signal for its own; it would die of it before."""
    heard = 0
    while not heard >> (number - 1) & 1:
        assert window.poll() is None
        time.sleep(0.02)
        status = Path("/proc", str(window.pid), "status").read_text()
        heard = int(status.partition("SigCgt:")[2].split()[0], 16)


@linux_only
def test_a_signal_ends_a_replay_within_two_seconds(recording: Path, data_dir: Path) -> None:
    window = start(
        "open", str(recording), "--speed", "1", "--data-dir", str(data_dir), is_forked=False
    )
    try:
        _until_it_hears(window, signal.SIGTERM)
        began = time.monotonic()
        window.send_signal(signal.SIGTERM)
        _, errors = window.communicate(timeout=PATIENCE_S)
        assert time.monotonic() - began < allowed(2)
        assert (window.returncode, said(errors)) == (0, [])
    finally:
        window.kill()


@linux_only
def test_a_double_click_from_any_folder_opens_the_recording(
    recording: Path, data_dir: Path, tmp_path: Path, isolated_home: Path
) -> None:
    """The desktop file's own command line, run as a desktop does: by a shell's rules of quoting."""
    done = subprocess.run(
        [*PROGRAM, "associate"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0
    entry = isolated_home / ".local/share/applications/mcp-progress-monitor-open.desktop"
    lines = entry.read_text(encoding="utf-8").splitlines()
    command = next(line.removeprefix("Exec=") for line in lines if line.startswith("Exec="))
    screenshot = tmp_path / "window.png"
    command = command.replace("\\\\", "\\").replace("%%", "%").replace("%f", '"$1"')
    more = f' --screenshot "{screenshot}" --after 0.2 --data-dir "{data_dir}"'
    opened = subprocess.run(
        ["sh", "-c", command + more, "sh", str(recording)],  # noqa: S607
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (opened.returncode, said(opened.stderr)) == (0, [])
    assert screenshot.is_file()


def test_standard_input_is_followed_and_leaves_nothing_behind(
    recording: Path, data_dir: Path
) -> None:
    screenshot = data_dir / "window.png"
    arguments = ("--screenshot", str(screenshot), "--after", "1", "--data-dir", str(data_dir))
    with recording.open("rb") as file:
        done = subprocess.run(
            [*PROGRAM, "open", "--follow", "-", *arguments],
            stdin=file,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
            cwd=ROOT,
        )
    assert (done.returncode, said(done.stderr.decode())) == (0, [])
    assert QImage(str(screenshot)).width() >= 900
    assert list(data_dir.glob("followed-*")) == []


def test_standard_input_needs_to_be_followed_and_to_be_a_recording(data_dir: Path) -> None:
    assert run("open", "-", "--data-dir", str(data_dir)).code == 2
    done = run("open", "--follow", "-", "--data-dir", str(data_dir))
    assert done.code == 8
    assert list(data_dir.glob("followed-*")) == []
