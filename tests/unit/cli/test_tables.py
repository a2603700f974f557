"""Recordings as Parquet tables, read again by DuckDB."""

import errno
import json
import re
import stat
import sys
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest

from mcp_progress_monitor import private_file
from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.cli.exits import ExitCode
from mcp_progress_monitor.exports.parquet import TABLES
from mcp_progress_monitor.process_lock import process_lock
from mcp_progress_monitor.protocol.frames import Channel
from tests.architecture.source import ROOT
from tests.integration.commands import linux_only, start
from tests.patience import PATIENCE_S
from tests.strangers.servers import STRANGERS
from tests.strangers.test_matrix import on_stdio
from tests.unit.recording.written import Written

_SECRET = "sk-live-0123456789abcdefABCDEF"
_TOOL = {"name": "export", "description": "Exports.", "inputSchema": {"type": "object"}}


def _session(run: str = "a", ticks: int = 3) -> Written:
    """A server with a tool, a call of it with progress, and a secret in its reply."""
    written = Written(run=run)
    opened = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
    info = {"name": "demo", "version": "1.2.3"}
    written.send("initialize", {**opened, "clientInfo": info}, 1)
    written.reply(1, result={**opened, "serverInfo": info})
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    written.line(Channel.SENT, json.dumps(initialized).encode())
    written.send("tools/list", {}, 2)
    written.reply(2, result={"tools": [_TOOL]})
    written.call(3, at=1.0)
    for n in range(ticks):
        written.tick(n + 1, at=1.0 + n)
    return written


def _ended() -> Written:
    written = _session()
    written.reply(3, at=10.0, result={"content": [{"type": "text", "text": f"key {_SECRET}"}]})
    written.tick(4, at=11.0)
    return written


def _export(*places: Path, to: Path, code: int = 0) -> None:
    arguments = ["export", *map(str, places), "--format", "parquet", "--out", str(to)]
    assert main([*arguments, "--host", "build"]) == code


def _rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """The answer to a query, with `{jobs}` and the like for the tables of a folder."""
    names = ("messages", "jobs", "ticks", "findings", "tools")
    read = "read_parquet('{}/{}/*/*/*.parquet', hive_partitioning = true)"
    tables = {each: read.format(folder, each) for each in names}
    return duckdb.execute(query.format(**tables)).fetchall()


def test_a_session_becomes_rows(tmp_path: Path) -> None:
    recording = _ended().save(tmp_path / "night.mcprec")
    _export(recording, to=tmp_path / "out")

    found = _rows(
        tmp_path / "out",
        "SELECT name, state, ticks, duration_s, server_version, day, host FROM {jobs}"
        " WHERE name = 'export'",
    )
    assert [(*row[:5], str(row[5]), row[6]) for row in found] == [
        ("export", "Done", 4, 9.0, "1.2.3", "2025-11-20", "build")
    ]
    ticks = _rows(tmp_path / "out", "SELECT progress, total FROM {ticks} WHERE job = 1 ORDER BY 1")
    assert ticks[:3] == [(1, 100), (2, 100), (3, 100)]
    kinds = "SELECT kind, count(*) FROM {messages} WHERE job = 1 GROUP BY kind ORDER BY kind"
    assert ("request", 1) in _rows(tmp_path / "out", kinds)
    assert _rows(tmp_path / "out", "SELECT name, tokens > 5 FROM {tools}") == [("export", True)]
    late = _rows(tmp_path / "out", "SELECT rule, job FROM {findings} WHERE rule = 'PROG-6'")
    assert late == [("PROG-6", 1)]


@pytest.mark.parametrize("progress", [2**53, -(2**60), 10**400])
def test_any_progress_is_a_number(tmp_path: Path, progress: int) -> None:
    written = _session()
    written.tick(progress, at=4.0)
    _export(written.save(tmp_path / "a.mcprec"), to=tmp_path / "out")
    found = _rows(tmp_path / "out", "select progress from {ticks} order by number")
    assert found[3:] == [(min(progress, sys.float_info.max),)]


def test_secrets_are_redacted_and_files_private(tmp_path: Path) -> None:
    _export(_ended().save(tmp_path / "night.mcprec"), to=tmp_path / "out")
    files = list((tmp_path / "out").rglob("*.parquet"))

    assert len(files) == 5
    texts = _rows(tmp_path / "out", "SELECT text FROM {messages}")
    assert [text for (text,) in texts if _SECRET in text] == []
    if sys.platform != "win32":
        assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}


def test_a_recording_that_grew_replaces_its_rows(tmp_path: Path) -> None:
    recording = _session().save(tmp_path / "recordings.mcprec")
    _export(recording, to=tmp_path / "out")
    _ended().save(recording)
    copy = tmp_path / "copies"
    copy.mkdir()
    _ended().save(copy / "same.mcprec")
    _export(recording, copy, to=tmp_path / "out")

    states = "SELECT state, attempts FROM {jobs} WHERE name = 'export'"
    assert _rows(tmp_path / "out", states) == [("Done", 1)]
    assert _rows(tmp_path / "out", "SELECT count(*) FROM {ticks}") == [(4,)]


def test_rows_move_with_the_host(tmp_path: Path) -> None:
    recording = _session().save(tmp_path / "night.mcprec")
    _export(recording, to=tmp_path / "out")
    to = ("--format", "parquet", "--out", str(tmp_path / "out"), "--host", "a/../b")
    assert main(["export", str(recording), *to]) == ExitCode.DONE

    assert _rows(tmp_path / "out", "SELECT DISTINCT host FROM {messages}") == [("a_.._b",)]


def test_what_is_damaged_is_exported_as_far_as_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "recordings"
    folder.mkdir()
    (folder / "cut.mcprec").write_bytes(_ended().content[:-40])
    (folder / "other.mcprec").write_bytes(b"\xff\x00 no recording\n")
    half = _session("half")
    half.line(Channel.RECEIVED, b'{"jsonrpc":"2.0","method":"\\ud83d","params":{"a":"\xff"}}')
    half.tick(2**80, token="a")
    half.save(folder / "half.mcprec")
    _export(folder, to=tmp_path / "out", code=ExitCode.UNWRITABLE)

    assert "This is not a recording" in capsys.readouterr().err
    assert _rows(tmp_path / "out", "SELECT count(DISTINCT recording) FROM {messages}") == [(2,)]


def test_a_full_disk_leaves_the_earlier_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = _session().save(tmp_path / "night.mcprec")
    _export(recording, to=tmp_path / "out")
    before = {each: each.read_bytes() for each in (tmp_path / "out").rglob("*.parquet")}
    _ended().save(recording)

    class Full:
        def write(self, _data: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            """Nothing to close."""

    begin = private_file.begin_beside
    monkeypatch.setattr(private_file, "begin_beside", lambda path: (Full(), _closed(*begin(path))))
    _export(recording, to=tmp_path / "out", code=ExitCode.UNWRITABLE)

    assert "No space left on device" in capsys.readouterr().err
    left = {each: each.read_bytes() for each in (tmp_path / "out").rglob("*") if each.is_file()}
    assert {path: left[path] for path in before} == before
    assert {each.name for each in left if each not in before} == {".export.lock"}


def _closed(file: Any, path: Path) -> Path:
    file.close()
    return path


def test_two_exports_to_a_folder_take_turns(tmp_path: Path) -> None:
    recording = _session().save(tmp_path / "night.mcprec")
    _export(recording, to=tmp_path / "out")
    held = process_lock(tmp_path / "out" / ".export.lock")
    with pytest.raises(TimeoutError), held:
        process_lock(tmp_path / "out" / ".export.lock").acquire(timeout=0.0)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "needs --out DIR"),
        (("--out", "out", "--job", "1"), "accepts only --out"),
        (("--out", "out", "-o", "file"), "accepts only --out"),
    ],
)
def test_other_options_are_refused(
    more: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "a.mcprec", "--format", "parquet", *more]) == ExitCode.USAGE
    assert message in capsys.readouterr().err
    assert main(["export", "a.mcprec", "b.mcprec", "--format", "csv"]) == ExitCode.USAGE


_PAGE: Final = ROOT / "docs" / "tables.md"


def test_the_columns_are_those_of_the_manual() -> None:
    listed = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", _PAGE.read_text("utf-8"), re.MULTILINE)

    assert {table: re.findall(r"`(\w+)`", columns) for table, columns in listed} == {
        table: list(columns) for table, columns in TABLES.items()
    }


def answers_of_the_manual(recordings: Path, folder: Path) -> list[list[tuple[Any, ...]]]:
    """The rows of each query of the manual's page on these recordings."""
    _export(recordings, to=folder)
    queries = re.findall(r"```sql\n(.+?)```", _PAGE.read_text("utf-8"), re.DOTALL)
    return [
        duckdb.execute(query.replace("'tables/", f"'{folder.as_posix()}/")).fetchall()
        for query in queries
    ]


def _resumed_after_a_crash() -> Written:
    written = Written(run="crash")
    written.event("opened", command="s", args=[], env=[], pid=1)
    written.call(2, at=1.0)
    resumable = {"content": [], "_meta": {"nextResumeToken": "k3"}}
    written.reply(2, at=2.0, result=resumable)
    meta = {"progressToken": "b", "resumeToken": "k3"}
    again = {"name": "export", "arguments": {}, "_meta": meta}
    written.send("tools/call", again, 3, at=3.0)
    written.event("closed", 4.0, reason="The process ended", exit_code=-9)
    written.event("opened", 5.0, "demo#2", command="s", args=[], env=[], pid=2)
    written.send("tools/call", again, 1, at=6.0, connection="demo#2")
    written.reply(1, at=8.0, connection="demo#2")
    return written


def test_the_queries_of_the_manual_run(tmp_path: Path) -> None:
    recordings = tmp_path / "recordings"
    recordings.mkdir()
    _ended().save(recordings / "new.mcprec")
    slow = _session("b")
    slow.tick(9, at=90.0)
    slow.send("tools/call", {"name": "other", "arguments": {}}, 4)
    slow.reply(4, at=40.0, result={"isError": True, "content": []})
    slow.send("tools/list", {}, 5, at=50.0)
    changed = [{**_TOOL, "description": "Else."}, {**_TOOL, "name": "unused"}]
    slow.reply(5, at=50.0, result={"tools": changed})
    slow.save(recordings / "slow.mcprec")
    _resumed_after_a_crash().save(recordings / "crash.mcprec")
    found = answers_of_the_manual(recordings, tmp_path / "out")

    assert len(found) == 10
    slowest, stalls, rules, resumed, cost, unused, changes, errors, traffic, silent = found
    assert ("demo", "export", 3) in [row[:3] for row in slowest]
    assert stalls[0][:2] == ("demo", 1)
    assert ("demo", "1.2.3", "PROG-6") in [row[:3] for row in rules]
    assert [row[1:] for row in resumed] == [
        ("demo", "export", 3, ["Resumable", "Lost", "Done"], "Done")
    ]
    assert ("demo", 2) in [row[:2] for row in cost]
    assert unused == [("demo", "unused")]
    assert [row[:3] for row in changes] == [("demo", "export", 2)]
    assert ("demo", "other", "Failed") in [row[:3] for row in errors]
    assert {row[1] for row in traffic} == {"build"}
    assert [row[:3] for row in silent] == [("demo", "other", 1)]


_PUBLIC: Final = (
    *("everything", "filesystem", "memory", "git", "time"),
    *("playwright", "kubernetes", "mcp-server-kubernetes", "mongodb", "mcp-framework"),
)
"""Servers that nobody here wrote."""


@linux_only
@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_the_queries_of_the_manual_run_on_recordings_of_public_servers(tmp_path: Path) -> None:
    recordings = tmp_path / "recordings"
    recordings.mkdir()
    for stranger in (each for each in STRANGERS if each.name in _PUBLIC):
        folder = tmp_path / stranger.name
        folder.mkdir()
        with on_stdio(stranger, folder) as server:
            called = [server.tool.name, "--args", json.dumps(dict(server.tool.arguments))]
            target = [*server.options, "--", *server.command]
            process = start("call", "--data-dir", str(folder), *called, *target)
            _, err = process.communicate(timeout=2 * PATIENCE_S)
            assert process.returncode in (0, 1), err  # what a tool needs may not be there
        (recorded,) = (folder / "recordings").glob("*.mcprec")
        recorded.rename(recordings / f"{stranger.name}.mcprec")
    found = answers_of_the_manual(recordings, tmp_path / "out")
    assert len(found) == 10
    for query in ("from {messages}", "from {jobs}", "from {tools}"):
        assert len(_rows(tmp_path / "out", f"select distinct recording {query}")) == 10
