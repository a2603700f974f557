"""Recordings are listed with what they hold."""

from pathlib import Path

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.gui.recordings import summaries
from mcp_progress_monitor.gui.recordings.summaries import RecordingSummary, SummaryReader
from tests.taps import HandTap


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    tap = HandTap(tmp_path)
    tap.write(tap.opened(), tap.handshake(), tap.call(), tap.tick(3), tap.tick(2))
    tap.end()
    (path,) = tmp_path.glob("*.mcprec")
    return path


def read(path: Path) -> RecordingSummary | None:
    reader = SummaryReader(path)
    while reader.advance():
        pass
    return reader.summary()


def test_servers_jobs_and_findings_are_counted(recording: Path) -> None:
    summary = read(recording)
    assert summary is not None
    assert (summary.servers, summary.jobs) == (("local-db",), 1)
    assert summary.findings >= 1  # progress that went back


def test_one_that_takes_too_long_is_left_out(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "_LIMIT_S", -1.0)
    assert read(recording) is None


def test_another_file_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.mcprec"
    text.write_text("no recording")
    with pytest.raises(UserError):
        SummaryReader(text)
