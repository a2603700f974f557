"""The causes of a report: only those whose evidence is there."""

import sys

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.sessions.doctor import causes_of
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition
from mcp_progress_monitor.snapshots.doctor import DoctorReport, EndKind, HttpNote
from mcp_progress_monitor.snapshots.servers import Health, ServerState

STDIO = StdioDefinition(name="s", command=sys.executable)
HTTP = HttpDefinition(name="s", url="http://h.example/mcp")
FAILED = DoctorReport(
    "s",
    ServerState.FAILED,
    sys.executable,
    command=(sys.executable,),
    found=sys.executable,
    exit_code=0,
    ending="The server exited",
    end_kind=EndKind.SERVER,
)


def test_a_one_shot_command_is_reported() -> None:
    (cause,) = causes_of(FAILED, STDIO)
    assert cause.text.startswith("It exited immediately")


def test_what_we_ended_ourselves_tells_nothing_of_its_end() -> None:
    ours = FAILED._replace(ending="You disconnected the server", end_kind=EndKind.CLIENT)
    assert causes_of(ours, STDIO) == ()


def test_a_server_that_works_has_no_causes_whatever_it_prints() -> None:
    works = FAILED._replace(state=ServerState.CONNECTED, stderr_tail=("Permission denied",))
    assert causes_of(works, STDIO) == ()


def test_a_server_that_was_never_connected_has_only_causes_on_the_disk() -> None:
    idle = FAILED._replace(state=ServerState.IDLE, found=None)
    (cause,) = causes_of(idle, STDIO)
    assert cause.text.startswith("File not found")


def test_silence_at_the_limit_may_be_a_download() -> None:
    error = ErrorDetails("The server did not answer server/discover within 15 s")
    silent = FAILED._replace(
        exit_code=-15,
        error=error,
        ending=error.what,
        end_kind=EndKind.TIMED_OUT,
        command=("npx", "x"),
    )
    (cause,) = causes_of(silent, STDIO)
    assert "npx silently downloads" in cause.text


def test_over_http_the_requests_tell() -> None:
    report = DoctorReport(
        "s", ServerState.FAILED, HTTP.address, http=(HttpNote("POST /mcp", 401, ""),)
    )
    (cause,) = causes_of(report, HTTP)
    assert "401" in cause.text


def test_slow_and_hung_are_reported_apart() -> None:
    works = FAILED._replace(state=ServerState.CONNECTED)
    asked = works._replace(health=Health(1.0, None))
    slow = works._replace(health=Health(1.0, 0.25))
    hung = works._replace(health=Health(1.0, None, is_hung=True))
    assert causes_of(asked, STDIO) == ()
    assert "0.25 s" in causes_of(slow, STDIO)[0].text
    assert causes_of(hung, STDIO)[0].text.startswith("It hangs")


def test_there_are_at_most_eight() -> None:
    lines = (
        "No module named x",
        "Cannot find module x",
        "EADDRINUSE",
        "Uvicorn running",
        "API_KEY missing",
        "not a tty",
        "Requires-Python",
        "EBADENGINE",
        "docker.sock",
        "no such option",
    )
    assert len(causes_of(FAILED._replace(stderr_tail=lines), STDIO)) == 8
