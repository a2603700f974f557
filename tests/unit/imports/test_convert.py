"""The samples: what is in them is shown, and what is not is said."""

import json
from pathlib import Path

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.imports import convert
from mcp_progress_monitor.imports.convert import as_recording, form_of
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.unit.imports.imported import SAMPLES, Imported


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("chrome-137.har", convert.HAR),
        ("mcpsnoop-0.9.jsonl", convert.MCPSNOOP),
        ("mcp-rec-0.1.jsonl", convert.MCP_REC),
        ("claude-desktop-2025-10.log", convert.CLAUDE_DESKTOP),
        ("claude-desktop-mcp-2025-09.log", convert.CLAUDE_DESKTOP),
        ("claude-desktop-1.24012.log", convert.CLAUDE_DESKTOP),
    ],
)
def test_files_are_known_by_their_content(
    name: str, form: convert.ImportForm, tmp_path: Path
) -> None:
    other = tmp_path / "of-another.name"
    other.write_bytes(b"\xef\xbb\xbf" + (SAMPLES / name).read_bytes())
    assert form_of(other) is form


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"some text",
        b'{"log": ',
        b'{"jsonrpc":"2.0","method":"ping"}\n',
        b'{"dir":"north","msg":{}}\n',
        b'#mcp-recording {"version": 2}\n',
        b"2026-01-01T00:00:00.000Z [other] [info] nothing of MCP\n",
        b"\x00\xff" * 1000,
        b"[" * 100_000,
    ],
)
def test_what_is_of_none_of_these_programs_is_left_as_it_is(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    if content == b'{"log": ':
        with pytest.raises(UserError) as caught, as_recording(path):
            pass
        assert "has no MCP messages" in caught.value.details.what
        return
    with as_recording(path) as recording:
        assert recording == path


def test_a_recording_made_of_a_log_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "a.mcprec"
    convert.convert(SAMPLES / "claude-desktop-2025-10.log", convert.CLAUDE_DESKTOP, path)
    assert form_of(path) is None
    cut = tmp_path / "cut.mcprec"
    cut.write_bytes(path.read_bytes().partition(b"\n")[2])
    assert form_of(cut) is None, "as what grep makes of one"


def test_what_is_not_there_is_left_to_who_opens_it(tmp_path: Path) -> None:
    for path in (tmp_path / "no", tmp_path):
        with as_recording(path) as recording:
            assert recording == path


def test_mcpsnoop_shows_its_job_and_hides_secrets() -> None:
    found = Imported(SAMPLES / "mcpsnoop-0.9.jsonl")
    (job,) = found.jobs
    assert (job.state, job.tick_count, job.ended_at is not None) == (JobState.DONE, 2, True)
    (opened,) = found.events("opened")
    assert opened["command"] == "npx"
    assert opened["args"][-2:] == ["--api-key", "***"]
    assert ("files#1", "!", b"Starting default (STDIO) server...") in found.lines()
    assert ("files#1", "<", b"debug: half way") in found.lines(), "what is no JSON is shown"
    assert "dropped because they arrived too fast (1)" in found.missing


def test_messages_of_mcpsnoop_keep_their_bytes(tmp_path: Path) -> None:
    raw = b'{"jsonrpc":"2.0","method":"x","params":{"n":1.50,"s":"\\u00e9"}}'
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'{"session_id":"s","direction":"c2s","ts":"2026-01-01T00:00:00Z","raw":' + raw + b"}\n"
    )
    assert [line[2] for line in Imported(path).lines()] == [raw]


def test_clients_of_one_http_server_are_reported_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [
        {
            "session_id": "s",
            "server_label": "web",
            "ts": "2026-01-01T00:00:00Z",
            "direction": "c2s",
            "transport": "http",
            "conn_id": client,
            "raw": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        }
        for client in ("a", "b", "a")
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = Imported(path)
    assert [where for where, _, _ in found.lines()] == ["web#1", "web#2", "web#1"]
    assert "HTTP requests and responses" in found.missing


def test_mcp_rec_shows_its_job() -> None:
    found = Imported(SAMPLES / "mcp-rec-0.1.jsonl")
    (job,) = found.jobs
    assert (job.state, job.tick_count) == (JobState.DONE, 1)
    assert ("mcp-rec#1", "<", "Exporting…".encode()) in found.lines()
    assert "The server's standard error" in found.missing
    assert found.servers[0].server_info["name"] == "demo"


def test_a_log_of_claude_desktop_shows_runs_jobs_and_standard_error() -> None:
    found = Imported(SAMPLES / "claude-desktop-2025-10.log")
    (job,) = found.jobs
    assert (job.state, job.tick_count) == (JobState.DONE, 2)
    closed = found.events("closed")
    assert [event["ended_by"] for event in closed] == ["client", "server"]
    assert {where for where, _, _ in found.lines("><!*")} == {"files#1", "files#2"}
    errors = [(where, raw) for where, mark, raw in found.lines() if mark == "!"]
    assert errors == [
        ("files#1", b"Starting default (STDIO) server..."),
        ("files#2", b"node:internal/modules/cjs/loader:1148"),
        ("files#2", b"  throw err;"),
    ], "the object that was printed on many lines is not among them"
    assert found.servers[0].state is ServerState.FAILED
    raws = [raw for _, mark, raw in found.lines() if mark in "><"]
    assert not any(b"metadata" in raw for raw in raws)


def test_two_windows_of_claude_desktop_are_two_runs() -> None:
    found = Imported(SAMPLES / "claude-desktop-mcp-2025-09.log")
    said = [(where, mark) for where, mark, _ in found.lines()]
    assert said == [
        ("rebe#1", ">"),
        ("rebe#2", ">"),
        ("memory#1", "<"),
        ("rebe#1", "<"),
        ("rebe#2", "<"),
    ]


def test_a_log_without_content_shows_methods_and_times() -> None:
    found = Imported(SAMPLES / "claude-desktop-1.24012.log")
    (job,) = found.jobs
    assert (job.method, job.state) == ("tools/call", JobState.FAILED)
    assert "logs only methods and ids" in found.missing


def test_a_har_of_a_browser_shows_its_jobs() -> None:
    found = Imported(SAMPLES / "chrome-137.har")
    (job,) = [job for job in found.jobs if job.method == "tools/call"]
    assert (job.state, job.tick_count) == (JobState.DONE, 2)
    assert {where for where, _, _ in found.lines("><*")} == {"mcp.example.com#1"}
    assert "Requests that are not MCP (1)" in found.missing
    assert "Bodies of responses, which are not in the file (1)" in found.missing
    ended = found.events("call_ended")
    assert [event["text"] for event in ended] == ["No reply came: it is not in the HAR file"]
    assert not any(b"s3cret" in frame.raw for frame in found.frames)


def test_times_never_go_back() -> None:
    for path in sorted(SAMPLES.iterdir()):
        ats = [frame.at for frame in Imported(path).frames]
        assert ats == sorted(ats), path.name
        assert len(ats) > 5


def test_a_large_file_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(convert, "_LARGE", 100)
    with as_recording(SAMPLES / "mcp-rec-0.1.jsonl", lines.append):
        pass
    assert lines == ["Importing mcp-rec-0.1.jsonl (1.1 kB)…"]


def test_a_har_without_mcp_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.har"
    entry = {
        "startedDateTime": "2026-01-01T00:00:00Z",
        "request": {"method": "GET", "url": "https://example.com/", "headers": []},
        "response": {"status": 200, "content": {"mimeType": "text/html", "text": "<p>"}},
    }
    path.write_text(json.dumps({"log": {"entries": [entry]}}))
    with pytest.raises(UserError) as caught, as_recording(path):
        pass
    error = caught.value.details
    assert error.what == "The HAR file has no MCP messages"
    assert "Requests that are not MCP (1)" in error.detail


def test_the_progress_callback_may_cancel_the_import(tmp_path: Path) -> None:
    path, target = SAMPLES / "mcp-rec-0.1.jsonl", tmp_path / "a.mcprec"
    shares: list[float] = []
    convert.convert(path, convert.MCP_REC, target, shares.append)
    assert shares == sorted(shares)
    assert 0 < shares[-1] <= 1

    def stop(_share: float) -> None:
        raise InterruptedError

    with pytest.raises(UserError):
        convert.convert(path, convert.MCP_REC, tmp_path / "b.mcprec", stop)
    assert [each.name for each in tmp_path.iterdir()] == ["a.mcprec"]
