"""Other programs' files, given to the commands that take recordings."""

import json
import tempfile
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from tests.integration.commands import run
from tests.unit.imports.imported import SAMPLES, Imported


def test_a_log_of_another_program_is_shown(data_dir: Path, tmp_path: Path) -> None:
    screenshot = tmp_path / "window.png"
    arguments = ("--screenshot", str(screenshot), "--after", "1", "--data-dir", str(data_dir))
    ran = run("open", str(SAMPLES / "claude-desktop-2025-10.log"), *arguments)
    assert ran.code == 0
    assert (QImage(str(screenshot)).width(), QImage(str(screenshot)).height()) >= (900, 600)
    left = Path(tempfile.gettempdir()).glob("mcp-progress-monitor-*")
    assert not [each for each in left if (each / "claude-desktop-2025-10.log.mcprec").exists()]


def test_a_har_is_exported_as_anything_else() -> None:
    ran = run("export", str(SAMPLES / "chrome-137.har"), "--format", "jsonl")
    assert ran.code == 0
    messages = [json.loads(line) for line in ran.out.splitlines()]
    assert "tools/call" in {message.get("method") for message in messages}
    assert "Requests that are not MCP (1)" in ran.err


@pytest.mark.parametrize("name", [path.name for path in sorted(SAMPLES.iterdir())])
def test_a_recording_made_of_a_file_shows_the_same(name: str, tmp_path: Path) -> None:
    target = tmp_path / "made.mcprec"
    ran = run("export", str(SAMPLES / name), "--format", "mcprec", "--output", str(target))
    assert ran.code == 0
    assert "some details are missing" in ran.err
    assert target.stat().st_mode & 0o077 == 0
    made, original = Imported(target), Imported(SAMPLES / name)
    assert made.frames == original.frames
    assert made.missing == original.missing


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "needs --output FILE"),
        (("--output", "{new}", "--filter", "kind == error"), "accepts only --output"),
        (("--output", "{old}"), "already exists"),
    ],
)
def test_a_recording_is_made_only_where_that_makes_sense(
    arguments: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    old = tmp_path / "old.mcprec"
    old.write_text("mine")
    paths = {"new": tmp_path / "new.mcprec", "old": old}
    filled = [word.format(**paths) for word in arguments]
    ran = run("export", str(SAMPLES / "chrome-137.har"), "--format", "mcprec", *filled)
    assert ran.code != 0
    assert why in ran.err
    assert old.read_text() == "mine"
    assert not paths["new"].exists()


def test_a_recording_is_none_that_could_be_imported(tmp_path: Path) -> None:
    recording = Path(__file__).parents[1] / "recordings" / "version-2.mcprec"
    new = tmp_path / "new.mcprec"
    ran = run("export", str(recording), "--format", "mcprec", "--output", str(new))
    assert ran.code == 2
    assert "HAR, OpenTelemetry's OTLP in JSON, and logs of mcpsnoop" in ran.err
    assert not new.exists()
