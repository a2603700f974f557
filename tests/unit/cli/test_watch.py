"""`watch`: the jobs of live recordings and of one file, as lines and as events."""

import io
import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.cli import watch
from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.cli.output.stdout import StandardOutput
from mcp_progress_monitor.cli.watch import Watch, WatchLines
from mcp_progress_monitor.engine.engine import Engine
from tests.event_lines import read_events
from tests.golden_sessions import FOLDER
from tests.patience import until
from tests.taps import HandTap

RECORDING = FOLDER / "PROG-3.broken.mcprec"


def test_the_jobs_of_a_recording_are_lines(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(RECORDING)]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert any("work #1 example: warning: Progress did not increase" in line for line in lines)
    assert "done in" in lines[-1]


def test_the_jobs_of_a_recording_are_events(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(RECORDING), "--json"]) == 0
    events = read_events(capfd.readouterr().out)
    kinds = [each["event"] for each in events]
    assert kinds[0] == "connected"
    assert kinds[-1] == "summary"
    assert {"request", "progress", "result", "finding"} <= set(kinds)
    (request,) = (each for each in events if each["event"] == "request")
    assert (request["server"], request["client"]) == ("example", None)
    times = [each["t"] for each in events if each["event"] in {"request", "progress", "result"}]
    assert times == sorted(times)
    assert times[-1] - times[0] < 10  # the recording's clock, not the computer's
    assert events[-1]["recording"] == str(RECORDING)


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "empty"), (b"no recording\n", "not a recording"), (None, "No such")]
)
def test_a_file_that_is_no_recording_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], content: bytes | None, said: str
) -> None:
    path = tmp_path / "odd.mcprec"
    if content is not None:
        path.write_bytes(content)
    assert main(["watch", str(path)]) == 8
    assert said.casefold() in capfd.readouterr().err.casefold()


def test_a_recording_that_was_cut_off_is_shown_and_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.mcprec"
    whole = RECORDING.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:-2]) + whole[-2][:20])
    assert main(["watch", str(path)]) == 0
    shown = capfd.readouterr()
    assert "work #1" in shown.out
    assert "cut.mcprec" in shown.err


@pytest.mark.anyio
async def test_live_recordings_of_taps_and_of_this_program_are_watched(tmp_path: Path) -> None:
    taps = HandTap(tmp_path / "live", client="Claude Code"), HandTap(tmp_path, "own", pid=5)
    for tap in taps:
        tap.write(tap.opened(), tap.handshake(), tap.call(), tap.tick(4))
    engine = Engine(watched=(tmp_path / "live", tmp_path), restores=False)
    written = io.TextIOWrapper(io.BytesIO(), "utf-8")
    lines = WatchLines(StandardOutput(written), engine)
    engine.subscribe(lines.on_update)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Watch(engine, "").run)
        await until(lambda: len(engine.jobs.ids()) == 2)
        tasks.cancel_scope.cancel()
    for tap in taps:
        tap.end()
    shown = _written(written)
    assert len({line.partition(":")[0] for line in shown}) == 2
    assert any("local-db" in line for line in shown)
    assert any("own" in line for line in shown)


def _written(stream: io.TextIOWrapper) -> list[str]:
    buffer: Any = stream.buffer
    return bytes(buffer.getvalue()).decode().splitlines()


def test_text_of_a_server_does_not_reach_the_terminal_unescaped(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hostile.mcprec"
    evil = json.dumps("\x1b]0;x\x07\u202e")[1:-1].encode()
    path.write_bytes(RECORDING.read_bytes().replace(b'"work"', b'"' + evil + b'"'))
    assert main(["watch", str(path)]) == 0
    assert not {"\x1b", "\x07", "\u202e"} & set(capfd.readouterr().out)


@pytest.mark.parametrize(
    ("term", "encoding", "has_screen"),
    [("xterm", "utf-8", True), ("dumb", "utf-8", False), ("xterm", "iso-8859-1", False)],
)
def test_a_screen_needs_a_terminal_that_can_draw_it(
    monkeypatch: pytest.MonkeyPatch, term: str, encoding: str, has_screen: bool
) -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), encoding)
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", term)
    assert watch.has_screen(StandardOutput(terminal)) is has_screen
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert not watch.has_screen(StandardOutput(terminal))
