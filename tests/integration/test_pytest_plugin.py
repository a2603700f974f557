"""The fixture `mcp_session_check`, as server authors use it, and the workflow of the manual."""

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from mcp_progress_monitor import session_check
from mcp_progress_monitor.cli import check as cli_check
from mcp_progress_monitor.cli.check import RecordingCheck
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.reader import RecordingReader
from mcp_progress_monitor.session_check import CallFailed, CheckedSession, SessionCheck
from tests.integration.commands import DEMO, PROGRAM, ROOT
from tests.integration.tapping import frames_of
from tests.servers.definition import COMMAND
from tests.taps import HandTap

_SERVER = "from mcp_progress_monitor.demo.__main__ import main\nraise SystemExit(main([]))\n"
_TESTS = f"""
import sys

BAD = {list(COMMAND)!r}
GOOD = [sys.executable, "-m", "mcp_progress_monitor.demo"]


def test_good(mcp_session_check):
    with mcp_session_check(GOOD) as session:
        assert session.call("burst", {{"count": 3}})["content"]
    session.assert_no_findings(level="error")
    mcp_session_check.recording(session.path).assert_no_findings()


def test_bad(mcp_session_check):
    with mcp_session_check(BAD, name="bad") as session:
        session.call("equal", {{"steps": 2, "interval_s": 0}})
        session.assert_no_findings()
"""


@pytest.fixture
def check(tmp_path: Path) -> SessionCheck:
    """What the fixture gives to a test."""
    return SessionCheck(tmp_path)


def _pytest(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A run of pytest by a server's author: without this project's settings and plugins."""
    paths = os.pathsep.join((str(folder), str(ROOT / "app"), str(ROOT)))
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, "."],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_test_of_a_server_fails_with_the_report_of_check(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(_TESTS, encoding="utf-8")
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    plugins = ("-p", table["pytest11"]["mcp_session_check"])
    ran = _pytest(tmp_path, *plugins, "--tb=short", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert "1 failed, 1 passed" in ran.stdout, ran.stdout + ran.stderr
    shown = [line[1:].strip() for line in ran.stdout.splitlines() if line.startswith("E")]
    assert shown[0] == "AssertionError: The session breaks rules of MCP"
    assert any(line.startswith("error PROG-3: Progress did not increase") for line in shown)
    assert any(line.startswith("Fix: ") for line in shown)


def test_the_fixture_is_found_by_its_entry_point_and_loads_nothing(tmp_path: Path) -> None:
    # As an installation has it: the metadata of a distribution with this project's entry points.
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    info = tmp_path / "sample-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sample\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in found.items())
            for group, found in points.items()
        )
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(
        "import sys\n\n\ndef test_nothing(request):\n"
        "    assert request.config.pluginmanager.has_plugin('mcp_session_check')\n"
        "    ours = {n for n in sys.modules if n.startswith('mcp_progress_monitor')}\n"
        "    assert ours <= {'mcp_progress_monitor', 'mcp_progress_monitor.pytest_plugin'}\n"
        "    assert not {'anyio.from_thread', 'pydantic', 'httpx2', 'PySide6'} & set(sys.modules)\n"
    )
    ran = _pytest(tmp_path, "-p", "no:pytest-qt", "-p", "no:anyio", "-p", "no:hypothesispytest")
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


def test_no_other_module_imports_pytest() -> None:
    package = ROOT / "app" / "mcp_progress_monitor"
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"^\s*(import|from) (_?pytest)\b", path.read_text("utf-8"), re.MULTILINE)
    }
    assert found == {"pytest_plugin.py"}


def test_calls_have_results_and_errors(check: SessionCheck, tmp_path: Path) -> None:
    with check(COMMAND) as session:
        assert "burst" in session.tools
        assert session.call("burst", {"count": 2}, token=7)["content"]
        assert session.call("error_result", {"at_tick": 1, "interval_s": 0})["isError"]
        with pytest.raises(CallFailed, match=r"tools/call .*\(code ") as caught:
            session.call("rpc_error", {"at_tick": 1, "interval_s": 0})
        assert caught.value.code is not None
        with pytest.raises(CallFailed):
            session.call("never_answers", {"interval_s": 0}, timeout_s=0.05)
        assert session.request("tools/list")["tools"]
        assert session.cancel("never_answers", {"interval_s": 0}, after_s=0.0)
        assert not session.cancel("burst", {"count": 1}, after_s=60)
    assert session.path == tmp_path / "session-1.mcprec"
    sent = [f.raw for f in frames_of(RecordingReader(session.path)) if f.channel is Channel.SENT]
    assert any(b'"progressToken":7' in raw for raw in sent)
    assert any(b"notifications/cancelled" in raw for raw in sent)


def test_findings_are_asked_by_level_and_rules_are_ignored(check: SessionCheck) -> None:
    with check(COMMAND) as session:
        session.assert_no_findings(level="note")
        session.call("equal", {"steps": 2, "interval_s": 0})
        (found,) = session.findings("error")
        assert (found.rule, found.by, found.title) == ("PROG-3", "server", "equal")
        session.assert_no_findings(ignore="PROG-3")
    with pytest.raises(AssertionError, match="error PROG-3"):
        session.assert_no_findings(level="warning")
    session.assert_no_findings(ignore=("PROG-3",))
    assert {each.rule for each in session.findings()} >= {"PROG-3"}


def test_sessions_of_a_test_have_recordings_of_their_own(check: SessionCheck) -> None:
    with check(DEMO) as first, check(DEMO, name="second", era="handshake") as second:
        assert first.path != second.path
        assert first.tools == second.tools


def test_a_failure_within_the_block_is_passed_on_and_the_server_ended(check: SessionCheck) -> None:
    with pytest.raises(ZeroDivisionError), check(DEMO) as session:
        raise ZeroDivisionError
    frames = frames_of(RecordingReader(session.path))
    assert b'"closed"' in frames[-1].raw


_FLOODING = """
import json, sys, threading

def flood(token):
    tick = {"progressToken": token, "progress": 1, "message": "x" * 100}
    line = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": tick})
    while True:
        print("\\n".join([line] * 1000), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "tools/call":
        token = message["params"]["_meta"]["progressToken"]
        threading.Thread(target=flood, args=(token,), daemon=True).start()
    elif "id" in message:
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "flooding", "version": "1"},
            "tools": [{"name": "flood", "inputSchema": {"type": "object"}}],
        }
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def test_a_server_that_floods_is_not_read_while_it_is_checked(
    check: SessionCheck, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown: list[int] = []
    with check([sys.executable, "-c", _FLOODING], era="handshake") as session:
        with pytest.raises(CallFailed, match="Timed out"):
            session.call("flood", timeout_s=0.3)

        def run(_check: RecordingCheck, _limit_s: float = 0) -> str:
            time.sleep(0.3)  # what was read before is written
            before = session.path.stat().st_size
            time.sleep(0.5)
            grown.append(session.path.stat().st_size - before)
            return "Only a part was checked."

        with monkeypatch.context() as patch:
            patch.setattr(RecordingCheck, "run", run)
            with pytest.warns(UserWarning, match="a part"):
                session.findings()
        assert {"PROG-3", "PROG-9"} <= {each.rule for each in session.findings()}
    assert grown == [0]


def test_a_session_ends_when_its_recording_becomes_too_large(check: SessionCheck) -> None:
    command = [sys.executable, "-c", _FLOODING]
    with check(command, era="handshake", most_bytes=5_000_000) as session:
        for _ in range(2):
            with pytest.raises(CallFailed, match=r"More than 5\.0 MB were recorded"):
                session.call("flood")
        assert session.findings()
    assert session.path.stat().st_size < 50_000_000


def test_a_check_that_takes_too_long_says_what_it_left_out(
    check: SessionCheck, monkeypatch: pytest.MonkeyPatch
) -> None:
    with check(DEMO) as session:
        session.call("burst", {"count": 20_000})
    monkeypatch.setattr(session_check, "_CHECK_S", 0.0)
    monkeypatch.setattr(cli_check, "_SLICE_S", 0.001)
    with pytest.warns(UserWarning, match=r"Only the first \d+% could be checked within 0 s"):
        session.findings()


def test_servers_and_recordings_that_cannot_be_used(check: SessionCheck, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no-such-command"), check(["no-such-command"]):
        pytest.fail("nothing was started")
    (tmp_path / "text.mcprec").write_text("text")
    for name in ("text.mcprec", "missing.mcprec"):
        with pytest.raises(UserError, match=name):
            check.recording(tmp_path / name).findings()


def test_a_recording_in_which_nothing_was_tested_has_no_findings_to_trust(
    check: SessionCheck, tmp_path: Path
) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.opened(), tap.closed())
    recording = check.recording(tap.path)
    with pytest.raises(UserError, match="Nothing was tested"):
        recording.findings()
    with pytest.raises(UserError, match="Nothing was tested"):
        recording.assert_no_findings()


def test_the_fixtures_of_the_manual_exist() -> None:
    text = (ROOT / "docs" / "pytest.md").read_text("utf-8")
    named = set(re.findall(r"`session\.(\w+)", text))
    assert named
    assert {name for name in named - {"path"} if not hasattr(CheckedSession, name)} == set()


_CLIENT_TESTS = """
import json
import subprocess
import urllib.request

LISTED = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}


def test_stdio(mcp_recorded_server):
    server = mcp_recorded_server("a.mcprec")
    line = json.dumps(LISTED) + "\\n"
    done = subprocess.run(server.command, input=line, capture_output=True, text=True)
    assert json.loads(done.stdout)["result"]["tools"], done.stderr


def test_http(mcp_recorded_server):
    server = mcp_recorded_server("a.mcprec", strict=False)
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    request = urllib.request.Request(server.url, json.dumps(LISTED).encode(), headers)
    with urllib.request.urlopen(request) as response:
        assert json.load(response)["result"]["tools"]
"""


def test_a_client_is_tested_without_its_server(tmp_path: Path) -> None:
    recording = tmp_path / "a.mcprec"
    command = [*PROGRAM, "tools", "--record", str(recording), "--", *DEMO]
    subprocess.run(command, check=True, capture_output=True)
    (tmp_path / "test_client.py").write_text(_CLIENT_TESTS)
    done = _pytest(tmp_path, "test_client.py")
    assert "2 passed" in done.stdout, done.stdout + done.stderr
