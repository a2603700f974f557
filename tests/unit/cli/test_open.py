"""`open` says what it can without a window, and hands over the rest."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.gui.launch_options import RecordingOptions
from mcp_progress_monitor.recording import format as form


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[RecordingOptions]:
    """What the window was asked for."""
    opened: list[RecordingOptions] = []

    def run_recording(options: RecordingOptions) -> int:
        opened.append(options)
        return 0

    module = SimpleNamespace(run_recording=run_recording)
    monkeypatch.setitem(sys.modules, "mcp_progress_monitor.gui.recording_program", module)
    return opened


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    file = tmp_path / "one.mcprec"
    file.write_bytes(form.header({"at": 0.0, "first": 1, "part": 1, "run": "one"}))
    return file


def test_a_recording_is_opened_all_at_once(
    opened: list[RecordingOptions], recording: Path, data_dir: Path
) -> None:
    assert main(["open", str(recording), "--data-dir", str(data_dir)]) == 0
    (options,) = opened
    assert options.playback.path == recording
    assert options.data_dir == data_dir
    assert (options.speed, options.filter_text, options.screenshot) == (None, "", None)


def test_pace_filter_and_screenshot_are_handed_over(
    opened: list[RecordingOptions], recording: Path, data_dir: Path
) -> None:
    arguments = [
        "--speed",
        "10",
        "--filter",
        "method == ping",
        "--screenshot",
        "a.png",
        "--after",
        "2",
    ]
    assert main(["--data-dir", str(data_dir), "open", str(recording), *arguments]) == 0
    (options,) = opened
    assert (options.speed, options.filter_text) == (10.0, "method == ping")
    assert (options.screenshot, options.after_s) == (Path("a.png"), 2.0)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x00" * 5000, b"#mcp-recording {"])
def test_a_foreign_file_ends_with_its_code_before_any_window(
    opened: list[RecordingOptions],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes,
) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    assert main(["open", str(file)]) == 8
    said = capsys.readouterr().err
    assert "notes.txt" in said
    assert "Traceback" not in said
    assert not opened


def test_a_newer_recording_is_reported_to_be_one(
    opened: list[RecordingOptions], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "newer.mcprec"
    file.write_bytes(b'#mcp-recording {"version":99}\n')
    assert main(["open", str(file)]) == 8
    assert "newer" in capsys.readouterr().err
    assert not opened


def test_a_missing_file_and_a_folder_are_named(
    opened: list[RecordingOptions], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (tmp_path / "none.mcprec", tmp_path):
        assert main(["open", str(path)]) == 8
        assert str(path) in capsys.readouterr().err
    assert not opened


def test_a_filter_with_a_mistake_is_reported_with_its_place(
    opened: list[RecordingOptions], recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["open", str(recording), "--filter", "method == "]) == 2
    said = capsys.readouterr().err
    assert "--filter" in said
    assert "character" in said
    assert not opened


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--demo", "open", "FILE"], "--demo"),
        (["--record", "x", "open", "FILE"], "--record"),
        (["open", "FILE", "--", "python"], "unexpected extra argument (python)"),
        (["open", "FILE", "--after", "2"], "--screenshot"),
        (["open", "FILE", "--speed", "7"], "--speed"),
        (["open"], "FILE"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(
    opened: list[RecordingOptions],
    recording: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    expected: str,
) -> None:
    named = [str(recording) if word == "FILE" else word for word in arguments]
    assert main(named) == 2
    assert expected in capsys.readouterr().err
    assert not opened


def test_without_the_toolkit_the_command_says_so(
    opened: list[RecordingOptions],
    recording: Path,
    data_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "PySide6.QtWidgets", None)
    assert main(["open", str(recording), "--data-dir", str(data_dir)]) == 2
    assert "pip install mcp-progress-monitor" in capsys.readouterr().err
    assert not opened
