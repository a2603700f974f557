"""Exporting from the command line what a call recorded."""

import csv
import io
import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.cli.exits import ExitCode
from mcp_progress_monitor.exports.formats import export_chunks
from tests.integration.commands import run


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the demo's failing tool did, and one that was given a secret."""
    folder = tmp_path_factory.mktemp("export")
    path = folder / "night.mcprec"
    arguments = ("--arg", "at_tick=3", "--arg", "interval_s=0", "--record", str(path))
    done = run("call", "--demo", "error_result", *arguments, "--data-dir", str(folder / "data"))
    assert done.code == 1
    return path


def test_all_messages_as_json_lines(recording: Path) -> None:
    done = run("export", str(recording), "--to", "jsonl")
    rows = [json.loads(line) for line in done.out.splitlines()]

    assert (done.code, {row["job"] for row in rows}) == (0, {None, 1})
    assert [row["kind"] for row in rows].count("progress") == 3
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))


def test_a_filter_narrows_messages_down(recording: Path) -> None:
    done = run("export", str(recording), "--to", "jsonl", "--where", "method == tools/call")

    assert [json.loads(line)["method"] for line in done.out.splitlines()] == ["tools/call"]


def test_ticks_as_a_table(recording: Path) -> None:
    done = run("export", str(recording), "--to", "csv", "--job", "1")
    rows = list(csv.DictReader(io.StringIO(done.out)))

    assert done.code == 0
    assert [row["progress"] for row in rows] == ["1", "2", "3"]


def test_a_report_goes_into_a_private_file(recording: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    done = run("export", str(recording), "--to", "html", "--job", "1", "-o", str(path))

    assert (done.code, done.out) == (0, "")
    assert "The disk was full at step 3." in path.read_text(encoding="utf-8")
    assert sys.platform == "win32" or stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_mistake_in_the_filter_is_pointed_at(recording: Path) -> None:
    done = run("export", str(recording), "--to", "jsonl", "--where", "kind == error and (dt > 1")

    assert (done.code, done.out) == (2, "")
    assert "Invalid --filter" in done.err
    assert "at character 26" in done.err
    assert done.err.splitlines()[2].endswith("^")


def test_har_is_for_sessions_over_http(recording: Path) -> None:
    done = run("export", str(recording), "--to", "har")

    assert done.code == 2
    assert "Cannot export as HAR" in done.err


def test_a_job_that_is_not_there_is_named_with_those_that_are(recording: Path) -> None:
    done = run("export", str(recording), "--to", "html", "--job", "7")

    assert done.code == 2
    assert "The recording has no job 7" in done.err
    assert "jobs 1 to 1" in done.err


def test_a_filter_and_a_job_make_no_sense_for_a_report(recording: Path) -> None:
    arguments = ("--to", "html", "--job", "1", "--where", "kind == error")

    assert run("export", str(recording), *arguments).code == 2


@pytest.mark.parametrize("content", [None, b"", b"hello\n"])
def test_what_is_no_recording_ends_with_code_8(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.mcprec"
    if content is not None:
        path.write_bytes(content)
    done = run("export", str(path), "--to", "csv")

    assert (done.code, done.out) == (8, "")
    assert str(path) in done.err


def test_a_file_that_cannot_be_written_ends_with_code_8(recording: Path, tmp_path: Path) -> None:
    path = tmp_path / "missing" / "x.csv"
    done = run("export", str(recording), "--to", "csv", "-o", str(path))

    assert done.code == 8
    assert "Cannot write the file" in done.err


def test_secrets_are_taken_out_unless_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "r.mcprec"
    secret = ("--arg", "name=password=hunter2", "--arg", "items=1")
    arguments = ("worker", *secret, "--record", str(path))
    assert run("call", "--demo", *arguments, "--data-dir", str(tmp_path)).code == 0
    clean = run("export", str(path), "--to", "jsonl")
    exact = run("export", str(path), "--to", "jsonl", "--with-secrets")

    assert "hunter2" not in clean.out
    assert "Redacted secrets" in clean.err
    assert "hunter2" in exact.out
    assert exact.err == ""


@pytest.mark.parametrize("form", ["csv", "jsonl", "html"])
def test_ctrl_c_leaves_no_half_file(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    def interrupted(*given: Any) -> Iterator[bytes]:
        for piece in export_chunks(*given):
            yield piece
            if piece:
                raise KeyboardInterrupt

    monkeypatch.setattr("mcp_progress_monitor.cli.export.export_chunks", interrupted)
    code = main(["export", str(recording), "--to", form, "-o", str(tmp_path / "out")])

    assert code == ExitCode.CANCELLED
    assert list(tmp_path.iterdir()) == []
